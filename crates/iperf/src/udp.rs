//! UDP: the client, which paces its datagrams, and the server, which counts losses.
//!
//! Rule: a server has one socket for all clients and distinguishes them by their addresses. The
//! last datagram has a negative number; the server answers this datagram with a report of its
//! counts.

mod client;
mod server;

pub use client::UdpClient;
pub use server::UdpServer;
