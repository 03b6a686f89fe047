//! Throughput testers that run over any kind of socket.
//!
//! Rule: a tester speaks to the traits in [`sockets`] only, so the same code
//! measures the kernel's stack and fullpipe's. This crate parses no command
//! line and knows no network device.

pub mod fullpipe_sockets;
pub mod iperf2;
pub mod kernel;
pub mod sockets;
pub mod stop;

pub use fullpipe_sockets::FullpipeSockets;
pub use kernel::KernelSockets;
pub use stop::Stop;
