//! A stream in one direction or in both at once: bulk senders, sinks, slow
//! readers, writers of odd sizes, and clients that vanish.
//!
//! Rule: an application that ends gracefully shuts down what it writes, reads
//! to the end, and only then closes, so nothing is lost.

use super::{Application, NextRun, ReadPlan, Reader, Socket, WritePlan, Writer};
use serde::{Deserialize, Serialize};

/// How a transfer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ending {
    /// When both directions have ended.
    Graceful,
    /// It resets the connection once this many bytes have been read and
    /// written together.
    Abort {
        /// Bytes read and written.
        after: u64,
    },
    /// It closes, with whatever is unread, once this many bytes have been read
    /// and written together.
    Close {
        /// Bytes read and written.
        after: u64,
    },
    /// It vanishes without a word once this many bytes have been read and
    /// written together.
    Vanish {
        /// Bytes read and written.
        after: u64,
    },
}

/// An application that writes a stream, reads a stream, or both.
#[derive(Debug)]
pub struct Transfer {
    writer: Option<Writer>,
    reader: Reader,
    ending: Ending,
    shut_down: bool,
}

impl Transfer {
    /// Writes (if it has a plan for it) and reads, then ends.
    pub fn new(write: Option<WritePlan>, read: ReadPlan, ending: Ending) -> Self {
        Self {
            writer: write.map(Writer::new),
            reader: Reader::new(read),
            ending,
            shut_down: false,
        }
    }

    /// Writes as planned and closes when the peer does.
    pub fn sender(plan: WritePlan) -> Self {
        Self::new(Some(plan), ReadPlan::Eager, Ending::Graceful)
    }

    /// Reads as planned and closes when the peer does.
    pub fn sink(plan: ReadPlan) -> Self {
        Self::new(None, plan, Ending::Graceful)
    }

    /// Ends early if that is how it ends and it is time to.
    fn ends_early(&self, socket: &mut dyn Socket) -> bool {
        let moved = self.reader.read() + self.writer.as_ref().map_or(0, Writer::written);
        match self.ending {
            Ending::Abort { after } if moved >= after => socket.abort(),
            Ending::Close { after } if moved >= after => socket.close(),
            Ending::Vanish { after } if moved >= after => socket.vanish(),
            Ending::Graceful
            | Ending::Abort { .. }
            | Ending::Close { .. }
            | Ending::Vanish { .. } => return false,
        }
        true
    }
}

impl Application for Transfer {
    fn run(&mut self, socket: &mut dyn Socket) -> NextRun {
        let (read_all, read_next) = self.reader.run(socket);
        let (written_all, write_next) = match &mut self.writer {
            Some(writer) => writer.run(socket),
            // Nothing to say, and the peer may still want to hear of its end
            // first: a sink closes when its peer has.
            None => (read_all, NextRun::OnEvent),
        };
        if self.ends_early(socket) {
            return NextRun::Done;
        }
        if written_all && !self.shut_down {
            self.shut_down = true;
            socket.shutdown();
        }
        if written_all && read_all {
            socket.close();
            return NextRun::Done;
        }
        match (written_all, read_all) {
            (true, _) => read_next,
            (false, true) => write_next,
            (false, false) => read_next.or(write_next),
        }
    }
}
