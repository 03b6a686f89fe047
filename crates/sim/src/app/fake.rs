//! A socket without a stack, for tests of applications alone.

use fullpipe_pool::Instant;
use fullpipe_tcp::SocketOption;

use super::{ReadOutcome, Socket};

/// Takes and gives what a test says, and remembers what was called.
#[derive(Debug, Default)]
pub struct FakeSocket {
    pub now: Instant,
    /// Bytes `write` takes before it is full.
    pub room: u64,
    /// Bytes there are to read.
    pub unread: u64,
    /// Whether the peer has closed behind `unread`.
    pub ended: bool,
    /// Sizes asked for in writes.
    pub writes: Vec<u64>,
    pub read: u64,
    /// What was set, in order.
    pub options: Vec<SocketOption>,
    /// Calls that end something, in order.
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
