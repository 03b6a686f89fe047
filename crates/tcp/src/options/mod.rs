//! The options that both ends agreed on in their SYNs.
//!
//! Rule: an option is used only if both SYNs carried it, and never changes
//! afterwards. The wire format of options is in `fullpipe_wire`.

use fullpipe_pool::record;

mod timestamps;

pub use timestamps::TimestampClock;

pub use crate::segment::DEFAULT_MSS;

use fullpipe_wire::TcpOptions;

use crate::{TcpConfig, fit::whole_fit, receive::LargestWindow};

/// Bytes that the timestamps option takes in each segment, with padding.
const TIMESTAMPS_LEN: u32 = 12;
/// Largest shift count. RFC 7323 §2.3.
pub const MAX_WINDOW_SCALE: u8 = 14;

/// Options that this side offers in its SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Largest segment that this side wants to receive.
    pub mss: u16,
    /// Shift count that this side would use for its own window.
    pub window_scale: Option<u8>,
    /// Selective acknowledgments are offered.
    pub sack: bool,
    /// Timestamps are offered.
    pub timestamps: bool,
}

record!(Offer {
    mss,
    window_scale,
    sack,
    timestamps
});

impl Offer {
    /// Creates the offer of `config` for a path that carries `mss_limit` bytes of payload in a
    /// packet without TCP options. `window` is the largest window that will ever be advertised.
    pub fn new(config: &TcpConfig, mss_limit: u16, window: LargestWindow) -> Self {
        let mss = u32::from(mss_limit).min(config.mss_max);
        let options = if config.timestamps { TIMESTAMPS_LEN } else { 0 };
        let payload = mss.saturating_sub(options).max(1);
        let window_payload = whole_fit(payload, window.always, config.fit_segments);
        Self {
            mss: mss.min(window_payload + options) as u16,
            window_scale: config.window_scaling.then(|| scale_for(window.most)),
            sack: cfg!(feature = "sack") && config.sack,
            timestamps: config.timestamps,
        }
    }
}

/// Options that both sides agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// Largest segment that the peer wants to receive, options not counted.
    pub peer_mss: u16,
    /// Both SYNs carried the window scale option.
    pub scaling: bool,
    /// Shift count of the windows that the peer sends.
    pub snd_wscale: u8,
    /// Shift count of the windows that this side sends.
    pub rcv_wscale: u8,
    /// Selective acknowledgments are used.
    pub sack: bool,
    /// Timestamps are used.
    pub timestamps: bool,
    /// Congestion marks are reported and answered. Agreed by flags, not by
    /// options. RFC 3168 §6.1.1.
    pub ecn: bool,
}

record!(Agreed {
    peer_mss,
    scaling,
    snd_wscale,
    rcv_wscale,
    sack,
    timestamps,
    ecn
});

impl Agreed {
    /// Combines this side's `offer` with the options of the peer's SYN. The caller sets
    /// `ecn`.
    // Hidden, because the crate `fullpipe` re-exports this type but not the parameters' types.
    #[doc(hidden)]
    pub fn new(offer: Offer, peer: &TcpOptions, config: &TcpConfig) -> Self {
        let peer_mss = u32::from(peer.mss.unwrap_or(DEFAULT_MSS)).max(config.mss_min);
        let scales = offer.window_scale.zip(peer.window_scale);
        Self {
            peer_mss: peer_mss.min(u16::MAX.into()) as u16,
            scaling: scales.is_some(),
            snd_wscale: scales.map_or(0, |(_, theirs)| theirs.min(MAX_WINDOW_SCALE)),
            rcv_wscale: scales.map_or(0, |(ours, _)| ours),
            sack: offer.sack && peer.sack_permitted,
            timestamps: offer.timestamps && peer.timestamps.is_some(),
            ecn: false,
        }
    }

    /// Returns the state before the peer's SYN: nothing is agreed.
    pub const fn nothing() -> Self {
        Self {
            peer_mss: DEFAULT_MSS,
            scaling: false,
            snd_wscale: 0,
            rcv_wscale: 0,
            sack: false,
            timestamps: false,
            ecn: false,
        }
    }

    /// Returns true if selective acknowledgments are used.
    pub const fn has_sack(&self) -> bool {
        // Without the feature this is a constant, so that the code that needs SACK is left out.
        cfg!(feature = "sack") && self.sack
    }

    /// Returns true if congestion marks are reported and answered.
    pub const fn has_ecn(&self) -> bool {
        cfg!(feature = "ecn") && self.ecn
    }

    /// Returns the bytes of options that every segment carries.
    pub const fn options_len(&self) -> u32 {
        if self.timestamps { TIMESTAMPS_LEN } else { 0 }
    }
}

/// Returns the smallest shift count, at most [`MAX_WINDOW_SCALE`], with which the window field can
/// express `buffer` bytes, rounded up to the next unit.
fn scale_for(buffer: u32) -> u8 {
    let mut scale = 0;
    while scale < MAX_WINDOW_SCALE && u64::from(buffer) + (1 << scale) - 1 > 0xffff << scale {
        scale += 1;
    }
    scale
}

#[cfg(test)]
mod tests;
