//! fullpipe on this machine: network devices of the kernel, a thread that turns
//! a stack, and blocking sockets over it.
//!
//! Rule: this is where time, entropy and waiting come from; what happens to a
//! byte is decided in the stack. `unsafe` is allowed here, for system calls
//! only, and each block says why it is sound.
//!
//! # In order
//!
//! 1. A device: [`Tap::open`] with [`TapOptions`], or anything else that is a
//!    [`HostDevice`]: a [`fullpipe::device::Device`] with a descriptor that can
//!    be waited for. [`Capture`] wraps one and writes what passes to a file.
//! 2. [`Runtime::start`] puts a stack on it and a thread under it. The thread
//!    waits for frames and deadlines and turns the stack; a call from outside
//!    turns it itself, so that nothing waits for a thread to wake.
//! 3. [`TcpListener`], [`TcpStream`] and [`UdpSocket`] block as those of the
//!    standard library do, and say what held them back
//!    ([`TcpStream::describe`]). [`Runtime::with_stack`] reaches everything else.
//! 4. Dropping a stream closes it in order; dropping the runtime stops at once.
//!    [`Runtime::finish`] waits in between.
//!
//! ```no_run
//! use fullpipe::Config;
//! use fullpipe_host::{Runtime, Tap, TapOptions, TcpStream};
//! use std::io::Write;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut options = TapOptions::new("tap:fp0".parse()?);
//! options.host_address = Some("10.9.0.1/24".parse()?); // the kernel's end
//! let tap = Tap::open(&options)?;
//! let runtime = Runtime::start(&Config::default(), Box::new(tap), "10.9.0.2/24".parse()?, None)?;
//! let mut stream = TcpStream::connect(&runtime, "10.9.0.1:7".parse()?)?;
//! stream.write_all(b"hello")?;
//! println!("{}", stream.describe()?);
//! # Ok(())
//! # }
//! ```
//!
//! [`Namespace`] is a network of one's own for tests and benchmarks, and
//! [`wait_for_either`] waits for one of two devices.
//!
//! Errors of devices name what is missing (a capability, a device, an address)
//! and what to do about it. What is not here: an executor's sockets, and more
//! than one device for a stack.

mod capture;
mod errno;
mod interface;
pub mod kernel;
mod namespace;
mod netlink;
mod poll;
mod priority;
mod runtime;
mod spec;
mod tap;
mod tcp;
mod udp;

pub use capture::Capture;
pub use errno::DeviceError;
pub use namespace::Namespace;
pub use poll::{wait_for_either, wait_precisely};
pub use priority::run_at_once;
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
