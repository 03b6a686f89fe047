//! UDP: the client, which paces its datagrams, and the server, which counts losses.
//!
//! Rule: all clients of a server share one socket and are told apart by their addresses. The last
//! datagram has a negative number; the server answers it with its counts.

mod client;
mod server;

pub use client::UdpClient;
pub use server::UdpServer;
