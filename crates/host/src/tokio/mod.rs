//! Sockets for tokio, with the names and methods of `tokio::net`.
//!
//! Rule: a socket spawns no task and starts no timer. It registers the waker of its task
//! with the [`Runtime`](crate::Runtime), whose thread wakes it. The sockets therefore
//! work on every tokio runtime, single-threaded or multi-threaded.
//!
//! A future that is dropped before it is ready has read, written and accepted nothing. A dropped
//! `accept`, `send_to` or `recv_from` leaves no waker behind. The waker of a dropped read, write
//! or `peek` stays until the next call replaces it or the socket is ready. A dropped `connect`
//! aborts its connection. Reading and writing have separate wakers: room for writing does not wake
//! a task that waits to read. For timeouts use `tokio::time::timeout`.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use fullpipe_host::{DeviceOptions, Runtime, tokio::TcpListener};
//! use tokio::io;
//!
//! let mut options = DeviceOptions::new("tap:fp0".parse()?);
//! options.host_address = Some("10.9.0.1/24".parse()?); // the kernel's end
//! let runtime = Runtime::builder("10.9.0.2/24".parse()?).start(options.open()?)?;
//! let listener = TcpListener::bind(&runtime, "10.9.0.2:7".parse()?)?;
//! loop {
//!     let (stream, _peer) = listener.accept().await?;
//!     tokio::spawn(async move {
//!         let (mut reader, mut writer) = stream.into_split();
//!         io::copy(&mut reader, &mut writer).await
//!     });
//! }
//! # }
//! ```

mod split;
mod tcp;
mod udp;

pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
pub use tcp::{TcpListener, TcpStream};
pub use udp::UdpSocket;
