//! The lever that helps most.
//!
//! Rule: the account and busy resources only choose what is run; the runs choose the cause.
//! A lever counts if it gains more than [`WORTH`] and more than twice its standard error.

use std::cmp::Ordering;

use fullpipe_scenario::{PathAccount, Played, Setup, Shares, path::smallest_mtu};
use fullpipe_tcp::{Limit, ReceiveLimit};

use crate::{
    cause::Cause,
    clue::Clues,
    lever::{Ample, Change, Lever, LeverKind, Place, changed},
    levers,
    twin::{MOST_SEEDS, Speed, Twin, TwinFailure},
};

/// A gain counts from this share on.
pub const WORTH: f64 = 0.02;
/// Lost datagrams count above this share: where it is less, nobody can gain half of [`WORTH`].
const LOST: f64 = WORTH / 2.0;
/// A value suffices, and a lever can be left out, if this share of the gain stays.
pub const KEPT: f64 = 0.98;
/// A lever alone is named if it has this share of the gain of the best combination.
const ALONE: f64 = 0.87;
/// Two causes whose speeds differ by less than this share are both named.
const EQUAL: f64 = 0.05;
/// Headers of a segment with timestamps, in bytes.
const USUAL_OVERHEAD: u64 = 52;
/// Bytes of the options that a segment may carry or not.
const OPTIONS: f64 = 12.0;
/// Gains whose ratio is less than this are equal.
const STEP: f64 = 1.005;
/// Speeds that differ by less than this share are the same.
pub const SAME: f64 = 0.001;
/// Properties of a link that every path has; all others impair it.
const USUAL: [&str; 5] = ["rate", "delay", "mtu", "queue", "radio"];
/// Levers that are run with all seeds after all have run with few.
const FINALISTS: usize = 4;

/// The result of a run with one lever, or with several.
#[derive(Clone, Debug)]
pub struct Gain {
    /// The levers, by their places in the list.
    pub places: Vec<usize>,
    /// Their settings.
    pub changes: Vec<Change>,
    /// The speed.
    pub speed: Speed,
    /// Goodput over that of the unchanged row.
    pub ratio: f64,
    /// Standard error of `ratio`.
    pub error: f64,
    /// True if the changed transfer ends, and the unchanged one does not.
    pub ends: bool,
    /// True if every changed transfer ends whose unchanged one does.
    pub is_complete: bool,
    /// True if at most half of the lost datagrams are lost with the change.
    pub saves: bool,
}

impl Gain {
    /// Returns true if the gain is worth a change, and not chance.
    pub fn is_worth(&self) -> bool {
        let least = if self.saves { 0.0 } else { WORTH };
        self.ends || (self.is_complete && self.ratio - 1.0 > least.max(2.0 * self.error))
    }

    /// Returns true if this gains goodput, and does not only save datagrams.
    pub fn is_faster(&self) -> bool {
        self.is_worth() && (self.ends || self.ratio - 1.0 > WORTH)
    }

    /// Returns true if more seeds may show a gain.
    fn may_be_worth(&self) -> bool {
        let least = if self.saves { 0.0 } else { WORTH };
        self.ends || (self.is_complete && self.ratio - 1.0 > least)
    }

    /// The best of sorted `gains` that is worth a change.
    pub fn first_worth(gains: &[Self]) -> Option<&Self> {
        gains.iter().find(|gain| gain.is_worth())
    }

    /// Order of gains: transfers that end, then the faster one.
    fn rank(&self) -> (bool, bool, f64) {
        (self.ends, self.is_complete, self.ratio)
    }

    /// Returns true if this is faster than `other`.
    pub fn beats(&self, other: &Self) -> bool {
        let [own, other] = [self.rank(), other.rank()];
        (own.0, own.1) > (other.0, other.1)
            || ((own.0, own.1) == (other.0, other.1) && own.2 > other.2)
    }

    /// Returns true if this, of levers together, is clearly more than the best `single` lever.
    pub fn is_more_than(&self, single: Option<&Self>) -> bool {
        let is_clear = |single: &Self| {
            (self.ends, self.ratio) > (single.ends, single.ratio * (1.0 + WORTH))
                && (self.ends != single.ends || single.ratio - 1.0 < (self.ratio - 1.0) * ALONE)
        };
        self.is_worth() && single.is_none_or(is_clear)
    }

    /// Time that this takes off the transfer, as a multiple of that which `other` takes off.
    pub fn saves_of(&self, other: &Self) -> f64 {
        let [own, other_saved] = [self, other].map(|gain| 1.0 - 1.0 / gain.ratio);
        match self.ends.cmp(&other.ends) {
            Ordering::Less => 0.0,
            Ordering::Equal => own / other_saved,
            Ordering::Greater => f64::INFINITY,
        }
    }

    /// Returns true if this takes at least nearly as much off the time as `other`.
    pub fn saves_as_much_time(&self, other: &Self) -> bool {
        self.saves_of(other) >= 1.0 - EQUAL
    }

    /// Returns true if both are about as fast.
    pub fn equals(&self, other: &Self) -> bool {
        self.ends == other.ends && (self.ratio / other.ratio - 1.0).abs() < EQUAL
    }
}

/// A row, its levers, and what is known of them.
pub struct Search<'a> {
    /// The row.
    pub setup: &'a Setup,
    /// The runs.
    pub twin: Twin<'a>,
    /// The unchanged row.
    pub base: Speed,
    /// Every lever.
    pub levers: Vec<Lever>,
    /// Most packet memory that a host may be given, in bytes; `None` without a bound.
    pub memory: Option<u64>,
    /// Clues of the unchanged row.
    pub clues: Clues,
}

impl<'a> Search<'a> {
    /// Prepares the search for `setup`, which `twin` runs. No host is given more packet memory
    /// than `memory` bytes.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn new(setup: &'a Setup, twin: Twin<'a>, memory: Option<u64>) -> Result<Self, TwinFailure> {
        let base = twin.base()?;
        let measured = &base.first.measured;
        let ample = Ample::of(setup, base.mean_mbps() * 1e6, measured.srtt_ms / 1e3);
        let ample = ample.within(memory);
        Ok(Self {
            setup,
            levers: levers::all(setup, ample),
            clues: base.clues.clone(),
            memory,
            twin,
            base,
        })
    }

    /// Leaves the levers of `causes` out.
    pub fn without(&mut self, causes: &[Cause]) {
        self.levers.retain(|lever| !causes.contains(&lever.cause));
    }

    /// The result of a run with `changes`, which are those of the levers at `places`; `None`
    /// if they are refused.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn gain(
        &self,
        places: &[usize],
        changes: &[Change],
        seeds: usize,
    ) -> Result<Option<Gain>, TwinFailure> {
        match self.twin.speed(changes, seeds)? {
            Some(speed) => self.gain_of(places, changes, speed).map(Some),
            None => Ok(None),
        }
    }

    /// As [`gain`](Self::gain), for changes that add to those of `like` or lack some of them,
    /// and may so have no effect.
    ///
    /// # Errors
    /// As [`gain`](Self::gain).
    pub fn gain_like(
        &self,
        like: &Speed,
        (places, changes): (&[usize], &[Change]),
        seeds: usize,
    ) -> Result<Option<Gain>, TwinFailure> {
        match self.twin.speed_like(like, changes, seeds)? {
            Some(speed) => self.gain_of(places, changes, speed).map(Some),
            None => Ok(None),
        }
    }

    /// The gain of a run with `changes`, whose speed is `speed`.
    fn gain_of(
        &self,
        places: &[usize],
        changes: &[Change],
        speed: Speed,
    ) -> Result<Gain, TwinFailure> {
        // A result of more seeds is compared with as many unchanged runs.
        let more = match speed.mbps.len() > self.base.mbps.len() {
            true => self.twin.forced(&[], speed.mbps.len())?,
            false => None,
        };
        let base = more.as_ref().unwrap_or(&self.base);
        Ok(self.gain_over(base, (places, changes), speed))
    }

    /// The gain of a run with `changes` over `base`, which ran with the same seeds.
    fn gain_over(
        &self,
        base: &Speed,
        (places, changes): (&[usize], &[Change]),
        speed: Speed,
    ) -> Gain {
        let lost = self.base.first.measured.lost_share.unwrap_or_default();
        let still = speed.first.measured.lost_share.unwrap_or_default();
        Gain {
            saves: lost > LOST && still <= lost / 2.0,
            places: places.to_vec(),
            changes: changes.to_vec(),
            ratio: speed.over(base),
            error: speed.error(base),
            // A datagram is lost or not: no change lets a transfer of datagrams end.
            ends: !self.setup.flow().is_udp() && speed.is_complete() && !base.is_complete(),
            is_complete: speed.completes_with(base),
            speed,
        }
    }

    /// The better of a lever's two values. The smaller one is run only if the ample one does
    /// not help: too much of a resource can harm.
    fn of_lever(&self, place: usize, seeds: usize) -> Result<Option<Gain>, TwinFailure> {
        let lever = &self.levers[place];
        let ample = self.gain(&[place], &lever.ample, seeds)?;
        let is_amount = matches!(lever.kind, LeverKind::Resource | LeverKind::Path);
        let Some(twice) = lever.twice.as_ref().filter(|_| is_amount) else {
            return Ok(ample);
        };
        // An ample amount that changes nothing, not even a packet, makes a smaller one needless.
        let is_same = |gain: &Gain| {
            let is_same_run = gain.speed.first.steps == self.base.first.steps;
            is_same_run && (gain.ratio - 1.0).abs() < SAME
        };
        let is_settled = |gain: &Gain| gain.is_worth() || is_same(gain);
        if ample.as_ref().is_some_and(is_settled) {
            return Ok(ample);
        }
        let twice = self.gain(&[place], twice, seeds)?;
        Ok(match (ample, twice) {
            (Some(ample), Some(twice)) if ample.beats(&twice) => Some(ample),
            (ample, twice) => twice.or(ample),
        })
    }

    /// Sorts the levers at `places`, the likely ones first: those whose clues explain more of
    /// the time, among `clues`.
    pub fn likely_first(&self, clues: &Clues, places: &mut [usize]) {
        let likely = |place: &usize| clues.share(self.levers[*place].clues);
        places.sort_by(|one, other| {
            let [one, other] = [one, other].map(likely);
            let by_time = other.0.total_cmp(&one.0);
            by_time.then_with(|| other.1.total_cmp(&one.1))
        });
    }

    /// Runs the levers at `places`: all with few seeds, the best with all seeds. The likely
    /// ones run first, because work may end; the best one comes first in the result.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn singles(&self, places: &[usize]) -> Result<Vec<Gain>, TwinFailure> {
        let mut places = places.to_vec();
        self.likely_first(&self.clues, &mut places);
        let mut gains = Vec::new();
        for place in places {
            gains.extend(self.of_lever(place, self.twin.few_seeds())?);
        }
        self.settle(&mut gains)?;
        Ok(gains)
    }

    /// Sorts `gains` after the best have run with all seeds: few seeds do not tell a gain from
    /// chance. Only those that may be the best or its rival deserve more runs.
    pub fn settle(&self, gains: &mut [Gain]) -> Result<(), TwinFailure> {
        let mut settled: Vec<Vec<usize>> = Vec::new();
        self.sort(gains);
        for _ in 0..FINALISTS {
            let is_settled = |gain: &Gain| settled.contains(&gain.places);
            let best = gains
                .iter()
                .find(|gain| is_settled(gain) && gain.is_worth());
            let best = best.cloned();
            let is_near = |gain: &Gain| {
                best.as_ref().is_none_or(|best| {
                    gain.ends >= best.ends && gain.ratio * (1.0 + 2.0 * EQUAL) >= best.ratio
                })
            };
            let next = |gain: &&mut Gain| !is_settled(gain) && gain.may_be_worth() && is_near(gain);
            let Some(next) = gains.iter_mut().find(next) else {
                break;
            };
            self.settle_one(next)?;
            settled.push(next.places.clone());
            self.sort(gains);
        }
        Ok(())
    }

    /// Runs `gain` with all seeds, and with more while they leave open if it is chance.
    fn settle_one(&self, gain: &mut Gain) -> Result<(), TwinFailure> {
        let mut seeds = self.twin.seeds();
        loop {
            let again = self.gain(&gain.places, &gain.changes, seeds)?;
            *gain = again.expect("it has run before");
            let is_open = gain.may_be_worth() && !gain.is_worth();
            let is_all = gain.speed.mbps.len() < seeds || seeds >= MOST_SEEDS || seeds == 1;
            if !is_open || is_all || self.twin.work().is_done() {
                return Ok(());
            }
            seeds *= 2;
        }
    }

    /// Sorts gains, the best first. Of equal ones a setting that the host's system has comes
    /// first, then the one that changes fewer settings.
    fn sort(&self, gains: &mut [Gain]) {
        let effort = |gain: &Gain| {
            let lever = &self.levers[gain.places[0]];
            let is_hardware = lever.kind == LeverKind::Processor && lever.field != "cpu";
            let has_name = lever.called.is_some();
            (is_hardware, !has_name, gain.changes.len(), gain.places[0])
        };
        let nearly = |gain: &Gain| {
            let (ends, complete, ratio) = gain.rank();
            let steps = ratio.max(1e-9).ln() / STEP.ln();
            (ends, complete, steps.round() as i64)
        };
        gains.sort_by(|one, other| {
            let by_speed = nearly(other).cmp(&nearly(one));
            by_speed.then_with(|| effort(one).cmp(&effort(other)))
        });
    }

    /// Places of the levers of some kinds that `clues` suggest.
    pub fn suggested(&self, clues: &Clues, is_wanted: impl Fn(LeverKind) -> bool) -> Vec<usize> {
        let all = self.levers.iter().enumerate();
        let found = all.filter(|(_, lever)| {
            is_wanted(lever.kind) && (lever.clues.is_empty() || clues.suggest(lever.clues))
        });
        found.map(|(place, _)| place).collect()
    }

    /// The best of `gains` that further seeds confirm. What was chosen from many for its gain
    /// gains less with other seeds, or nothing.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn confirmed(&self, gains: Vec<Gain>) -> Result<Option<Gain>, TwinFailure> {
        let mut best: Option<Gain> = None;
        for gain in gains {
            let again = self.gain(&gain.places, &gain.changes, MOST_SEEDS)?;
            let again = again.expect("it has run before");
            let base = self.twin.forced(&[], again.speed.mbps.len())?;
            let base = base.expect("the row itself is valid");
            let fresh = [&again.speed, &base].map(|speed| speed.after(self.twin.seeds()));
            let is_confirmed = match fresh {
                [Some(fresh), Some(base)] => {
                    let levers = (gain.places.as_slice(), gain.changes.as_slice());
                    self.gain_over(&base, levers, fresh).may_be_worth()
                }
                _ => true,
            };
            // Of equal ones the first comes first, as in `sort`.
            let is_more =
                |best: &Gain| (again.ends && !best.ends) || again.ratio > best.ratio * STEP;
            let is_best = best.as_ref().is_none_or(is_more);
            if is_confirmed && again.is_worth() && is_best {
                best = Some(again);
            }
        }
        Ok(best)
    }

    /// Returns true if a link on the way of a single flow carries so much payload in the row
    /// that no host can gain [`WORTH`].
    pub fn is_path_full(&self) -> bool {
        self.is_full_in(&self.base.first)
    }

    /// Returns true if a link on the way of a single flow carries so much payload in `played`,
    /// the row or a change of it, that no host can gain [`WORTH`]: the link is never idle, and
    /// all that it carries is new payload in full segments.
    pub fn is_full_in(&self, played: &Played) -> bool {
        let setup = self.setup;
        let flow = setup.flow();
        let measured = &played.measured;
        let is_alone = setup.flows.len() == 1 && !flow.is_udp();
        let sent = measured.data_segments.max(1) as f64;
        // A small window makes small segments.
        let mtu = smallest_mtu(setup);
        let is_large = measured.delivered_bytes as f64 / sent * (1.0 + WORTH)
            >= mtu.saturating_sub(USUAL_OVERHEAD) as f64;
        // In small packets even the options of a header count.
        let is_large = is_large && OPTIONS <= mtu as f64 * WORTH;
        let way = setup.route(flow.from, flow.to).into_iter();
        let busy = way.map(|(number, direction)| {
            let link = &played.path.links[number];
            match link.shared {
                true => 0.0,
                false => link.direction(direction).busy_share(),
            }
        });
        let busy = busy.fold(0.0, f64::max);
        let again = measured.retransmitted_segments as f64 / sent;
        is_alone && is_large && busy * (1.0 - again) * (1.0 + WORTH) >= 1.0
    }

    /// The rate of a link of the first flow's path that was busy all the time by `account`.
    pub fn full_link(&self, account: &PathAccount) -> Option<usize> {
        let is_full = |lever: &Lever| lever.field == "rate" && is_full(lever, account);
        self.levers.iter().position(is_full)
    }

    /// The rate of a sender of datagrams whose datagrams all arrive, and that waited for
    /// nothing else.
    pub fn offered_rate(&self) -> Option<usize> {
        let waited = Shares::of(self.base.first.sender.times());
        let lost = self.base.first.measured.lost_share?;
        let is_all = lost <= LOST && waited.share(Limit::Application) >= 1.0 - WORTH;
        let is_rate = |lever: &Lever| lever.place == Place::Flow && lever.field == "rate";
        self.levers.iter().position(is_rate).filter(|_| is_all)
    }

    /// `together` with the lever first that helps most alone: the cause has its name.
    pub fn strongest_first(&self, together: Gain, singles: &[Gain]) -> Gain {
        let alone = |place: usize| {
            let own = singles.iter().find(|gain| gain.places == [place]);
            own.map_or(1.0, |gain| gain.ratio)
        };
        let mut slot = 0;
        let mut parts = Vec::new();
        for place in &together.places {
            let end = slot + self.levers[*place].ample.len();
            parts.push((*place, together.changes[slot..end].to_vec()));
            slot = end;
        }
        parts.sort_by(|one, other| alone(other.0).total_cmp(&alone(one.0)));
        Gain {
            places: parts.iter().map(|(place, _)| *place).collect(),
            changes: parts.into_iter().flat_map(|(_, changes)| changes).collect(),
            ..together
        }
    }

    /// Places of the levers of what impairs the path, and of a full path of ACKs.
    pub fn faults(&self) -> Vec<usize> {
        let setup = self.setup;
        let route = setup.route(setup.flow().from, setup.flow().to);
        let is_of_acks = |lever: &Lever| match lever.place {
            Place::Link(link, Some(way)) => route.contains(&(link, way.reverse())),
            _ => false,
        };
        let mut all = self.of_path();
        all.retain(|place| {
            let lever = &self.levers[*place];
            let is_full =
                lever.field == "rate" && is_of_acks(lever) && is_full(lever, &self.base.first.path);
            is_full || !USUAL.contains(&lever.field)
        });
        all
    }

    /// Places of the levers of the path.
    pub fn of_path(&self) -> Vec<usize> {
        self.suggested(&self.clues, |kind| kind == LeverKind::Path)
    }

    /// Places of the levers of a reader that left its window full. A buffer that takes the
    /// whole transfer hides such a reader.
    pub fn of_slow_reader(&self) -> Vec<usize> {
        let held = Shares::of(self.base.first.receiver.times());
        let is_slow = held.share(ReceiveLimit::Reader) > held.share(ReceiveLimit::Buffer);
        let all = self.of_others().into_iter();
        all.filter(|place| is_slow && self.levers[*place].cause == Cause::SLOW_READER)
            .collect()
    }

    /// Returns true if a change of the path, or probing for its MTU, lets a transfer end that
    /// is unfinished: its peer is not gone, but out of reach.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn is_out_of_reach(&self) -> Result<bool, TwinFailure> {
        let mut places = self.of_path();
        let levers = self.levers.iter().enumerate();
        let probing = levers.filter(|(_, lever)| lever.field == "tcp.mtu_probing");
        places.extend(probing.map(|(place, _)| place));
        Ok(self.singles(&places)?.iter().any(|gain| gain.ends))
    }

    /// Places of the levers of applications, processors and path.
    pub fn of_others(&self) -> Vec<usize> {
        let lost = self.base.first.measured.lost_share.unwrap_or_default();
        let mut hosts = self.base.first.path.hosts.iter();
        let is_overrun = lost > LOST && hosts.any(|host| host.losses().any(|(_, lost)| lost > 0));
        let mut all = self.suggested(&self.clues, |kind| !kind.is_of_host());
        // Where a host loses datagrams, more of them are no remedy.
        let is_offer = |lever: &Lever| lever.place == Place::Flow && lever.field == "rate";
        all.retain(|place| !is_overrun || !is_offer(&self.levers[*place]));
        all
    }

    /// Returns true if the row with `changes` is a valid one.
    pub fn is_possible(&self, changes: &[Change]) -> bool {
        changed(self.setup, changes).is_some()
    }

    /// Returns true if both levers change the same setting.
    pub fn is_same_setting(&self, one: usize, other: usize) -> bool {
        let [one, other] = [one, other].map(|place| &self.levers[place]);
        one.field == other.field && one.place == other.place
    }

    /// `wanted` without the levers that contradict those before them.
    pub fn without_contradiction(&self, wanted: &[usize]) -> Vec<usize> {
        let mut places: Vec<usize> = Vec::new();
        for place in wanted {
            let is_set = places
                .iter()
                .any(|known| self.is_same_setting(*known, *place));
            if is_set {
                continue;
            }
            places.push(*place);
            if !self.is_possible(&self.changes_of(&places)) {
                places.pop();
            }
        }
        places
    }

    /// The ample settings of several levers.
    pub fn changes_of(&self, places: &[usize]) -> Vec<Change> {
        let all = places
            .iter()
            .flat_map(|place| self.levers[*place].ample.iter());
        all.cloned().collect()
    }
}

/// Returns true if the direction that `lever` changes was busy all the time by `account`.
fn is_full(lever: &Lever, account: &PathAccount) -> bool {
    let Place::Link(link, Some(direction)) = lever.place else {
        return false;
    };
    let link = &account.links[link];
    let whole = if link.shared { link.busy_share() } else { 0.0 };
    link.direction(direction).full_share().max(whole) >= 1.0 - WORTH
}
