//! NewReno: slow start, congestion avoidance, half on loss. RFC 5681, with
//! appropriate byte counting (RFC 3465, L = 2).
//!
//! Rule: window = window + acked in slow start, + one segment a round trip
//! after it. What fast recovery adds meanwhile is `recovery`'s credit, not
//! part of the window.

use super::{CongestionControl, Delivery};

/// The state of NewReno. Bytes throughout.
#[derive(Clone, Debug)]
pub struct NewReno {
    cwnd: u32,
    ssthresh: u32,
    /// Bytes acknowledged since the window last grew in congestion avoidance.
    bytes_acked: u32,
}

impl NewReno {
    /// In slow start with a window of `cwnd` bytes.
    pub const fn new(cwnd: u32) -> Self {
        Self {
            cwnd,
            ssthresh: u32::MAX,
            bytes_acked: 0,
        }
    }

    /// RFC 5681 equation 4.
    fn half(in_flight: u32, mss: u32) -> u32 {
        (in_flight / 2).max(2 * mss)
    }
}

impl CongestionControl for NewReno {
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    fn on_delivery(
        &mut self,
        Delivery {
            acked,
            mss,
            cwnd_limited,
        }: Delivery,
    ) {
        if !cwnd_limited {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd = self.cwnd.saturating_add(acked.min(2 * mss));
            return;
        }
        self.bytes_acked = self.bytes_acked.saturating_add(acked);
        if self.bytes_acked >= self.cwnd {
            self.bytes_acked -= self.cwnd;
            self.cwnd = self.cwnd.saturating_add(mss);
        }
    }

    fn on_loss(&mut self, in_flight: u32, mss: u32) {
        self.ssthresh = Self::half(in_flight, mss);
        self.cwnd = self.ssthresh;
        self.bytes_acked = 0;
    }

    fn on_timeout(&mut self, in_flight: u32, mss: u32, first: bool) {
        if first {
            self.ssthresh = Self::half(in_flight, mss);
        }
        self.cwnd = mss;
        self.bytes_acked = 0;
    }

    fn on_idle(&mut self, initial_window: u32) {
        self.cwnd = self.cwnd.min(initial_window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1_000;

    fn delivery(acked: u32) -> Delivery {
        Delivery {
            acked,
            mss: MSS,
            cwnd_limited: true,
        }
    }

    #[test]
    fn slow_start_doubles_a_window_each_round_trip() {
        let mut reno = NewReno::new(10 * MSS);
        for _ in 0..5 {
            reno.on_delivery(delivery(2 * MSS));
        }
        assert_eq!(reno.cwnd(), 20 * MSS);
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_each_round_trip() {
        let mut reno = NewReno::new(20 * MSS);
        reno.on_loss(20 * MSS, MSS);
        for _ in 0..5 {
            reno.on_delivery(delivery(2 * MSS));
        }
        assert_eq!(reno.cwnd(), 11 * MSS);
    }

    #[test]
    fn loss_halves_what_was_in_flight_and_a_timeout_starts_over() {
        let mut reno = NewReno::new(40 * MSS);
        reno.on_loss(20 * MSS, MSS);
        assert_eq!((reno.cwnd(), reno.ssthresh()), (10 * MSS, 10 * MSS));
        reno.on_timeout(10 * MSS, MSS, true);
        assert_eq!((reno.cwnd(), reno.ssthresh()), (MSS, 5 * MSS));
        reno.on_timeout(MSS, MSS, false);
        assert_eq!(
            reno.ssthresh(),
            5 * MSS,
            "the same data is not punished twice"
        );
    }

    #[test]
    fn a_window_that_was_not_the_bound_does_not_grow() {
        let mut reno = NewReno::new(10 * MSS);
        reno.on_delivery(Delivery {
            cwnd_limited: false,
            ..delivery(9 * MSS)
        });
        assert_eq!(reno.cwnd(), 10 * MSS);
    }
}
