//! One transfer over the path, and its goodput.
//!
//! Rule: the left host sends and the right host receives. A fullpipe host is a TAP device on the
//! same bridge as the kernel's host, so that both have the same path to the link. Each round has a
//! new path and new stacks.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    net::{Ipv4Addr, SocketAddr},
    path::Path as FilePath,
    sync::mpsc,
    thread,
    time::Duration,
};

use fullpipe::Config;
use fullpipe_host::{DeviceOptions, Prefix, Runtime};
use fullpipe_perf::{
    FullpipeSockets, KernelSockets, Stop,
    iperf2::{Amount, ClientOptions, Screen, ServerOptions, Summary, run_client, run_server},
};
use fullpipe_sim::LinkModel;

use crate::path::{KERNEL, Path};

const PORT: u16 = 5001;
/// Address of the fullpipe host on each side.
const FULLPIPE: [[u8; 4]; 2] = [[10, 9, 0, 3], [10, 9, 0, 4]];
/// Longest time to wait until the server listens.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Sending and receiving stacks of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// The kernel sends to the kernel: the reference for the other two.
    Kernel,
    /// fullpipe sends to the kernel.
    Send,
    /// The kernel sends to fullpipe.
    Receive,
}

impl Pair {
    /// All three pairs of stacks, the reference first.
    pub const ALL: [Self; 3] = [Self::Kernel, Self::Send, Self::Receive];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }
}

/// One transfer.
pub struct Round<'a> {
    pub link: LinkModel,
    pub seed: u64,
    pub algorithm: &'a str,
    pub pair: Pair,
    pub seconds: f64,
    pub settings: &'a [String],
    pub capture: Option<&'a FilePath>,
}

/// Result of a transfer.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Payload that the receiving application read, per second, in Mbit/s.
    pub goodput_mbps: f64,
    /// Last line of fullpipe's iperf: the limits of the transfer.
    pub limits: String,
}

impl Round<'_> {
    /// Builds the path and runs the transfer.
    pub fn play(&self) -> io::Result<Measurement> {
        let capture = self.capture.map(|folder| self.file(folder)).transpose()?;
        let transfer = |path: &Path| self.transfer(path);
        let (measured, _) = Path::with(self.link, self.seed, capture, &mut |_| (), transfer)?;
        Ok(measured)
    }

    fn file(&self, folder: &FilePath) -> io::Result<Box<dyn Write + Send>> {
        std::fs::create_dir_all(folder)?;
        let (algorithm, pair, seed) = (self.algorithm, self.pair.name(), self.seed);
        let file = File::create(folder.join(format!("{algorithm}-{pair}-{seed}.pcapng")))?;
        Ok(Box::new(BufWriter::with_capacity(1 << 18, file)))
    }

    fn transfer(&self, path: &Path) -> io::Result<Measurement> {
        let sender = match self.pair {
            Pair::Send => Some(self.stack(path, 0)?),
            Pair::Kernel | Pair::Receive => None,
        };
        let receiver = match self.pair {
            Pair::Receive => Some(self.stack(path, 1)?),
            Pair::Kernel | Pair::Send => None,
        };
        let far = match self.pair {
            Pair::Receive => FULLPIPE[1],
            Pair::Kernel | Pair::Send => KERNEL[1],
        };
        let remote = SocketAddr::from((far, PORT));
        thread::scope(|scope| {
            let (listens, listening) = mpsc::channel();
            let right = &path.sides[1];
            let server = scope.spawn(|| right.enter(|| serve(receiver.as_ref(), remote, listens)));
            let ready = listening
                .recv_timeout(LISTEN_TIMEOUT)
                .map_err(io::Error::other);
            let sent =
                ready.and_then(|()| path.sides[0].enter(|| self.send(sender.as_ref(), remote))?);
            let served = server
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let ((_, sender_output), (summary, receiver_output)) = (sent?, served??);
            let span = summary.streams.first().ok_or(io::ErrorKind::NotFound)?.span;
            let seconds = (span.end - span.start).as_secs_f64();
            let output = if receiver.is_some() {
                receiver_output
            } else {
                sender_output
            };
            Ok(Measurement {
                goodput_mbps: span.bytes as f64 * 8.0 / seconds / 1e6,
                limits: output.lines().last().unwrap_or_default().to_string(),
            })
        })
    }

    /// Starts a fullpipe host on `side`.
    fn stack(&self, path: &Path, side: usize) -> io::Result<Runtime> {
        let options = DeviceOptions {
            mtu: Some(self.link.mtu),
            ..DeviceOptions::new("tap:fullpipe".parse().map_err(io::Error::other)?)
        };
        let tap = path.tap(side, &options)?;
        let mut config = Config::default();
        let algorithm = format!("tcp.congestion={}", self.algorithm);
        for setting in [&algorithm].into_iter().chain(self.settings) {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            config.set(name, value).map_err(io::Error::other)?;
        }
        let prefix = Prefix {
            address: Ipv4Addr::from(FULLPIPE[side]).into(),
            len: 24,
        };
        Runtime::builder(prefix)
            .config(config)
            .start(tap)
            .map_err(io::Error::other)
    }

    fn send(&self, stack: Option<&Runtime>, remote: SocketAddr) -> io::Result<(Summary, String)> {
        let options = ClientOptions {
            amount: Amount::Time(Duration::from_secs_f64(self.seconds)),
            ..ClientOptions::new(remote)
        };
        let stop = Stop::new();
        captured(|screen| match stack {
            Some(runtime) => run_client(&FullpipeSockets(runtime), &options, &stop, screen),
            None => {
                let congestion = Some(self.algorithm.to_string());
                run_client(&KernelSockets { congestion }, &options, &stop, screen)
            }
        })
    }
}

/// Receives from one client. Sends on `listens` once the server listens.
fn serve(
    stack: Option<&Runtime>,
    local: SocketAddr,
    listens: mpsc::Sender<()>,
) -> io::Result<(Summary, String)> {
    let options = ServerOptions {
        connections: Some(1),
        ..ServerOptions::new(local)
    };
    let stop = Stop::new();
    let mut banner = Banner {
        listens,
        text: Vec::new(),
    };
    let mut errors = Vec::new();
    let mut screen = Screen {
        out: &mut banner,
        err: &mut errors,
    };
    let summary = match stack {
        Some(runtime) => run_server(&FullpipeSockets(runtime), &options, &stop, &mut screen),
        None => run_server(&KernelSockets::default(), &options, &stop, &mut screen),
    };
    let summary = summary.map_err(io::Error::other)?;
    fail_on_errors(&summary, &errors)?;
    let text = String::from_utf8_lossy(&banner.text).into_owned();
    Ok((summary, text))
}

fn captured(
    run: impl FnOnce(&mut Screen<'_>) -> Result<Summary, fullpipe_perf::iperf2::Failure>,
) -> io::Result<(Summary, String)> {
    let (mut text, mut errors) = (Vec::new(), Vec::new());
    let summary = run(&mut Screen {
        out: &mut text,
        err: &mut errors,
    })
    .map_err(io::Error::other)?;
    fail_on_errors(&summary, &errors)?;
    Ok((summary, String::from_utf8_lossy(&text).into_owned()))
}

fn fail_on_errors(summary: &Summary, errors: &[u8]) -> io::Result<()> {
    if summary.errors == 0 {
        return Ok(());
    }
    Err(io::Error::other(
        String::from_utf8_lossy(errors).into_owned(),
    ))
}

/// Output of a server. The first line shows that the server listens.
struct Banner {
    listens: mpsc::Sender<()>,
    text: Vec<u8>,
}

impl Write for Banner {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend(bytes);
        // Ignore an error: only the first message is needed.
        let _ = self.listens.send(());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
