//! The knobs of a connection.
//!
//! Rule: each knob is one row; see `fullpipe_pool::knobs`. A host has one table. Settings that an
//! application makes on one socket are kept in that connection's `Tuning`.

use fullpipe_pool::{Duration, knob_choice, knobs};

use crate::congestion::CongestionAlgorithm;

knob_choice! {
    /// Use of explicit congestion notification.
    pub enum EcnMode ("off, accept or on") {
        /// ECN is neither requested nor accepted.
        Off = "off",
        /// ECN is accepted when the peer requests it.
        Accept = "accept",
        /// ECN is requested and accepted.
        On = "on",
    }
}

knob_choice! {
    /// Time at which the size of a super-segment, which the device cuts into segments, is decided.
    pub enum SegmentSizing ("transmit or write") {
        /// At transmit, from the rate at that time.
        Transmit = "transmit",
        /// At the write, from the rate at that time.
        Write = "write",
    }
}

knob_choice! {
    /// Use of probes to find the path MTU.
    pub enum MtuProbing ("off, black_hole or always") {
        /// No probes: only packet-too-big messages count.
        Off = "off",
        /// Probes start once timeouts show that long segments are dropped
        /// without a message.
        BlackHole = "black_hole",
        /// Probes start at once, from `tcp.base_mss`.
        Always = "always",
    }
}

knob_choice! {
    /// Segments that carry PSH.
    pub enum PushPolicy ("write, drained, every or never") {
        /// A segment that ends a write or leaves nothing unsent, and the first segment that ends
        /// more than half of the peer's largest window beyond the last PSH.
        Write = "write",
        /// A segment that leaves nothing unsent.
        Drained = "drained",
        /// Every segment with payload.
        Every = "every",
        /// No segment.
        Never = "never",
    }
}

const fn ms(value: u64) -> Duration {
    Duration::from_millis(value)
}

const fn secs(value: u64) -> Duration {
    Duration::from_secs(value)
}

knobs! {
    /// The knobs of a connection. A row cites its RFC if there is one.
    pub struct TcpConfig in "tcp" {
        /// Bytes written and not yet acknowledged that a connection may buffer.
        send_buffer: u32 = 64 << 10, legal 128 => 1 << 30, drawn 300 => 128 << 10, "bytes";
        /// Size to which the send buffer may grow: it grows to twice the congestion
        /// window. 0, or less than `send_buffer`, keeps it at `send_buffer`.
        send_buffer_max: u32 = 0, legal 0 => 1 << 30, drawn 0 => 1 << 20, "bytes";
        /// Bytes received and not yet read that a connection may buffer; also the largest window
        /// that it advertises.
        receive_buffer: u32 = 64 << 10, legal 128 => 1 << 30, drawn 300 => 256 << 10, "bytes";
        /// Size to which the receive buffer may grow: it grows to twice the bytes that
        /// the application reads in a round trip. 0, or less than `receive_buffer`, keeps
        /// it at `receive_buffer`. The window scale is chosen for this size.
        receive_buffer_max: u32 = 0, legal 0 => 1 << 30, drawn 0 => 1 << 20, "bytes";
        /// Largest share of memory that one connection's receive window may reserve, in percent of
        /// the blocks that are free, or already used or reserved by this connection. 100 lets the
        /// first connection take all memory. Under pressure, this share also bounds send and receive
        /// buffers that have grown.
        window_share: u32 = 50, legal 1 => 100, drawn 25 => 100, "percent";
        /// As `window_share`, for a connection that has received nothing yet. A small share leaves
        /// memory for send buffers. The window is at least 536 bytes.
        idle_window_share: u32 = 12, legal 1 => 100, drawn 1 => 100, "percent";
        /// Largest segment sent, and largest MSS offered to a peer, at any MTU (MSS clamping).
        mss_max: u32 = 65_495, legal 64 => 65_495, drawn 64 => 9_000, "bytes";
        /// Smallest MSS accepted from a peer. A smaller MSS would let a peer cause many
        /// packets with few bytes.
        mss_min: u32 = 48, legal 1 => 1_460, drawn 1 => 64, "bytes";
        /// Probing for the path MTU. Probes also find the path MTU on paths that drop long packets
        /// without an ICMP message. RFC 4821, RFC 8899.
        mtu_probing: MtuProbing = MtuProbing::BlackHole, legal MtuProbing::Off => MtuProbing::Always,
            drawn MtuProbing::Off => MtuProbing::Always, "";
        /// Segment size (payload and options) at which the search for the path MTU starts. After
        /// `retries1` timeouts of longer segments, the segment size is reduced to this value;
        /// further timeouts halve the size.
        base_mss: u32 = 1_024, legal 216 => 65_495, drawn 216 => 1_460, "bytes";
        /// Time after which a segment size that was too large is tried again. RFC 1191
        /// §6.3.
        probe_interval: Duration = secs(600), legal secs(1) => secs(86_400), drawn secs(1) => secs(600), "";
        /// Smallest number of segments into which a full buffer is divided if memory, and not the
        /// path, bounds the bytes in flight. Segments get smaller until an even number of them
        /// fills the buffer, because a peer that delays its ACKs answers every second segment. 0 or
        /// 1 leaves the segment size unchanged.
        fit_segments: u32 = 8, legal 0 => 16, drawn 0 => 16, "segments";
        /// Offer window scaling. RFC 7323 §2.
        window_scaling: bool = true, legal false => true, drawn false => true, "";
        /// Offer timestamps, which measure round-trip times and detect old duplicates. RFC 7323 §3.
        timestamps: bool = true, legal false => true, drawn false => true, "";
        /// Offer selective acknowledgments. RFC 2018.
        sack: bool = true, legal false => true, drawn false => true, "";
        /// Separate ranges of out-of-order payload that one connection may have. A segment that
        /// needs a further range is dropped, so that no peer can use up the ranges that all
        /// connections share. 0 means one range for each 4 KiB that the receive buffer may grow to,
        /// but at least 64.
        holes: u32 = 0, legal 0 => 65_536, drawn 1 => 64, "pieces";
        /// Bytes of out-of-order payload that one connection may buffer. Further out-of-order
        /// payload is dropped, and the peer retransmits it.
        out_of_order: u32 = 1 << 30, legal 0 => 1 << 30, drawn 0 => 256 << 10, "bytes";
        /// Largest number of bytes that a connection may have sent without an acknowledgment. If
        /// the send buffer is smaller, the send buffer is the bound.
        unacknowledged: u32 = 1 << 30, legal 128 => 1 << 30, drawn 300 => 1 << 20, "bytes";
        /// Delay a partial segment while data is unacknowledged. RFC 9293 §3.7.4.
        nagle: bool = true, legal false => true, drawn false => true, "";
        /// Segments that carry PSH, which asks the receiver to deliver at once. `write`, as Linux:
        /// a segment that ends a write or leaves nothing unsent, and the first segment that ends
        /// more than half of the peer's largest window after the last PSH. `drained`: a segment
        /// that leaves nothing unsent. `every`: all segments with payload. `never` is for
        /// comparison; RFC 9293 §3.9.1.2 forbids it. This stack ignores a received PSH, but a
        /// device that merges frames ends the merged frame at a PSH.
        push: PushPolicy = PushPolicy::Write, legal PushPolicy::Write => PushPolicy::Never,
            drawn PushPolicy::Write => PushPolicy::Never, "";
        /// Longest time for which a cork (Linux: TCP_CORK) delays a partial segment; 0 is
        /// unlimited.
        cork_timeout: Duration = ms(200), legal ms(0) => secs(60), drawn ms(1) => ms(500), "";
        /// Longest delay of an ACK; 0 acknowledges every segment at once. RFC
        /// 9293 §3.8.6.3.
        delayed_ack: Duration = ms(40), legal ms(0) => ms(500), drawn ms(0) => ms(200), "";
        /// Number of unacknowledged full segments that triggers an ACK without delay.
        ack_every: u32 = 2, legal 1 => 64, drawn 1 => 4, "segments";
        /// Segments at the start of a connection that are acknowledged at once,
        /// so that the peer's congestion window grows fast.
        quick_acks: u32 = 16, legal 0 => 1_000, drawn 0 => 16, "segments";
        /// Smallest difference between the retransmission timeout and the smoothed round-trip time.
        /// RFC 6298 §2.4 recommends a timeout of at least 1 s; 200 ms is common practice.
        rto_min: Duration = ms(200), legal ms(1) => secs(60), drawn ms(50) => secs(1), "";
        /// Retransmission timeout before the first round-trip time sample. RFC
        /// 6298 §2.1.
        rto_initial: Duration = secs(1), legal ms(1) => secs(60), drawn ms(200) => secs(3), "";
        /// Largest retransmission timeout and window probe interval.
        rto_max: Duration = secs(120), legal secs(1) => secs(3_600), drawn secs(4) => secs(120), "";
        /// Consecutive timeouts (R1) after which the next hop is resolved anew.
        /// RFC 9293 §3.8.3.
        retries1: u32 = 3, legal 1 => 255, drawn 1 => 8, "timeouts";
        /// Consecutive timeouts or unanswered probes (R2) after which the
        /// connection is dropped, without FIN or RST. RFC 9293 §3.8.3.
        retries2: u32 = 15, legal 1 => 255, drawn 12 => 20, "timeouts";
        /// As `retries2`, for a connection that its application has closed. Answered window probes
        /// count too, so that the connection does not wait for a peer that never opens its window.
        orphan_retries: u32 = 8, legal 1 => 255, drawn 12 => 20, "timeouts";
        /// As `retries2`, for a SYN; 7 timeouts take over four minutes. RFC 9293 §3.8.3.
        syn_retries: u32 = 7, legal 1 => 255, drawn 6 => 12, "timeouts";
        /// As `syn_retries`, for a listener's SYN-ACK. Until the last timeout, the memory for the
        /// window of a vanished peer stays reserved.
        synack_retries: u32 = 7, legal 0 => 255, drawn 3 => 6, "timeouts";
        /// Time for which a sender waits for a window of a useful size before
        /// it sends into a small one. RFC 9293 §3.8.6.2.1.
        sws_override: Duration = ms(200), legal ms(100) => secs(1), drawn ms(100) => secs(1), "";
        /// Idle time before the first keepalive probe; 0 is off. RFC 9293 §3.8.4.
        keepalive_time: Duration = secs(0), legal secs(0) => secs(86_400), drawn secs(0) => secs(60), "";
        /// Time between keepalive probes.
        keepalive_interval: Duration = secs(75), legal ms(10) => secs(86_400), drawn secs(1) => secs(75), "";
        /// Keepalive probes in a row without an answer that end the connection.
        keepalive_probes: u32 = 9, legal 1 => 255, drawn 6 => 12, "probes";
        /// Longest time for which data may stay unacknowledged before the connection is dropped;
        /// with 0, only `retries2` limits this time. RFC 5482.
        user_timeout: Duration = secs(0), legal secs(0) => secs(86_400), drawn secs(0) => secs(0), "";
        /// Time for which a closed connection keeps its ports: 2 MSL. RFC 9293
        /// §3.6.1.
        time_wait: Duration = secs(60), legal ms(0) => secs(240), drawn ms(100) => secs(60), "";
        /// Longest time in FIN-WAIT-2 after the application has closed both
        /// directions.
        fin_wait2: Duration = secs(60), legal ms(1) => secs(3_600), drawn secs(10) => secs(60), "";
        /// Segments in the window of a connection that has received nothing yet. The default is the
        /// initial congestion window of a peer (RFC 6928). A larger value lets SYN floods and
        /// connections that only send reserve more memory.
        initial_receive_window: u32 = 10, legal 1 => 1_000, drawn 1 => 16, "segments";
        /// Initial congestion window. RFC 6928.
        initial_window: u32 = 10, legal 1 => 1_000, drawn 1 => 16, "segments";
        /// Congestion control algorithm of new connections.
        congestion: CongestionAlgorithm = CongestionAlgorithm::DEFAULT,
            legal CongestionAlgorithm::FIRST => CongestionAlgorithm::LAST,
            drawn CongestionAlgorithm::FIRST => CongestionAlgorithm::LAST, "";
        /// Leave CUBIC's slow start when round trips grow longer, before a
        /// queue overflows. HyStart++, RFC 9406.
        hystart: bool = true, legal false => true, drawn false => true, "";
        /// Share of a round trip's bytes that may be lost before BBR considers the path full. With
        /// 100, BBR never considers the path full because of losses.
        bbr_loss_threshold: u32 = 2, legal 1 => 100, drawn 1 => 100, "percent";
        /// Explicit congestion notification: routers mark packets instead of
        /// dropping them. RFC 3168.
        ecn: EcnMode = EcnMode::Accept, legal EcnMode::Off => EcnMode::On,
            drawn EcnMode::Off => EcnMode::On, "";
        /// Spread segments over the round trip instead of sending bursts.
        pacing: bool = true, legal false => true, drawn false => true, "";
        /// Largest pacing rate, in bytes of payload; 0 leaves the rate to
        /// congestion control.
        pacing_rate_max: u32 = 0, legal 0 => u32::MAX, drawn 0 => 0, "bytes/s";
        /// Time at which the size of a super-segment is decided (transmit or write). A size decided
        /// at the write uses a rate that is out of date when the segment leaves; `write` exists for
        /// comparison.
        segment_sizing: SegmentSizing = SegmentSizing::Transmit,
            legal SegmentSizing::Transmit => SegmentSizing::Write,
            drawn SegmentSizing::Transmit => SegmentSizing::Write, "";
        /// Largest device backlog of one connection, if the device reports completions. The
        /// effective bound is the payload of 1 ms at the pacing rate, but at least two frames and
        /// at most this knob. 0 is unlimited.
        small_queue: u32 = 1 << 20, legal 0 => 1 << 30, drawn 0 => 1 << 16, "bytes";
        /// Probe for lost tails after two round trips of silence. RFC 8985 §7.
        tail_loss_probe: bool = true, legal false => true, drawn false => true, "";
        /// Accept a write as a whole or not at all. Stacks that divide payload into segments at the
        /// write do this.
        write_atomic: bool = false, legal false => true, drawn false => false, "";
        /// Shortest time between two challenge ACKs of one connection. RFC 5961 §7.
        challenge_ack_interval: Duration = ms(100), legal ms(0) => secs(60), drawn ms(1) => ms(500), "";
        /// Largest size of a send buffer without autotuning, even if an application sets more. A
        /// buffer with autotuning is bounded by `send_buffer_max` alone.
        send_buffer_limit: u32 = 1 << 30, legal 128 => 1 << 30, drawn 64 << 10 => 1 << 30, "bytes";
        /// Largest size of a receive buffer without autotuning; see `send_buffer_limit`.
        receive_buffer_limit: u32 = 1 << 30, legal 128 => 1 << 30, drawn 64 << 10 => 1 << 30, "bytes";
        /// Share of the send buffer for payload, at least 128 bytes. The remaining share models the
        /// packet descriptors that some systems count against the buffer.
        send_payload_share: u32 = 100, legal 1 => 100, drawn 25 => 100, "percent";
        /// Share of the receive buffer that is advertised as window; see
        /// `send_payload_share`.
        receive_payload_share: u32 = 100, legal 1 => 100, drawn 25 => 100, "percent";
        /// If `nagle` is off, send a partial segment that uses the peer's window up to its last
        /// byte. RFC 9293 §3.8.6.2.1 would leave this last part of the window unused. This knob
        /// does not apply to a window that is smaller than a full segment; see `sws_override`.
        use_up_window: bool = false, legal false => true, drawn false => true, "";
        /// Let the receive buffer grow to `receive_buffer_max`.
        receive_tuning: bool = true, legal false => true, drawn true => true, "";
    }
}

/// Smallest number of holes (separate ranges of out-of-order payload) that
/// [`TcpConfig::hole_count`] derives from the size of a receive buffer.
const FEWEST_HOLES: u32 = 64;
/// Bytes of receive buffer for each hole: somewhat more than two segments. In slow start a full
/// queue drops every second segment, which leaves one hole for every two segments.
const BYTES_PER_HOLE: u32 = 4 << 10;

impl TcpConfig {
    /// Returns the number of separate pieces of out-of-order payload that a connection may hold:
    /// the knob `holes`, or, if that is 0, a number that follows from `receive_buffer`, the bytes
    /// to which the receive buffer may grow.
    pub fn hole_count(&self, receive_buffer: u32) -> u32 {
        match self.holes {
            0 => (receive_buffer / BYTES_PER_HOLE).max(FEWEST_HOLES),
            set => set,
        }
    }
}
