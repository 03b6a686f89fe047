//! Two stacks at the ends of a cable in memory, and the payload of their tests.
//!
//! Rule: the tests of the blocking and of the async sockets share this file; it has no test.

use std::net::SocketAddr;

use fullpipe_host::{HostDevice, Runtime};

use crate::wire::wire;

/// The port that a server listens on.
const PORT: u16 = 7;

/// The server's port at host `host`.
pub fn at(host: u8) -> SocketAddr {
    ([10, 0, 0, host], PORT).into()
}

/// Starts host `host` on `device`.
pub fn start(device: impl HostDevice + 'static, host: u8) -> Runtime {
    let prefix = format!("10.0.0.{host}/24").parse().expect("an address");
    Runtime::builder(prefix)
        .start(device)
        .expect("the stack starts")
}

/// Hosts 1 and 2.
pub fn pair() -> (Runtime, Runtime) {
    let (one, other) = wire();
    (start(one, 1), start(other, 2))
}

/// Bytes that differ from their neighbours.
pub fn pattern(len: usize) -> Vec<u8> {
    (0..len)
        .map(|offset| (offset * 7 + offset / 251) as u8)
        .collect()
}
