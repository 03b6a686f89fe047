//! fullpipe on this machine: network devices, a thread that drives a stack, and
//! sockets, blocking and async.
//!
//! Rule: time, entropy and waiting come from here; the stack does everything else. `unsafe` is
//! allowed here, only for system calls and for memory shared with the kernel; each block says why
//! it is sound.
//!
//! # Guide
//!
//! 1. **A device.** [`DeviceOptions::open`] opens `tap:NAME` or `tun:NAME`, which
//!    exchange frames with this machine's kernel, or `packet:NIC` or `xdp:NIC`, which put the
//!    stack on the wire of an interface as one more host. Any other device implements
//!    [`HostDevice`]: two non-blocking calls and a descriptor to wait for.
//! 2. **A runtime.** [`Runtime::builder`] takes the host's address. Optional are a gateway, a MAC
//!    address, a secret, the knobs (settings) and a capture. [`Runtime::dhcp`] obtains the address
//!    by DHCP. [`start`](RuntimeBuilder::start) takes the device. The runtime's thread waits for
//!    frames and deadlines. A call on a socket sends the resulting frames itself, without waking
//!    that thread. No lock is held over a system call.
//! 3. **Blocking sockets.** [`TcpListener`], [`TcpStream`] and [`UdpSocket`] have calls like those
//!    of the standard library's types. [`TcpStream::describe`] prints what bounds a connection, and
//!    the time charged to each limit; [`Runtime::with_stack`] gives access to the whole stack.
//!    [`TcpStream::connect_to_name`] connects to a name: the servers come from DHCP, from router
//!    advertisements or from [`RuntimeBuilder::dns_servers`].
//! 4. **Async sockets.** The module [`tokio`], behind the feature of that name, has
//!    `TcpStream`, `TcpListener` and `UdpSocket` for tokio. For another executor, the
//!    blocking types have methods named `poll_…` ([`TcpStream::poll_receive`]), with
//!    separate wakers for reading and writing.
//! 5. **The end.** Dropping a stream sends the written payload and then closes the
//!    connection. [`Runtime::finish`] waits until all connections are closed. Dropping the
//!    runtime stops it at once; calls on its sockets that would wait then fail with
//!    `NotConnected`.
//!
//! ```no_run
//! use fullpipe_host::{DeviceOptions, Runtime, TcpStream};
//! use std::io::Write;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut options = DeviceOptions::new("tap:fp0".parse()?);
//! options.host_address = Some("10.9.0.1/24".parse()?); // the kernel's end
//! let runtime = Runtime::builder("10.9.0.2/24".parse()?).start(options.open()?)?;
//! let mut stream = TcpStream::connect(&runtime, "10.9.0.1:7".parse()?)?;
//! stream.write_all(b"hello")?;
//! println!("{}", stream.describe()?);
//! # Ok(())
//! # }
//! ```
//!
//! Besides the stack: [`SockDiag`] reads the state of the kernel's own sockets, and
//! [`socket_owners`] finds their processes.
//!
//! # Errors
//!
//! Sockets return `std::io::Error` with the kind that the kernel's sockets would return
//! (`ConnectionRefused`, `TimedOut`, `WouldBlock` after a timeout). Errors of devices
//! name what is missing (a capability, a device, an address) and what to do about it.
//!
//! # Features
//!
//! `tokio`: the module [`tokio`].
//!
//! One stack has one device. `xdp:` devices carry only IPv4.
#![cfg_attr(
    not(feature = "tokio"),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "the module is behind a feature"
    )
)]

/// Compiles the examples of the package's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod capture;
mod device;
mod driver;
mod entropy;
mod errno;
mod error_kind;
mod file_limit;
mod frames;
mod inspection;
mod interface;
pub mod kernel;
mod lease;
mod mapping;
mod name_race;
mod names;
mod namespace;
mod netlink;
mod open;
mod packet;
mod poll;
mod priority;
mod privileges;
mod processes;
mod runtime;
mod send_queue;
mod sniffer;
mod sock_diag;
mod spec;
mod tap;
mod tcp;
mod timeout;
#[cfg(feature = "tokio")]
pub mod tokio;
mod udp;
mod virtio;
mod wait;
mod wakers;
mod wire;
mod xdp;

pub use capture::Capture;
pub use device::{HostDevice, OutgoingFrame};
pub use entropy::{secret, station_address};
pub use errno::DeviceError;
pub use file_limit::raise_file_limit;
#[doc(inline)]
pub use fullpipe_dhcp::Lease;
pub use inspection::{Question, RunningStack};
pub use namespace::Namespace;
pub use packet::PacketSocket;
pub use poll::{wait_for_either, wait_precisely};
pub use priority::run_at_once;
pub use privileges::{become_user, forbid_new_privileges};
pub use processes::{ProcessName, SocketOwners, name_of, socket_owners, sockets_of};
pub use runtime::{Runtime, RuntimeBuilder, StartError};
pub use sniffer::{SniffedPacket, Sniffer};
pub use sock_diag::{DiagAnswer, DumpEnd, SockDiag};
pub use spec::{DeviceKind, DeviceOptions, DeviceSpec, Prefix, SpecError};
pub use tap::Tap;
pub use tcp::{TcpListener, TcpStream};
pub use udp::{DatagramBatch, UdpSocket};
pub use xdp::XdpSocket;
