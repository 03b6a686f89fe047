//! Series as columns: one vector a quantity, all of a table equally long.
//!
//! Rule: a table is in the order of time. Nothing is thinned out here: who
//! draws decides what a pixel can show.

/// Declares a table: its columns, and a row to push.
macro_rules! table {
    (
        $(#[$meta:meta])*
        pub struct $table:ident { $( $(#[doc = $doc:literal])+ $column:ident: $type:ty, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $table { $( $(#[doc = $doc])+ pub $column: Vec<$type>, )+ }

        impl $table {
            // A row is as wide as its table.
            #[allow(clippy::too_many_arguments)]
            pub(super) fn push(&mut self, $( $column: $type, )+) {
                $( self.$column.push($column); )+
            }

            /// How many rows it has.
            pub fn len(&self) -> usize {
                self.at_ns.len()
            }

            /// Whether it has no row.
            pub fn is_empty(&self) -> bool {
                self.at_ns.is_empty()
            }
        }
    };
}

table! {
    /// Segments in one direction.
    pub struct Segments {
        /// When.
        at_ns: u64,
        /// Sequence number of the first byte, or of SYN.
        seq: u64,
        /// Bytes of text.
        len: u32,
        /// Acknowledgment number; 0 without ACK.
        ack: u64,
        /// Window in bytes.
        window: u32,
        /// Control bits, as `fullpipe_wire::TcpFlags` has them.
        flags: u16,
        /// Whether it was sent before and whether it arrived:
        /// [`Segments::is_again`], [`Segments::is_lost`].
        fate: u8,
        /// Sequence space that this end has sent and that is not acknowledged,
        /// after this segment.
        outstanding: u32,
    }
}

impl Segments {
    /// The bit of [`fate`](Self::fate) that is set when it had been sent before.
    pub const AGAIN: u8 = 1;
    /// The bit that is set when the other end, where it was observed, never saw it.
    pub const LOST: u8 = 2;

    /// Whether segment `place` had been sent before.
    pub fn is_again(&self, place: usize) -> bool {
        self.fate[place] & Self::AGAIN != 0
    }

    /// Whether the other end, where it was observed, never saw it.
    pub fn is_lost(&self, place: usize) -> bool {
        self.fate[place] & Self::LOST != 0
    }
}

table! {
    /// Blocks of SACK options.
    pub struct SackBlocks {
        /// When.
        at_ns: u64,
        /// First byte.
        left: u64,
        /// Behind the last byte.
        right: u64,
    }
}

table! {
    /// The congestion window, whenever it may have changed; in bytes.
    pub struct Windows {
        /// When.
        at_ns: u64,
        /// Congestion window.
        cwnd: u32,
        /// Slow-start threshold; `u32::MAX` before the first loss.
        ssthresh: u32,
        /// On their way: neither SACKed nor taken for lost.
        in_flight: u32,
    }
}

table! {
    /// Round-trip times as the end measured them; in microseconds.
    pub struct RttSamples {
        /// When.
        at_ns: u64,
        /// The sample.
        sample_us: u32,
        /// Smoothed.
        srtt_us: u32,
        /// Retransmission timeout, without backoff.
        rto_us: u32,
    }
}

table! {
    /// What held, from when until when. Each begins where the one before ends.
    pub struct Bands {
        /// From when.
        at_ns: u64,
        /// Until when.
        end_ns: u64,
        /// What: an index into the vocabulary.
        reason: u8,
        /// Bytes of text sent for the first time, charged to the band that
        /// they waited in.
        bytes: u64,
    }
}

table! {
    /// Who held and was promised how much of a pool; in blocks.
    pub struct PoolLevels {
        /// When it changed.
        at_ns: u64,
        /// Whose account, an index into [`PoolLevels::HOLDERS`].
        holder: u8,
        /// Blocks held from then on.
        held: u32,
        /// Blocks promised and not yet held.
        promised: u32,
    }
}

impl PoolLevels {
    /// The holders, as the pool names them.
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
    /// Begins a band at `at_ns`, and ends the one before.
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
