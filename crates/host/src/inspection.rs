//! Answers questions about a running stack: its addresses, its routes, its neighbours.
//!
//! Rule: a question only reads. Questions and answers pass through an abstract Unix socket, whose
//! name ends with the process and is visible in one network namespace, as the tables of the kernel
//! are. Every process of the namespace may ask, and every process may use a name, so each side
//! gives the other a limited time, and the asker checks who answers.
//!
//! This file asks; `server` answers.

use std::{
    collections::BTreeSet,
    fmt, fs,
    io::{self, Read, Write},
    os::{linux::net::SocketAddrExt, unix::net::SocketAddr},
    time::{Duration, Instant},
};

mod answer;
mod connect;
mod question;
mod server;

use connect::Owner;
pub use question::Question;
pub(crate) use server::Inspection;

/// Beginning of the names of the sockets; the number of the process and the number of the stack in
/// this process follow.
const PREFIX: &str = "fullpipe";
/// Longest wait for a complete answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Length of the longest answer that is read, in bytes.
const LONGEST: usize = 16 << 20;
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
        // A name need not be UTF-8.
        let sockets = fs::read("/proc/self/net/unix")?;
        Ok(listed(&String::from_utf8_lossy(&sockets)))
    }

    /// Asks the stack, and returns its answer, if the process runs as the same user as this
    /// process or as root. Root may ask the processes of all users.
    ///
    /// # Errors
    /// Fails if the process has ended (`ConnectionRefused`), does not give its complete answer
    /// within two seconds, or is the process of another user (`PermissionDenied`).
    pub fn ask(self, question: Question) -> io::Result<String> {
        self.ask_if(question, |owner| owner.is_trusted_with(self.pid))
    }

    /// Asks the stack like [`ask`](Self::ask), and accepts the answer of a process of any user, but of
    /// no process with another number.
    ///
    /// # Errors
    /// Fails like `ask`.
    pub fn ask_of_any_user(self, question: Question) -> io::Result<String> {
        self.ask_if(question, |owner| {
            owner.is_trusted_with(self.pid) || owner.pid == self.pid
        })
    }

    fn ask_if(self, question: Question, trust: impl Fn(&Owner) -> bool) -> io::Result<String> {
        let until = Instant::now() + PATIENCE;
        let mut stream = connect::connect(&self.address()?, PATIENCE)?;
        let owner = Owner::of(&stream)?;
        if !trust(&owner) {
            let why = format!("user {} (process {}) listens", owner.uid, owner.pid);
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        stream.set_write_timeout(Some(left(until)?))?;
        // One write, because the other side may close after the first.
        stream.write_all(format!("{}\n", question.word()).as_bytes())?;
        let (mut answer, mut piece) = (Vec::new(), [0; 4_096]);
        loop {
            stream.set_read_timeout(Some(left(until)?))?;
            match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => answer.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if answer.len() > LONGEST {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
        match answer.is_empty() {
            true => Err(io::ErrorKind::UnexpectedEof.into()),
            false => String::from_utf8(answer)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
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

/// Returns the time that is left until `until`.
fn left(until: Instant) -> io::Result<Duration> {
    match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left),
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

#[cfg(test)]
mod tests;
