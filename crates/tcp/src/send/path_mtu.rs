//! Path MTU discovery: from packet-too-big messages (RFC 1191), from
//! acknowledged segments, and from probes (RFC 4821, RFC 8899) if no
//! messages arrive.
//!
//! Rule: an acknowledged size is stronger evidence than a packet-too-big message, and a
//! message is stronger than a loss. A message that contradicts an acknowledged size waits
//! for a timeout (RFC 5927 §7.2); a size counts as too large after two lost probes.
//! `connection` sends the probes.
//!
//! A size counts the payload and the TCP options of a packet, but not its other headers.

use core::num::NonZeroU16;

use fullpipe_pool::{Instant, record};

use crate::{MtuProbing, SeqNum, TcpConfig};

/// Smallest size that the search after a black hole (a path that drops large packets silently)
/// tries: a packet of 256 bytes.
const FLOOR: u16 = 216;
/// Smallest size that a packet-too-big message can set: the size for the smallest MTU, 68 bytes
/// (RFC 791 §3.2). The effective bound is the knob `ip.path_mtu_min`.
const LEAST_REPORTED: u16 = 28;
/// Sizes that differ by less than this number of bytes are not worth a probe.
const STEP: u16 = 16;
/// Number of lost probes after which their size counts as too large.
const LOSSES: u8 = 2;

/// Effect of a packet-too-big message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PtbOutcome {
    /// The reported size is no smaller than the present one.
    Ignored,
    /// Larger segments have been acknowledged: the message waits for a timeout.
    Deferred,
    /// Segments are smaller from now on.
    Accepted,
}

/// A packet-too-big message: a router dropped the segment with `seq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTooBig {
    /// Size that the path carries, but at least the smallest size that this side sends.
    pub size: u16,
    /// The path carries less than `size`: routers must fragment.
    pub fragment: bool,
    /// Sequence number that the message quotes.
    pub seq: SeqNum,
}

record!(PacketTooBig {
    size,
    fragment,
    seq
});

/// Payload in flight whose acknowledgment proves a segment size.
#[derive(Clone, Copy, Debug)]
struct SizedRange {
    start: SeqNum,
    end: SeqNum,
    size: NonZeroU16,
}

record!(SizedRange { start, end, size });

impl SizedRange {
    /// Returns the range; `None` if `size` is 0.
    fn new(start: SeqNum, end: SeqNum, size: u16) -> Option<Self> {
        let size = NonZeroU16::new(size)?;
        Some(Self { start, end, size })
    }
}

/// State of the search on one path.
#[derive(Clone, Debug)]
pub struct PathMtu {
    /// Size that the first link carries: never exceeded.
    link: u16,
    /// Largest segment that is sent.
    limit: u16,
    /// Largest size that was acknowledged; 0 if none is known.
    proven: u16,
    /// Smallest size that is considered too large.
    too_large: u16,
    /// A reported size that contradicts an acknowledged one, and the sequence
    /// number that the message quotes.
    doubted: Option<PacketTooBig>,
    /// A router reported a smaller MTU than this side sends: packets up to `limit`
    /// carry no DF.
    fragments: bool,
    /// A larger limit is searched for.
    searching: bool,
    /// Time at which a size that was too large may be tried again.
    retry_at: Option<Instant>,
    /// Lost probes of the size under test.
    losses: u8,
    /// Payload in flight in segments larger than `proven`.
    evidence: Option<SizedRange>,
    probe: Option<SizedRange>,
}

record!(PathMtu {
    link,
    limit,
    proven,
    too_large,
    doubted,
    fragments,
    searching,
    retry_at,
    losses,
    evidence,
    probe
});

impl PathMtu {
    /// Creates a path whose first link carries `link`.
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
            doubted: None,
            fragments: false,
            searching: limit < link,
            retry_at: None,
            losses: 0,
            evidence: None,
            probe: None,
        }
    }

    /// Returns the size of the largest segment to send.
    pub const fn limit(&self) -> u16 {
        self.limit
    }

    /// Returns true if routers may fragment a packet of `size`.
    pub const fn may_fragment(&self, size: u32) -> bool {
        self.fragments && size <= self.limit as u32
    }

    /// Processes a packet-too-big message about an ACK. The message is never deferred: acknowledged
    /// segments prove nothing about the size of ACKs, and no timeout retransmits an ACK.
    pub fn on_ack_too_big(
        &mut self,
        report: PacketTooBig,
        now: Instant,
        config: &TcpConfig,
    ) -> PtbOutcome {
        let proven = core::mem::take(&mut self.proven);
        let outcome = self.on_packet_too_big(report, now, config);
        if outcome != PtbOutcome::Accepted {
            self.proven = proven;
        }
        outcome
    }

    /// Processes a packet-too-big message.
    pub fn on_packet_too_big(
        &mut self,
        report: PacketTooBig,
        now: Instant,
        config: &TcpConfig,
    ) -> PtbOutcome {
        let PacketTooBig { size, fragment, .. } = report;
        let size = size.max(LEAST_REPORTED);
        let allows_fragments = fragment && !self.fragments;
        if size >= self.limit && !allows_fragments {
            return PtbOutcome::Ignored;
        }
        // Take at most `limit`: in a report with `fragment`, the knob `ip.path_mtu_min` may have
        // raised the size above `limit`.
        let carried = size.min(self.limit);
        if carried < self.proven || (allows_fragments && carried == self.proven) {
            self.doubted = Some(report);
            return PtbOutcome::Deferred;
        }
        self.accept(report, now + config.probe_interval);
        PtbOutcome::Accepted
    }

    fn accept(&mut self, report: PacketTooBig, retry_at: Instant) {
        self.limit = report.size.max(LEAST_REPORTED).min(self.limit);
        self.fragments |= report.fragment;
        self.proven = self.proven.min(self.limit);
        self.searching = false;
        self.retry_at = Some(retry_at);
        (self.evidence, self.probe) = (None, None);
    }

    /// Responds to the `in_row`th consecutive timeout. The segments sent had up to `used` bytes.
    /// Returns true if segments are smaller from now on.
    pub fn on_timeout(&mut self, in_row: u32, used: u16, now: Instant, config: &TcpConfig) -> bool {
        self.evidence = None;
        if let Some(doubted) = self.doubted.take() {
            self.proven = 0;
            self.accept(doubted, now + config.probe_interval);
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
        // The cause may also have been an outage, so all sizes may be tried again.
        self.too_large = self.link.saturating_add(1);
        self.searching = true;
        self.retry_at = None;
        self.losses = 0;
        true
    }

    /// Returns true if no larger size is searched for, neither now nor later.
    pub const fn is_at_rest(&self) -> bool {
        !self.searching && self.retry_at.is_none()
    }

    /// Allows larger sizes again if the wait after a failure is over. RFC 1191
    /// §6.3.
    pub fn on_time(&mut self, now: Instant, config: &TcpConfig) {
        if self.retry_at.is_none_or(|at| at > now) {
            return;
        }
        self.retry_at = None;
        self.too_large = self.link.saturating_add(1);
        match config.mtu_probing {
            MtuProbing::Off => (self.limit, self.fragments) = (self.link, false),
            MtuProbing::BlackHole | MtuProbing::Always => self.searching = true,
        }
    }

    /// Returns the size of the next probe, at most `most`; `None` if there is
    /// nothing to find out or a probe is in flight.
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
        // The largest size is tried first, because most paths carry what the first link
        // carries.
        let untried = self.too_large > self.link;
        let half = self.limit + (high - self.limit).div_ceil(2);
        self.searching.then_some(if untried { high } else { half })
    }

    /// Notes that new payload leaves in segments of `size`.
    pub fn on_sent(&mut self, start: SeqNum, end: SeqNum, size: u16) {
        if size > self.proven && self.evidence.is_none() {
            self.evidence = SizedRange::new(start, end, size);
        }
    }

    /// Notes that a probe of `size` leaves.
    pub fn on_probe(&mut self, start: SeqNum, end: SeqNum, size: u16) {
        self.probe = SizedRange::new(start, end, size);
    }

    /// Notes that the payload from `start` to `end` is retransmitted: its acknowledgment
    /// then proves nothing about the size in which it first left. Returns true if a probe
    /// counts as lost because of this.
    pub fn on_retransmitted(&mut self, start: SeqNum, end: SeqNum, until: Instant) -> bool {
        let same = |evidence: &SizedRange| start.before(evidence.end) && evidence.start.before(end);
        self.evidence = self.evidence.filter(|evidence| !same(evidence));
        self.probe.as_ref().is_some_and(same) && self.on_probe_lost(until)
    }

    /// Notes that the probe was lost; a size that is too large is tried again
    /// at `until`. Returns true if a probe was in flight.
    pub fn on_probe_lost(&mut self, until: Instant) -> bool {
        let Some(probe) = self.probe.take() else {
            return false;
        };
        self.losses += 1;
        if self.losses >= LOSSES {
            self.losses = 0;
            self.too_large = probe.size.get().min(self.too_large);
            self.retry_at = Some(until);
        }
        true
    }

    /// Notes that `snd_una` advanced. Returns true if a probe was acknowledged.
    pub fn on_ack(&mut self, snd_una: SeqNum) -> bool {
        // Drop a doubted message once the segment that it quotes has arrived.
        self.doubted = self
            .doubted
            .filter(|report| report.seq.at_or_after(snd_una));
        let arrived = |evidence: &mut SizedRange| evidence.end.at_or_before(snd_una);
        if let Some(SizedRange { size, .. }) = self.evidence.take_if(arrived) {
            self.proven = self.proven.max(size.get().min(self.limit));
        }
        let Some(SizedRange { size, .. }) = self.probe.take_if(arrived) else {
            return false;
        };
        (self.limit, self.proven, self.losses) = (size.get(), size.get(), 0);
        self.fragments = false;
        true
    }
}

fn base(config: &TcpConfig) -> u16 {
    config.base_mss.min(u16::MAX.into()) as u16
}

#[cfg(test)]
mod tests;
