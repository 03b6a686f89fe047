//! The ledger: the sender's time and bytes by limit, and the bands (periods with one limit) in the
//! order of time.
//!
//! Rule: spans of time are added in order and without gaps, so the times add up to the end of the
//! last span. At most [`ObservedConnection::BANDS`] bands are kept. Later spans join the last band.
//! If such a span is longer than the band was before, the band takes the limit of the span.

use fullpipe_pool::Duration;
use fullpipe_tcp::limit::Reason;

use super::{
    observed::{Band, ObservedConnection},
    seen_limit::SeenLimit,
};
use crate::account::Times;

/// Time and bytes of a sender by limit.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    times: [u64; SeenLimit::COUNT],
    sure: [u64; SeenLimit::COUNT],
    bytes: [u64; SeenLimit::COUNT],
    bands: Vec<Band>,
    /// End of the last span.
    until: u64,
}

impl Ledger {
    /// Charges the time from the last span until `until`, and `bytes`, to `limit`.
    pub fn charge(&mut self, until: u64, limit: SeenLimit, is_sure: bool, bytes: u64) {
        let at_ns = self.until;
        let until = until.max(at_ns);
        let place = limit.index();
        self.times[place] += until - at_ns;
        if is_sure {
            self.sure[place] += until - at_ns;
        }
        self.bytes[place] += bytes;
        self.until = until;
        let full = self.bands.len() >= ObservedConnection::BANDS;
        match self.bands.last_mut() {
            Some(band) if (band.limit == limit && band.is_sure == is_sure) || full => {
                if band.end_ns - band.at_ns < until - at_ns {
                    (band.limit, band.is_sure) = (limit, is_sure);
                }
                band.end_ns = until;
                band.bytes += bytes;
            }
            Some(_) | None if until > at_ns || bytes > 0 => self.bands.push(Band {
                at_ns,
                end_ns: until,
                limit,
                is_sure,
                bytes,
            }),
            Some(_) | None => {}
        }
    }

    /// Takes back the time after `end`. The end of a handshake at the sender is computed from the
    /// round trip, so it may lie after the end of the capture.
    pub fn cut_at(&mut self, end: u64) {
        while self.until > end
            && let Some(mut band) = self.bands.pop()
        {
            let excess = (self.until - end).min(band.end_ns - band.at_ns);
            let place = band.limit.index();
            self.times[place] = self.times[place].saturating_sub(excess);
            self.sure[place] = self.sure[place].min(self.times[place]);
            band.end_ns -= excess;
            self.until -= excess;
            match self.bands.last_mut() {
                Some(before) if band.at_ns == band.end_ns => before.bytes += band.bytes,
                Some(_) | None => self.bands.push(band),
            }
            if excess == 0 {
                break;
            }
        }
    }

    /// The account, the part of it that is certain, and the bands.
    pub fn finish(self) -> (Times<SeenLimit>, Times<SeenLimit>, Vec<Band>) {
        let times = |times: [u64; SeenLimit::COUNT], bytes: [u64; SeenLimit::COUNT]| {
            let parts = SeenLimit::ALL.iter().map(|&limit| {
                let place = limit.index();
                (limit, Duration::from_nanos(times[place]), bytes[place])
            });
            let mut all = Times::default();
            all.add(parts);
            all
        };
        let none = [0; SeenLimit::COUNT];
        (
            times(self.times, self.bytes),
            times(self.sure, none),
            self.bands,
        )
    }
}
