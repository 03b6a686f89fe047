//! How much may leave with each ACK of a recovery. Proportional Rate Reduction,
//! RFC 9937 (which replaces RFC 6937).
//!
//! Rule: what leaves is in proportion to what arrives, so that the window has
//! shrunk to `ssthresh` exactly when the recovery is over, without a pause and
//! without a burst.

/// The state of one recovery. Bytes throughout.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// In flight when the recovery began.
    recover_fs: u32,
    /// Arrived since.
    delivered: u32,
    /// Left since.
    out: u32,
}

/// What one ACK of a recovery tells.
#[derive(Clone, Copy, Debug)]
pub struct PrrAck {
    /// Newly arrived, cumulatively or by SACK.
    pub delivered: u32,
    /// On its way now.
    pub in_flight: u32,
    /// What congestion control wants the window to be.
    pub ssthresh: u32,
    /// Effective segment size.
    pub mss: u32,
    /// `snd_una` moved and nothing more was found lost: the path is not worse
    /// than thought.
    pub is_safe: bool,
}

impl Prr {
    /// No recovery.
    pub const IDLE: Self = Self {
        recover_fs: 1,
        delivered: 0,
        out: 0,
    };

    /// A recovery begins with `in_flight` bytes on their way.
    pub fn start(in_flight: u32) -> Self {
        Self {
            recover_fs: in_flight.max(1),
            delivered: 0,
            out: 0,
        }
    }

    /// The congestion window after an ACK.
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
            let conservative = self.delivered.saturating_sub(self.out);
            let limit = if is_safe {
                conservative.max(delivered) + mss
            } else {
                conservative
            };
            limit.min(ssthresh - in_flight)
        };
        // The first retransmission leaves in any case: it is what the peer waits for.
        let send = if self.out == 0 { send.max(mss) } else { send };
        in_flight.saturating_add(send)
    }

    /// `bytes` have left.
    pub fn on_sent(&mut self, bytes: u32) {
        self.out = self.out.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests;
