//! The outcome of a flow: the results that experiments and tests compare.
//!
//! Rule: results that the wire shows are taken from the wire. Other results come from the
//! applications or from the stack's [`Info`]. The docs of each field name the source. Facts can be
//! read at any time; reading them changes nothing.

use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::{Info, Limit, ReceiveLimit};

use crate::flow::{FlowId, Side, Stage};
use crate::world::World;

/// The outcome at one end of a flow.
#[derive(Clone, Debug)]
pub struct EndFacts {
    /// The end's progress.
    pub stage: Stage,
    /// Bytes that the end's application wrote.
    pub written: u64,
    /// Bytes that the end's application read; each was verified.
    pub read: u64,
    /// The connection's [`Info`] when the application released the connection; before the release,
    /// the present [`Info`]. `None` if there was no connection.
    pub info: Option<Box<Info>>,
    /// Segments with payload on the wire.
    pub data_segments: u64,
    /// Segments on the wire that begin below the end of payload that was sent earlier.
    pub retransmissions: u64,
    /// Retransmission timeouts, by [`Info`].
    pub timeouts: u64,
    /// Payload of a full segment: the largest that both SYNs and the MTU allow.
    pub full_size: u32,
    /// Segments whose payload is at least the effective segment size: `full_size`, or less if the
    /// stack lowered it. Segments at the end of the stream do not count.
    pub full_sized_segments: u64,
    /// Share of full-sized segments among segments with payload, segments at the end of the stream
    /// excluded; 1 if there are none.
    pub full_sized_share: f64,
    /// Longest time between two segments with payload that the end sent.
    pub longest_data_gap: Duration,
    /// Bytes of payload that the end put on the wire, retransmissions included.
    pub payload_sent: u64,
    /// Bytes of payload that arrived at the end's device more than once.
    pub payload_received_again: u64,
    /// Longest time between two segments with payload that arrived at the end's device.
    pub longest_arrival_gap: Duration,
    /// Time at which the last segment with payload arrived at the end's device.
    pub last_arrival: Option<Instant>,
    /// Longest time between two segments that the end sent, ignoring segments with no more payload
    /// than a zero-window probe.
    pub longest_pause: Duration,
    /// Mean time between the write of a byte and its first transmission.
    pub mean_wait: Duration,
    /// Resets that the end sent.
    pub resets: u64,
    /// Time at which the last reset left.
    pub last_reset: Option<Instant>,
    /// Time at which the end's application read its first byte.
    pub first_read: Option<Instant>,
    /// Time at which the end's application read its last byte.
    pub last_read: Option<Instant>,
    /// Time at which nothing more could happen at this end ([`Stage::is_settled`]).
    pub settled: Option<Instant>,
    /// Largest number of blocks of the host's pool in use at one time.
    pub pool_peak_blocks: u32,
    /// `pool_peak_blocks` in bytes.
    pub pool_peak_bytes: u64,
}

impl EndFacts {
    /// The sender's limits: each limit's share of the connection's lifetime, and
    /// its time. The shares add up to 1.
    pub fn limits(&self) -> Vec<(Limit, f64, Duration)> {
        let Some(info) = &self.info else {
            return Vec::new();
        };
        let age = info.age().as_secs_f64();
        let share = |time: Duration| {
            if age > 0.0 {
                time.as_secs_f64() / age
            } else {
                0.0
            }
        };
        info.limit
            .shares(info.at)
            .map(|(limit, time, _)| (limit, share(time), time))
            .collect()
    }

    /// The receiver's limits: shares and times as in [`limits`](Self::limits).
    pub fn receive_limits(&self) -> Vec<(ReceiveLimit, f64, Duration)> {
        let Some(info) = &self.info else {
            return Vec::new();
        };
        let age = info.age().as_secs_f64();
        let share = |time: Duration| {
            if age > 0.0 {
                time.as_secs_f64() / age
            } else {
                0.0
            }
        };
        let shares = info.receive_limit.shares(info.at);
        shares
            .map(|(limit, time, _)| (limit, share(time), time))
            .collect()
    }
}

/// The outcome of a flow so far.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Bytes that the client wrote and the server read.
    pub bytes: u64,
    /// Planned time at which the client opens the connection.
    pub started: Instant,
    /// Time from the call that opened the connection until the server read the last of
    /// `bytes`.
    pub elapsed: Duration,
    /// `bytes` divided by `elapsed`, in bits per second.
    pub goodput_bps: f64,
    /// Segments that the client retransmitted.
    pub retransmissions: u64,
    /// The client's retransmission timeouts.
    pub timeouts: u64,
    /// The client's share of full-sized segments.
    pub full_sized_share: f64,
    /// Longest time without a frame of either end.
    pub longest_silence: Duration,
    /// The end that opened the connection.
    pub client: EndFacts,
    /// The end that accepted the connection.
    pub server: EndFacts,
}

impl Facts {
    fn of(started: Instant, silence: Duration, client: EndFacts, server: EndFacts) -> Self {
        let last_read = server.last_read;
        let elapsed = last_read.map_or(Duration::ZERO, |last| last.since(started));
        let secs = elapsed.as_secs_f64();
        Self {
            bytes: server.read,
            started,
            elapsed,
            goodput_bps: if secs > 0.0 {
                server.read as f64 * 8.0 / secs
            } else {
                0.0
            },
            retransmissions: client.retransmissions,
            timeouts: client.timeouts,
            full_sized_share: client.full_sized_share,
            longest_silence: silence,
            client,
            server,
        }
    }

    /// Exchanges client and server: the result describes the payload that the server
    /// writes and the client reads.
    #[must_use]
    pub fn turned(self) -> Self {
        Self::of(self.started, self.longest_silence, self.server, self.client)
    }
}

impl World {
    /// The outcome of `flow` so far.
    pub fn facts(&mut self, flow: FlowId) -> Facts {
        let [client, server] = Side::ALL.map(|side| self.end_facts(flow, side));
        let record = self.flow(flow);
        let (started, silence) = (record.started, record.longest_silence);
        Facts::of(started, silence, client, server)
    }

    /// Bytes that the application of one end of `flow` has read so far.
    pub fn bytes_read(&self, flow: FlowId, side: Side) -> u64 {
        self.flow(flow).ends[side.index()].ledger.read
    }

    /// The connection's [`Info`]: the values stored when the connection was released, or the
    /// present values. `None` if there was no connection.
    pub fn info(&mut self, flow: FlowId, side: Side) -> Option<Box<Info>> {
        let now = self.now();
        let own = &self.flow(flow).ends[side.index()];
        if own.info.is_some() || own.stage.is_settled() {
            return own.info.clone();
        }
        let (host, connection) = (own.host, own.connection?);
        self.stack_mut(host)
            .tcp_info(connection, now)
            .ok()
            .map(Box::new)
    }

    fn end_facts(&mut self, flow: FlowId, side: Side) -> EndFacts {
        let info = self.info(flow, side);
        let [own, peer] = [side, side.other()].map(|side| &self.flow(flow).ends[side.index()]);
        let arrivals = &self.flow(flow).arrivals[side.index()];
        let (stack, mtu) = (self.stack(own.host), self.mtu(own.host));
        let full_size = own.meter.full_size(&peer.meter, mtu);
        let effective = info
            .as_ref()
            .map_or(full_size, |info| info.mss.min(full_size));
        let (full, all) = own.meter.full_sized(effective);
        let pool = stack.pool();
        EndFacts {
            stage: own.stage,
            written: own.ledger.written,
            read: own.ledger.read,
            timeouts: info.as_ref().map_or(0, |info| info.timeouts),
            info,
            data_segments: own.meter.data_segments,
            retransmissions: own.meter.retransmitted_segments,
            full_size,
            full_sized_segments: full,
            full_sized_share: if all > 0 {
                full as f64 / all as f64
            } else {
                1.0
            },
            longest_data_gap: own.meter.longest_data_gap,
            payload_sent: own.meter.payload_bytes,
            payload_received_again: arrivals.received_again,
            longest_arrival_gap: arrivals.longest_gap,
            last_arrival: arrivals.last,
            longest_pause: own.meter.longest_pause,
            mean_wait: own.ledger.waits.mean(),
            resets: own.meter.resets,
            last_reset: own.meter.last_reset,
            first_read: own.ledger.first_read,
            last_read: own.ledger.last_read,
            settled: own.settled,
            pool_peak_blocks: pool.peak_blocks(),
            pool_peak_bytes: u64::from(pool.peak_blocks()) * u64::from(pool.block_size()),
        }
    }
}
