//! The knobs of a connection.
//!
//! Rule: one row a knob; see `fullpipe_pool::knobs`. A host has one table, and
//! what an application sets on one socket is kept in that connection's
//! `Tuning`.

use fullpipe_pool::{Duration, knob_choice, knobs};

use crate::{congestion::CongestionAlgorithm, receive::OutOfOrderLimits};

knob_choice! {
    /// Whether connections take part in explicit congestion notification.
    pub enum EcnMode ("off, accept or on") {
        /// Neither asked for nor agreed to.
        Off = "off",
        /// Agreed to when the peer asks.
        Accept = "accept",
        /// Asked for, and agreed to.
        On = "on",
    }
}

knob_choice! {
    /// When it is decided how much text a super-segment carries.
    pub enum SegmentSizing ("transmit or write") {
        /// When it leaves, from the rate of that moment.
        Transmit = "transmit",
        /// When the application writes, from the rate of that moment.
        Write = "write",
    }
}

knob_choice! {
    /// Whether connections find out by probes how long a segment the path carries.
    pub enum MtuProbing ("off, black_hole or always") {
        /// Only routers' messages count.
        Off = "off",
        /// Once timeouts show that long segments vanish without a message.
        BlackHole = "black_hole",
        /// From the start, beginning at `tcp.base_mss`.
        Always = "always",
    }
}

const fn ms(value: u64) -> Duration {
    Duration::from_millis(value)
}

const fn secs(value: u64) -> Duration {
    Duration::from_secs(value)
}

knobs! {
    /// The knobs of a connection. RFC numbers stand in each row.
    pub struct TcpConfig in "tcp" {
        /// Bytes written and not yet acknowledged that a connection may hold.
        send_buffer: u32 = 64 << 10, legal 128 => 1 << 30, drawn 300 => 128 << 10, "bytes";
        /// What the send buffer may grow to: it follows twice the congestion window.
        /// 0, or less than `send_buffer`, leaves it at its size.
        send_buffer_max: u32 = 0, legal 0 => 1 << 30, drawn 0 => 1 << 20, "bytes";
        /// Bytes received and not yet read that a connection may hold; also the
        /// largest window it advertises.
        receive_buffer: u32 = 64 << 10, legal 128 => 1 << 30, drawn 300 => 256 << 10, "bytes";
        /// What the receive buffer may grow to: it follows twice what the application
        /// reads in a round trip. 0, or less than `receive_buffer`, leaves it at its
        /// size. The window scale is chosen for it.
        receive_buffer_max: u32 = 0, legal 0 => 1 << 30, drawn 0 => 1 << 20, "bytes";
        /// Largest part of the packet memory within its reach, in percent, that
        /// one connection's window may reserve: its own blocks against its own
        /// plus the free ones. 100 lets the first connection take everything. Under
        /// pressure buffers that tuned themselves are held to it in both directions.
        window_share: u32 = 50, legal 1 => 100, drawn 25 => 100, "percent";
        /// The same for a connection that has received nothing yet, so that one
        /// that only sends has the memory for it. At least 536 bytes.
        idle_window_share: u32 = 12, legal 1 => 100, drawn 1 => 100, "percent";
        /// Largest segment sent or asked for, whatever the MTU allows: the MSS
        /// clamp.
        mss_max: u32 = 65_495, legal 64 => 65_495, drawn 64 => 9_000, "bytes";
        /// Smallest MSS believed from a peer: smaller ones would make it cheap
        /// to cause work.
        mss_min: u32 = 48, legal 1 => 1_460, drawn 1 => 64, "bytes";
        /// Probe for the path MTU: the way out of paths that drop long packets
        /// without a word. RFC 4821, RFC 8899.
        mtu_probing: MtuProbing = MtuProbing::BlackHole, legal MtuProbing::Off => MtuProbing::Always,
            drawn MtuProbing::Off => MtuProbing::Always, "";
        /// Segments, text and options, that begin the search for the path MTU,
        /// and that take over after `retries1` timeouts of longer ones; further
        /// timeouts halve them.
        base_mss: u32 = 1_024, legal 216 => 65_495, drawn 216 => 1_460, "bytes";
        /// How long a segment that was too large is not tried again. RFC 1191 §6.3.
        probe_interval: Duration = secs(600), legal secs(1) => secs(86_400), drawn secs(1) => secs(600), "";
        /// Where memory, and not the path, bounds what is in flight, segments are
        /// made smaller until an even number of them uses it up, and at least this
        /// many, because a peer that delays its ACKs answers every second one. On
        /// any path at least two fit. 0 or 1 leaves them alone.
        fit_segments: u32 = 8, legal 0 => 16, drawn 0 => 16, "segments";
        /// Offer window scaling. RFC 7323 §2.
        window_scaling: bool = true, legal false => true, drawn false => true, "";
        /// Offer timestamps: round-trip times and old-duplicate checks. RFC 7323 §3.
        timestamps: bool = true, legal false => true, drawn false => true, "";
        /// Offer selective acknowledgments. RFC 2018.
        sack: bool = true, legal false => true, drawn false => true, "";
        /// Separate pieces that one connection may hold behind gaps; a segment
        /// that would make one more is dropped, so that no peer can use up the
        /// ranges that all share.
        holes: u32 = 64, legal 1 => 65_536, drawn 1 => 64, "pieces";
        /// Bytes that one connection may hold behind gaps; what comes beyond is
        /// dropped, and the peer sends it again.
        out_of_order: u32 = 1 << 30, legal 0 => 1 << 30, drawn 0 => 256 << 10, "bytes";
        /// Bytes sent and not yet acknowledged that a connection may have, where
        /// that is less than its send buffer holds.
        unacknowledged: u32 = 1 << 30, legal 128 => 1 << 30, drawn 300 => 1 << 20, "bytes";
        /// Hold less than a segment while data is unacknowledged. RFC 9293 §3.7.4.
        nagle: bool = true, legal false => true, drawn false => true, "";
        /// How long a cork may hold less than a segment; 0 holds it for ever.
        cork_timeout: Duration = ms(200), legal ms(0) => secs(60), drawn ms(1) => ms(500), "";
        /// Longest delay of an ACK; 0 acknowledges at once. RFC 9293 §3.8.6.3.
        delayed_ack: Duration = ms(40), legal ms(0) => ms(500), drawn ms(0) => ms(200), "";
        /// Full segments received that are acknowledged at once, without delay.
        ack_every: u32 = 2, legal 1 => 64, drawn 1 => 4, "segments";
        /// Segments at the start of a connection that are acknowledged at once,
        /// so that the peer's congestion window grows fast.
        quick_acks: u32 = 16, legal 0 => 1_000, drawn 0 => 16, "segments";
        /// Least time by which the retransmission timeout exceeds the smoothed
        /// round trip. RFC 6298 §2.4 asks for 1 s in all; 200 ms is what the field
        /// uses.
        rto_min: Duration = ms(200), legal ms(1) => secs(60), drawn ms(50) => secs(1), "";
        /// Retransmission timeout before the first round-trip time. RFC 6298 §2.1.
        rto_initial: Duration = secs(1), legal ms(1) => secs(60), drawn ms(200) => secs(3), "";
        /// Ceiling of the retransmission timeout and of the probe interval.
        rto_max: Duration = secs(120), legal secs(1) => secs(3_600), drawn secs(4) => secs(120), "";
        /// Timeouts in a row (R1) after which the path is doubted. RFC 9293 §3.8.3.
        retries1: u32 = 3, legal 1 => 255, drawn 1 => 8, "timeouts";
        /// Timeouts or unanswered probes in a row (R2) after which the
        /// connection is dropped, without FIN or RST. RFC 9293 §3.8.3.
        retries2: u32 = 15, legal 1 => 255, drawn 12 => 20, "timeouts";
        /// Like `retries2`, for a connection whose application has closed it. It
        /// counts window probes that are answered, too: a peer that never takes
        /// the rest is not waited for.
        orphan_retries: u32 = 8, legal 1 => 255, drawn 12 => 20, "timeouts";
        /// Like `retries2`, for SYN; 7 is over four minutes. RFC 9293 §3.8.3.
        syn_retries: u32 = 7, legal 1 => 255, drawn 6 => 12, "timeouts";
        /// Like `syn_retries`, for the SYN and ACK of a listener. A peer that
        /// vanished holds what was set aside for its window so long.
        synack_retries: u32 = 7, legal 0 => 255, drawn 3 => 6, "timeouts";
        /// How long a sender waits for a window of a useful size before it sends
        /// into a small one. RFC 9293 §3.8.6.2.1.
        sws_override: Duration = ms(200), legal ms(100) => secs(1), drawn ms(100) => secs(1), "";
        /// Idle time before the first keepalive probe; 0 is off. RFC 9293 §3.8.4.
        keepalive_time: Duration = secs(0), legal secs(0) => secs(86_400), drawn secs(0) => secs(60), "";
        /// Time between keepalive probes.
        keepalive_interval: Duration = secs(75), legal ms(10) => secs(86_400), drawn secs(1) => secs(75), "";
        /// Keepalive probes in a row without an answer that end the connection.
        keepalive_probes: u32 = 9, legal 1 => 255, drawn 6 => 12, "probes";
        /// Longest time data may stay unacknowledged; 0 leaves it to `retries2`.
        /// RFC 5482.
        user_timeout: Duration = secs(0), legal secs(0) => secs(86_400), drawn secs(0) => secs(0), "";
        /// How long a closed connection keeps its ports: 2 MSL. RFC 9293 §3.6.1.
        time_wait: Duration = secs(60), legal ms(0) => secs(240), drawn ms(100) => secs(60), "";
        /// How long FIN-WAIT-2 lasts after the application has closed both ways.
        fin_wait2: Duration = secs(60), legal ms(1) => secs(3_600), drawn secs(10) => secs(60), "";
        /// Segments in the window of a connection that has received nothing yet: a
        /// peer's initial congestion window (RFC 6928). More makes floods dear, and
        /// connections that only send hold the memory they send from.
        initial_receive_window: u32 = 10, legal 1 => 1_000, drawn 1 => 16, "segments";
        /// Initial congestion window. RFC 6928.
        initial_window: u32 = 10, legal 1 => 1_000, drawn 1 => 16, "segments";
        /// Congestion control algorithm of new connections.
        congestion: CongestionAlgorithm = CongestionAlgorithm::Cubic,
            legal CongestionAlgorithm::FIRST => CongestionAlgorithm::LAST,
            drawn CongestionAlgorithm::FIRST => CongestionAlgorithm::LAST, "";
        /// CUBIC leaves slow start when round trips grow longer, before a queue
        /// overflows. HyStart++, RFC 9406.
        hystart: bool = true, legal false => true, drawn false => true, "";
        /// Share of a round trip's bytes that BBR lets be lost before it takes
        /// the path for full; 100 never does.
        bbr_loss_threshold: u32 = 2, legal 1 => 100, drawn 1 => 100, "percent";
        /// Congestion that routers report by marking packets instead of dropping
        /// them. RFC 3168.
        ecn: EcnMode = EcnMode::Accept, legal EcnMode::Off => EcnMode::On,
            drawn EcnMode::Off => EcnMode::On, "";
        /// Spread segments over the round trip instead of sending bursts.
        pacing: bool = true, legal false => true, drawn false => true, "";
        /// Most text that leaves in a second, where pacing is on; 0 leaves it to
        /// congestion control.
        pacing_rate_max: u32 = 0, legal 0 => u32::MAX, drawn 0 => 0, "bytes/s";
        /// When it is decided how much text a frame carries that the device cuts
        /// into segments (transmit or write). Sizing at the write sees the rate
        /// too early and is there to be compared with.
        segment_sizing: SegmentSizing = SegmentSizing::Transmit,
            legal SegmentSizing::Transmit => SegmentSizing::Write,
            drawn SegmentSizing::Transmit => SegmentSizing::Write, "";
        /// Most bytes of one connection that a device may hold unsent, where it
        /// says how many it does; a millisecond of the rate, or two frames if that
        /// is more, is less most of the time. 0 is no limit.
        small_queue: u32 = 1 << 20, legal 0 => 1 << 30, drawn 0 => 1 << 16, "bytes";
        /// Probe for lost tails after two round trips of silence. RFC 8985 §7.
        tail_loss_probe: bool = true, legal false => true, drawn false => true, "";
        /// Take a write whole or not at all, as stacks do that cut segments when
        /// the application writes.
        write_atomic: bool = false, legal false => true, drawn false => false, "";
        /// Shortest time between two challenge ACKs of one connection. RFC 5961 §7.
        challenge_ack_interval: Duration = ms(100), legal ms(0) => secs(60), drawn ms(1) => ms(500), "";
        /// What a send buffer that does not tune itself counts at most, whatever it
        /// was set to. One that does is bounded by `send_buffer_max` alone.
        send_buffer_limit: u32 = 1 << 30, legal 128 => 1 << 30, drawn 64 << 10 => 1 << 30, "bytes";
        /// The same for the receive buffer.
        receive_buffer_limit: u32 = 1 << 30, legal 128 => 1 << 30, drawn 64 << 10 => 1 << 30, "bytes";
        /// Part of the send buffer that text may have. The rest is for the
        /// descriptions of its packets, where a system counts those, too. 128 bytes
        /// are for text in any case.
        send_text_share: u32 = 100, legal 1 => 100, drawn 25 => 100, "percent";
        /// The same for the receive buffer: the part of it that is window.
        receive_text_share: u32 = 100, legal 1 => 100, drawn 25 => 100, "percent";
        /// Without Nagle, use up the peer's window to its last byte, in a segment that
        /// is not full; a window smaller than a segment is still waited for.
        /// RFC 9293 §3.8.6.2.1 would keep the rest.
        use_up_window: bool = false, legal false => true, drawn false => true, "";
        /// Let the receive buffer grow to `receive_buffer_max`.
        receive_tuning: bool = true, legal false => true, drawn true => true, "";
    }
}

impl TcpConfig {
    /// What a connection may keep of text that arrived ahead of its turn.
    pub(crate) const fn out_of_order_limits(&self) -> OutOfOrderLimits {
        OutOfOrderLimits {
            pieces: self.holes,
            bytes: self.out_of_order,
        }
    }
}
