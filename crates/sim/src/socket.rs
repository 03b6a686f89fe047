//! An application's socket in the simulator. It writes the bytes of a pattern (`pattern.rs`)
//! and verifies the bytes that are read: all of them, or a sample of each read.
//!
//! Rule: each read is compared at once with the other end's writes. A byte that was
//! never written, a byte that differs, or an early end of stream is a violation; the world (the
//! simulated network) reports it after the application's run.

use fullpipe::{ConnectionId, Stack, TcpError};
use fullpipe_pool::Instant;
use fullpipe_tcp::{Info, Read, SocketOption};

use crate::app::{ReadOutcome, Socket};
use crate::check::Violation;
use crate::flow::{AppProgress, Stage};

/// Buffers for writes and reads. `out` keeps the bytes of the pattern that were computed last,
/// because a write that was cut short continues with them.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    out: Vec<u8>,
    /// Pattern key and stream offset of `out`.
    out_at: Option<(crate::pattern::Pattern, u64)>,
    input: Vec<u8>,
}

/// Largest number of bytes verified at once.
const READ_SIZE: usize = 16 << 10;
/// Number of bytes at the end of a read that are verified if a sample suffices. Reads in place are
/// verified completely.
const SAMPLE: usize = 32;

/// An end's connection while its application runs.
pub(crate) struct EndSocket<'a> {
    pub stack: &'a mut Stack,
    pub id: ConnectionId,
    pub now: Instant,
    pub own: &'a mut AppProgress,
    pub peer: &'a AppProgress,
    pub scratch: &'a mut Scratch,
    /// The final stage of this end; `None` until the application or the stack ends the connection.
    pub outcome: Option<Stage>,
    pub info: Option<Box<Info>>,
    /// The end of the stream was read.
    pub read_all: bool,
    pub finding: Option<Violation>,
    /// Bytes read in this run.
    pub progress: u64,
    /// True if every byte is verified. If false, reads in place are verified completely, and of
    /// other reads only the last bytes.
    pub verifies_all: bool,
}

impl EndSocket<'_> {
    /// Handles a call that the stack refused.
    fn refused(&mut self, call: &str, error: TcpError) {
        match error {
            TcpError::Ended(reason) => {
                self.outcome.get_or_insert(Stage::Broken(reason));
            }
            TcpError::Shutdown
            | TcpError::NoSuchHandle
            | TcpError::AddressRemoved
            | TcpError::Setting(_) => {
                self.find(format!(
                    "{call} was refused, although the application may make this call: {error}"
                ));
            }
        }
    }

    /// Stores the connection's [`Info`](fullpipe_tcp::Info) before the connection is
    /// released.
    fn remember(&mut self) {
        if self.info.is_none() {
            self.info = self.stack.tcp_info(self.id, self.now).ok().map(Box::new);
        }
    }

    fn leave(&mut self, how: Stage) {
        self.remember();
        if let Err(error) = self.stack.tcp_abort(self.id, self.now) {
            self.refused("an abort", error);
        }
        self.outcome.get_or_insert(how);
    }

    fn find(&mut self, finding: Violation) {
        self.finding.get_or_insert(finding);
    }

    fn write_copied(&mut self, len: usize) -> Result<usize, TcpError> {
        let Scratch { out, out_at, .. } = &mut *self.scratch;
        let (pattern, offset) = (self.own.pattern, self.own.written);
        let start = match *out_at {
            Some((made, at)) if made == pattern && at <= offset => (offset - at) as usize,
            Some(_) | None => usize::MAX,
        };
        let start = if start.saturating_add(len) <= out.len() {
            start
        } else {
            out.resize(len, 0);
            pattern.fill(offset, out);
            *out_at = Some((pattern, offset));
            0
        };
        self.stack
            .tcp_write(self.id, &out[start..start + len], self.now)
    }

    fn write_in_place(&mut self, len: usize) -> Result<usize, TcpError> {
        let (pattern, offset) = (self.own.pattern, self.own.written);
        let mut filled = 0;
        let mut fill = |slice: &mut [u8]| {
            let room = slice.len().min(len - filled);
            pattern.fill(offset + filled as u64, &mut slice[..room]);
            filled += room;
            room
        };
        self.stack.tcp_write_with(self.id, &mut fill, self.now)
    }

    fn read_copied(&mut self, len: usize) -> Result<(Read, Option<usize>), TcpError> {
        let input = &mut self.scratch.input;
        if input.len() < len {
            input.resize(len, 0);
        }
        let read = self.stack.tcp_read(self.id, &mut input[..len], self.now)?;
        let wrong = match read {
            Read::Data(count) => {
                let skipped = match self.verifies_all {
                    true => 0,
                    false => count.saturating_sub(SAMPLE),
                };
                let offset = self.own.read + skipped as u64;
                let pattern = self.peer.pattern;
                let wrong = pattern.first_difference(offset, &input[skipped..count]);
                wrong.map(|at| skipped + at)
            }
            Read::Empty | Read::End => None,
        };
        Ok((read, wrong))
    }

    fn read_in_place(&mut self, len: usize) -> Result<(Read, Option<usize>), TcpError> {
        let (pattern, offset) = (self.peer.pattern, self.own.read);
        let mut taken = 0;
        let mut wrong = None;
        let mut take = |slice: &[u8]| {
            let count = slice.len().min(len - taken);
            if wrong.is_none() {
                let difference = pattern.first_difference(offset + taken as u64, &slice[..count]);
                wrong = difference.map(|at| taken + at);
            }
            taken += count;
            count
        };
        let read = self.stack.tcp_read_with(self.id, &mut take, self.now)?;
        Ok((read, wrong))
    }
}

impl Socket for EndSocket<'_> {
    fn now(&self) -> Instant {
        self.now
    }

    fn write(&mut self, len: u64) -> u64 {
        if self.outcome.is_some() || len == 0 {
            return 0;
        }
        let len = usize::try_from(len).unwrap_or(usize::MAX).min(1 << 20);
        let outcome = if self.own.in_place {
            self.write_in_place(len)
        } else {
            self.write_copied(len)
        };
        match outcome {
            Ok(taken) => {
                self.own.written += taken as u64;
                if taken > 0 {
                    self.own.last_written = Some(self.now);
                    self.own.waits.wrote(self.own.written, self.now);
                }
                taken as u64
            }
            Err(error) => {
                self.refused("a write", error);
                0
            }
        }
    }

    fn set(&mut self, option: SocketOption) {
        if let Err(error) = self.stack.tcp_set(self.id, option, self.now) {
            self.refused("an option", error);
        }
    }

    fn read(&mut self, len: u64) -> ReadOutcome {
        if self.outcome.is_some() {
            return ReadOutcome::Empty;
        }
        let len = usize::try_from(len).unwrap_or(usize::MAX).min(READ_SIZE);
        let outcome = if self.own.in_place {
            self.read_in_place(len)
        } else {
            self.read_copied(len)
        };
        match outcome {
            Ok((Read::Data(count), wrong)) => {
                if let Some(at) = wrong {
                    let offset = self.own.read + at as u64;
                    self.find(format!(
                        "byte {offset} of the stream is not the one written"
                    ));
                }
                self.own.read += count as u64;
                self.own.first_read.get_or_insert(self.now);
                self.own.last_read = Some(self.now);
                self.progress += count as u64;
                if self.own.read > self.peer.written {
                    let (read, written) = (self.own.read, self.peer.written);
                    self.find(format!(
                        "{read} bytes were read, more than the {written} bytes written"
                    ));
                }
                ReadOutcome::Bytes(count as u64)
            }
            Ok((Read::Empty, _)) => ReadOutcome::Empty,
            Ok((Read::End, _)) => {
                self.read_all = true;
                if self.own.read != self.peer.written || !self.peer.shut_down {
                    let (read, written) = (self.own.read, self.peer.written);
                    self.find(format!(
                        "the stream ended after {read} bytes of {written} written"
                    ));
                }
                ReadOutcome::End
            }
            Err(error) => {
                self.refused("a read", error);
                ReadOutcome::Empty
            }
        }
    }

    fn shutdown(&mut self) {
        if self.outcome.is_none() {
            self.own.shut_down = true;
            self.own.last_written = Some(self.now);
            if let Err(error) = self.stack.tcp_shutdown(self.id, self.now) {
                self.refused("a shutdown", error);
            }
        }
    }

    fn close(&mut self) {
        self.remember();
        self.own.shut_down = true;
        if let Err(error) = self.stack.tcp_close(self.id, self.now) {
            self.refused("a close", error);
        }
        self.outcome.get_or_insert(if self.read_all {
            Stage::Finished
        } else {
            Stage::Left
        });
    }

    fn abort(&mut self) {
        self.leave(Stage::Left);
    }

    fn vanish(&mut self) {
        self.leave(Stage::Vanished);
    }
}
