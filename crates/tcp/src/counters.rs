//! Counters over all connections of a host.
//!
//! Rule: the names are those of the MIBs (RFC 4022) and of Linux's `TcpExt`. Each
//! discard is also counted under a [`DiscardReason`].

use fullpipe_pool::{Count, counters};

counters! {
    /// Counters of the connections of one host.
    pub struct TcpCounters {
        /// Connections opened from this side.
        active_opens: "TcpActiveOpens",
        /// Connections accepted.
        passive_opens: "TcpPassiveOpens",
        /// Handshakes that failed.
        attempt_fails: "TcpAttemptFails",
        /// Connections that ended while in ESTABLISHED or CLOSE-WAIT, for example by a reset.
        estab_resets: "TcpEstabResets",
        /// Segments received, including those in error.
        in_segs: "TcpInSegs",
        /// Segments sent, without retransmissions; a super-segment counts as the segments
        /// that the device cuts from it.
        out_segs: "TcpOutSegs",
        /// Segments retransmitted.
        retrans_segs: "TcpRetransSegs",
        /// Segments received in error.
        in_errs: "TcpInErrs",
        /// Segments with a wrong checksum.
        in_csum_errors: "TcpInCsumErrors",
        /// Resets sent.
        out_rsts: "TcpOutRsts",
        /// Retransmission timeouts.
        timeouts: "TcpExtTCPTimeouts",
        /// Segments retransmitted by fast retransmit.
        fast_retrans: "TcpExtTCPFastRetrans",
        /// Tail loss probes sent.
        loss_probes: "TcpExtTCPLossProbes",
        /// Recoveries that were spurious and undone.
        undos: "TcpExtTCPFullUndo",
        /// Segments retransmitted in slow start after a timeout.
        slow_start_retrans: "TcpExtTCPSlowStartRetrans",
        /// Segments delivered with a congestion mark.
        delivered_ce: "TcpExtTCPDeliveredCE",
        /// Data segments sent for the first time.
        orig_data_sent: "TcpExtTCPOrigDataSent",
        /// ACKs that the delay timer sent.
        delayed_acks: "TcpExtDelayedACKs",
        /// DSACKs sent for data before `rcv_nxt` that was received twice.
        dsack_old_sent: "TcpExtTCPDSACKOldSent",
        /// DSACKs sent for out-of-order data that was received twice.
        dsack_ofo_sent: "TcpExtTCPDSACKOfoSent",
        /// DSACKs received.
        dsack_recv: "TcpExtTCPDSACKRecv",
        /// Segments kept out of order.
        ofo_queue: "TcpExtTCPOFOQueue",
        /// Segments out of order that found no room.
        ofo_drop: "TcpExtTCPOFODrop",
        /// Segments in order that found no packet memory.
        rcvq_drop: "TcpExtTCPRcvQDrop",
        /// Segments refused as old duplicates by their timestamp.
        paws_estab_rejected: "TcpExtPAWSEstab",
        /// Challenge ACKs sent.
        challenge_ack: "TcpExtTCPChallengeACK",
        /// SYNs received inside an established connection.
        syn_challenge: "TcpExtTCPSYNChallenge",
        /// Zero-window probes sent.
        win_probe: "TcpExtTCPWinProbe",
        /// Probes of the path MTU that arrived.
        mtup_success: "TcpExtTCPMTUPSuccess",
        /// Probes of the path MTU that were lost.
        mtup_fail: "TcpExtTCPMTUPFail",
        /// Keepalive probes sent.
        keepalive: "TcpExtTCPKeepAlive",
        /// Times that the advertised window changed to zero.
        to_zero_window_adv: "TcpExtTCPToZeroWindowAdv",
        /// Times that the advertised window changed from zero.
        from_zero_window_adv: "TcpExtTCPFromZeroWindowAdv",
        /// Connections reset because data arrived after the application closed.
        abort_on_data: "TcpExtTCPAbortOnData",
        /// Connections reset because the application closed with data unread.
        abort_on_close: "TcpExtTCPAbortOnClose",
        /// Connections dropped after too many timeouts or probes.
        abort_on_timeout: "TcpExtTCPAbortOnTimeout",
        /// Connections reset to free their memory or their slot for others, after
        /// the application had closed them.
        abort_on_memory: "TcpExtTCPAbortOnMemory",
        /// Segments that took the fast path: in order, nothing unusual.
        hp_hits: "TcpExtTCPHPHits",
        /// ACKs without payload.
        pure_acks: "TcpExtTCPPureAcks",
        /// Times that packet memory came under pressure.
        memory_pressures: "TcpExtTCPMemoryPressures",
    }
}

/// Declares the discard reasons with their counter names.
macro_rules! discard_reasons {
    ( $( $(#[doc = $doc:literal])+ $variant:ident = $name:literal, )+ ) => {
        /// Reason for which a segment, or an ICMP error, was discarded. Each reason is a counter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum DiscardReason {
            $( $(#[doc = $doc])+ $variant, )+
        }

        impl core::fmt::Display for DiscardReason {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl DiscardReason {
            /// All reasons, in declaration order.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )+];

            /// Returns the counter's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$variant => $name, )+
                }
            }
        }
    };
}

discard_reasons! {
    /// No byte is inside the receive window. RFC 9293 §3.10.7.4, first step.
    OutsideWindow = "TcpDiscardOutsideWindow",
    /// The timestamp is older than the last one: an old duplicate. RFC 7323 §5.
    OldTimestamp = "TcpDiscardOldTimestamp",
    /// A reset whose sequence number is not `rcv_nxt` (RFC 5961 §3) or, in SYN-SENT, a
    /// reset without ACK.
    InexactReset = "TcpDiscardInexactReset",
    /// A SYN in a synchronized connection. RFC 5961 §4.
    UnexpectedSyn = "TcpDiscardUnexpectedSyn",
    /// A segment without ACK in a synchronized connection.
    NoAck = "TcpDiscardNoAck",
    /// The ACK acknowledges bytes that were never sent. RFC 5961 §5.
    AckOfUnsent = "TcpDiscardAckOfUnsent",
    /// The ACK is older than `snd_una` by more than the largest window. RFC 5961 §5.
    AckTooOld = "TcpDiscardAckTooOld",
    /// Payload beyond the peer's FIN.
    PayloadAfterFin = "TcpDiscardPayloadAfterFin",
    /// Every byte was received before.
    Duplicate = "TcpDiscardDuplicate",
    /// The payload is inside the window, but packet memory had no block for it.
    NoMemory = "TcpDiscardNoMemory",
    /// The payload is out of order, and no range of the pool (`pool.ranges`) is free for
    /// it.
    NoRange = "TcpDiscardNoRange",
    /// The payload is out of order, and the connection holds `tcp.holes` pieces already.
    TooManyHoles = "TcpDiscardTooManyHoles",
    /// The payload is out of order, and `tcp.out_of_order` bytes are held already.
    OutOfOrderFull = "TcpDiscardOutOfOrderFull",
    /// Payload for an application that has closed; answered with a reset.
    AfterClose = "TcpDiscardAfterClose",
    /// An ICMP error that quotes nothing in flight. RFC 5927 §4.1.
    IcmpOutsideWindow = "TcpDiscardIcmpOutsideWindow",
    /// In SYN-SENT, the segment is neither a SYN nor a reset.
    UnusableInSynSent = "TcpDiscardUselessInSynSent",
}

/// One count for each [`DiscardReason`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discards([Count; DiscardReason::ALL.len()]);

impl Default for Discards {
    fn default() -> Self {
        Self([0; DiscardReason::ALL.len()])
    }
}

impl Discards {
    /// Counts one discarded segment.
    pub fn count(&mut self, reason: DiscardReason) {
        self.0[reason as usize] += 1;
    }

    /// Returns the number of segments discarded for `reason`.
    // `Count` has 32 bits on smaller machines.
    #[allow(clippy::unnecessary_cast)]
    pub const fn get(&self, reason: DiscardReason) -> u64 {
        self.0[reason as usize] as u64
    }

    /// Returns each reason's name and count.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        DiscardReason::ALL
            .iter()
            .map(|&reason| (reason.name(), self.get(reason)))
    }
}
