//! Events: state changes, blocked writers, closed windows, timeouts, recoveries, drops.
//!
//! Rule: an event is a record of a host's trace (the records that its stack writes), or a change
//! between two records. A writer that tries again while it is blocked causes no second event.
//! Segments are not events: they are in the capture and in the report page.

use std::{collections::HashMap, fmt};

use fullpipe_pool::Pressure;
use fullpipe_tcp::{
    DiscardReason, TcpState,
    trace::{RecoveryEvent, TraceEvent, TraceRecord},
};
use fullpipe_wire::TcpFlags;
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{seconds::seconds, sockets::state_name};

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// Time, in nanoseconds from the start of the run.
    pub at_ns: u64,
    /// Name of the host at which the event happened.
    pub host: String,
    /// Number of the connection or UDP socket, counted from 1 in the order of opening on its host;
    /// `None` for an event of the whole host.
    pub connection: Option<u32>,
    /// Kind of the event.
    pub what: EventKind,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A connection was opened.
    Opened {
        /// True if the peer opened it.
        passive: bool,
    },
    /// The connection changed its state.
    State(TcpState),
    /// A write found too little free space, and the application waits.
    WriterBlocked {
        /// Bytes that the application wanted to write.
        asked: u32,
        /// Bytes that the send buffer accepted.
        taken: u32,
    },
    /// The application was notified of free space.
    WriterReleased {
        /// Free space in bytes.
        room: u32,
    },
    /// Packet memory had no free block.
    NoMemory {
        /// Bytes that were requested.
        wanted: u32,
    },
    /// Use of packet memory reached this level of pressure.
    Pressure(Pressure),
    /// The window that was advertised to the peer is closed.
    WindowClosed,
    /// The advertised window is open again.
    WindowOpened {
        /// The new window in bytes.
        window: u32,
    },
    /// The peer's window is closed.
    PeerWindowClosed,
    /// The peer's window is open again.
    PeerWindowOpened {
        /// The new window in bytes.
        window: u32,
    },
    /// A probe of the peer's closed window was sent.
    Probe {
        /// Number of probes since the window closed.
        count: u32,
    },
    /// The retransmission timer expired.
    Timeout {
        /// Number of consecutive timeouts.
        count: u32,
    },
    /// Loss recovery or congestion control changed its state.
    Recovery(RecoveryEvent),
    /// A segment from the peer was discarded.
    Discarded(DiscardReason),
    /// A datagram was lost because the receive queue was full.
    ReceiveQueueFull,
    /// The receive queue has room again.
    ReceiveQueueRoom {
        /// Datagrams that were lost since the queue became full.
        lost: u64,
    },
    /// A frame was lost because the receive ring was full.
    RingFull,
    /// The receive ring has room again.
    RingRoom {
        /// Frames that were lost since the ring became full.
        lost: u64,
    },
    /// A reset was sent.
    ResetSent,
    /// A reset arrived.
    ResetReceived,
}

impl EventKind {
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
            Self::Recovery(RecoveryEvent::FastRecovery) => "fast-recovery",
            Self::Recovery(RecoveryEvent::Recovered) => "recovered",
            Self::Recovery(RecoveryEvent::Undone) => "undone",
            Self::Recovery(RecoveryEvent::TailProbe) => "tail-loss-probe",
            Self::Recovery(RecoveryEvent::MarkResponse) => "mark-response",
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

impl fmt::Display for EventKind {
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
            Self::Recovery(event) => event.fmt(f),
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

impl fmt::Display for WatchEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connection = self.connection.map(|number| format!("#{number}"));
        let who = format!("{}{}", self.host, connection.unwrap_or_default());
        write!(f, "{:>14} {who:<12} {}", seconds(self.at_ns), self.what)
    }
}

impl Serialize for WatchEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("at_ns", &self.at_ns)?;
        map.serialize_entry("host", &self.host)?;
        if let Some(connection) = self.connection {
            map.serialize_entry("connection", &connection)?;
        }
        map.serialize_entry("event", self.what.name())?;
        match self.what {
            EventKind::Opened { passive } => map.serialize_entry("passive", &passive)?,
            EventKind::State(state) => map.serialize_entry("state", state_name(state))?,
            EventKind::WriterBlocked { asked, taken } => {
                map.serialize_entry("asked_bytes", &asked)?;
                map.serialize_entry("taken_bytes", &taken)?;
            }
            EventKind::WriterReleased { room } => map.serialize_entry("room_bytes", &room)?,
            EventKind::NoMemory { wanted } => map.serialize_entry("wanted_bytes", &wanted)?,
            EventKind::Pressure(level) => map.serialize_entry("level", level.name())?,
            EventKind::WindowClosed
            | EventKind::PeerWindowClosed
            | EventKind::Recovery(_)
            | EventKind::ReceiveQueueFull
            | EventKind::RingFull
            | EventKind::ResetSent
            | EventKind::ResetReceived => {}
            EventKind::ReceiveQueueRoom { lost } => map.serialize_entry("lost_datagrams", &lost)?,
            EventKind::RingRoom { lost } => map.serialize_entry("lost_frames", &lost)?,
            EventKind::Discarded(reason) => map.serialize_entry("reason", reason.name())?,
            EventKind::Probe { count } => map.serialize_entry("since_closed", &count)?,
            EventKind::WindowOpened { window } | EventKind::PeerWindowOpened { window } => {
                map.serialize_entry("window_bytes", &window)?;
            }
            EventKind::Timeout { count } => map.serialize_entry("in_a_row", &count)?,
        }
        map.end()
    }
}

/// State of one end of a connection, as its trace shows.
#[derive(Debug)]
struct EndState {
    number: u32,
    writer_blocked: bool,
    own_window_closed: bool,
    peer_window_closed: bool,
    /// Probes since the peer's window closed.
    probes: u32,
}

impl EndState {
    fn received(&mut self, flags: TcpFlags, window: u32) -> Option<EventKind> {
        if flags.contains(TcpFlags::RST) {
            return Some(EventKind::ResetReceived);
        }
        let closed = crossed(&mut self.peer_window_closed, flags, window)?;
        self.probes = 0;
        Some(match closed {
            true => EventKind::PeerWindowClosed,
            false => EventKind::PeerWindowOpened { window },
        })
    }

    fn sent(&mut self, flags: TcpFlags, window: u32, len: u32) -> Option<EventKind> {
        if flags.contains(TcpFlags::RST) {
            return Some(EventKind::ResetSent);
        }
        // Count a segment with payload as a probe: while the peer's window is closed, only probes
        // carry payload.
        if self.peer_window_closed && len > 0 {
            self.probes += 1;
            return Some(EventKind::Probe { count: self.probes });
        }
        let closed = crossed(&mut self.own_window_closed, flags, window)?;
        Some(match closed {
            true => EventKind::WindowClosed,
            false => EventKind::WindowOpened { window },
        })
    }
}

/// Collects events from the hosts' traces.
#[derive(Debug)]
pub struct EventLog {
    hosts: Vec<String>,
    opened: Vec<u32>,
    /// State of each end, by host and by the trace's connection number. A later connection may
    /// reuse the number, and its state then replaces the state of the earlier connection.
    ends: HashMap<(usize, u32), EndState>,
    events: Vec<WatchEvent>,
}

impl EventLog {
    /// Creates an empty log of `hosts`.
    pub fn new(hosts: Vec<String>) -> Self {
        Self {
            opened: vec![0; hosts.len()],
            hosts,
            ends: HashMap::new(),
            events: Vec::new(),
        }
    }

    /// Processes the next record of the trace of host number `host`.
    pub fn record(&mut self, host: usize, record: &TraceRecord) {
        let at_ns = record.at.as_nanos();
        let key = (host, record.connection);
        let what = match record.event {
            TraceEvent::Pressure(level) => {
                return self.push(at_ns, host, None, EventKind::Pressure(level));
            }
            TraceEvent::Opened { passive, .. } => {
                self.opened[host] += 1;
                let end = EndState {
                    number: self.opened[host],
                    writer_blocked: false,
                    own_window_closed: false,
                    peer_window_closed: false,
                    probes: 0,
                };
                self.ends.insert(key, end);
                Some(EventKind::Opened { passive })
            }
            TraceEvent::State(state) => Some(EventKind::State(state)),
            TraceEvent::WriterBlocked { asked, taken } => {
                let again = self.set_blocked(key, true);
                (!again).then_some(EventKind::WriterBlocked { asked, taken })
            }
            TraceEvent::WriterResumed(room) => {
                self.set_blocked(key, false);
                Some(EventKind::WriterReleased { room })
            }
            TraceEvent::MemoryPressure(wanted) => Some(EventKind::NoMemory { wanted }),
            TraceEvent::Timeout(count) => Some(EventKind::Timeout { count }),
            TraceEvent::SegmentIn { flags, window, .. } => {
                self.end(key).and_then(|end| end.received(flags, window))
            }
            TraceEvent::SegmentOut {
                flags, window, len, ..
            } => self.end(key).and_then(|end| end.sent(flags, window, len)),
            TraceEvent::Recovery(event) => Some(EventKind::Recovery(event)),
            TraceEvent::Discard(reason) => Some(EventKind::Discarded(reason)),
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

    /// Returns the events in the order of time.
    pub fn finish(mut self) -> Vec<WatchEvent> {
        // Sort the events, because traces are read host by host.
        self.events.sort_by_key(|event| event.at_ns);
        self.events
    }

    fn end(&mut self, key: (usize, u32)) -> Option<&mut EndState> {
        self.ends.get_mut(&key)
    }

    /// Stores the new state of the writer: blocked or not. Returns the previous state.
    fn set_blocked(&mut self, key: (usize, u32), blocked: bool) -> bool {
        let end = self.end(key);
        end.is_some_and(|end| std::mem::replace(&mut end.writer_blocked, blocked))
    }

    fn push(&mut self, at_ns: u64, host: usize, connection: Option<u32>, what: EventKind) {
        self.events.push(WatchEvent {
            at_ns,
            host: self.hosts[host].clone(),
            connection,
            what,
        });
    }
}

/// Returns the new state of a window if a segment closes (`true`) or opens it; `None` if the
/// segment does not change the state.
fn crossed(is_closed: &mut bool, flags: TcpFlags, window: u32) -> Option<bool> {
    // Ignore a segment without ACK: its window field has no meaning.
    if !flags.contains(TcpFlags::ACK) {
        return None;
    }
    let closed = window == 0;
    (closed != std::mem::replace(is_closed, closed)).then_some(closed)
}
