//! The client and the server of a measurement: kernel sockets that carry a fixed number of bytes
//! and verify each byte by its position.
//!
//! Rule: a flow begins with [`REQUEST`] bytes from the client: the kind of the flow and its number
//! of payload bytes. The receiver of the payload answers with its number of verified bytes.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use super::{cases::Direction, network::SERVER};
use crate::payload::{LONGEST, Payload};

/// Length of a request in bytes.
const REQUEST: usize = 9;
/// Longest time without progress in a flow.
const SILENCE: Duration = Duration::from_secs(10);
/// Stack of a thread that serves one flow.
const STACK: usize = 128 << 10;
/// Time between two looks for a new connection.
const LOOK: Duration = Duration::from_millis(1);

const UPLOAD: u8 = 0;
const DOWNLOAD: u8 = 1;

/// A server at [`SERVER`], which ends when this value is dropped.
pub struct Server(Arc<AtomicBool>);

impl Server {
    /// Serves flows on threads. Must be called in the server's namespace.
    ///
    /// # Errors
    /// Fails if the address is taken.
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind(SERVER).context("the server's port")?;
        listener.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        thread::spawn(move || accept(&listener, &stopped));
        Ok(Self(stop))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Serves each connection on a thread, until `stopped` is set.
fn accept(listener: &TcpListener, stopped: &AtomicBool) {
    let payload = Arc::new(Payload::new());
    while !stopped.load(Ordering::Acquire) {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(LOOK);
            continue;
        };
        let payload = Arc::clone(&payload);
        let thread = thread::Builder::new().stack_size(STACK);
        // The client notices a failed flow.
        let served = thread.spawn(move || drop(serve_flow(stream, &payload)));
        drop(served);
    }
}

fn serve_flow(mut stream: TcpStream, payload: &Payload) -> io::Result<()> {
    prepare(&stream)?;
    let mut request = [0; REQUEST];
    while stream.read_exact(&mut request).is_ok() {
        let bytes = u64::from_be_bytes(*request[1..].first_chunk().expect("eight bytes"));
        match request[0] {
            UPLOAD => {
                let verified = receive(&mut stream, payload, bytes, None)?;
                stream.write_all(&verified.to_be_bytes())?;
            }
            _ => send(&mut stream, payload, bytes, None).map(drop)?,
        }
        // A connection that waits open may be silent.
        stream.set_read_timeout(None)?;
    }
    Ok(())
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))
}

/// Sends `bytes` of the payload, but stops at `until`. Returns the number of bytes sent.
fn send(
    stream: &mut TcpStream,
    payload: &Payload,
    bytes: u64,
    until: Option<Instant>,
) -> io::Result<u64> {
    let mut sent = 0;
    while sent < bytes && until.is_none_or(|until| Instant::now() < until) {
        let len = (bytes - sent).min(LONGEST as u64) as usize;
        stream.write_all(payload.at(sent, len))?;
        sent += len as u64;
    }
    Ok(sent)
}

/// Receives and verifies `bytes` of the payload, but stops at `until`. Returns the number of
/// verified bytes.
fn receive(
    stream: &mut TcpStream,
    payload: &Payload,
    bytes: u64,
    until: Option<Instant>,
) -> io::Result<u64> {
    let mut buffer = [0; LONGEST];
    let mut received = 0;
    while received < bytes && until.is_none_or(|until| Instant::now() < until) {
        let most = (bytes - received).min(LONGEST as u64) as usize;
        let len = stream.read(&mut buffer[..most])?;
        if len == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if payload.at(received, len) != &buffer[..len] {
            return Err(io::Error::other(format!(
                "wrong payload in the {len} bytes from position {received}"
            )));
        }
        received += len as u64;
    }
    Ok(received)
}

/// An open flow of the client.
pub struct Flow {
    stream: TcpStream,
    payload: Arc<Payload>,
}

impl Flow {
    /// Opens a flow. Must be called in the client's namespace.
    ///
    /// # Errors
    /// Fails if the server is not reached.
    pub fn open(server: SocketAddr, payload: &Arc<Payload>) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&server, SILENCE)?;
        prepare(&stream)?;
        Ok(Self {
            stream,
            payload: Arc::clone(payload),
        })
    }

    /// Transfers `bytes`, but stops at `until`. Returns the number of bytes transferred.
    ///
    /// # Errors
    /// Fails if a byte is wrong or missing, or after ten seconds without progress.
    pub fn transfer(
        &mut self,
        direction: Direction,
        bytes: u64,
        until: Option<Instant>,
    ) -> Result<u64> {
        let kind = match direction {
            Direction::Up => UPLOAD,
            Direction::Down => DOWNLOAD,
        };
        let mut request = [kind; REQUEST];
        request[1..].copy_from_slice(&bytes.to_be_bytes());
        self.stream.write_all(&request).context("the request")?;
        match direction {
            Direction::Up => {
                let sent =
                    send(&mut self.stream, &self.payload, bytes, until).context("sending")?;
                if sent == bytes {
                    let mut answer = [0; 8];
                    self.stream.read_exact(&mut answer).context("the answer")?;
                    let verified = u64::from_be_bytes(answer);
                    ensure!(verified == bytes, "{verified} of {bytes} bytes arrived");
                }
                Ok(sent)
            }
            Direction::Down => {
                receive(&mut self.stream, &self.payload, bytes, until).context("receiving")
            }
        }
    }
}
