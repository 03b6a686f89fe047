//! What is measured of a row.
//!
//! Rule: one row a quantity, its unit in its name. The file's `published`
//! tables, the text table and the JSON read the same rows, so a figure cannot
//! be published in one unit and measured in another.

use serde::{Serialize, Serializer, ser::SerializeMap};

/// How a row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The time was up, or everything arrived.
    Complete,
    /// Nothing moved any more when the run was ended.
    Stalled,
    /// The connection was dropped.
    Dropped,
}

impl Outcome {
    /// The word in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Stalled => "stalled",
            Self::Dropped => "dropped",
        }
    }
}

/// What came out of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// How it ended.
    pub outcome: Outcome,
    /// Bytes that the receiving application read, over `elapsed_s`, in Mbit/s.
    pub goodput_mbps: f64,
    /// From the call to connect to the last byte read, or to the end of the
    /// time that the workload gives.
    pub elapsed_s: f64,
    /// Bytes that the receiving application read.
    pub delivered_bytes: u64,
    /// Segments with text that the sender put on the wire.
    pub data_segments: u64,
    /// Of these, the share that were full; the end of the stream, which is as
    /// long as what is left, is not counted.
    pub full_sized_share: f64,
    /// The most text that one segment can carry, in bytes.
    pub segment_bytes: u64,
    /// The most packet memory that was ever held on the host under study.
    pub peak_pool_bytes: u64,
    /// Segments that the sender sent again.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts of the sender.
    pub timeouts: u64,
    /// Smoothed round-trip time as the sender measured it, at the end.
    pub srtt_ms: f64,
    /// Share of the time in which the link carried something.
    pub link_busy_share: f64,
    /// Packets that the sender's IP received: the peer's acknowledgments.
    pub ip_in_receives: u64,
    /// Packets that the sender's IP was asked to send; a super-segment is one.
    pub ip_out_requests: u64,
    /// Segments that the sender sent, as they are on the wire.
    pub tcp_out_segs: u64,
    /// Bytes of IP packets that the sender sent, IP headers included.
    pub ip_ext_out_octets: u64,
    /// Goodput over that of the baseline row, where there is one.
    pub goodput_of_baseline: Option<f64>,
}

/// A number that is measured of each row.
pub struct Quantity {
    /// Its name, which ends in its unit.
    pub name: &'static str,
    /// Its heading in the table.
    pub heading: &'static str,
    /// Its value; `None` where it does not exist.
    pub of: fn(&Measured) -> Option<f64>,
    /// Whether it counts, and so is written without a fraction.
    pub whole: bool,
}

/// Declares a row of [`Quantity::ALL`].
macro_rules! quantity {
    ($name:ident, $heading:literal, whole) => {
        Quantity {
            name: stringify!($name),
            heading: $heading,
            of: |measured| Some(measured.$name as f64),
            whole: true,
        }
    };
    ($name:ident, $heading:literal) => {
        Quantity {
            name: stringify!($name),
            heading: $heading,
            of: |measured| Some(measured.$name),
            whole: false,
        }
    };
}

impl Quantity {
    /// Every quantity, in the order of the JSON.
    pub const ALL: &'static [Self] = &[
        quantity!(goodput_mbps, "Mbit/s"),
        quantity!(elapsed_s, "seconds"),
        quantity!(delivered_bytes, "bytes", whole),
        quantity!(data_segments, "segments", whole),
        quantity!(full_sized_share, "full-sized"),
        quantity!(segment_bytes, "bytes/segment", whole),
        quantity!(peak_pool_bytes, "peak pool", whole),
        quantity!(retransmitted_segments, "retransmitted", whole),
        quantity!(timeouts, "timeouts", whole),
        quantity!(srtt_ms, "RTT ms"),
        quantity!(link_busy_share, "link busy"),
        quantity!(ip_in_receives, "IpInReceives", whole),
        quantity!(ip_out_requests, "IpOutRequests", whole),
        quantity!(tcp_out_segs, "TcpOutSegs", whole),
        quantity!(ip_ext_out_octets, "IpExtOutOctets", whole),
        Self {
            name: "goodput_of_baseline",
            heading: "of baseline",
            of: |measured| measured.goodput_of_baseline,
            whole: false,
        },
    ];
}

impl Serialize for Measured {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("outcome", self.outcome.name())?;
        for quantity in Quantity::ALL {
            if let Some(value) = (quantity.of)(self) {
                if quantity.whole {
                    map.serialize_entry(quantity.name, &(value as u64))?;
                } else {
                    map.serialize_entry(quantity.name, &millionths(value))?;
                }
            }
        }
        map.end()
    }
}

/// The number with six decimals, so that a file of results stays readable.
fn millionths(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
