//! The evidence that a capture gives about a connection, as input for the parts of an estimate.

use fullpipe_diagnose::observe::{ObservedConnection, SeenLimit, SegmentLog};
use fullpipe_tcp::Limit;

use crate::{
    failure::FitFailure,
    rate::{self, PathRate},
    trace::Trace,
};

/// Smallest number of payload segments for a fit.
const FEWEST_SEGMENTS: usize = 4;
/// Bytes of link, IP and TCP headers of a frame in the simulator, without TCP options.
pub const HEADERS: u32 = 54;
/// Bytes of the timestamps option with its padding.
pub const TIMESTAMPS: u32 = 12;

/// The setting that gave a buffer its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizedBy {
    /// `SO_SNDBUF` or `SO_RCVBUF`, set by the program.
    Program,
    /// The third value of `tcp_wmem` or `tcp_rmem`, the cap of autotuning.
    Autotuning,
    /// Unknown: the program's option or the cap of autotuning.
    Either,
}

/// Origins of the sizes of buffers, as far as recorded sockets show them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedSizes {
    /// Origin of the sender's send buffer.
    pub send: Option<SizedBy>,
    /// Origin of the receiver's receive buffer.
    pub receive: Option<SizedBy>,
}

/// The evidence of a connection.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The observed connection.
    pub observed: &'a ObservedConnection,
    /// The segments of the connection.
    pub log: &'a SegmentLog,
    /// The payload as its sender saw it.
    pub trace: Trace,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Rate of the path, if known.
    pub rate: Option<PathRate>,
    /// Origins of the sizes of buffers, as far as recorded sockets show them.
    pub recorded: RecordedSizes,
}

impl<'a> Evidence<'a> {
    /// Reads the evidence, without recorded sizes.
    ///
    /// # Errors
    /// Fails if there is too little payload, or the capture has only one direction.
    pub fn of(log: &'a SegmentLog, observed: &'a ObservedConnection) -> Result<Self, FitFailure> {
        let trace = Trace::of(log, observed);
        if trace.sent.is_empty() || trace.acks.is_empty() {
            return Err(FitFailure::OneDirection);
        }
        if trace.sent.len() < FEWEST_SEGMENTS || trace.done == 0 {
            return Err(FitFailure::TooLittle);
        }
        let mss = observed.data().segment_bytes.max(1);
        let rate = rate::forward(&trace, mss);
        Ok(Self {
            observed,
            log,
            mss,
            rate,
            trace,
            recorded: RecordedSizes::default(),
        })
    }

    /// Share of the lifetime in which one of `limits` was the limit.
    pub fn share(&self, limits: &[Limit]) -> f64 {
        let shares = self.observed.shares();
        let known = limits
            .iter()
            .map(|limit| shares.share(SeenLimit::from(*limit)));
        known.sum()
    }

    /// Header bytes of a full frame in the simulator.
    pub fn headers(&self) -> u32 {
        let has_timestamps = self.observed.vantage.has_timestamps;
        HEADERS + if has_timestamps { TIMESTAMPS } else { 0 }
    }

    /// Smallest round trip, in nanoseconds.
    pub fn base_rtt(&self) -> u64 {
        let own = self.trace.rtts.iter().map(|(_, rtt)| *rtt).min();
        let whole = self.observed.path.base_rtt_ns;
        match (own, whole) {
            (Some(own), Some(whole)) => own.min(whole),
            (own, whole) => own.or(whole).unwrap_or(0),
        }
    }

    /// Largest number of bytes in flight.
    pub fn largest_flight(&self) -> u64 {
        let flights = self.trace.new_segments().map(|sent| sent.flight);
        flights.max().unwrap_or(0)
    }
}
