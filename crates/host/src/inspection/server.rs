//! The socket that answers questions about one stack.
//!
//! Rule: the socket has a thread of its own, and each connection has one deadline, so a slow asker
//! delays no packet, other askers only briefly, and the end of the stack not at all.

use std::{
    io::{self, Read, Write},
    os::{
        fd::AsFd,
        unix::net::{UnixListener, UnixStream},
    },
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{Question, RunningStack, answer, left};
use crate::{
    driver::Driver,
    entropy,
    poll::{self, Notifier},
};

/// Stacks of one process that are numbered from 0.
const NUMBERED: u32 = 256;
/// Random numbers that are tried if all names of numbered stacks are taken.
const TRIES: u32 = 16;
/// Longest time for one asker. It is short compared with the patience of the askers that wait.
const SERVED_WITHIN: Duration = Duration::from_millis(500);
/// Pause after a connection that cannot be accepted, for example because no file is free.
const PAUSE: Duration = Duration::from_millis(100);

/// The socket that answers questions about one stack. Its thread ends when this value is dropped.
pub(crate) struct Inspection {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Inspection {
    /// Begins to answer questions about the stack of `driver`.
    pub(crate) fn begin(driver: Arc<Driver>) -> io::Result<Self> {
        let listener = bind(process::id())?;
        listener.set_nonblocking(true)?;
        let stop = Arc::new(Stop {
            is_raised: AtomicBool::new(false),
            notifier: Notifier::new()?,
        });
        let seen = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("fullpipe-inspect".into())
            .spawn(move || serve(&listener, &driver, &seen))?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Inspection {
    fn drop(&mut self) {
        self.stop.is_raised.store(true, Ordering::Release);
        self.stop.notifier.notify();
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, it has printed the message.
            let _ = thread.join();
        }
    }
}

/// The request to end the thread.
struct Stop {
    is_raised: AtomicBool,
    notifier: Notifier,
}

impl Stop {
    fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Acquire)
    }

    /// Waits until `fd` is ready or the stop is raised, at most until `until`.
    ///
    /// # Errors
    /// Fails with `TimedOut` at `until`, and with `Interrupted` if the stop is raised.
    fn wait(&self, fd: impl AsFd, ready: poll::Ready, until: Instant) -> io::Result<()> {
        let left = left(until)?;
        poll::wait_for(fd.as_fd(), ready, &self.notifier, Some(left))?;
        match self.is_raised() {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => Ok(()),
        }
    }
}

/// Answers one asker after another until the stop is raised.
fn serve(listener: &UnixListener, driver: &Driver, stop: &Stop) {
    while !stop.is_raised() {
        let waited = match listener.accept() {
            Ok((stream, _)) => {
                // The asker may be gone, slow, or send no question.
                let _ = answer(&stream, driver, stop);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                poll::wait_for(listener.as_fd(), poll::Ready::ToRead, &stop.notifier, None)
            }
            Err(error) => Err(error),
        };
        if waited.is_err() {
            thread::sleep(PAUSE);
        }
    }
}

/// Binds the first free name of process `pid`. Another process may have taken names of this process, so
/// the number of the stack is random if all others are taken.
fn bind(pid: u32) -> io::Result<UnixListener> {
    let random = (0..TRIES).map_while(|_| {
        let secret = entropy::secret().ok()?;
        Some(u32::from_ne_bytes(*secret.first_chunk()?).max(NUMBERED))
    });
    for number in (0..NUMBERED).chain(random) {
        let address = RunningStack { pid, number }.address()?;
        match UnixListener::bind_addr(&address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            bound => return bound,
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// Reads one question and writes its answer.
fn answer(stream: &UnixStream, driver: &Driver, stop: &Stop) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let until = Instant::now() + SERVED_WITHIN;
    let (mut asked, mut byte, mut reader) = (String::new(), [0], stream);
    while asked.len() < 16 && byte != *b"\n" {
        match reader.read(&mut byte) {
            Ok(0) => break,
            Ok(_) if byte == *b"\n" => {}
            Ok(_) => asked.push(char::from(byte[0])),
            Err(error) => retry(error, || stop.wait(stream, poll::Ready::ToRead, until))?,
        }
    }
    let question = Question::ALL.into_iter().find(|of| of.word() == asked);
    let Some(question) = question else {
        return Ok(());
    };
    let text = answer::to(question, &driver.lock().stack);
    let (mut unsent, mut writer) = (text.as_bytes(), stream);
    while !unsent.is_empty() {
        match writer.write(unsent) {
            Ok(count) => unsent = &unsent[count..],
            Err(error) => retry(error, || stop.wait(stream, poll::Ready::ToWrite, until))?,
        }
    }
    Ok(())
}

/// Waits with `wait` if `error` only says that the socket is not ready.
fn retry(error: io::Error, wait: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::WouldBlock => wait(),
        io::ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests;
