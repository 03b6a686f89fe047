//! Throughput tests over any kind of socket, in real time.
//!
//! Rule: a test uses only the traits in [`sockets`], so the same code measures the
//! kernel's stack and fullpipe's. This crate parses no command line and opens no network
//! device. Transfers in virtual time are in `fullpipe-scenario`.
//!
//! [`iperf2`] is the only test so far. It implements client and server with the wire format and the
//! output of iperf 2.1.8. At the end of a test it prints one more line: the limits of the
//! connection (send buffer, receive window, …) with their shares of the time, the largest first.
//! [`KernelSockets`] and [`FullpipeSockets`] implement the traits. A new kind of socket is a new
//! file that implements the traits. [`Stop`] ends a test early, for example on Ctrl-C.
//!
//! [`live`] carries frames between two devices of this machine through a link of the
//! simulator.

pub mod fullpipe_sockets;
pub mod iperf2;
pub mod kernel;
pub mod live;
pub mod sockets;
pub mod stop;

pub use fullpipe_sockets::FullpipeSockets;
pub use kernel::KernelSockets;
pub use stop::{POLL, Stop};
