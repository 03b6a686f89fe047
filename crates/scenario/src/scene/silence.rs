//! Connections whose peers fell silent, and the memory that these connections occupy.
//!
//! Rule: a connection's own state decides. Its peer is silent if payload is unacknowledged and
//! nothing arrives from the peer until the stack gives up, or for longer than a live peer would
//! need to answer. A vanished peer and a lost answer are not distinguished.

use fullpipe_pool::{Duration, Instant};
use fullpipe_sim::Stage;
use fullpipe_tcp::{CloseReason, Info, TcpConfig};

use super::{built::Built, ended::Ended};

/// Samples of all connections, taken while a scene runs.
#[derive(Clone, Debug, Default)]
pub struct SilenceNotes {
    /// For each connection: the time at which its peer was last heard from, and the number of
    /// timeouts until then.
    heard: Vec<(Instant, u64)>,
    /// Largest packet memory (blocks of the host's pool), in bytes, used or reserved at one time by
    /// the connections whose peers had been silent for longer than a retransmission timeout.
    held: u64,
}

/// Connections whose peers fell silent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Silence {
    /// Number of connections with a silent peer.
    pub connections: usize,
    /// Number of all connections.
    pub of: usize,
    /// Number of connections whose silent peer had closed its window.
    pub closed: usize,
    /// Index of the host that waits for the silent peers; if there are several such hosts, the
    /// first.
    pub host: usize,
    /// Times at which the first and the last of the silent peers were last heard from, in seconds
    /// from the first call to connect.
    pub heard_s: [f64; 2],
    /// Retransmission timeouts since the peers fell silent.
    pub timeouts: u64,
    /// Probes of windows that the silent peers had closed.
    pub probes: u64,
    /// Largest packet memory that connections with silent peers used or reserved together, in
    /// bytes.
    pub held_bytes: u64,
    /// Sum of the times for which the silent peers were silent, in seconds.
    pub total_s: f64,
    /// Longest time for which one of these peers was silent, in seconds.
    pub longest_s: f64,
    /// Number of connections that the stack has given up.
    pub given_up: usize,
    /// Longest retransmission timeout of the connections with silent peers, without backoff.
    pub rto: Duration,
    /// Connections that found no free packet memory.
    pub waiting: Vec<MemoryWait>,
    /// Sum of the lifetimes of all connections, in seconds.
    pub lifetime_s: f64,
}

/// A connection that found no free packet memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryWait {
    /// Index of the connection's flow.
    pub flow: usize,
    /// Time for which the connection waited, in seconds.
    pub waited_s: f64,
    /// True if the connection was dropped.
    pub is_dropped: bool,
    /// Bytes that the connection delivered nevertheless.
    pub delivered_bytes: u64,
}

/// Longest silence of a live peer: the time of `tcp.retries1` unanswered retransmissions, and of
/// the timeout that follows them. After that number of retransmissions, RFC 1122 §4.2.3.5 reports a
/// problem of the path.
pub fn patience(rto: Duration, config: &TcpConfig) -> Duration {
    rto * timeouts_in_vain(config)
}

/// [`patience`] as a multiple of the first retransmission timeout; each timeout is twice
/// the one before.
pub fn timeouts_in_vain(config: &TcpConfig) -> u32 {
    (2 << config.retries1.min(20)) - 1
}

/// The retransmission timeout without backoff. RFC 6298 §2.
fn first_timeout(info: &Info, config: &TcpConfig) -> Duration {
    if info.srtt.is_zero() {
        return config.rto_initial;
    }
    (info.srtt + (info.rttvar * 4).max(config.rto_min)).min(config.rto_max)
}

impl SilenceNotes {
    /// Samples the memory of every connection, and the time at which its peer was last heard from.
    pub(super) fn note(&mut self, built: &mut Built<'_>) {
        let mut held = 0;
        self.heard.resize(built.flows.len(), Default::default());
        for number in 0..built.flows.len() {
            let plan = built.plan(number);
            let Some(info) = built.facts(number).client.info else {
                continue;
            };
            if info.close_reason.is_some() || info.at != built.world.now() {
                continue;
            }
            let config = &built.setup.hosts[plan.from].config;
            let known = &mut self.heard[number];
            if info.last_received_at != known.0 {
                *known = (info.last_received_at, info.timeouts);
            }
            let silent = info.at.since(info.last_received_at);
            if info.send_queue > 0 && silent >= first_timeout(&info, &config.tcp) {
                let blocks = u64::from(info.send_blocks + info.receive_blocks);
                held += blocks * u64::from(config.pool.block_size);
            }
        }
        self.held = self.held.max(held);
    }

    /// Returns the connections whose peers fell silent, and the connections that found no free
    /// packet memory.
    pub(super) fn silence(&self, built: &Built<'_>, ended: &[Ended<'_>]) -> Option<Silence> {
        let begun = ended
            .iter()
            .map(|end| Instant::ZERO + end.plan.start)
            .min()?;
        let mut silence = Silence {
            of: ended.len(),
            heard_s: [f64::INFINITY, 0.0],
            held_bytes: self.held,
            ..Silence::default()
        };
        let mut is_heard = vec![true; ended.len()];
        for (number, end) in ended.iter().enumerate() {
            let Some(info) = end.facts.client.info.as_deref() else {
                continue;
            };
            silence.lifetime_s += info.age().as_secs_f64();
            let config = &built.setup.hosts[end.plan.from].config.tcp;
            if is_silent(end, info, config) {
                is_heard[number] = false;
                let (_, before) = self.heard.get(number).copied().unwrap_or_default();
                silence.add(end, info, before, begun);
                silence.rto = silence.rto.max(first_timeout(info, config));
            }
        }
        let heard = ended
            .iter()
            .enumerate()
            .filter(|(number, _)| is_heard[*number]);
        silence.waiting = heard
            .filter_map(|(number, end)| waiting(built, number, end))
            .filter(|waiting| built.setup.flows[waiting.flow].from == silence.host)
            .collect();
        (silence.connections > 0).then_some(silence)
    }
}

/// Returns the time for which a connection waited for packet memory, to be opened or to store
/// written payload; `None` if it did not wait.
fn waiting(built: &Built<'_>, number: usize, end: &Ended<'_>) -> Option<MemoryWait> {
    let host = built.world.stack(built.hosts[end.plan.from]);
    let refused = host.tcp_counters().rcvq_drop + host.tcp_counters().ofo_drop > 0;
    let facts = &end.facts;
    let limits = facts.client.info.as_deref().map(|info| &info.limit);
    let time = |limit| {
        let info = facts.client.info.as_deref()?;
        Some(limits?.time_at(limit, info.at).as_secs_f64())
    };
    let opening = match facts.client.stage {
        Stage::NoRoom => Some(0.0),
        Stage::Waiting | Stage::Broken(_) if refused && facts.bytes == 0 => {
            time(fullpipe_tcp::Limit::Handshake)
        }
        Stage::Waiting
        | Stage::Open
        | Stage::Finished
        | Stage::Left
        | Stage::Vanished
        | Stage::Broken(_) => None,
    };
    let writing = time(fullpipe_tcp::Limit::Memory).unwrap_or(0.0);
    (opening.is_some() || writing > 0.0).then(|| MemoryWait {
        flow: built.flows[number].0,
        waited_s: opening.unwrap_or(0.0) + writing,
        is_dropped: matches!(facts.client.stage, Stage::Broken(_) | Stage::NoRoom),
        delivered_bytes: facts.bytes,
    })
}

impl Silence {
    fn add(&mut self, end: &Ended<'_>, info: &Info, before: u64, begun: Instant) {
        if self.connections == 0 {
            self.host = end.plan.from;
        }
        let heard_s = info.last_received_at.since(begun).as_secs_f64();
        let silent_s = info.at.since(info.last_received_at).as_secs_f64();
        self.connections += 1;
        self.closed += usize::from(info.snd_wnd == 0);
        self.heard_s = [self.heard_s[0].min(heard_s), self.heard_s[1].max(heard_s)];
        self.timeouts += info.timeouts.saturating_sub(before);
        self.probes += info.zero_window_probes;
        self.total_s += silent_s;
        self.longest_s = self.longest_s.max(silent_s);
        self.given_up += usize::from(end.facts.client.stage != Stage::Open);
    }
}

/// Returns true if the stack still waits for a peer that has been silent for longer than
/// [`patience`], or gave the peer up after a timeout.
fn is_silent(end: &Ended<'_>, info: &Info, config: &TcpConfig) -> bool {
    let has_tried = info.bytes_sent > 0 && info.timeouts + info.zero_window_probes > 0;
    let silent = info.at.since(info.last_received_at);
    let first = first_timeout(info, config);
    match end.facts.client.stage {
        Stage::Broken(CloseReason::TimedOut) => has_tried && silent >= first,
        Stage::Open => has_tried && info.send_queue > 0 && silent >= patience(first, config),
        Stage::Waiting
        | Stage::Finished
        | Stage::Left
        | Stage::Vanished
        | Stage::Broken(_)
        | Stage::NoRoom => false,
    }
}
