//! The knobs of a stack, one table for each part.
//!
//! Rule: a knob is a row of one table; its name, text form, validation and random draw
//! follow from the row. This file adds only the checks that concern several rows.

pub(crate) mod features;
#[cfg(test)]
mod tests;

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use fullpipe_pool::{Duration, Rng, knob_choice, knobs::nearest};
pub use fullpipe_pool::{
    PoolConfig,
    knobs::{
        Contradiction, KnobDisplay, KnobError, KnobInfo, KnobKind, KnobTable, KnobValue,
        ParseChoiceError,
    },
};
pub use fullpipe_tcp::{
    CongestionAlgorithm, EcnMode, MtuProbing, PushPolicy, SegmentSizing, TcpConfig,
};

use crate::presets::alias::{self, ALIASES};

knob_choice! {
    /// Use of SYN cookies: SYN-ACKs for which no state is kept. RFC 4987 §3.6.
    pub enum SynCookieUse ("off, when_full or always") {
        /// Never: a SYN that finds the table of handshakes full is dropped.
        Off = "off",
        /// Only if no handshake can be started: the table of handshakes is full (for all addresses,
        /// or for the peer's address), or packet memory or `half_open_share` cannot back the window
        /// of the new connection.
        WhenFull = "when_full",
        /// Always: no state is kept for any SYN.
        Always = "always",
    }
}

fullpipe_pool::knobs! {
    /// Sizes of the tables, and the work of a turn.
    pub struct StackConfig in "stack" {
        /// Connections at the same time, those in TIME-WAIT excluded. If all are in use, a new
        /// connection replaces the orphan (see `orphans`) that has stalled longest, and this orphan
        /// is reset. If no orphan has stalled but all connections are orphans, the new connection
        /// replaces the oldest orphan.
        connections: u32 = 256, legal 1 => 1_048_576, drawn 1 => 64, "connections";
        /// Connections that are not at rest at the same time. A connection with nothing in flight,
        /// unsent or owed rests in a short record when another one needs its place. If more are busy,
        /// the stack allocates memory for them after construction. 0 stands for `stack.connections`:
        /// no connection rests, and nothing is allocated after construction.
        busy_connections: u32 = 0, legal 0 => 1_048_576, drawn 0 => 4, "connections";
        /// Listening sockets.
        listeners: u32 = 16, legal 0 => 65_536, drawn 1 => 4, "listeners";
        /// Handshakes in progress at listeners: SYNs answered and not yet acknowledged.
        half_open: u32 = 256, legal 1 => 1_048_576, drawn 1 => 16, "connections";
        /// Handshakes in progress from one address. A further SYN is treated as if
        /// `half_open` were reached.
        half_open_per_source: u32 = 64, legal 1 => 1_048_576, drawn 1 => 16, "connections";
        /// Ranges in flight that all connections together track with their send times, in addition
        /// to one range for each connection. If few ranges are left, neighbouring ranges are
        /// merged. 0 stands for one range for each 2 KiB of packet memory, at least 4,096.
        sent_ranges: u32 = 0, legal 0 => 1_048_576, drawn 0 => 256, "pieces";
        /// Ranges in flight that one connection may track. SACK blocks that need more are ignored
        /// until the peer reports them again. 0 stands for one range for each KiB in flight, at
        /// least 1,024.
        sent_ranges_each: u32 = 0, legal 0 => 1_048_576, drawn 1 => 256, "pieces";
        /// Largest share of packet memory that the windows of all handshakes in progress may
        /// reserve. A SYN beyond this share is answered with a SYN cookie if cookies are in use,
        /// and dropped otherwise. If idle connections have cells (`pool.cells`), all handshakes
        /// with a window larger than a cell may together reserve about an eighth of packet memory.
        half_open_share: u32 = 25, legal 1 => 100, drawn 1 => 50, "percent";
        /// Use of SYN cookies. A connection that a cookie opens begins with a receive window of
        /// zero. If the peer offers no timestamps, this connection has no window scale, SACK or
        /// ECN. RFC 4987 §3.6.
        syn_cookies: SynCookieUse = SynCookieUse::WhenFull,
            legal SynCookieUse::Off => SynCookieUse::Always,
            drawn SynCookieUse::Off => SynCookieUse::WhenFull, "";
        /// Established connections that wait to be accepted, for each listener that sets no backlog.
        backlog: u32 = 128, legal 1 => 65_536, drawn 1 => 8, "connections";
        /// Orphans: connections that the application has closed and that the stack finishes. A
        /// further orphan resets the oldest.
        orphans: u32 = 128, legal 0 => 1_048_576, drawn 128 => 256, "connections";
        /// Largest share of packet memory that stalled orphans may use while other connections are
        /// refused memory. Beyond this share, the orphan that has stalled longest is reset. An
        /// orphan is stalled if its peer has acknowledged nothing for `tcp.retries1` timeouts or
        /// probes.
        orphan_share: u32 = 25, legal 1 => 100, drawn 100 => 100, "percent";
        /// Connections in TIME-WAIT. A further connection replaces the oldest.
        time_wait_entries: u32 = 256, legal 0 => 1_048_576, drawn 0 => 16, "connections";
        /// Answers to segments without a connection that wait to be sent: resets, and challenge
        /// ACKs of handshakes, for each interface. The fuller the queue, the fewer new answers it
        /// accepts.
        reset_queue: u32 = 64, legal 1 => 65_536, drawn 8 => 64, "segments";
        /// Resets and challenge ACKs of handshakes to one address in a second, after a burst of
        /// `stack.resets_burst`; 0 sends none.
        resets_per_source: u32 = 10, legal 0 => 1_000_000, drawn 10 => 100, "segments/s";
        /// Resets and challenge ACKs of handshakes to one address at once.
        resets_burst: u32 = 64, legal 1 => 1_000_000, drawn 8 => 64, "segments";
        /// Resets and challenge ACKs of handshakes to all addresses in a second, bursts excluded; 0
        /// sends none. This number divided by `stack.resets_per_source` is the number of addresses
        /// that are counted at the same time (at most 65,536). A further address may get no answer.
        resets_per_second: u32 = 10_000, legal 0 => 10_000_000, drawn 100 => 10_000, "segments/s";
        /// Time that the application has to decide about a SYN, if the listener is deferred
        /// (`ListenOptions::deferred`). After this time, the SYN is forgotten without an answer.
        request_timeout: Duration = Duration::from_secs(60),
            legal Duration::from_millis(1) => Duration::from_secs(3_600),
            drawn Duration::from_secs(60) => Duration::from_secs(60), "";
        /// SYN-ACKs with a cookie that wait to be sent, for each interface.
        cookie_queue: u32 = 64, legal 1 => 65_536, drawn 8 => 64, "segments";
        /// Largest number of frames received, and of frames sent, in one turn (one pass of the
        /// stack: receive, run timers, send).
        turn_budget: u32 = 64, legal 1 => 65_536, drawn 1 => 64, "frames";
        /// Send and receive consecutive segments of a connection together. The packets are the same
        /// with and without bursts; bursts take less processor time.
        bursts: bool = true, legal false => true, drawn false => true, "";
        /// Lowest ephemeral port, for a socket that chooses no port. RFC 6056 §3.2.
        ephemeral_low: u32 = 49_152, legal 1 => 65_535, drawn 40_000 => 50_000, "";
        /// Highest ephemeral port.
        ephemeral_high: u32 = 65_535, legal 1 => 65_535, drawn 50_000 => 65_535, "";
    }
}

fullpipe_pool::knobs! {
    /// The knobs of the trace.
    pub struct TraceConfig in "trace" {
        /// Capacity of the trace ring in records; 0 turns tracing off.
        records: u32 = 0, legal 0 => 16_777_216, drawn 0 => 1_024, "records";
    }
}

fullpipe_pool::knobs! {
    /// The knobs of IP.
    pub struct IpConfig in "ip" {
        /// Time to live of packets sent. RFC 1122 §3.2.1.7.
        ttl: u32 = 64, legal 1 => 255, drawn 1 => 255, "hops";
        /// Addresses of each interface.
        addresses: u32 = 4, legal 1 => 1_024, drawn 1 => 8, "addresses";
        /// Receive packets to every address, not only to addresses of this host (AnyIP). Sockets
        /// may then be bound to any address, and connections keep the address that the peer asked
        /// for. This is for gateways that terminate connections addressed to other hosts.
        accept_any: bool = false, legal false => true, drawn false => false, "";
        /// Deliver packets to this host's own addresses, 127.0.0.0/8 and ::1 to this host itself.
        loopback: bool = false, legal false => true, drawn false => true, "";
        /// Routes, the default route included. Routes to the networks of this host's addresses are
        /// not counted.
        routes: u32 = 8, legal 0 => 1_024, drawn 1 => 8, "routes";
        /// Datagrams in reassembly at the same time; 0 discards fragments.
        reassembly_datagrams: u32 = 16, legal 0 => 1_024, drawn 0 => 8, "datagrams";
        /// Datagrams of one sender in reassembly. A further datagram replaces the sender's oldest.
        reassembly_per_source: u32 = 8, legal 1 => 1_024, drawn 1 => 8, "datagrams";
        /// Separate ranges of one datagram. A datagram with more ranges is dropped.
        reassembly_pieces: u32 = 64, legal 1 => 8_192, drawn 1 => 64, "pieces";
        /// Bytes of packet memory for all datagrams in reassembly, holes included.
        reassembly_bytes: u32 = 262_144, legal 0 => 1_073_741_824, drawn 1_024 => 262_144, "bytes";
        /// Largest payload that is reassembled. A buffer of this size outside the pool
        /// holds the complete datagram.
        reassembly_largest: u32 = 65_515, legal 8 => 65_515, drawn 512 => 65_515, "bytes";
        /// Time after the first fragment at which an incomplete datagram is dropped. RFC
        /// 1122 §3.3.2.
        reassembly_timeout: Duration = Duration::from_secs(30),
            legal Duration::from_millis(1) => Duration::from_secs(600),
            drawn Duration::from_millis(100) => Duration::from_secs(30), "";
        /// Smallest path MTU that is accepted from a router's message; for IPv6 at least 1280.
        path_mtu_min: u32 = 552, legal 68 => 65_535, drawn 68 => 1_280, "bytes";
        /// Configure IPv6 on an Ethernet interface as hosts do: form addresses with the prefixes of
        /// routers, choose a default router, check that no other host has an address before it is
        /// used, report multicast groups to switches. RFC 4861, RFC 4862, RFC 7217, RFC 3810.
        autoconfiguration: bool = false, legal false => true, drawn false => false, "";
        /// With `ip.autoconfiguration`, also form temporary addresses: random ones that change each day
        /// and are preferred for new connections, so that the address does not identify the host.
        /// RFC 8981.
        temporary_addresses: bool = false, legal false => true, drawn false => false, "";
        /// Neighbour solicitations for a new IPv6 address before it is used, a second apart unless
        /// a router announces another interval; 0 sends none. RFC 4862 §5.1
        /// (DupAddrDetectTransmits).
        dad_probes: u32 = 1, legal 0 => 10, drawn 1 => 1, "questions";
    }
}

fullpipe_pool::knobs! {
    /// The knobs of the neighbour cache.
    pub struct ArpConfig in "arp" {
        /// Neighbours in the cache.
        entries: u32 = 64, legal 1 => 65_536, drawn 1 => 16, "neighbours";
        /// Packets that wait for one neighbour's reply. A further packet replaces the oldest.
        queue_packets: u32 = 16, legal 1 => 1_024, drawn 1 => 16, "packets";
        /// Requests without a reply after which a neighbour is unreachable.
        requests: u32 = 3, legal 1 => 255, drawn 1 => 10, "requests";
        /// Time between two requests for one neighbour. RFC 1122 §2.3.2.1 recommends a second.
        request_interval: Duration = Duration::from_secs(1),
            legal Duration::from_millis(1) => Duration::from_secs(60),
            drawn Duration::from_millis(50) => Duration::from_secs(1), "";
        /// Requests sent in a second, for all neighbours together.
        requests_per_second: u32 = 100, legal 1 => 1_000_000, drawn 10 => 1_000, "requests/s";
        /// Time after a reply until the neighbour is probed again.
        reachable_time: Duration = Duration::from_secs(60),
            legal Duration::from_millis(10) => Duration::from_secs(86_400),
            drawn Duration::from_secs(1) => Duration::from_secs(60), "";
        /// Time for which packets to an unreachable neighbour are dropped without a new request.
        failed_time: Duration = Duration::from_secs(1),
            legal Duration::ZERO => Duration::from_secs(3_600),
            drawn Duration::ZERO => Duration::from_secs(3), "";
        /// ARP replies that wait to be sent.
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
        /// Error messages that wait to be sent; 0 sends none. The fuller the queue, the fewer new
        /// messages it accepts.
        errors: u32 = 64, legal 0 => 65_536, drawn 0 => 64, "messages";
        /// Error messages to one address in a second, after a burst of
        /// `icmp.errors_burst`; 0 sends none. RFC 1812 §4.3.2.8.
        errors_per_source: u32 = 1, legal 0 => 1_000_000, drawn 1 => 100, "messages/s";
        /// Error messages to one address at once.
        errors_burst: u32 = 6, legal 1 => 1_000_000, drawn 1 => 16, "messages";
        /// Error messages to all addresses in a second, bursts excluded; 0 sends none. This number
        /// divided by `icmp.errors_per_source` is the number of addresses that are counted at the
        /// same time (at most 65,536). A further address may get no message.
        errors_per_second: u32 = 1_000, legal 0 => 1_000_000, drawn 0 => 1_000, "messages/s";
    }
}

fullpipe_pool::knobs! {
    /// The knobs of UDP.
    pub struct UdpConfig in "udp" {
        /// UDP sockets.
        sockets: u32 = 16, legal 0 => 65_536, drawn 1 => 8, "sockets";
        /// Datagrams received and not yet read, for each socket.
        receive_queue: u32 = 256, legal 1 => 65_536, drawn 1 => 64, "datagrams";
        /// Bytes received and not yet read, for each socket.
        receive_buffer: u32 = 524_288, legal 1 => 1_073_741_824, drawn 1_024 => 524_288, "bytes";
        /// Datagrams written and not yet sent, for each socket and interface.
        send_queue: u32 = 64, legal 1 => 65_536, drawn 1 => 64, "datagrams";
        /// Bytes written and not yet sent, for each socket and interface. A datagram larger than this
        /// cannot be sent.
        send_buffer: u32 = 262_144, legal 1 => 1_073_741_824, drawn 1_024 => 262_144, "bytes";
    }
}

/// Declares [`Config`]: a field for each table.
macro_rules! config {
    ($( $(#[doc = $doc:literal])+ $field:ident: $table:ty, )+) => {
        /// Every knob of a stack.
        ///
        /// Start from [`Config::default`] or a [preset](crate::presets), then
        /// change fields or [`set`](Self::set) them by name.
        /// [`Stack::new`](crate::Stack::new) [validates](Self::validate) it.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Config {
            $( $(#[doc = $doc])+ pub $field: $table, )+
        }

        impl Config {
            /// Returns every knob's row, table by table, in declaration order.
            pub fn rows() -> Vec<KnobInfo> {
                let mut rows = Vec::new();
                $( rows.extend(<$table as KnobTable>::rows()); )+
                rows
            }

            /// Sets the knob called `name` (`tcp.send_buffer`, or an
            /// [alias](crate::presets::alias) of it) from text: `64K`, `200ms`,
            /// `true`, `cubic`.
            ///
            /// # Errors
            /// Fails if the name is unknown, the text is not a value, the value is out of range,
            /// or this build leaves out the feature of the knob and the value is not 0, false or
            /// off. The configuration is then unchanged. The error for an unknown name contains the
            /// most similar known name. Only `validate` detects contradictions.
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
                let Some(knob) = Self::names().position(|known| known == name) else {
                    return Err(unknown(name));
                };
                let before = self.number(knob);
                let (group, field) = name.split_once('.').unwrap_or((name, ""));
                match group {
                    $( <$table as KnobTable>::GROUP => self.$field.set(field, text)?, )+
                    _ => return Err(unknown(name)),
                }
                if self.number(knob) != Some(0) && let Err(missing) = features::check(name) {
                    if let Some(number) = before {
                        self.put_number(knob, number);
                    }
                    return Err(missing);
                }
                Ok(())
            }

            /// Returns the value of the knob called `name` as text that `set`
            /// accepts; `None` for an unknown name.
            pub fn get(&self, name: &str) -> Option<String> {
                let (group, field) = name.split_once('.')?;
                match group {
                    $( <$table as KnobTable>::GROUP => self.$field.get(field), )+
                    _ => None,
                }
            }

            /// Number of knobs.
            pub const COUNT: usize = 0 $( + <$table as KnobTable>::NAMES.len() )+;

            /// Returns the names of all knobs, in the order of [`rows`](Self::rows).
            pub fn names() -> impl Iterator<Item = &'static str> {
                [$( <$table as KnobTable>::NAMES, )+].into_iter().flatten().copied()
            }

            /// Sets the knob at place `knob` of [`names`](Self::names) from a number:
            /// a time in microseconds, a switch as 0 or 1, a choice as its index in the list of
            /// choices. Returns false, and changes nothing, if there is no such knob, the number
            /// is not a legal value, or this build leaves out the feature of the knob and the number
            /// is not 0. Unlike [`set`](Self::set), allocates nothing.
            pub fn set_number(&mut self, knob: usize, number: u64) -> bool {
                let is_missing = |name| features::missing(name).is_some();
                let refused = number != 0 && Self::names().nth(knob).is_some_and(is_missing);
                !refused && self.put_number(knob, number)
            }

            fn put_number(&mut self, knob: usize, number: u64) -> bool {
                let mut row = knob;
                $(
                    let rows = <$table as KnobTable>::NAMES.len();
                    if row < rows {
                        return self.$field.set_number(row, number);
                    }
                    row -= rows;
                )+
                let _ = row;
                false
            }

            /// Returns the value of the knob at place `knob` of [`names`](Self::names) as a number
            /// that `set_number` accepts; `None` if there is no such knob.
            pub fn number(&self, knob: usize) -> Option<u64> {
                let mut row = knob;
                $(
                    let rows = <$table as KnobTable>::NAMES.len();
                    if row < rows {
                        return self.$field.number(row);
                    }
                    row -= rows;
                )+
                let _ = row;
                None
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
    /// The knobs of packet memory.
    pool: PoolConfig,
    /// The knobs of a connection.
    tcp: TcpConfig,
    /// Sizes of tables, and the work of a turn.
    stack: StackConfig,
    /// The knobs of IP: routes, fragments.
    ip: IpConfig,
    /// The knobs of the neighbour cache.
    arp: ArpConfig,
    /// The knobs of ICMP.
    icmp: IcmpConfig,
    /// The knobs of UDP.
    udp: UdpConfig,
    /// The knobs of the trace.
    trace: TraceConfig,
}

/// Smallest number of sent ranges if the knob `stack.sent_ranges` is 0.
const FEWEST_SENT_RANGES: u64 = 4_096;
/// Bytes of packet memory for each sent range if the knob `stack.sent_ranges` is 0: a little more
/// than the payload of a full segment.
const BYTES_PER_SENT_RANGE: u64 = 2 << 10;

/// Smallest number of blocks for the window of a connection (`FEWEST_BLOCKS` of `fullpipe-tcp`).
pub(crate) const FEWEST_WINDOW_BLOCKS: u32 = 2;

impl Config {
    /// Returns the number of sent ranges that all connections share: `stack.sent_ranges`, or a
    /// number that grows with the pool if that knob is 0.
    pub fn sent_range_count(&self) -> u32 {
        let derived = self.pool.bytes() / BYTES_PER_SENT_RANGE;
        match self.stack.sent_ranges {
            0 => derived.clamp(FEWEST_SENT_RANGES, 1 << 20) as u32,
            set => set,
        }
    }

    /// Returns the number of connections that may be busy before the stack allocates more memory:
    /// `stack.busy_connections`, or all connections if that knob is 0.
    pub(crate) fn busy_connections(&self) -> u32 {
        let StackConfig {
            connections,
            busy_connections,
            ..
        } = self.stack;
        match busy_connections {
            0 => connections,
            busy => busy.min(connections),
        }
    }

    /// Returns the number of UDP sockets: `udp.sockets`, or 0 in a build without UDP.
    pub(crate) const fn udp_sockets(&self) -> u32 {
        match cfg!(feature = "udp") {
            true => self.udp.sockets,
            false => 0,
        }
    }

    /// Gives every knob a random value from its simulation range, so that
    /// [`validate`](Self::validate) succeeds.
    pub fn draw(&mut self, rng: &Rng) {
        self.draw_each(rng);
        // Rows are drawn one by one; if two contradict each other, the less important one
        // is lowered.
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
    /// Returns the first knob out of range, or the first contradiction.
    pub fn validate(&self) -> Result<(), KnobError> {
        self.validate_each()?;
        match self.contradiction() {
            Some(why) => Err(KnobError::Contradiction { why }),
            None => Ok(()),
        }
    }

    fn contradiction(&self) -> Option<Contradiction> {
        if let Some(why) = self.pool.contradiction() {
            return Some(Contradiction::Pool(why));
        }
        window_contradiction(&self.pool).or_else(|| self.knob_above_its_bound())
    }

    /// Returns the first knob that is above the knob that bounds it.
    fn knob_above_its_bound(&self) -> Option<Contradiction> {
        let Self { tcp, stack, ip, .. } = self;
        let largest = match ip.reassembly_datagrams {
            0 => 0,
            _ => ip.reassembly_largest,
        };
        let bounds: [Bound; 6] = [
            (
                ("tcp.rto_min", tcp.rto_min.into()),
                ("tcp.rto_max", tcp.rto_max.into()),
                "",
            ),
            (
                ("tcp.rto_initial", tcp.rto_initial.into()),
                ("tcp.rto_max", tcp.rto_max.into()),
                "",
            ),
            (
                ("tcp.retries1", tcp.retries1.into()),
                ("tcp.retries2", tcp.retries2.into()),
                "a connection would be dropped before its next hop is probed",
            ),
            (
                ("tcp.mss_min", tcp.mss_min.into()),
                ("tcp.mss_max", tcp.mss_max.into()),
                "",
            ),
            (
                ("stack.ephemeral_low", stack.ephemeral_low.into()),
                ("stack.ephemeral_high", stack.ephemeral_high.into()),
                "no port is left to choose",
            ),
            (
                ("ip.reassembly_largest", largest.into()),
                ("ip.reassembly_bytes", ip.reassembly_bytes.into()),
                "a datagram of the largest size could never be reassembled",
            ),
        ];
        let above = |(knob, bound, _): &Bound| knob.1.number > bound.1.number;
        let (knob, bound, effect) = bounds.into_iter().find(above)?;
        Some(Contradiction::Above {
            knob,
            bound,
            effect,
        })
    }
}

/// A knob, the knob that bounds it, and the effect of a value above the bound.
type Bound = (
    (&'static str, KnobValue),
    (&'static str, KnobValue),
    &'static str,
);

/// Returns the contradiction of a pool that leaves no receive window to any connection (decision
/// 0003).
fn window_contradiction(pool: &PoolConfig) -> Option<Contradiction> {
    let &PoolConfig {
        blocks,
        send_floor,
        overcommit_percent,
        ..
    } = pool;
    let limit = u64::from(blocks) * u64::from(overcommit_percent) / 100;
    let left = limit.saturating_sub(send_floor.into());
    let window = FEWEST_WINDOW_BLOCKS;
    (left < window.into()).then_some(Contradiction::NoWindow {
        blocks,
        send_floor,
        left,
        window,
        floor_is_enough: limit >= window.into(),
    })
}

/// Returns the error for an unknown name, with the most similar known one.
fn unknown(name: &str) -> KnobError {
    let rows = Config::rows();
    let known = rows.iter().map(|row| row.name.as_str());
    let nearest = nearest(name, known.chain(ALIASES.iter().map(|alias| alias.name)));
    KnobError::Unknown {
        name: name.to_string(),
        nearest: nearest.map(ToString::to_string),
    }
}
