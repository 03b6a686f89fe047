//! Running stock iperf and reading what it counted.
//!
//! Rule: every child ends with its handle. Its complaints are read as well as
//! its numbers.

use std::{
    io::Read,
    net::SocketAddr,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// A line of iperf's `-y C`.
pub struct Row {
    /// Bytes of payload counted.
    pub bytes: u64,
}

/// A stock server that is running.
pub struct Stock(Child);

/// What a stock client printed.
pub struct Finished {
    /// All of it, complaints too.
    pub text: String,
}

pub fn is_installed() -> bool {
    Command::new("iperf")
        .arg("-v")
        .output()
        .is_ok_and(|output| {
            [output.stdout, output.stderr]
                .concat()
                .starts_with(b"iperf version 2")
        })
}

fn rows(text: &str) -> Vec<Row> {
    text.lines()
        .filter_map(|line| {
            let fields: Vec<_> = line.split(',').collect();
            // The sum over several streams has no stream's number.
            let is_stream = fields.get(5).is_some_and(|id| *id != "-1");
            let bytes = fields.get(7)?.parse().ok()?;
            is_stream.then_some(Row { bytes })
        })
        .collect()
}

impl Stock {
    pub fn start(flags: &[&str]) -> Self {
        // Line by line, or a server that is stopped takes its lines with it.
        let child = Command::new("stdbuf")
            .args(["-oL", "iperf"])
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("iperf starts");
        Self(child)
    }

    pub fn run_client(server: SocketAddr, flags: &str) -> Finished {
        let output = Command::new("iperf")
            .args([
                "-c",
                &server.ip().to_string(),
                "-p",
                &server.port().to_string(),
                "-y",
                "C",
            ])
            .args(flags.split(' '))
            .output()
            .expect("iperf runs");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!text.contains("WARN") && !text.contains("failed"), "{text}");
        Finished { text }
    }

    /// Waits until somebody listens, without connecting: a connection would be
    /// a test of its own.
    pub fn wait_for_tcp(&self, at: SocketAddr) {
        let wanted = format!(":{:04X} 00000000:0000 0A", at.port());
        for _ in 0..100 {
            let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
            if table.contains(&wanted) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("the stock server does not listen on {at}");
    }

    /// Stops the server once it had time to print `wanted` rows.
    pub fn stop_and_read_rows(mut self, wanted: usize) -> Vec<Row> {
        let mut out = self.0.stdout.take().expect("piped");
        let reader = thread::spawn(move || {
            let (mut text, mut chunk, started) = (String::new(), [0; 4096], Instant::now());
            while rows(&text).len() < wanted && started.elapsed() < Duration::from_secs(10) {
                match out.read(&mut chunk) {
                    Ok(0) | Err(_) => break,
                    Ok(read) => text.push_str(&String::from_utf8_lossy(&chunk[..read])),
                }
            }
            text
        });
        let started = Instant::now();
        while !reader.is_finished() && started.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(10));
        }
        self.0.kill().expect("it runs");
        let text = reader.join().expect("reading does not fail");
        let mut complaints = String::new();
        let _ = self
            .0
            .stderr
            .take()
            .expect("piped")
            .read_to_string(&mut complaints);
        assert!(
            !text.contains("WARN") && complaints.is_empty(),
            "{text}{complaints}"
        );
        rows(&text)
    }
}

impl Drop for Stock {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Finished {
    /// Bytes counted over all streams.
    pub fn bytes(&self) -> u64 {
        rows(&self.text).iter().map(|row| row.bytes).sum()
    }
}
