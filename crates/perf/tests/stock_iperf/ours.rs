//! Runs fullpipe's client and server over the kernel's sockets.
//!
//! Rule: results and output are returned to the test, which judges them.

use std::thread;

use fullpipe_perf::{
    KernelSockets, Stop,
    iperf2::{ClientOptions, Failure, Screen, ServerOptions, Summary, run_client, run_server},
};

/// fullpipe's server, running in a thread.
pub struct Server(thread::JoinHandle<(Summary, String)>);

pub fn try_client(options: &ClientOptions) -> Result<(Summary, String), Failure> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut screen = Screen {
        out: &mut out,
        err: &mut err,
    };
    let summary = run_client(
        &KernelSockets::default(),
        options,
        &Stop::new(),
        &mut screen,
    )?;
    Ok((summary, text(out, err)))
}

pub fn try_server(options: &ServerOptions) -> Result<(Summary, String), Failure> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut screen = Screen {
        out: &mut out,
        err: &mut err,
    };
    let summary = run_server(
        &KernelSockets::default(),
        options,
        &Stop::new(),
        &mut screen,
    )?;
    Ok((summary, text(out, err)))
}

fn text(out: Vec<u8>, err: Vec<u8>) -> String {
    String::from_utf8([out, err].concat()).expect("lines are text")
}

pub fn client(options: &ClientOptions) -> (Summary, String) {
    try_client(options).expect("the test runs")
}

/// Asserts that neither a warning nor an error was printed.
pub fn assert_clean(name: &str, summary: &Summary, text: &str) {
    assert_eq!(summary.errors, 0, "{name}: {text}");
    assert!(
        !text.contains("WARN") && !text.contains("failed"),
        "{name}: {text}"
    );
}

impl Server {
    /// Starts a server that ends after its tests. Waits until its socket is bound: the kernel then
    /// queues a client's data.
    pub fn start(options: &ServerOptions) -> Self {
        let running = options.clone();
        let handle = thread::spawn(move || try_server(&running).expect("the server runs"));
        let table = if options.udp {
            "/proc/net/udp"
        } else {
            "/proc/net/tcp"
        };
        let wanted = format!(":{:04X} 00000000:0000", options.local.port());
        for _ in 0..250 {
            if std::fs::read_to_string(table)
                .unwrap_or_default()
                .contains(&wanted)
            {
                return Self(handle);
            }
            thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("our server does not listen on {}", options.local);
    }

    pub fn finish(self) -> (Summary, String) {
        self.0.join().expect("the server does not panic")
    }
}
