//! One round trip of a sender: what left in it, and how its time passed.
//!
//! Rule: a round trip knows nothing about the others; `rounds` compares them.

use fullpipe_tcp::Limit;

/// Largest number of spans that are kept of a round trip.
pub const SPANS: usize = 1_024;
/// Smallest number of gaps between sends from which an even spacing is inferred.
pub const EVEN_GAPS: usize = 6;
/// Equal gaps differ from the median gap by at most the median divided by this value, or by at most
/// [`UNEVEN_NS`].
const UNEVEN: u64 = 50;
/// The same value if the writes of the application are too long to make equal gaps.
const UNEVEN_BULK: u64 = 8;
/// Gaps that differ from the median gap by at most this number of nanoseconds always count as
/// equal.
pub const UNEVEN_NS: u64 = 10_000;
/// Nagle's algorithm is not the cause of [`Cause::Late`] waits if at least this many segments leave
/// per wait.
const BULK: u32 = 6;
/// A receive window is not the limit of a round trip if it was full for less than 1/n of the time
/// in which the sender waited for the send buffer or the congestion window; n is this number.
const FILLED: u64 = 4;

/// The cause of a piece of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The limit; true if it is certain.
    Is(Limit, bool),
    /// A window that an ACK opened: the send buffer or the congestion window.
    Window,
    /// The pacer: the sender had more to send, and no ACK released the segment that ended the wait.
    Paced,
    /// Like `Paced`, but the wait was longer than a pacer would make it. If few segments leave
    /// between two such waits, Nagle's algorithm is the cause; otherwise a window is the cause,
    /// such as a send buffer that a writer refills.
    Late,
    /// The time for which the path was busy with the previous segment.
    Train,
    /// Nagle's algorithm, which joined writes to a full segment; or the application, if more
    /// payload follows at once.
    Joined,
    /// The pacer, or the application.
    PacedOrApplication,
    /// The same cause as that of the previous span.
    Prior,
}

/// A piece of a wait.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub until: u64,
    pub cause: Cause,
    pub bytes: u64,
}

impl Span {
    pub const fn new(until: u64, cause: Cause) -> Self {
        Self {
            until,
            cause,
            bytes: 0,
        }
    }
}

/// A round trip.
#[derive(Clone, Debug, Default)]
pub struct Round {
    pub spans: Vec<Span>,
    /// Largest number of bytes in flight.
    pub peak: u64,
    pub begin: u64,
    pub has_loss: bool,
    pub has_mark: bool,
    /// Number of segments that left at the same time as the previous segment or ACK.
    pub plain: u32,
    /// Time limited by a window, including `train_ns`.
    pub window_ns: u64,
    pub paced_ns: u64,
    pub application_ns: u64,
    /// Times between sends, at most [`SPANS`].
    pub gaps: Vec<u64>,
    /// Number of the segments counted in `segments` that have PSH.
    pub pushes: u32,
    /// Number of segments whose gap to the previous segment was measured.
    pub segments: u32,
    /// Number of those segments with at least two times the MSS (super-segments).
    pub supers: u32,
    pub clocked: u32,
    pub paced: u32,
    /// Number of segments with new payload.
    pub sent: u32,
    /// True if the application's writes are longer than a segment.
    pub is_bulk_writer: bool,
    /// Number of waits of [`Cause::Late`].
    pub late: u32,
    /// Time of the waits of [`Cause::Late`].
    pub late_ns: u64,
    /// Number of the segments counted in `segments` whose time of sending was computed from a
    /// timestamp.
    pub computed: u32,
    pub acks: u32,
    pub acked: u64,
    pub length: u64,
    pub least_rtt: u64,
    /// Smallest `peak`; set only in a `Round` that sums up several round trips.
    pub least_peak: u64,
    /// Number of waits in which the path was busy with the previous segment.
    pub trains: u32,
    /// Time for which the path was busy with segments.
    pub train_ns: u64,
    pub recovery_ns: u64,
    /// Longest wait limited by the application.
    pub idle_ns: u64,
    /// Number of waits that ended because a window opened.
    pub waits: u32,
    /// Number of the waits counted in `waits` in which the receive window had no room for a
    /// segment.
    pub filled: u32,
    /// Time in which the receive window had no room for a segment.
    pub filled_ns: u64,
}

impl Round {
    /// Returns true if segments left at equal times. The timers of a kernel are less exact than the
    /// writes of small payload that `is_bulk_writer` excludes.
    pub fn is_even(&self, is_bulk_writer: bool) -> bool {
        let (uneven, share) = if is_bulk_writer {
            (UNEVEN_BULK, 14)
        } else {
            (UNEVEN, 17)
        };
        let mut sorted = self.gaps.clone();
        sorted.sort_unstable();
        let Some(&middle) = sorted.get(sorted.len() / 2) else {
            return false;
        };
        let is_near = |gap: &&u64| gap.abs_diff(middle) <= UNEVEN_NS.max(middle / uneven);
        let near = self.gaps.iter().filter(is_near).count();
        // Ignore short gaps: the gaps between segments of a burst are equal, too, because the host
        // takes the same time for each.
        self.gaps.len() >= EVEN_GAPS && middle > UNEVEN_NS && near * 20 >= self.gaps.len() * share
    }

    /// Rate of acknowledgment, in bytes per second.
    pub fn rate(&self) -> f64 {
        self.acked as f64 * 1e9 / self.length.max(1) as f64
    }

    /// Returns true if many segments are sent between two late waits, or if the application's writes
    /// are long.
    pub const fn is_bulk(&self) -> bool {
        self.is_bulk_writer || self.sent >= BULK * self.late
    }

    /// Returns the time of late waits for which Nagle's algorithm is not the cause.
    pub const fn late_window_ns(&self) -> u64 {
        if self.is_bulk() { self.late_ns } else { 0 }
    }

    /// Returns true if the receive window was full in most waits for a window, and for long enough
    /// ([`FILLED`]). A window that the receiver opens in steps may be full for a moment although
    /// another limit is smaller.
    pub const fn fills_window(&self) -> bool {
        self.filled * 2 > self.waits && self.filled_ns.saturating_mul(FILLED) >= self.window_ns
    }

    /// Returns true if a window or the pacer explains some of the round trip's time.
    pub const fn counts(&self) -> bool {
        self.window_ns > 0 || self.paced_ns > 0 || self.late_window_ns() > 0
    }
}
