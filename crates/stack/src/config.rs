//! The knobs of a whole stack, one table for each part.
//!
//! Rule: a knob is a row in one of the tables; names, text forms, validation
//! and random draws follow from the row. What is written out here is only what
//! no row can say alone: which knobs contradict each other.

#[cfg(test)]
mod tests;

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use fullpipe_pool::{Duration, Rng, knob_choice, knobs::nearest};
pub use fullpipe_pool::{
    PoolConfig,
    knobs::{KnobError, KnobInfo, KnobTable},
};
pub use fullpipe_tcp::{CongestionAlgorithm, EcnMode, MtuProbing, SegmentSizing, TcpConfig};

use crate::presets::alias::{self, ALIASES};

knob_choice! {
    /// When a listener answers a SYN without remembering it.
    pub enum SynCookieUse ("off, when_full or always") {
        /// Never: a SYN that finds no room is dropped.
        Off = "off",
        /// When the SYN finds no room, or no memory for its window.
        WhenFull = "when_full",
        /// Always: no SYN is remembered.
        Always = "always",
    }
}

fullpipe_pool::knobs! {
    /// How many of each thing the stack can hold, and how much it does in a turn.
    pub struct StackConfig in "stack" {
        /// Connections that exist at the same time, those in TIME-WAIT not counted.
        connections: u32 = 256, legal 1 => 1_048_576, drawn 1 => 64, "connections";
        /// Listening sockets.
        listeners: u32 = 16, legal 0 => 65_536, drawn 1 => 4, "listeners";
        /// Connections whose handshake a listener has begun to answer.
        half_open: u32 = 256, legal 1 => 1_048_576, drawn 1 => 16, "connections";
        /// The same from one address; what it asks for beyond is treated as if
        /// there were no room.
        half_open_per_source: u32 = 64, legal 1 => 1_048_576, drawn 1 => 16, "connections";
        /// Pieces of what is in flight, with their send times and fates, that all
        /// connections remember together, besides one each. When they run out
        /// pieces are merged.
        sent_ranges: u32 = 4_096, legal 0 => 1_048_576, drawn 0 => 256, "pieces";
        /// The same that one connection may have; what its peer reports beyond is
        /// forgotten, and reported again.
        sent_ranges_each: u32 = 1_024, legal 1 => 1_048_576, drawn 1 => 256, "pieces";
        /// Largest part of packet memory that the windows of half-open
        /// connections may promise together; a SYN that would promise more is
        /// dropped.
        half_open_share: u32 = 25, legal 1 => 100, drawn 1 => 50, "percent";
        /// When a SYN is answered with a cookie instead of being remembered. The
        /// connection then begins with a window of zero, and without window scale,
        /// SACK and ECN where the peer offers no timestamps. RFC 4987 §3.6.
        syn_cookies: SynCookieUse = SynCookieUse::WhenFull,
            legal SynCookieUse::Off => SynCookieUse::Always,
            drawn SynCookieUse::Off => SynCookieUse::WhenFull, "";
        /// Established connections that wait to be accepted, for each listener that does not say otherwise.
        backlog: u32 = 128, legal 1 => 65_536, drawn 1 => 8, "connections";
        /// Connections that finish alone after their application has closed them;
        /// one more, and the oldest is reset.
        orphans: u32 = 128, legal 0 => 1_048_576, drawn 128 => 256, "connections";
        /// Largest part of packet memory that those of them may hold together whose
        /// peers have taken nothing for `tcp.retries1` timeouts or probes, while
        /// others are refused memory; beyond it the first of them is reset.
        orphan_share: u32 = 25, legal 1 => 100, drawn 100 => 100, "percent";
        /// Connections in TIME-WAIT that are remembered; the oldest is forgotten first.
        time_wait_entries: u32 = 256, legal 0 => 1_048_576, drawn 0 => 16, "connections";
        /// Frames received, and frames sent, before a turn ends.
        turn_budget: u32 = 64, legal 1 => 65_536, drawn 1 => 64, "frames";
        /// Lowest port chosen for a socket that names none. RFC 6056 §3.2.
        ephemeral_low: u32 = 49_152, legal 1 => 65_535, drawn 40_000 => 50_000, "";
        /// Highest port chosen for a socket that names none.
        ephemeral_high: u32 = 65_535, legal 1 => 65_535, drawn 50_000 => 65_535, "";
    }
}

fullpipe_pool::knobs! {
    /// What is recorded of what happens.
    pub struct TraceConfig in "trace" {
        /// Records that the trace ring holds; 0 turns tracing off.
        records: u32 = 0, legal 0 => 16_777_216, drawn 0 => 1_024, "records";
    }
}

fullpipe_pool::knobs! {
    /// The knobs of IP.
    pub struct IpConfig in "ip" {
        /// Hops that a packet may take. RFC 1122 §3.2.1.7.
        ttl: u32 = 64, legal 1 => 255, drawn 1 => 255, "hops";
        /// Routes besides the one to the local network, the default included.
        routes: u32 = 8, legal 0 => 1_024, drawn 1 => 8, "routes";
        /// Datagrams being put together from fragments at the same time; 0 refuses fragments.
        reassembly_datagrams: u32 = 16, legal 0 => 1_024, drawn 0 => 8, "datagrams";
        /// The same from one sender; one more, and its oldest is given up.
        reassembly_per_source: u32 = 8, legal 1 => 1_024, drawn 1 => 8, "datagrams";
        /// Separate pieces of one datagram; with one more it is given up.
        reassembly_pieces: u32 = 64, legal 1 => 8_192, drawn 1 => 64, "pieces";
        /// Bytes that all datagrams being put together may take from the pool, holes included.
        reassembly_bytes: u32 = 262_144, legal 0 => 1_073_741_824, drawn 1_024 => 262_144, "bytes";
        /// Largest payload put together from fragments. A buffer of this size is set aside beside the pool, for handing the result up in one piece.
        reassembly_largest: u32 = 65_515, legal 8 => 65_515, drawn 512 => 65_515, "bytes";
        /// How long the rest of a datagram is waited for after its first fragment. RFC 1122 §3.3.2.
        reassembly_timeout: Duration = Duration::from_secs(30),
            legal Duration::from_millis(1) => Duration::from_secs(600),
            drawn Duration::from_millis(100) => Duration::from_secs(30), "";
        /// Smallest path MTU that a router's message is believed about.
        path_mtu_min: u32 = 552, legal 68 => 65_535, drawn 68 => 1_280, "bytes";
    }
}

fullpipe_pool::knobs! {
    /// The knobs of the neighbour cache.
    pub struct ArpConfig in "arp" {
        /// Neighbours remembered at the same time.
        entries: u32 = 64, legal 1 => 65_536, drawn 1 => 16, "neighbours";
        /// Packets that wait for one neighbour's answer; the oldest makes room for the newest.
        queue_packets: u32 = 16, legal 1 => 1_024, drawn 1 => 16, "packets";
        /// Requests sent before a neighbour is given up.
        requests: u32 = 3, legal 1 => 255, drawn 1 => 10, "requests";
        /// Time between two requests for the same neighbour. RFC 1122 §2.3.2.1 asks for a second.
        request_interval: Duration = Duration::from_secs(1),
            legal Duration::from_millis(1) => Duration::from_secs(60),
            drawn Duration::from_millis(50) => Duration::from_secs(1), "";
        /// Requests sent in a second for all neighbours together.
        requests_per_second: u32 = 100, legal 1 => 1_000_000, drawn 10 => 1_000, "requests/s";
        /// How long an answer is good before the neighbour is asked again.
        reachable_time: Duration = Duration::from_secs(60),
            legal Duration::from_millis(10) => Duration::from_secs(86_400),
            drawn Duration::from_secs(1) => Duration::from_secs(60), "";
        /// How long packets to a neighbour that did not answer are refused at once.
        failed_time: Duration = Duration::from_secs(1),
            legal Duration::ZERO => Duration::from_secs(3_600),
            drawn Duration::ZERO => Duration::from_secs(3), "";
        /// Replies that wait to be sent.
        replies: u32 = 16, legal 1 => 65_536, drawn 1 => 16, "replies";
    }
}

fullpipe_pool::knobs! {
    /// The knobs of ICMP.
    pub struct IcmpConfig in "icmp" {
        /// Echo replies that wait to be sent; 0 answers no echo request.
        echo_replies: u32 = 32, legal 0 => 65_536, drawn 0 => 16, "replies";
        /// Bytes of echo data that wait to be sent.
        echo_bytes: u32 = 65_536, legal 0 => 16_777_216, drawn 256 => 65_536, "bytes";
        /// Error messages that wait to be sent.
        errors: u32 = 16, legal 0 => 65_536, drawn 0 => 16, "messages";
        /// Error messages sent in a second; 0 sends none. RFC 1812 §4.3.2.8.
        errors_per_second: u32 = 100, legal 0 => 1_000_000, drawn 0 => 1_000, "messages/s";
    }
}

fullpipe_pool::knobs! {
    /// The knobs of UDP.
    pub struct UdpConfig in "udp" {
        /// UDP sockets open at the same time.
        sockets: u32 = 16, legal 0 => 65_536, drawn 1 => 8, "sockets";
        /// Datagrams received and not yet read, for each socket.
        receive_queue: u32 = 256, legal 1 => 65_536, drawn 1 => 64, "datagrams";
        /// Bytes received and not yet read, for each socket.
        receive_buffer: u32 = 524_288, legal 1 => 1_073_741_824, drawn 1_024 => 524_288, "bytes";
        /// Datagrams written and not yet sent, for each socket.
        send_queue: u32 = 64, legal 1 => 65_536, drawn 1 => 64, "datagrams";
        /// Bytes written and not yet sent, for each socket. No larger datagram can be sent.
        send_buffer: u32 = 262_144, legal 1 => 1_073_741_824, drawn 1_024 => 262_144, "bytes";
    }
}

/// Declares [`Config`]: a field for each table.
macro_rules! config {
    ($( $(#[doc = $doc:literal])+ $field:ident: $table:ty, )+) => {
        /// Every knob of a stack. Start from [`Config::default`] or a
        /// [preset](crate::presets), change fields or [`set`](Self::set) them
        /// by name, then [`validate`](Self::validate).
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Config {
            $( $(#[doc = $doc])+ pub $field: $table, )+
        }

        impl Config {
            /// Every knob's row, table by table, in declaration order.
            pub fn rows() -> Vec<KnobInfo> {
                let mut rows = Vec::new();
                $( rows.extend(<$table as KnobTable>::rows()); )+
                rows
            }

            /// Sets the knob called `name` (`tcp.send_buffer`, or an
            /// [alias](crate::presets::alias) of it) from text.
            ///
            /// # Errors
            /// An unknown name (with the nearest known one), a text that is no
            /// value, a value out of range. The configuration is then
            /// unchanged. Contradictions are left to `validate`.
            pub fn set(&mut self, name: &str, text: &str) -> Result<(), KnobError> {
                if let Some(alias) = alias::find(name) {
                    let mut changed = self.clone();
                    for (knob, value) in alias.knobs().zip(alias.values(text)?) {
                        changed.set(knob, &value)?;
                    }
                    *self = changed;
                    return Ok(());
                }
                if let Some(known) = alias::find_not_expressible(name) {
                    return Err(known.refusal());
                }
                let (group, field) = name.split_once('.').unwrap_or((name, ""));
                let outcome = match group {
                    $( <$table as KnobTable>::GROUP => self.$field.set(field, text), )+
                    _ => Err(KnobError::Unknown { name: name.to_string(), nearest: None }),
                };
                outcome.map_err(|error| match error {
                    KnobError::Unknown { .. } => unknown(name),
                    KnobError::NotAValue { .. }
                    | KnobError::OutOfRange { .. }
                    | KnobError::Contradiction { .. } => error,
                })
            }

            /// The value of the knob called `name`, as `set` would read it.
            pub fn get(&self, name: &str) -> Option<String> {
                let (group, field) = name.split_once('.')?;
                match group {
                    $( <$table as KnobTable>::GROUP => self.$field.get(field), )+
                    _ => None,
                }
            }

            fn draw_each(&mut self, rng: &Rng) {
                $( KnobTable::draw(&mut self.$field, rng); )+
            }

            fn validate_each(&self) -> Result<(), KnobError> {
                $( KnobTable::validate(&self.$field)?; )+
                Ok(())
            }
        }
    };
}

config! {
    /// Packet memory.
    pool: PoolConfig,
    /// Connections.
    tcp: TcpConfig,
    /// Counts and budgets.
    stack: StackConfig,
    /// Routes, fragments.
    ip: IpConfig,
    /// Neighbours.
    arp: ArpConfig,
    /// Echo and errors.
    icmp: IcmpConfig,
    /// Datagram sockets.
    udp: UdpConfig,
    /// The trace ring.
    trace: TraceConfig,
}

impl Config {
    /// Gives every knob a random value from its simulation range, such that
    /// [`validate`](Self::validate) holds.
    pub fn draw(&mut self, rng: &Rng) {
        self.draw_each(rng);
        // Rows are drawn one by one; what several rows must agree on is
        // settled by lowering the one that is easier to do without.
        let pool = &mut self.pool;
        pool.send_floor = pool.send_floor.min(pool.blocks / 2);
        pool.receive_floor = pool.receive_floor.min(pool.blocks / 2);
        self.ip.reassembly_largest = self
            .ip
            .reassembly_largest
            .min(self.ip.reassembly_bytes)
            .max(8);
        self.ip.reassembly_bytes = self.ip.reassembly_bytes.max(self.ip.reassembly_largest);
    }

    /// Checks every knob against its range, and the knobs against each other.
    ///
    /// # Errors
    /// The first knob out of range, or a contradiction in words.
    pub fn validate(&self) -> Result<(), KnobError> {
        self.validate_each()?;
        match self.contradiction() {
            Some(why) => Err(KnobError::Contradiction { why }),
            None => Ok(()),
        }
    }

    fn contradiction(&self) -> Option<String> {
        if let Some(why) = self.pool.contradiction() {
            return Some(format!("pool: {why}"));
        }
        if let Some(why) = tcp_contradiction(&self.tcp) {
            return Some(why);
        }
        let StackConfig {
            ephemeral_low,
            ephemeral_high,
            ..
        } = self.stack;
        if ephemeral_low > ephemeral_high {
            return Some(format!(
                "stack.ephemeral_low = {ephemeral_low} is above stack.ephemeral_high = \
                 {ephemeral_high}: no port is left to choose"
            ));
        }
        let IpConfig {
            reassembly_datagrams,
            reassembly_bytes,
            reassembly_largest,
            ..
        } = self.ip;
        if reassembly_datagrams > 0 && reassembly_largest > reassembly_bytes {
            return Some(format!(
                "ip.reassembly_largest = {reassembly_largest} is above ip.reassembly_bytes = \
                 {reassembly_bytes}: such a datagram could never be put together"
            ));
        }
        None
    }
}

/// What no timer or segment could obey.
fn tcp_contradiction(tcp: &TcpConfig) -> Option<String> {
    let TcpConfig {
        rto_min,
        rto_initial,
        rto_max,
        retries1,
        retries2,
        mss_min,
        mss_max,
        ..
    } = tcp;
    if rto_min > rto_max {
        return Some(format!(
            "tcp.rto_min = {rto_min} is above tcp.rto_max = {rto_max}"
        ));
    }
    if rto_initial > rto_max {
        return Some(format!(
            "tcp.rto_initial = {rto_initial} is above tcp.rto_max = {rto_max}"
        ));
    }
    if retries1 > retries2 {
        return Some(format!(
            "tcp.retries1 = {retries1} is above tcp.retries2 = {retries2}: a connection would be \
             given up before its route is doubted"
        ));
    }
    if mss_min > mss_max {
        return Some(format!(
            "tcp.mss_min = {mss_min} is above tcp.mss_max = {mss_max}"
        ));
    }
    None
}

/// The error for a name that no row has, with the nearest that some row has.
fn unknown(name: &str) -> KnobError {
    let rows = Config::rows();
    let known = rows.iter().map(|row| row.name.as_str());
    let nearest = nearest(name, known.chain(ALIASES.iter().map(|alias| alias.name)));
    KnobError::Unknown {
        name: name.to_string(),
        nearest: nearest.map(ToString::to_string),
    }
}
