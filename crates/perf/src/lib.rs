//! Throughput testers that run over any kind of socket.
//!
//! Rule: a tester speaks to the traits in [`sockets`] only, so the same code
//! measures the kernel's stack and fullpipe's. This crate parses no command
//! line and knows no network device.
//!
//! [`iperf2`] is the tester that there is: on the wire and on the screen it is
//! iperf 2.1.8, in both roles, and it ends with one line more, the limits of
//! the connection with the largest first. [`KernelSockets`] and
//! [`FullpipeSockets`] are the two kinds of sockets; another kind is another
//! file with the traits. A [`Stop`] ends a test early, as a signal does.
//!
//! Time is real here. Experiments in virtual time are the lab's.

pub mod fullpipe_sockets;
pub mod iperf2;
pub mod kernel;
pub mod sockets;
pub mod stop;

pub use fullpipe_sockets::FullpipeSockets;
pub use kernel::KernelSockets;
pub use stop::{POLL, Stop};
