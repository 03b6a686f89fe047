//! fullpipe on this machine: network devices of the kernel, a thread that turns
//! a stack, and blocking sockets over it.
//!
//! Rule: this is where time, entropy and waiting come from; what happens to a
//! byte is decided in the stack. `unsafe` is allowed here, for system calls
//! only, and each block says why it is sound.

mod capture;
mod errno;
mod interface;
pub mod kernel;
mod netlink;
mod poll;
mod runtime;
mod spec;
mod tap;
mod tcp;
mod udp;

pub use capture::Capture;
pub use errno::DeviceError;
pub use runtime::{HostDevice, Runtime, StartError};
pub use spec::{DeviceSpec, Prefix, SpecError};
pub use tap::{Tap, TapOptions};
pub use tcp::{TcpListener, TcpStream};
pub use udp::{DatagramBatch, UdpSocket};

/// Sixteen bytes that no peer can guess, for [`fullpipe::Stack::new`].
///
/// # Errors
/// When the kernel's generator cannot be read.
pub fn secret() -> std::io::Result<[u8; 16]> {
    use std::io::Read;
    let mut secret = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut secret)?;
    Ok(secret)
}

/// A station address of our own: locally administered, drawn at random.
///
/// # Errors
/// When the kernel's generator cannot be read.
pub fn station_address() -> std::io::Result<fullpipe::MacAddress> {
    let drawn = secret()?;
    let mut address = [0; 6];
    address.copy_from_slice(&drawn[..6]);
    // Second-lowest bit of the first octet: locally administered; lowest: group.
    address[0] = (address[0] & 0xfc) | 0x02;
    Ok(fullpipe::MacAddress(address))
}
