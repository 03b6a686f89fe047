//! A socket without a stack, for tests of applications alone.

use fullpipe_pool::Instant;
use fullpipe_tcp::SocketOption;

use super::interface::{ReadOutcome, Socket};

/// A socket that returns the results that a test sets, and records the calls.
#[derive(Debug, Default)]
pub struct FakeSocket {
    pub now: Instant,
    /// Bytes that `write` accepts before the socket is full.
    pub room: u64,
    /// Bytes available to read.
    pub unread: u64,
    /// The peer has closed its direction; `unread` is the last payload.
    pub ended: bool,
    /// Requested sizes of writes.
    pub writes: Vec<u64>,
    pub read: u64,
    /// The options that were set, in order.
    pub options: Vec<SocketOption>,
    /// Calls of `shutdown`, `close`, `abort` and `vanish`, in order.
    pub endings: Vec<&'static str>,
}

impl Socket for FakeSocket {
    fn now(&self) -> Instant {
        self.now
    }

    fn write(&mut self, len: u64) -> u64 {
        self.writes.push(len);
        let taken = len.min(self.room);
        self.room -= taken;
        taken
    }

    fn set(&mut self, option: SocketOption) {
        self.options.push(option);
    }

    fn read(&mut self, len: u64) -> ReadOutcome {
        match (len.min(self.unread), self.ended) {
            (0, true) => ReadOutcome::End,
            (0, false) => ReadOutcome::Empty,
            (count, _) => {
                self.unread -= count;
                self.read += count;
                ReadOutcome::Bytes(count)
            }
        }
    }

    fn shutdown(&mut self) {
        self.endings.push("shutdown");
    }

    fn close(&mut self) {
        self.endings.push("close");
    }

    fn abort(&mut self) {
        self.endings.push("abort");
    }

    fn vanish(&mut self) {
        self.endings.push("vanish");
    }
}
