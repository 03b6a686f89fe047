//! Proportional Rate Reduction: how much may leave with each ACK of a fast
//! recovery. RFC 9937 (which replaces RFC 6937).
//!
//! Rule: bytes leave in proportion to the bytes delivered, so that the window reaches
//! `ssthresh` exactly at the end of the recovery, without a pause and without a burst.

use fullpipe_pool::record;

/// State of one recovery, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// Bytes in flight when the recovery began, newly lost ones included.
    recover_fs: u32,
    /// Bytes delivered since the recovery began.
    delivered: u32,
    /// Bytes sent since the recovery began.
    out: u32,
}

record!(Prr {
    recover_fs,
    delivered,
    out
});

/// Inputs from one ACK, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct PrrAck {
    /// Bytes newly delivered, cumulatively or by SACK.
    pub delivered: u32,
    /// Bytes in flight.
    pub in_flight: u32,
    /// Target of the reduction.
    pub ssthresh: u32,
    /// Effective segment size.
    pub mss: u32,
    /// `snd_una` advanced and no further loss was found.
    pub is_safe: bool,
}

impl Prr {
    /// State outside of a recovery.
    pub const IDLE: Self = Self {
        recover_fs: 1,
        delivered: 0,
        out: 0,
    };

    /// Starts a recovery with `in_flight` bytes in flight, newly lost ones included.
    pub fn start(in_flight: u32) -> Self {
        Self {
            recover_fs: in_flight.max(1),
            delivered: 0,
            out: 0,
        }
    }

    /// Returns the window after an ACK.
    pub fn on_ack(&mut self, ack: PrrAck) -> u32 {
        let PrrAck {
            delivered,
            in_flight,
            ssthresh,
            mss,
            is_safe,
        } = ack;
        self.delivered = self.delivered.saturating_add(delivered);
        let send = if in_flight > ssthresh {
            let share = u64::from(self.delivered) * u64::from(ssthresh);
            let due = share
                .div_ceil(u64::from(self.recover_fs))
                .min(u32::MAX.into()) as u32;
            due.saturating_sub(self.out)
        } else {
            let behind = self.delivered.saturating_sub(self.out);
            let safe = if is_safe { mss } else { 0 };
            behind
                .max(delivered)
                .saturating_add(safe)
                .min(ssthresh - in_flight)
        };
        // The first retransmission always leaves: the peer waits for it.
        let send = if self.out == 0 { send.max(mss) } else { send };
        in_flight.saturating_add(send)
    }

    /// Notes that `bytes` left.
    pub fn on_sent(&mut self, bytes: u32) {
        self.out = self.out.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests;
