//! Answers questions about a running stack: its addresses, its routes, its neighbours.
//!
//! Rule: a question only reads. Questions and answers pass through an abstract Unix socket, whose
//! name ends with the process and is visible in one network namespace, as the tables of the kernel
//! are. Every process of the namespace may ask. The socket has a thread of its own, so a slow
//! asker delays no packet.

use std::{
    collections::BTreeSet,
    fmt, fs,
    io::{self, Read, Write},
    os::{
        fd::AsRawFd,
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener, UnixStream},
    },
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::{driver::Driver, errno::check};

mod answer;
mod question;

pub use question::Question;

/// Beginning of the names of the sockets; the number of the process and the number of the stack in
/// this process follow.
const PREFIX: &str = "fullpipe";
/// Largest number of stacks of one process that can be asked.
const MOST_STACKS: u32 = 256;
/// Longest wait for the other end.
const PATIENCE: Duration = Duration::from_secs(2);
/// Length of the longest answer that is read, in bytes.
const LONGEST: u64 = 16 << 20;
/// Flag of a listening socket in `/proc/net/unix`.
const LISTENS: u32 = 0x1_0000;

/// A stack that runs in a process of this network namespace and can be asked; see
/// [`RuntimeBuilder::inspectable`](crate::RuntimeBuilder::inspectable).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunningStack {
    /// Number of the process.
    pub pid: u32,
    /// Number of the stack in its process, from 0.
    pub number: u32,
}

impl fmt::Display for RunningStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}/{}/{}", self.pid, self.number)
    }
}

impl RunningStack {
    /// Returns the stacks that can be asked, ordered by process.
    ///
    /// # Errors
    /// Fails if the system does not show its Unix sockets.
    pub fn list() -> io::Result<Vec<Self>> {
        Ok(listed(&fs::read_to_string("/proc/self/net/unix")?))
    }

    /// Asks the stack, and returns its answer.
    ///
    /// # Errors
    /// Fails if the process has ended or does not answer within two seconds.
    pub fn ask(self, question: Question) -> io::Result<String> {
        let mut stream = UnixStream::connect_addr(&self.address()?)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        writeln!(stream, "{}", question.word())?;
        let mut answer = String::new();
        stream.take(LONGEST).read_to_string(&mut answer)?;
        match answer.is_empty() {
            true => Err(io::ErrorKind::UnexpectedEof.into()),
            false => Ok(answer),
        }
    }

    fn address(self) -> io::Result<SocketAddr> {
        SocketAddr::from_abstract_name(self.to_string())
    }

    /// Returns the stack whose socket has this name.
    fn of_name(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(PREFIX)?.strip_prefix('/')?.split('/');
        let (pid, number) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(Self { pid, number })
    }
}

/// Returns the stacks in the text of `/proc/net/unix`.
fn listed(text: &str) -> Vec<RunningStack> {
    let stacks = text.lines().filter_map(|line| {
        let (flags, name) = (line.split_whitespace().nth(3)?, line.split('@').nth(1)?);
        let flags = u32::from_str_radix(flags, 16).ok()?;
        RunningStack::of_name(name).filter(|_| flags & LISTENS != 0)
    });
    stacks.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The socket that answers questions about one stack. Its thread ends when this value is dropped.
pub(crate) struct Inspection {
    listener: Arc<UnixListener>,
    thread: Option<JoinHandle<()>>,
}

impl Inspection {
    /// Begins to answer questions about the stack of `driver`.
    pub(crate) fn begin(driver: Arc<Driver>) -> io::Result<Self> {
        let listener = Arc::new(bind()?);
        let answering = Arc::clone(&listener);
        let thread = thread::Builder::new()
            .name("fullpipe-inspect".into())
            .spawn(move || {
                while let Ok((stream, _)) = answering.accept() {
                    // The asker may be gone, or send no question.
                    let _ = answer(&stream, &driver);
                }
            })?;
        Ok(Self {
            listener,
            thread: Some(thread),
        })
    }
}

impl Drop for Inspection {
    fn drop(&mut self) {
        // SAFETY: the descriptor is open as long as `listener` exists.
        let _ = check(unsafe { libc::shutdown(self.listener.as_raw_fd(), libc::SHUT_RDWR) });
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, it has printed the message.
            let _ = thread.join();
        }
    }
}

/// Binds the first name of this process that is free.
fn bind() -> io::Result<UnixListener> {
    let pid = std::process::id();
    for number in 0..MOST_STACKS {
        let address = RunningStack { pid, number }.address()?;
        match UnixListener::bind_addr(&address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            bound => return bound,
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// Reads one question and writes its answer.
fn answer(stream: &UnixStream, driver: &Driver) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (mut asked, mut byte, mut reader) = (String::new(), [0], stream);
    while asked.len() < 16 && reader.read(&mut byte)? == 1 && byte != *b"\n" {
        asked.push(char::from(byte[0]));
    }
    let question = Question::ALL.into_iter().find(|of| of.word() == asked);
    let Some(question) = question else {
        return Ok(());
    };
    let text = answer::to(question, &driver.lock().stack);
    let mut writer = stream;
    writer.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests;
