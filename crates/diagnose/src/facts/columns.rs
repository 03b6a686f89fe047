//! Series of values as columns. A table has one vector for each quantity, and all its vectors
//! have the same length.
//!
//! Rule: a table is complete and in the order of time. Code that draws a table may skip values.

/// Declares a table: its columns, and `push` for one row.
macro_rules! table {
    (
        $(#[$meta:meta])*
        pub struct $table:ident { $( $(#[doc = $doc:literal])+ $column:ident: $type:ty, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $table { $( $(#[doc = $doc])+ pub $column: Vec<$type>, )+ }

        impl $table {
            // Allow many arguments: a row has one argument per column.
            #[allow(clippy::too_many_arguments)]
            pub(super) fn push(&mut self, $( $column: $type, )+) {
                $( self.$column.push($column); )+
            }

            /// Number of rows.
            pub fn len(&self) -> usize {
                self.at_ns.len()
            }

            /// Returns true if the table has no row.
            pub fn is_empty(&self) -> bool {
                self.at_ns.is_empty()
            }
        }
    };
}

table! {
    /// Segments of one direction.
    pub struct Segments {
        /// Time at which this end sent or received the segment.
        at_ns: u64,
        /// Sequence number of the first byte, or of SYN.
        seq: u64,
        /// Payload in bytes.
        len: u32,
        /// Acknowledgment number; 0 if the segment has no ACK flag.
        ack: u64,
        /// Window in bytes.
        window: u32,
        /// Control bits, as in `fullpipe_wire::TcpFlags`.
        flags: u16,
        /// Bits [`RETRANSMITTED`](Self::RETRANSMITTED) and [`LOST`](Self::LOST).
        status: u8,
        /// Sequence space in bytes that this end has sent and that is not acknowledged after
        /// this segment.
        outstanding: u32,
    }
}

impl Segments {
    /// Bit of [`status`](Self::status): the segment had been sent before.
    pub const RETRANSMITTED: u8 = 1;
    /// Bit of [`status`](Self::status): the other end was observed too, and never received the
    /// segment.
    pub const LOST: u8 = 2;

    /// Returns true if the segment at `place` is a retransmission.
    pub fn is_retransmission(&self, place: usize) -> bool {
        self.status[place] & Self::RETRANSMITTED != 0
    }

    /// Returns true if the other end was observed too, and never received the segment at
    /// `place`.
    pub fn is_lost(&self, place: usize) -> bool {
        self.status[place] & Self::LOST != 0
    }
}

table! {
    /// Blocks of SACK options.
    pub struct SackBlocks {
        /// Time at which this end sent or received the block.
        at_ns: u64,
        /// First byte.
        left: u64,
        /// Sequence number after the last byte.
        right: u64,
    }
}

table! {
    /// The congestion window after each event that may have changed it, in bytes.
    pub struct Windows {
        /// Time of the event.
        at_ns: u64,
        /// Congestion window.
        cwnd: u32,
        /// Slow-start threshold; `u32::MAX` before the first loss.
        ssthresh: u32,
        /// Bytes in flight: neither SACKed nor considered lost.
        in_flight: u32,
    }
}

table! {
    /// Round-trip times that the end measured, in microseconds.
    pub struct RttSamples {
        /// Time of the sample.
        at_ns: u64,
        /// The sample.
        sample_us: u32,
        /// Smoothed round-trip time.
        srtt_us: u32,
        /// Retransmission timeout after the sample.
        rto_us: u32,
    }
}

table! {
    /// The limit over time, in bands (periods with one limit). Each band begins at the end of the
    /// previous band.
    pub struct Bands {
        /// Begin.
        at_ns: u64,
        /// End.
        end_ns: u64,
        /// The limit, as an index into the names in [`vocabulary`](crate::vocabulary).
        reason: u8,
        /// Payload that was sent for the first time during the band; 0 for a limit of the
        /// receiver.
        bytes: u64,
    }
}

table! {
    /// Numbers of pool blocks that each holder (kind of buffer) has taken and has reserved, over
    /// time.
    pub struct PoolLevels {
        /// Time of the change.
        at_ns: u64,
        /// The holder, as an index into [`PoolLevels::HOLDERS`].
        holder: u8,
        /// Blocks taken, from this time on.
        held: u32,
        /// Blocks reserved and not yet taken, from this time on.
        reserved: u32,
    }
}

impl PoolLevels {
    /// The holders, by the pool's names.
    pub const HOLDERS: [&'static str; 6] = [
        "send",
        "receive",
        "datagram",
        "fragment",
        "neighbour",
        "echo",
    ];
}

impl Bands {
    /// Begins a band at `at_ns` and ends the previous band.
    pub(super) fn begin(&mut self, at_ns: u64, reason: u8) {
        self.close(at_ns);
        self.push(at_ns, at_ns, reason, 0);
    }

    /// Ends the last band at `at_ns`.
    pub(super) fn close(&mut self, at_ns: u64) {
        if let Some(end) = self.end_ns.last_mut() {
            *end = at_ns;
        }
    }

    /// Charges bytes to the last band.
    pub(super) fn moved(&mut self, bytes: u64) {
        if let Some(sum) = self.bytes.last_mut() {
            *sum += bytes;
        }
    }
}
