//! A stream in one direction or in both: bulk senders, sinks, slow readers, writers
//! of random sizes, and clients that vanish.
//!
//! Rule: an application that ends gracefully shuts down its sending direction,
//! reads to the end, and only then closes, so no payload is lost.

use super::interface::{Application, NextRun, Socket};
use super::reader::{ReadPlan, Reader};
use super::writer::{WritePlan, Writer};
use serde::{Deserialize, Serialize};

/// The way in which a transfer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ending {
    /// The application closes after both directions have ended.
    Graceful,
    /// The application resets the connection after this many bytes read and written in
    /// total.
    Abort {
        /// Bytes read and written.
        after: u64,
    },
    /// The application closes, even with unread payload, after this many bytes read and
    /// written in total.
    Close {
        /// Bytes read and written.
        after: u64,
    },
    /// The application vanishes after this many bytes read and written in total.
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
    /// A transfer that reads as planned, and writes if `write` is a plan.
    pub fn new(write: Option<WritePlan>, read: ReadPlan, ending: Ending) -> Self {
        Self {
            writer: write.map(Writer::new),
            reader: Reader::new(read),
            ending,
            shut_down: false,
        }
    }

    /// A transfer that writes as planned, and closes after the peer has shut down its direction.
    pub fn sender(plan: WritePlan) -> Self {
        Self::new(Some(plan), ReadPlan::Eager, Ending::Graceful)
    }

    /// A transfer that reads as planned, and closes after the peer has shut down its direction.
    pub fn sink(plan: ReadPlan) -> Self {
        Self::new(None, plan, Ending::Graceful)
    }

    /// Ends the transfer early if its [`Ending`] is due. Returns true if the transfer was ended.
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
            // A sink shuts down its direction only after it has read to the end of the peer's
            // stream.
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
