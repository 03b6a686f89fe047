//! Builds connections from the traces of stacks.
//!
//! Rule: each record is read once, in the order of its host's trace. Only these
//! values are derived here: positions in sequence space, outstanding sequence space, the
//! payload charged to each limit, and the times at which the peer's window closed and
//! opened. The two ends of a connection are recognised by their pair of initial sequence
//! numbers.

use std::collections::HashMap;

use fullpipe_tcp::{
    Limit, ReceiveLimit,
    trace::{TraceEvent, TraceRecord},
};
use fullpipe_wire::TcpFlags;

use super::{
    Connection, Endpoint, Host, LinkUsage, Mark, Observed, Segments, episodes::EpisodeLog, lost,
    unwrap::Unwrap,
};

/// An end whose records are still being read.
#[derive(Debug)]
pub(super) struct Open {
    end: Endpoint,
    passive: bool,
    iss: u32,
    irs: u32,
    own: Unwrap,
    peer: Option<Unwrap>,
    snd_una: u64,
    snd_max: u64,
    /// True if this end sent the segment recorded last. The SACK blocks recorded next then
    /// belong to that segment.
    sent_last: bool,
    window_is_closed: bool,
    episodes: EpisodeLog,
}

/// Connections whose records are still being read.
#[derive(Debug, Default)]
pub struct Assembly {
    hosts: Vec<Host>,
    links: Vec<LinkUsage>,
    ends: Vec<Open>,
    /// Index of an end, by its host and its connection number in the host's trace. A stack reuses
    /// numbers, so the index is that of the latest end with this number.
    numbers: HashMap<(usize, u32), usize>,
    forgotten: u64,
}

impl Assembly {
    /// Creates an assembly without records.
    pub fn new(hosts: Vec<Host>, links: Vec<LinkUsage>) -> Self {
        Self {
            hosts,
            links,
            ..Self::default()
        }
    }

    /// The links, so that the caller can add frames to them.
    pub fn links_mut(&mut self) -> &mut [LinkUsage] {
        &mut self.links
    }

    /// Adds a period in which `host`'s processor worked.
    ///
    /// # Panics
    /// Panics if there is no such host.
    pub fn worked(&mut self, host: usize, from_ns: u64, until_ns: u64) {
        self.hosts[host].cpu.add(from_ns, until_ns);
    }

    /// Counts trace records that were overwritten before they were read.
    pub fn forgot(&mut self, records: u64) {
        self.forgotten += records;
    }

    /// Reads the next record of `host`'s trace.
    ///
    /// # Panics
    /// Panics if there is no such host.
    pub fn record(&mut self, host: usize, record: &TraceRecord) {
        let at_ns = record.at.as_nanos();
        if let TraceEvent::Pool {
            holder,
            held,
            promised,
        } = record.event
        {
            let pool = &mut self.hosts[host].pool;
            return pool.push(at_ns, holder as u8, held, promised);
        }
        if let TraceEvent::Opened { passive, iss, irs } = record.event {
            self.numbers
                .insert((host, record.connection), self.ends.len());
            self.ends.push(Open::new(host, at_ns, passive, iss, irs));
            return;
        }
        // Ignore a record whose number is unknown: the trace overwrote the `Opened` record. If an
        // earlier end had the same number, that end gets the record by mistake.
        let place = self.numbers.get(&(host, record.connection));
        if let Some(&place) = place {
            self.ends[place].record(at_ns, record.event);
        }
    }

    /// Returns all facts that were observed until `end_ns`.
    pub fn finish(self, end_ns: u64) -> Observed {
        let mut waiting: Vec<Open> = Vec::new();
        let mut connections = Vec::new();
        let (active, passive): (Vec<_>, Vec<_>) =
            self.ends.into_iter().partition(|end| !end.passive);
        let mut accepted: HashMap<(u32, u32), Open> = HashMap::new();
        for end in passive {
            // If several ends have the same pair of numbers, pair only the latest.
            if let Some(other) = accepted.insert((end.irs, end.iss), end) {
                waiting.push(other);
            }
        }
        for first in active {
            let second = accepted.remove(&(first.iss, first.irs));
            connections.push((first, second));
        }
        waiting.extend(accepted.into_values());
        connections.extend(waiting.into_iter().map(|end| (end, None)));
        connections.sort_by_key(|(first, _)| (first.end.opened_ns, first.end.host, first.iss));
        let mut observed = Observed {
            end_ns,
            hosts: self.hosts,
            links: self.links,
            connections: Vec::new(),
            forgotten: self.forgotten,
        };
        for (first, second) in connections {
            let mut connection = Connection {
                first: first.finish(end_ns),
                second: second.map(|end| end.finish(end_ns)),
            };
            lost::find(&mut connection);
            observed.connections.push(connection);
        }
        observed
    }
}

impl Open {
    /// Creates an end whose first record is from `at_ns`.
    pub(super) fn new(host: usize, at_ns: u64, passive: bool, iss: u32, irs: u32) -> Self {
        let mut end = Endpoint {
            host,
            opened_ns: at_ns,
            ..Endpoint::default()
        };
        end.limits.begin(at_ns, Limit::Handshake as u8);
        end.receive_limits.begin(at_ns, ReceiveLimit::None as u8);
        Self {
            end,
            passive,
            iss,
            irs,
            own: Unwrap::new(iss),
            peer: passive.then(|| Unwrap::new(irs)),
            snd_una: 0,
            snd_max: 0,
            sent_last: false,
            window_is_closed: false,
            episodes: EpisodeLog::default(),
        }
    }

    /// Returns the end, observed until `end_ns`.
    pub(super) fn finish(mut self, end_ns: u64) -> Endpoint {
        self.end.limits.close(end_ns);
        self.end.receive_limits.close(end_ns);
        self.end.episodes = self.episodes.finish(end_ns);
        self.end
    }

    /// Reads the next record of the end.
    pub(super) fn record(&mut self, at_ns: u64, event: TraceEvent) {
        self.episodes.record(at_ns, event);
        let end = &mut self.end;
        match event {
            TraceEvent::SegmentIn {
                flags,
                seq,
                ack,
                window,
                len,
            } => self.received(at_ns, flags, [seq, ack], window, len),
            TraceEvent::SegmentOut {
                flags,
                seq,
                ack,
                window,
                len,
            } => self.sent(at_ns, flags, [seq, ack], window, len),
            TraceEvent::Sack { left, right } => self.sack(at_ns, left, right),
            TraceEvent::Retransmission { .. } => {
                if let Some(status) = end.sent.status.last_mut() {
                    *status |= Segments::RETRANSMITTED;
                }
            }
            TraceEvent::Limit(limit) => end.limits.begin(at_ns, limit as u8),
            TraceEvent::ReceiveLimit(limit) => end.receive_limits.begin(at_ns, limit as u8),
            TraceEvent::Window {
                cwnd,
                ssthresh,
                in_flight,
            } => end.windows.push(at_ns, cwnd, ssthresh, in_flight),
            TraceEvent::Rtt {
                sample_us,
                srtt_us,
                rto_us,
                rttvar_us: _,
            } => end.rtts.push(at_ns, sample_us, srtt_us, rto_us),
            TraceEvent::Discard(reason) => end.marks.push(at_ns, Mark::Discard, reason as u32),
            TraceEvent::Timeout(count) => end.marks.push(at_ns, Mark::Timeout, count),
            TraceEvent::WriterBlocked { asked, taken } => {
                end.marks.push(at_ns, Mark::WriterBlocked, asked - taken);
            }
            TraceEvent::WriterResumed(room) => end.marks.push(at_ns, Mark::WriterResumed, room),
            TraceEvent::MemoryPressure(wanted) => {
                end.marks.push(at_ns, Mark::MemoryPressure, wanted);
            }
            TraceEvent::Opened { .. }
            | TraceEvent::Pool { .. }
            | TraceEvent::Pressure(_)
            | TraceEvent::Recovery(_)
            | TraceEvent::State(_) => {}
        }
    }

    fn sent(&mut self, at_ns: u64, flags: TcpFlags, [seq, ack]: [u32; 2], window: u32, len: u32) {
        let seq = self.own.count(seq);
        let ack = match (&mut self.peer, flags.contains(TcpFlags::ACK)) {
            (Some(peer), true) => peer.count(ack),
            (None, _) | (_, false) => 0,
        };
        let before = self.snd_max;
        self.snd_max = before.max(seq + sequence_space(flags, len));
        // Count only payload: SYN and FIN also occupy sequence space.
        let news = (seq + u64::from(len)).saturating_sub(before.max(1));
        self.end.limits.moved(news.min(u64::from(len)));
        self.sent_last = true;
        let outstanding = self.outstanding();
        self.end
            .sent
            .push(at_ns, seq, len, ack, window, flags.bits(), 0, outstanding);
    }

    fn received(
        &mut self,
        at_ns: u64,
        flags: TcpFlags,
        [seq, ack]: [u32; 2],
        window: u32,
        len: u32,
    ) {
        if self.peer.is_none() && flags.contains(TcpFlags::SYN) {
            self.irs = seq;
            self.peer = Some(Unwrap::new(seq));
        }
        let seq = self.peer.as_mut().map_or(0, |peer| peer.count(seq));
        let has_ack = flags.contains(TcpFlags::ACK);
        let ack = if has_ack { self.own.count(ack) } else { 0 };
        if ack <= self.snd_max {
            self.snd_una = self.snd_una.max(ack);
        }
        let closed = has_ack && window == 0 && !flags.contains(TcpFlags::RST);
        if closed != self.window_is_closed && has_ack {
            let mark = match closed {
                true => Mark::ZeroWindow,
                false => Mark::WindowOpened,
            };
            self.window_is_closed = closed;
            self.end.marks.push(at_ns, mark, window);
        }
        self.sent_last = false;
        let outstanding = self.outstanding();
        self.end
            .received
            .push(at_ns, seq, len, ack, window, flags.bits(), 0, outstanding);
    }

    fn sack(&mut self, at_ns: u64, left: u32, right: u32) {
        if !self.sent_last {
            let (left, right) = (self.own.count(left), self.own.count(right));
            return self.end.sacks_received.push(at_ns, left, right);
        }
        if let Some(peer) = &mut self.peer {
            let (left, right) = (peer.count(left), peer.count(right));
            self.end.sacks_sent.push(at_ns, left, right);
        }
    }

    fn outstanding(&self) -> u32 {
        u32::try_from(self.snd_max - self.snd_una).unwrap_or(u32::MAX)
    }
}

/// Sequence space that a segment occupies.
fn sequence_space(flags: TcpFlags, len: u32) -> u64 {
    u64::from(len)
        + u64::from(flags.contains(TcpFlags::SYN))
        + u64::from(flags.contains(TcpFlags::FIN))
}
