//! The forwarders that are compared, and their processes.
//!
//! Rule: a forwarder is a process of its own, so that its CPU time and memory are its own. It ends
//! when its [`Process`] is dropped.

use std::{
    ffi::OsString,
    fs,
    io::Read,
    process::{Child, ChildStdin, Command, Stdio},
};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use rustix::param::{clock_ticks_per_second, page_size};

/// A forwarder under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Contender {
    Fullpipe,
    Ipstack,
    NetstackSmoltcp,
    TsNetstackSmoltcp,
    Gvisor,
}

impl Contender {
    /// Name in tables and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fullpipe => "fullpipe",
            Self::Ipstack => "ipstack",
            Self::NetstackSmoltcp => "netstack-smoltcp",
            Self::TsNetstackSmoltcp => "ts-netstack-smoltcp",
            Self::Gvisor => "gvisor",
        }
    }

    /// Starts the forwarder in the network namespace of this thread. It creates the TUN device
    /// `device`.
    ///
    /// # Errors
    /// Fails if the program was not built or does not start.
    pub fn start(self, device: &str, mtu: u16) -> Result<Process> {
        let (program, arguments): (OsString, Vec<OsString>) = match self {
            Self::Gvisor => {
                let Some(program) = std::env::var_os("GVISOR_FORWARDER") else {
                    bail!("not built: run `cargo xtask bench forward`, with Go installed");
                };
                (program, vec![device.into(), mtu.to_string().into()])
            }
            Self::Fullpipe | Self::Ipstack | Self::NetstackSmoltcp | Self::TsNetstackSmoltcp => (
                std::env::current_exe()?.into(),
                vec!["forwarder".into(), self.name().into(), device.into()],
            ),
        };
        let mut child = Command::new(&program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let input = child.stdin.take();
        Ok(Process {
            child,
            _input: input,
        })
    }
}

/// A running forwarder.
pub struct Process {
    child: Child,
    /// The forwarder ends when this pipe is closed, even if this process is killed.
    _input: Option<ChildStdin>,
}

impl Process {
    /// Returns the CPU time that the process has used, in seconds.
    ///
    /// # Errors
    /// Fails if the process has ended.
    pub fn cpu_s(&self) -> Result<f64> {
        let stat = self.proc_file("stat")?;
        // The second field is a name in parentheses, which may contain spaces.
        let (_, fields) = stat.rsplit_once(") ").context("a field of the status")?;
        let ticks = fields.split(' ').skip(11).take(2);
        let ticks: u64 = ticks.map(|ticks| ticks.parse().unwrap_or(0)).sum();
        Ok(ticks as f64 / clock_ticks_per_second() as f64)
    }

    /// Returns the resident memory that the process has now, in KiB.
    ///
    /// # Errors
    /// Fails if the process has ended.
    pub fn resident_kib(&self) -> Result<u64> {
        let pages = self.proc_file("statm")?;
        let pages: u64 = pages.split(' ').nth(1).unwrap_or("0").parse()?;
        Ok(pages * page_size() as u64 / 1024)
    }

    fn proc_file(&self, name: &str) -> Result<String> {
        let path = format!("/proc/{}/{name}", self.child.id());
        fs::read_to_string(&path).with_context(|| format!("reading {path}"))
    }

    /// Returns the end of the forwarder's error output, if the process has ended by itself.
    pub fn last_words(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        let mut text = String::new();
        let mut errors = self.child.stderr.take()?;
        // The text only completes a message.
        let _ = errors.read_to_string(&mut text);
        let last = text.lines().rfind(|line| !line.trim().is_empty());
        Some(format!(
            "ended with {status}: {}",
            last.unwrap_or("no message")
        ))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
