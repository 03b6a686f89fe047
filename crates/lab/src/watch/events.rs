//! What happened out of the ordinary, and when.
//!
//! Rule: an event is a record of a host's trace, or a change that follows from
//! two of them, and none is judged. A writer who tries again while he is blocked
//! is blocked only once. Segments are no events: they are in the capture and on
//! the page.

use std::{collections::HashMap, fmt};

use fullpipe_pool::Pressure;
use fullpipe_tcp::{
    DiscardReason, TcpState,
    trace::{TraceEvent, TraceRecord},
};
use fullpipe_wire::TcpFlags;
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{seconds, sockets::state_name};

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// When, in nanoseconds from the start of the row.
    pub at_ns: u64,
    /// On which host.
    pub host: String,
    /// Which of its connections, or of its UDP sockets, counted from 1 as they were
    /// opened; `None` where it is the host's.
    pub connection: Option<u32>,
    /// What.
    pub what: What,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A connection came to be.
    Opened {
        /// The peer asked for it.
        passive: bool,
    },
    /// It went into another state.
    State(TcpState),
    /// A write found less room than it needed: the application waits.
    WriterBlocked {
        /// Bytes that it wanted to write.
        asked: u32,
        /// Bytes that were taken.
        taken: u32,
    },
    /// The application was told of room.
    WriterReleased {
        /// Bytes of room.
        room: u32,
    },
    /// Packet memory had no block.
    NoMemory {
        /// Bytes that were wanted.
        wanted: u32,
    },
    /// Packet memory crossed a level.
    Pressure(Pressure),
    /// The window that was advertised to the peer is closed.
    WindowClosed,
    /// It is open again.
    WindowOpened {
        /// Bytes.
        window: u32,
    },
    /// The peer's window is closed.
    PeerWindowClosed,
    /// It is open again.
    PeerWindowOpened {
        /// Bytes.
        window: u32,
    },
    /// A byte beyond the peer's closed window asks for its size.
    Probe {
        /// How many since it closed.
        count: u32,
    },
    /// The retransmission timer ran out.
    Timeout {
        /// How often in a row.
        count: u32,
    },
    /// A segment from the peer went no further.
    Discarded(DiscardReason),
    /// A datagram was lost because the receive queue was full.
    ReceiveQueueFull,
    /// It has room again.
    ReceiveQueueRoom {
        /// Datagrams that were lost since it was full.
        lost: u64,
    },
    /// A frame was lost because the receive ring was full.
    RingFull,
    /// It has room again.
    RingRoom {
        /// Frames that were lost since it was full.
        lost: u64,
    },
    /// A reset left.
    ResetSent,
    /// A reset arrived.
    ResetReceived,
}

impl What {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opened { .. } => "opened",
            Self::State(_) => "state",
            Self::WriterBlocked { .. } => "writer-blocked",
            Self::WriterReleased { .. } => "writer-released",
            Self::NoMemory { .. } => "no-memory",
            Self::Pressure(_) => "pressure",
            Self::WindowClosed => "window-closed",
            Self::WindowOpened { .. } => "window-opened",
            Self::PeerWindowClosed => "peer-window-closed",
            Self::PeerWindowOpened { .. } => "peer-window-opened",
            Self::Probe { .. } => "probe",
            Self::Timeout { .. } => "timeout",
            Self::Discarded(_) => "discarded",
            Self::ReceiveQueueFull => "receive-queue-full",
            Self::ReceiveQueueRoom { .. } => "receive-queue-room",
            Self::RingFull => "ring-full",
            Self::RingRoom { .. } => "ring-room",
            Self::ResetSent => "reset-sent",
            Self::ResetReceived => "reset-received",
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened { passive: true } => f.write_str("accepted"),
            Self::Opened { passive: false } => f.write_str("opened"),
            Self::State(state) => f.write_str(state_name(*state)),
            Self::WriterBlocked { asked, taken } => {
                write!(f, "writer blocked: {taken} of {asked} bytes taken")
            }
            Self::WriterReleased { room } => write!(f, "writer released: room for {room} bytes"),
            Self::NoMemory { wanted } => {
                write!(f, "packet memory is used up: {wanted} bytes were wanted")
            }
            Self::Pressure(level) => write!(f, "packet memory: {}", level.name()),
            Self::WindowClosed => f.write_str("zero window advertised"),
            Self::WindowOpened { window } => write!(f, "window open again: {window} bytes"),
            Self::PeerWindowClosed => f.write_str("zero window received"),
            Self::PeerWindowOpened { window } => {
                write!(f, "peer's window open again: {window} bytes")
            }
            Self::Probe { count } => write!(f, "zero window probe {count}"),
            Self::Timeout { count } => write!(f, "retransmission timeout {count} in a row"),
            Self::Discarded(reason) => write!(f, "segment discarded: {}", reason.name()),
            Self::ReceiveQueueFull => f.write_str("receive queue full: a datagram was lost"),
            Self::ReceiveQueueRoom { lost } => {
                write!(f, "receive queue has room again: datagrams lost: {lost}")
            }
            Self::RingFull => f.write_str("receive ring full: a frame was lost"),
            Self::RingRoom { lost } => {
                write!(f, "receive ring has room again: frames lost: {lost}")
            }
            Self::ResetSent => f.write_str("reset sent"),
            Self::ResetReceived => f.write_str("reset received"),
        }
    }
}

impl fmt::Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connection = self.connection.map(|number| format!("#{number}"));
        let who = format!("{}{}", self.host, connection.unwrap_or_default());
        write!(f, "{:>14} {who:<12} {}", seconds(self.at_ns), self.what)
    }
}

impl Serialize for Happening {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("at_ns", &self.at_ns)?;
        map.serialize_entry("host", &self.host)?;
        if let Some(connection) = self.connection {
            map.serialize_entry("connection", &connection)?;
        }
        map.serialize_entry("event", self.what.name())?;
        match self.what {
            What::Opened { passive } => map.serialize_entry("passive", &passive)?,
            What::State(state) => map.serialize_entry("state", state_name(state))?,
            What::WriterBlocked { asked, taken } => {
                map.serialize_entry("asked_bytes", &asked)?;
                map.serialize_entry("taken_bytes", &taken)?;
            }
            What::WriterReleased { room } => map.serialize_entry("room_bytes", &room)?,
            What::NoMemory { wanted } => map.serialize_entry("wanted_bytes", &wanted)?,
            What::Pressure(level) => map.serialize_entry("level", level.name())?,
            What::WindowClosed
            | What::PeerWindowClosed
            | What::ReceiveQueueFull
            | What::RingFull
            | What::ResetSent
            | What::ResetReceived => {}
            What::ReceiveQueueRoom { lost } => map.serialize_entry("lost_datagrams", &lost)?,
            What::RingRoom { lost } => map.serialize_entry("lost_frames", &lost)?,
            What::Discarded(reason) => map.serialize_entry("reason", reason.name())?,
            What::Probe { count } => map.serialize_entry("since_closed", &count)?,
            What::WindowOpened { window } | What::PeerWindowOpened { window } => {
                map.serialize_entry("window_bytes", &window)?;
            }
            What::Timeout { count } => map.serialize_entry("in_a_row", &count)?,
        }
        map.end()
    }
}

/// One end of a connection, as far as its trace has told.
#[derive(Debug)]
struct End {
    number: u32,
    writer_blocked: bool,
    own_window_closed: bool,
    peer_window_closed: bool,
    /// Since it closed.
    probes: u32,
}

impl End {
    fn received(&mut self, flags: TcpFlags, window: u32) -> Option<What> {
        if flags.contains(TcpFlags::RST) {
            return Some(What::ResetReceived);
        }
        let closed = crossed(&mut self.peer_window_closed, flags, window)?;
        self.probes = 0;
        Some(match closed {
            true => What::PeerWindowClosed,
            false => What::PeerWindowOpened { window },
        })
    }

    fn sent(&mut self, flags: TcpFlags, window: u32, len: u32) -> Option<What> {
        if flags.contains(TcpFlags::RST) {
            return Some(What::ResetSent);
        }
        // Nothing else has text while there is no window.
        if self.peer_window_closed && len > 0 {
            self.probes += 1;
            return Some(What::Probe { count: self.probes });
        }
        let closed = crossed(&mut self.own_window_closed, flags, window)?;
        Some(match closed {
            true => What::WindowClosed,
            false => What::WindowOpened { window },
        })
    }
}

/// Events in the making, from the traces of hosts.
#[derive(Debug)]
pub struct Log {
    hosts: Vec<String>,
    opened: Vec<u32>,
    /// Which connection a host means by a number just now.
    ends: HashMap<(usize, u32), End>,
    events: Vec<Happening>,
}

impl Log {
    /// Nothing has happened on `hosts`.
    pub fn new(hosts: Vec<String>) -> Self {
        Self {
            opened: vec![0; hosts.len()],
            hosts,
            ends: HashMap::new(),
            events: Vec::new(),
        }
    }

    /// Takes the next record of the trace of host number `host`.
    pub fn record(&mut self, host: usize, record: &TraceRecord) {
        let at_ns = record.at.as_nanos();
        let key = (host, record.connection);
        let what = match record.event {
            TraceEvent::Pressure(level) => {
                return self.push(at_ns, host, None, What::Pressure(level));
            }
            TraceEvent::Opened { passive, .. } => {
                self.opened[host] += 1;
                let end = End {
                    number: self.opened[host],
                    writer_blocked: false,
                    own_window_closed: false,
                    peer_window_closed: false,
                    probes: 0,
                };
                self.ends.insert(key, end);
                Some(What::Opened { passive })
            }
            TraceEvent::State(state) => Some(What::State(state)),
            TraceEvent::WriterBlocked { asked, taken } => {
                let again = self.set_blocked(key, true);
                (!again).then_some(What::WriterBlocked { asked, taken })
            }
            TraceEvent::WriterResumed(room) => {
                self.set_blocked(key, false);
                Some(What::WriterReleased { room })
            }
            TraceEvent::MemoryPressure(wanted) => Some(What::NoMemory { wanted }),
            TraceEvent::Timeout(count) => Some(What::Timeout { count }),
            TraceEvent::SegmentIn { flags, window, .. } => {
                self.end(key).and_then(|end| end.received(flags, window))
            }
            TraceEvent::SegmentOut {
                flags, window, len, ..
            } => self.end(key).and_then(|end| end.sent(flags, window, len)),
            TraceEvent::Discard(reason) => Some(What::Discarded(reason)),
            TraceEvent::Sack { .. }
            | TraceEvent::Retransmission { .. }
            | TraceEvent::Limit(_)
            | TraceEvent::ReceiveLimit(_)
            | TraceEvent::Window { .. }
            | TraceEvent::Rtt { .. }
            | TraceEvent::Pool { .. } => None,
        };
        if let Some(what) = what {
            let number = self.end(key).map(|end| end.number);
            self.push(at_ns, host, number, what);
        }
    }

    /// Everything that happened, in the order of time.
    pub fn finish(mut self) -> Vec<Happening> {
        // Traces are read one host after the other.
        self.events.sort_by_key(|event| event.at_ns);
        self.events
    }

    fn end(&mut self, key: (usize, u32)) -> Option<&mut End> {
        self.ends.get_mut(&key)
    }

    /// The writer is blocked or not from now on; returns whether he was.
    fn set_blocked(&mut self, key: (usize, u32), blocked: bool) -> bool {
        let end = self.end(key);
        end.is_some_and(|end| std::mem::replace(&mut end.writer_blocked, blocked))
    }

    fn push(&mut self, at_ns: u64, host: usize, connection: Option<u32>, what: What) {
        self.events.push(Happening {
            at_ns,
            host: self.hosts[host].clone(),
            connection,
            what,
        });
    }
}

/// Whether a segment says that a window closed, or opened again.
fn crossed(is_closed: &mut bool, flags: TcpFlags, window: u32) -> Option<bool> {
    // Without ACK the window may be nothing yet.
    if !flags.contains(TcpFlags::ACK) {
        return None;
    }
    let closed = window == 0;
    (closed != std::mem::replace(is_closed, closed)).then_some(closed)
}
