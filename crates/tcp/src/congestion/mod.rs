//! How much may be in flight.
//!
//! Rule: an algorithm sees what was delivered and what was lost, and answers
//! with a window; it never sees a buffer, a peer's window or a segment. A new
//! algorithm is one file with the trait, and one row in [`Controller`].

mod newreno;

pub use newreno::NewReno;

use crate::{CongestionAlgorithm, Limit, TcpConfig};

/// What an algorithm is told of one ACK that acknowledges something new.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Bytes newly acknowledged.
    pub acked: u32,
    /// Effective segment size in bytes.
    pub mss: u32,
    /// The congestion window was what held the sender back. When something else
    /// did, the window must not grow: it has not been tested. RFC 7661.
    pub cwnd_limited: bool,
}

/// A congestion control algorithm. All quantities are bytes.
pub trait CongestionControl {
    /// Bytes that may be in flight.
    fn cwnd(&self) -> u32;

    /// Above this the window grows slowly; `u32::MAX` until a loss sets it.
    fn ssthresh(&self) -> u32;

    /// Something was delivered, outside of recovery.
    fn on_delivery(&mut self, delivery: Delivery);

    /// A loss was found with `in_flight` bytes outstanding. Called once for a
    /// window of data, however many segments were lost from it.
    fn on_loss(&mut self, in_flight: u32, mss: u32);

    /// The retransmission timer ran out with `in_flight` bytes outstanding;
    /// `first` is false for the second and later timeouts of the same data.
    fn on_timeout(&mut self, in_flight: u32, mss: u32, first: bool);

    /// Nothing was sent for a retransmission timeout: the window is stale.
    fn on_idle(&mut self, initial_window: u32);
}

/// The algorithm of one connection. An enum, because a connection owns no heap.
#[derive(Clone, Debug)]
pub enum Controller {
    /// RFC 5681 and RFC 6582.
    NewReno(NewReno),
}

impl Controller {
    /// The algorithm that `config` names, with its initial window.
    pub fn new(config: &TcpConfig, mss: u32) -> Self {
        match config.congestion {
            CongestionAlgorithm::NewReno => {
                Self::NewReno(NewReno::new(initial_window(config, mss)))
            }
        }
    }

    /// The limit that a full congestion window stands for now.
    pub fn limit(&self) -> Limit {
        if self.cwnd() < self.ssthresh() {
            Limit::CwndSlowStart
        } else if self.ssthresh() == u32::MAX {
            Limit::CwndSteady
        } else {
            Limit::CwndAfterLoss
        }
    }

    fn algorithm(&self) -> &dyn CongestionControl {
        match self {
            Self::NewReno(newreno) => newreno,
        }
    }

    fn algorithm_mut(&mut self) -> &mut dyn CongestionControl {
        match self {
            Self::NewReno(newreno) => newreno,
        }
    }
}

impl CongestionControl for Controller {
    fn cwnd(&self) -> u32 {
        self.algorithm().cwnd()
    }

    fn ssthresh(&self) -> u32 {
        self.algorithm().ssthresh()
    }

    fn on_delivery(&mut self, delivery: Delivery) {
        self.algorithm_mut().on_delivery(delivery);
    }

    fn on_loss(&mut self, in_flight: u32, mss: u32) {
        self.algorithm_mut().on_loss(in_flight, mss);
    }

    fn on_timeout(&mut self, in_flight: u32, mss: u32, first: bool) {
        self.algorithm_mut().on_timeout(in_flight, mss, first);
    }

    fn on_idle(&mut self, initial_window: u32) {
        self.algorithm_mut().on_idle(initial_window);
    }
}

/// The initial congestion window in bytes. RFC 6928 §2: ten segments, and no
/// more than 14,600 bytes unless two segments are.
pub fn initial_window(config: &TcpConfig, mss: u32) -> u32 {
    let segments = config.initial_window;
    let ceiling = (segments * 1_460).max(2 * mss);
    (segments * mss).min(ceiling)
}
