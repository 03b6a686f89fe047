//! Runs stock iperf and parses the bytes that it counted.
//!
//! Rule: every child process is killed when its handle is dropped, or after [`LIMIT`]. Each line
//! of its output is copied to stderr at once, so that the log of a killed test contains the line.

use std::{
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Longest run of a stock client, and longest time to wait for a server's rows.
const LIMIT: Duration = Duration::from_secs(240);
/// Time between two checks of a condition.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// A row of iperf's output with `-y C`.
pub struct Row {
    /// Bytes of payload counted.
    pub bytes: u64,
}

/// A stock iperf that is running.
pub struct Stock {
    child: Child,
    out: Lines,
    err: Lines,
}

/// Output of a stock client.
pub struct Finished {
    /// Standard output and standard error.
    pub text: String,
}

/// Output stream of a child process, read by a thread.
pub struct Lines {
    text: Arc<Mutex<String>>,
    reader: thread::JoinHandle<()>,
}

impl Lines {
    /// Reads `stream`, and copies its lines to stderr with the name of the program.
    pub fn read(program: &'static str, stream: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&text);
        let reader = thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                eprintln!("{program}: {line}");
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        Self { text, reader }
    }

    /// Returns true at the end of the stream.
    pub fn is_finished(&self) -> bool {
        self.reader.is_finished()
    }

    /// Returns the lines read so far.
    pub fn so_far(&self) -> String {
        self.text
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
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
            // The row of the sum has -1 as its stream number.
            let is_stream = fields.get(5).is_some_and(|id| *id != "-1");
            let bytes = fields.get(7)?.parse().ok()?;
            is_stream.then_some(Row { bytes })
        })
        .collect()
}

/// Polls until `done` returns true, for at most [`LIMIT`]. Returns false at the limit.
pub fn wait_until(mut done: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while !done() {
        if started.elapsed() > LIMIT {
            return false;
        }
        thread::sleep(CHECK_INTERVAL);
    }
    true
}

impl Stock {
    pub fn start(flags: &[&str]) -> Self {
        eprintln!("$ iperf {}", flags.join(" "));
        // Run with line buffering, so that a killed server loses no complete line.
        let mut child = Command::new("stdbuf")
            .args(["-oL", "iperf"])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("iperf starts");
        let out = Lines::read("iperf", child.stdout.take().expect("piped"));
        let err = Lines::read("iperf", child.stderr.take().expect("piped"));
        Self { child, out, err }
    }

    pub fn run_client(server: SocketAddr, flags: &str) -> Finished {
        let (ip, port) = (server.ip().to_string(), server.port().to_string());
        let mut all = vec!["-c", &ip, "-p", &port, "-y", "C"];
        all.extend(flags.split(' '));
        let mut client = Self::start(&all);
        let ended = wait_until(|| client.child.try_wait().expect("it is our child").is_some());
        let text = client.end();
        assert!(ended, "iperf ran for {} s: {text}", LIMIT.as_secs());
        assert!(!text.contains("WARN") && !text.contains("failed"), "{text}");
        Finished { text }
    }

    /// Waits until the server listens. Does not connect, because iperf would count the connection
    /// as a test.
    pub fn wait_for_tcp(&self, at: SocketAddr) {
        self.wait_for("tcp", at, ":0000 0A");
    }

    /// Waits until the server's UDP socket is bound.
    pub fn wait_for_udp(&self, at: SocketAddr) {
        self.wait_for("udp", at, ":0000");
    }

    /// Waits for a socket on the port of `at` that is not connected, in the kernel's table of
    /// `protocol`. `state` is the end of its peer's address and its state.
    fn wait_for(&self, protocol: &str, at: SocketAddr, state: &str) {
        let (table, peer) = match at {
            SocketAddr::V4(_) => (protocol.to_owned(), "0".repeat(8)),
            SocketAddr::V6(_) => (format!("{protocol}6"), "0".repeat(32)),
        };
        let table = format!("/proc/thread-self/net/{table}");
        let wanted = format!(":{:04X} {peer}{state}", at.port());
        let is_there = wait_until(|| {
            std::fs::read_to_string(&table)
                .unwrap_or_default()
                .contains(&wanted)
        });
        assert!(is_there, "the stock server is not on {at}: {}", self.said());
    }

    /// Stops the server once it has printed `wanted` rows.
    pub fn stop_and_read_rows(self, wanted: usize) -> Vec<Row> {
        wait_until(|| rows(&self.out.so_far()).len() >= wanted);
        let errors = self.err.so_far();
        let text = self.end();
        assert!(
            !text.contains("WARN") && errors.is_empty(),
            "the stock server printed: {text}"
        );
        rows(&text)
    }

    fn said(&self) -> String {
        self.out.so_far() + &self.err.so_far()
    }

    /// Kills the process if it is still running. Returns its output.
    fn end(mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Both output streams end with the process.
        wait_until(|| self.out.is_finished() && self.err.is_finished());
        self.said()
    }
}

impl Drop for Stock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Finished {
    /// Bytes counted over all streams.
    pub fn bytes(&self) -> u64 {
        rows(&self.text).iter().map(|row| row.bytes).sum()
    }
}
