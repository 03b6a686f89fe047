//! The kernel's `struct tcp_info`, read by offset.
//!
//! Rule: a field exists if the kernel sent all its bytes. The struct has only grown at its end,
//! so the length of the kernel's answer determines the fields. Bytes beyond this table are
//! ignored. Nothing is interpreted here.

/// Bytes of the oldest form of the struct (Linux 2.6), which ends with `tcpi_total_retrans`.
pub const OLDEST_LEN: usize = 104;
/// Value of `snd_ssthresh` if there is no slow-start threshold.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Declares the struct, its reader and its columns from one list. `first` has the fields of the
/// oldest form; `later` has those that newer kernels added.
macro_rules! tcp_info {
    (
        first { $( $(#[doc = $first_doc:literal])+ $first:ident: $first_type:ident = $first_at:literal, )+ }
        later { $( $(#[doc = $later_doc:literal])+ $later:ident: $later_type:ident = $later_at:literal, )+ }
    ) => {
        /// Values of `struct tcp_info` under the kernel's names without `tcpi_`. A field that the
        /// kernel does not report is `None`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct TcpInfo {
            $( $(#[doc = $first_doc])+ pub $first: $first_type, )+
            $( $(#[doc = $later_doc])+ pub $later: Option<$later_type>, )+
        }

        impl TcpInfo {
            /// Names of the fields, in the order of [`values`](Self::values).
            pub const NAMES: &'static [&'static str] =
                &[$( stringify!($first), )+ $( stringify!($later), )+];

            /// Reads the bytes of the attribute `INET_DIAG_INFO`, or of the socket option
            /// `TCP_INFO`. Returns `None` if there are fewer than `OLDEST_LEN` bytes.
            pub fn parse(bytes: &[u8]) -> Option<Self> {
                bytes.get(..OLDEST_LEN)?;
                Some(Self {
                    $( $first: read!($first_type, bytes, $first_at)?, )+
                    $( $later: read!($later_type, bytes, $later_at), )+
                })
            }

            /// Every field as a number; `None` if the kernel does not report it.
            pub fn values(&self) -> impl Iterator<Item = Option<u64>> + '_ {
                [
                    $( Some(u64::from(self.$first)), )+
                    $( self.$later.map(u64::from), )+
                ]
                .into_iter()
            }

            /// Creates the struct from the output of [`values`](Self::values). A value that is
            /// too large for its field is truncated. A missing value becomes 0 or `None`.
            pub fn from_values(mut values: impl Iterator<Item = Option<u64>>) -> Self {
                Self {
                    $( $first: values.next().flatten().unwrap_or(0) as $first_type, )+
                    $( $later: values.next().flatten().map(|value| value as $later_type), )+
                }
            }
        }
    };
}

/// Reads an integer of type `$type` at offset `$at`, in the machine's byte order.
macro_rules! read {
    ($type:ident, $bytes:expr, $at:expr) => {
        $bytes
            .get($at..$at + size_of::<$type>())
            .and_then(|bytes| bytes.try_into().ok())
            .map($type::from_ne_bytes)
    };
}
pub(crate) use read;

tcp_info! {
    first {
        /// State of the connection, with the kernel's numbers.
        state: u8 = 0,
        /// State of loss recovery: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
        ca_state: u8 = 1,
        /// Consecutive timeouts without an ACK.
        retransmits: u8 = 2,
        /// Unanswered zero-window or keep-alive probes.
        probes: u8 = 3,
        /// Number of times that the retransmission timeout was doubled.
        backoff: u8 = 4,
        /// Bits: 1 timestamps, 2 SACK, 4 window scale, 8 ECN, 16 ECN seen, 32 data in the SYN.
        options: u8 = 5,
        /// Window scale of the peer in the low four bits, of this end in the high four bits.
        wscales: u8 = 6,
        /// Bits: 1 the application limited the delivery rate.
        flags: u8 = 7,
        /// Retransmission timeout in microseconds, backoff included.
        rto: u32 = 8,
        /// Delay of the next delayed ACK in microseconds.
        ato: u32 = 12,
        /// Payload of a full segment in bytes.
        snd_mss: u32 = 16,
        /// Estimate of the peer's segment size in bytes.
        rcv_mss: u32 = 20,
        /// Segments sent and not acknowledged.
        unacked: u32 = 24,
        /// Segments that the peer has SACKed.
        sacked: u32 = 28,
        /// Segments considered lost.
        lost: u32 = 32,
        /// Retransmitted segments in flight.
        retrans: u32 = 36,
        /// Number of segments up to the highest SACKed one, in old kernels.
        fackets: u32 = 40,
        /// Milliseconds since payload was last sent.
        last_data_sent: u32 = 44,
        /// Always 0: the kernel does not keep this time.
        last_ack_sent: u32 = 48,
        /// Milliseconds since payload last arrived.
        last_data_recv: u32 = 52,
        /// Milliseconds since an ACK last arrived.
        last_ack_recv: u32 = 56,
        /// Path MTU in bytes.
        pmtu: u32 = 60,
        /// Limit of the advertised window in bytes.
        rcv_ssthresh: u32 = 64,
        /// Smoothed round-trip time in microseconds.
        rtt: u32 = 68,
        /// Mean deviation of the round-trip time in microseconds.
        rttvar: u32 = 72,
        /// Slow-start threshold in segments; [`INFINITE_SSTHRESH`] if there is none.
        snd_ssthresh: u32 = 76,
        /// Congestion window in segments.
        snd_cwnd: u32 = 80,
        /// Advertised MSS in bytes.
        advmss: u32 = 84,
        /// Extent of reordering, in segments, that loss detection tolerates.
        reordering: u32 = 88,
        /// Receiver's round-trip time in microseconds, for autotuning.
        rcv_rtt: u32 = 92,
        /// Bytes read in a round trip, for autotuning.
        rcv_space: u32 = 96,
        /// Segments retransmitted since the connection began.
        total_retrans: u32 = 100,
    }
    later {
        /// Pacing rate in bytes per second. Linux 3.15.
        pacing_rate: u64 = 104,
        /// Limit of the pacing rate in bytes per second; all ones if there is none. Linux 3.15.
        max_pacing_rate: u64 = 112,
        /// Payload acknowledged. Linux 4.1.
        bytes_acked: u64 = 120,
        /// Payload received in order. Linux 4.1.
        bytes_received: u64 = 128,
        /// Segments sent. Linux 4.2.
        segs_out: u32 = 136,
        /// Segments received. Linux 4.2.
        segs_in: u32 = 140,
        /// Payload written and not sent, in bytes. Linux 4.6.
        notsent_bytes: u32 = 144,
        /// Smallest round-trip time in microseconds. Linux 4.6.
        min_rtt: u32 = 148,
        /// Segments with payload received. Linux 4.6.
        data_segs_in: u32 = 152,
        /// Segments with payload sent. Linux 4.6.
        data_segs_out: u32 = 156,
        /// Latest delivery rate in bytes per second. Linux 4.9.
        delivery_rate: u64 = 160,
        /// Microseconds in which some payload was unsent or unacknowledged. Linux 4.10.
        busy_time: u64 = 168,
        /// Microseconds of the busy time in which the peer's window was the limit. Linux 4.10.
        rwnd_limited: u64 = 176,
        /// Microseconds of the busy time in which the send buffer was the limit, as the kernel
        /// counts them. Linux 4.10.
        sndbuf_limited: u64 = 184,
        /// Segments delivered. Linux 4.18.
        delivered: u32 = 192,
        /// Segments delivered with a congestion mark. Linux 4.18.
        delivered_ce: u32 = 196,
        /// Payload sent, retransmissions included. Linux 4.19.
        bytes_sent: u64 = 200,
        /// Payload retransmitted. Linux 4.19.
        bytes_retrans: u64 = 208,
        /// Duplicates reported by DSACK. Linux 4.19.
        dsack_dups: u32 = 216,
        /// Number of reordering events. Linux 4.19.
        reord_seen: u32 = 220,
        /// Segments received out of order. Linux 5.4.
        rcv_ooopack: u32 = 224,
        /// The peer's window in bytes. Linux 5.4.
        snd_wnd: u32 = 228,
        /// Window offered to the peer in bytes. Linux 6.2.
        rcv_wnd: u32 = 232,
        /// Changes of the flow's hash after timeouts. Linux 6.2.
        rehash: u32 = 236,
        /// Retransmission timeouts. Linux 6.7.
        total_rto: u16 = 240,
        /// Recoveries from retransmission timeouts. Linux 6.7.
        total_rto_recoveries: u16 = 242,
        /// Milliseconds in recoveries from retransmission timeouts. Linux 6.7.
        total_rto_time: u32 = 244,
    }
}

impl TcpInfo {
    /// Shift of the windows that the peer advertises.
    pub const fn snd_wscale(&self) -> u8 {
        self.wscales & 15
    }

    /// Shift of the windows that this end advertises.
    pub const fn rcv_wscale(&self) -> u8 {
        self.wscales >> 4
    }

    /// Returns true if both ends offered window scaling. A shift may be 0.
    pub const fn has_window_scaling(&self) -> bool {
        self.options & 4 != 0
    }

    /// True if the application limited the latest delivery rate.
    pub const fn is_app_limited(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Limit of the pacing rate in bytes per second, if the program set one.
    pub fn pacing_limit(&self) -> Option<u64> {
        self.max_pacing_rate
            .filter(|&rate| rate != u64::MAX && rate != u64::from(u32::MAX))
    }

    /// Limit of the pacing rate in bytes per second, if the program set a limit and the kernel
    /// paces at this limit. The kernel paces more slowly if the congestion window or BBR's model
    /// asks for less.
    pub fn pacing_limit_in_force(&self) -> Option<u64> {
        self.pacing_limit()
            .filter(|&limit| self.pacing_rate.is_none_or(|rate| rate >= limit))
    }

    /// The slow-start threshold in segments, if there is one.
    pub fn ssthresh(&self) -> Option<u32> {
        (self.snd_ssthresh < INFINITE_SSTHRESH).then_some(self.snd_ssthresh)
    }

    /// Segments in flight as the kernel counts them: unacknowledged and retransmitted segments,
    /// minus segments that are SACKed or considered lost.
    pub fn in_flight(&self) -> u32 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
    }
}
