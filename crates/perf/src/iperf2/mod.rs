//! iperf 2.1.8, both roles: the same bytes on the wire and the same text.
//!
//! Rule: each file knows one thing. `options` says what is wanted, `header`
//! how it looks on the wire, `text` how it looks on the screen, `tally` what
//! was counted; `traffic` moves bytes, `reporter` prints, `client` and `server`
//! bring them together. Dual tests (`-d`, `-r`, `--full-duplex`) are not
//! implemented; a client that asks for one is served in its forward direction.

mod client;
pub mod header;
pub mod options;
mod pacer;
mod reporter;
mod server;
mod server_udp;
pub mod tally;
pub mod text;
mod traffic;

use std::{fmt, io};

pub use client::run_client;
pub use options::{Amount, ClientOptions, DEFAULT_PORT, Rate, ServerOptions};
pub use reporter::{Screen, StreamResult, Summary};
pub use server::run_server;

/// Why a test could not be done.
#[derive(Debug)]
pub enum Failure {
    /// The options contradict each other, or ask for what iperf cannot do.
    Usage(String),
    /// The stack refused; the text says what was tried.
    Sockets(String, io::Error),
    /// The test's lines could not be written.
    Output(io::Error),
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
