//! iperf 2.1.8, client and server: the same bytes on the wire and the same output.
//!
//! Rule: each file has one task. `options` describes a test,
//! `text` formats lines, `pacer` spaces writes, `traffic` sends and
//! receives, `reporter` prints; `client`, `server` and `server_udp` run tests with them.
//! Dual tests (`-d`, `-r`, `--full-duplex`) are not implemented: a client that requests
//! a dual test is served only in its forward direction.

mod client;
pub mod options;
mod pacer;
mod reporter;
mod server;
mod server_udp;
pub mod text;
mod traffic;

use std::{fmt, io, net::SocketAddr, thread};

pub use client::run_client;
pub use fullpipe_iperf::{header, tally};
pub use options::{Amount, ClientOptions, DEFAULT_PORT, Rate, ServerOptions};
pub use reporter::{Screen, StreamResult, Summary};
pub use server::run_server;

/// Reason that a test did not run.
#[derive(Debug)]
pub enum Failure {
    /// The options contradict each other or are not supported by iperf.
    Usage(String),
    /// A socket call failed; the text names the call.
    Sockets(String, io::Error),
    /// The output could not be written.
    Output(io::Error),
}

impl Failure {
    /// A server could not open its socket on `local`.
    fn bind(local: SocketAddr, error: io::Error) -> Self {
        Self::Sockets(format!("listener bind failed on {local}"), error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(what) => f.write_str(what),
            Self::Sockets(what, error) => write!(f, "{what}: {error}"),
            Self::Output(error) => write!(f, "output failed: {error}"),
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Usage(_) => None,
            Self::Sockets(_, error) | Self::Output(error) => Some(error),
        }
    }
}

/// Waits for the thread that accepts clients. Resumes a panic of that thread.
fn joined(thread: thread::ScopedJoinHandle<'_, Result<(), Failure>>) -> Result<(), Failure> {
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
