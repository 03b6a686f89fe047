//! How long a segment the path carries, and how that is found out: by what
//! routers claim (RFC 1191), by what was acknowledged, and by probes (RFC 4821,
//! RFC 8899) where routers say nothing.
//!
//! Rule: what was acknowledged counts for more than what is claimed, and what is
//! lost for less than either: a claim against it waits for a timeout (RFC 5927
//! §7.2), a lost probe is asked twice. Nothing here sends; `connection` does.
//!
//! Sizes are text and options: a packet less its IP and TCP headers.

use fullpipe_pool::Instant;

use crate::{MtuProbing, SeqNum, TcpConfig};

/// Black holes are not looked for below this: a packet of 256 bytes.
const FLOOR: u16 = 216;
/// Claims of less are taken for this: options and a little text. `ip.path_mtu_min`
/// is the bound that matters.
const LEAST_CLAIM: u16 = 48;
/// Sizes closer than this are not worth a probe.
const STEP: u16 = 16;
/// Probes of one size that are lost before it is taken for too large.
const LOSSES: u8 = 2;

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PtbOutcome {
    /// It says nothing that was not known.
    Idle,
    /// Segments of more than it says have arrived: it waits for a timeout.
    Doubted,
    /// Segments are smaller from now on.
    Believed,
}

/// Text on its way that says something about the path when it arrives.
#[derive(Clone, Copy, Debug)]
struct SizedRange {
    start: SeqNum,
    end: SeqNum,
    size: u16,
}

/// What is known of the path.
#[derive(Clone, Debug)]
pub struct PathMtu {
    /// What the first link carries: never exceeded.
    link: u16,
    /// What the path is taken to carry.
    limit: u16,
    /// The largest that has arrived; 0 when that is not known.
    proven: u16,
    /// The smallest that is taken for too large.
    too_large: u16,
    /// A claim that contradicts what has arrived, and the segment that it quotes.
    claim: Option<(u16, SeqNum)>,
    /// A larger limit is searched for.
    searching: bool,
    /// When what was too large may be tried again.
    again_at: Option<Instant>,
    /// Probes of the size under test that were lost.
    losses: u8,
    /// A segment larger than any that is known to have arrived.
    witness: Option<SizedRange>,
    probe: Option<SizedRange>,
}

impl PathMtu {
    /// A path whose first link carries `link`.
    pub fn new(link: u16, config: &TcpConfig) -> Self {
        let careful = config.mtu_probing == MtuProbing::Always;
        let limit = if careful {
            link.min(base(config))
        } else {
            link
        };
        Self {
            link,
            limit,
            proven: 0,
            too_large: link.saturating_add(1),
            claim: None,
            searching: limit < link,
            again_at: None,
            losses: 0,
            witness: None,
            probe: None,
        }
    }

    /// What the path is taken to carry.
    pub const fn limit(&self) -> u16 {
        self.limit
    }

    /// A router claims that it dropped the segment with `seq`, because the path
    /// carries no more than `claimed`.
    pub fn on_packet_too_big(
        &mut self,
        claimed: u16,
        seq: SeqNum,
        now: Instant,
        config: &TcpConfig,
    ) -> PtbOutcome {
        let claimed = claimed.max(LEAST_CLAIM);
        if claimed >= self.limit {
            return PtbOutcome::Idle;
        }
        if claimed < self.proven {
            self.claim = Some((claimed, seq));
            return PtbOutcome::Doubted;
        }
        self.believe(claimed, now + config.probe_interval);
        PtbOutcome::Believed
    }

    fn believe(&mut self, claimed: u16, again_at: Instant) {
        self.limit = claimed.min(self.limit);
        self.too_large = self.limit + 1;
        self.proven = self.proven.min(self.limit);
        self.searching = false;
        self.again_at = Some(again_at);
        (self.witness, self.probe) = (None, None);
    }

    /// The `in_row`th timeout in a row, of segments of up to `used`. Returns
    /// whether segments are smaller from now on.
    pub fn on_timeout(&mut self, in_row: u32, used: u16, now: Instant, config: &TcpConfig) -> bool {
        self.witness = None;
        if let Some((claim, _)) = self.claim.take() {
            self.proven = 0;
            self.believe(claim, now + config.probe_interval);
            return true;
        }
        let hole = config.mtu_probing != MtuProbing::Off && in_row >= config.retries1;
        if !hole || used <= FLOOR {
            return false;
        }
        let base = base(config);
        let smaller = if used > base { base } else { used / 2 };
        self.limit = smaller.max(FLOOR).min(self.limit);
        self.proven = 0;
        // It may as well have been an outage: everything is tried anew.
        self.too_large = self.link.saturating_add(1);
        self.searching = true;
        self.again_at = None;
        self.losses = 0;
        true
    }

    /// What has been too large for long may have become possible. RFC 1191 §6.3.
    pub fn on_time(&mut self, now: Instant, config: &TcpConfig) {
        if self.again_at.is_none_or(|at| at > now) {
            return;
        }
        self.again_at = None;
        self.too_large = self.link.saturating_add(1);
        match config.mtu_probing {
            MtuProbing::Off => self.limit = self.link,
            MtuProbing::BlackHole | MtuProbing::Always => self.searching = true,
        }
    }

    /// The size to probe with, of at most `most`; `None` when there is nothing
    /// to find out, or a probe is on its way.
    pub fn candidate(&mut self, most: u16) -> Option<u16> {
        if !self.searching || self.probe.is_some() {
            return None;
        }
        let high = (self.too_large - 1).min(most).min(self.link);
        if high < self.limit.saturating_add(STEP) && self.too_large <= self.link {
            self.searching = false;
        }
        if high <= self.limit {
            return None;
        }
        // All of it at once, first: most paths carry what their ends do.
        let untried = self.too_large > self.link;
        let half = self.limit + (high - self.limit).div_ceil(2);
        self.searching.then_some(if untried { high } else { half })
    }

    /// Text that was never sent leaves in segments of `size`.
    pub fn on_sent(&mut self, start: SeqNum, end: SeqNum, size: u16) {
        if size > self.proven && self.witness.is_none() {
            self.witness = Some(SizedRange { start, end, size });
        }
    }

    /// A probe of `size` leaves.
    pub fn on_probe(&mut self, start: SeqNum, end: SeqNum, size: u16) {
        self.probe = Some(SizedRange { start, end, size });
    }

    /// The text from `start` to `end` leaves again: its arrival says nothing of
    /// the size that it had first. Returns whether a probe is given up for lost.
    pub fn on_sent_again(&mut self, start: SeqNum, end: SeqNum, until: Instant) -> bool {
        let same = |witness: &SizedRange| start.before(witness.end) && witness.start.before(end);
        self.witness = self.witness.filter(|witness| !same(witness));
        self.probe.as_ref().is_some_and(same) && self.on_probe_lost(until)
    }

    /// The probe was lost; a size that is too large is tried again at `until`.
    /// Returns whether there was one.
    pub fn on_probe_lost(&mut self, until: Instant) -> bool {
        let Some(probe) = self.probe.take() else {
            return false;
        };
        self.losses += 1;
        if self.losses >= LOSSES {
            self.losses = 0;
            self.too_large = probe.size.min(self.too_large).max(self.limit + 1);
            self.again_at = Some(until);
        }
        true
    }

    /// Everything before `snd_una` has arrived. Returns whether a probe has.
    pub fn on_ack(&mut self, snd_una: SeqNum) -> bool {
        // What it says was dropped has arrived.
        self.claim = self.claim.filter(|(_, seq)| seq.at_or_after(snd_una));
        let arrived = |witness: &mut SizedRange| witness.end.at_or_before(snd_una);
        if let Some(SizedRange { size, .. }) = self.witness.take_if(arrived) {
            self.proven = self.proven.max(size.min(self.limit));
        }
        let Some(SizedRange { size, .. }) = self.probe.take_if(arrived) else {
            return false;
        };
        (self.limit, self.proven, self.losses) = (size, size, 0);
        true
    }
}

fn base(config: &TcpConfig) -> u16 {
    config.base_mss.min(u16::MAX.into()) as u16
}

#[cfg(test)]
mod tests;
