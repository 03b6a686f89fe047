//! The length of a test and the rate of a sender.
//!
//! Rule: every value of these types can be written in the header that a client sends. A length is a
//! time or a number of bytes; a rate is in bits or in writes per second.

use core::time::Duration;

/// Default port of iperf 2.
pub const DEFAULT_PORT: u16 = 5001;
/// Bytes of one datagram without `-l`.
pub const UDP_LENGTH: usize = 1470;
/// Rate of a UDP test without `-b`, in bit/s.
pub const UDP_RATE: u64 = 1024 * 1024;

/// Length of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Time (`-t`).
    Time(Duration),
    /// Bytes of payload for each stream (`-n`).
    Bytes(u64),
}

/// Rate limit of a stream (`-b`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Bits of payload per second.
    Bits(u64),
    /// Writes or datagrams per second.
    Packets(u64),
}

impl Rate {
    /// Returns the time that a write of `bytes` takes at this rate.
    pub fn time_of(self, bytes: usize) -> Duration {
        let seconds = match self {
            Self::Bits(rate_bps) => bytes as f64 * 8.0 / rate_bps as f64,
            Self::Packets(per_second) => 1.0 / per_second as f64,
        };
        Duration::from_secs_f64(seconds)
    }
}
