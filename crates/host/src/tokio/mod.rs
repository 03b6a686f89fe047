//! Sockets for tokio, with the names and methods of `tokio::net`.
//!
//! Rule: no task and no timer is hidden here: a socket registers the waker of its
//! task with the [`Runtime`](crate::Runtime), whose thread wakes it. So the
//! sockets work on every tokio runtime, of one thread or of many.
//!
//! A future that is dropped before it is ready has read, written and accepted
//! nothing, and leaves no waker behind; a dropped `connect` ends its connection.
//! Reading and writing wake apart: a task that waits to read is not woken by room
//! for writing. Timeouts are `tokio::time::timeout`.
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
