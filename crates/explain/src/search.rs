//! Runs the row (the transfer that is explained) with single levers (things that could be changed),
//! and sorts the levers by gain.
//!
//! Rule: the account (time by limit) and fully used resources only select levers to run; the runs
//! determine the cause. A lever counts if its gain is more than [`WORTH`] and more than twice the
//! standard error of the gain.

use std::cmp::Ordering;

use fullpipe_scenario::{
    PathAccount, Played, Setup, Shares,
    path::{Path, smallest_mtu},
    path_account::{HostAccount, HostLoss},
};
use fullpipe_sim::link::Direction;
use fullpipe_tcp::{Limit, ReceiveLimit};

use crate::{
    cause::Cause,
    clue::Clues,
    lever::{Ample, Change, Lever, LeverKind, Place, USUAL, changed},
    levers,
    twin::{MOST_SEEDS, Speed, Twin, TwinFailure},
};

/// Smallest gain that counts, as a share.
pub const WORTH: f64 = 0.02;
/// Smallest share of lost datagrams that counts. If fewer are lost, no change can gain half of
/// [`WORTH`].
const LOST: f64 = WORTH / 2.0;
/// A smaller value of an advised setting suffices if this share of the gain remains.
pub const KEPT: f64 = 0.98;
/// A single lever is named instead of the best combination if the lever alone has at least this
/// share of the combination's gain.
const ALONE: f64 = 0.87;
/// Two causes are both named if the removal of each gives the same speed within this share.
const EQUAL: f64 = 0.05;
/// Two changes save about as much time if each saves at least this share of the time that the other
/// saves.
const AS_MUCH: f64 = 0.75;
/// Headers of a segment with timestamps, in bytes.
const USUAL_OVERHEAD: u64 = 52;
/// A path is nearly full if the goodput is at least this share of the payload that its slowest link
/// can carry.
const NEARLY_FULL: f64 = 0.98;
/// Fields of a link that bound its rate.
const RATES: [&str; 4] = ["rate", "token_bucket", "policer", "radio"];
/// Fields of a link that are events or rules of the path, not its size.
const EVENTS: [&str; 2] = ["outage", "policer_burst"];
/// Fields of a sending application that waits between its writes.
const PAUSES: [&str; 2] = ["pause", "think"];
/// Bytes of the timestamps option with its padding.
const OPTIONS: f64 = 12.0;
/// Two gains are equal if their ratio is below this factor.
const STEP: f64 = 1.005;
/// Two speeds are the same if they differ by less than this share.
pub const SAME: f64 = 0.001;
/// Largest number of levers that are run with all seeds after every lever has run with few seeds.
const FINALISTS: usize = 4;

/// Result of a run with one lever, or with several together.
#[derive(Clone, Debug)]
pub struct Gain {
    /// Indices of the levers in the list.
    pub places: Vec<usize>,
    /// Changed settings of these levers.
    pub changes: Vec<Change>,
    /// Goodput of the run for each seed.
    pub speed: Speed,
    /// Goodput, divided by the goodput of the unchanged row.
    pub ratio: f64,
    /// Standard error of `ratio`.
    pub error: f64,
    /// True if the changed transfer completes and the unchanged one does not.
    pub ends: bool,
    /// True if the changed transfer completes with each seed with which the unchanged one does.
    pub is_complete: bool,
    /// True if datagrams were lost, and the change at least halves their share.
    pub saves: bool,
    /// True if the runs were of the whole transfer although the search runs only a part of it.
    pub is_whole: bool,
}

impl Gain {
    /// Returns true if the gain is large enough for an advice and is not chance.
    pub fn is_worth(&self) -> bool {
        let least = if self.saves { 0.0 } else { WORTH };
        self.ends || (self.is_complete && self.ratio - 1.0 > least.max(2.0 * self.error))
    }

    /// Returns true if the change increases goodput; false if it only saves datagrams.
    pub fn is_faster(&self) -> bool {
        self.is_worth() && (self.ends || self.ratio - 1.0 > WORTH)
    }

    /// Returns true if more seeds may show a gain.
    fn may_be_worth(&self) -> bool {
        let least = if self.saves { 0.0 } else { WORTH };
        self.ends || (self.is_complete && self.ratio - 1.0 > least)
    }

    /// Returns the best gain of the sorted `gains` that is worth a change.
    pub fn first_worth(gains: &[Self]) -> Option<&Self> {
        gains.iter().find(|gain| gain.is_worth())
    }

    /// Sort key. Changes that make an incomplete transfer complete rank highest; the others rank by
    /// completeness, then by goodput.
    fn rank(&self) -> (bool, bool, f64) {
        (self.ends, self.is_complete, self.ratio)
    }

    /// Returns true if this gain ranks above `other`.
    pub fn beats(&self, other: &Self) -> bool {
        let [own, other] = [self.rank(), other.rank()];
        (own.0, own.1) > (other.0, other.1)
            || ((own.0, own.1) == (other.0, other.1) && own.2 > other.2)
    }

    /// Returns true if this combination gains clearly more than the best `single` lever.
    pub fn is_more_than(&self, single: Option<&Self>) -> bool {
        let is_clear = |single: &Self| {
            (self.ends, self.ratio) > (single.ends, single.ratio * (1.0 + WORTH))
                && (self.ends != single.ends || single.ratio - 1.0 < (self.ratio - 1.0) * ALONE)
        };
        self.is_worth() && single.is_none_or(is_clear)
    }

    /// Share of the transfer's time that this change saves.
    pub fn time_saved(&self) -> f64 {
        1.0 - 1.0 / self.ratio
    }

    /// Time that this change saves, as a multiple of the time that `other` saves.
    pub fn saves_of(&self, other: &Self) -> f64 {
        let [own, other_saved] = [self, other].map(Self::time_saved);
        match self.ends.cmp(&other.ends) {
            Ordering::Less => 0.0,
            Ordering::Equal => own / other_saved,
            Ordering::Greater => f64::INFINITY,
        }
    }

    /// Returns true if this change saves nearly as much time as `other`, or more.
    pub fn saves_as_much_time(&self, other: &Self) -> bool {
        self.saves_of(other) >= 1.0 - EQUAL
    }

    /// Returns true if this change saves about as much time as `other`: neither saves less than
    /// [`AS_MUCH`] of what the other saves.
    pub fn saves_about_as_much_as(&self, other: &Self) -> bool {
        is_about_as_much(self.saves_of(other))
    }

    /// Returns true if this change gives a higher speed than `other`, and the two speeds are not
    /// about equal.
    pub fn is_clearly_better_than(&self, other: &Self) -> bool {
        self.beats(other) && !self.equals(other)
    }

    /// Returns true if the two speeds are about equal.
    pub fn equals(&self, other: &Self) -> bool {
        self.ends == other.ends && (self.ratio / other.ratio - 1.0).abs() < EQUAL
    }
}

/// Returns true if two changes save about as much time. `share` is the time that one saves, as a
/// multiple of the time that the other saves.
pub fn is_about_as_much(share: f64) -> bool {
    (AS_MUCH..=1.0 / AS_MUCH).contains(&share)
}

/// A row, its levers, and the results so far.
pub struct Search<'a> {
    /// The row.
    pub setup: &'a Setup,
    /// Runner of the row with changes.
    pub twin: Twin<'a>,
    /// Speed of the unchanged row.
    pub base: Speed,
    /// Every lever.
    pub levers: Vec<Lever>,
    /// Largest packet memory that a lever may give a host, in bytes; `None` without a bound.
    pub memory: Option<u64>,
    /// Goodput of the whole unchanged transfer in Mbit/s, as measured or predicted. Runs of a part
    /// extrapolate it with an error.
    pub goodput_mbps: f64,
    /// Clues (signs that suggest levers) in the run of the unchanged row.
    pub clues: Clues,
}

impl<'a> Search<'a> {
    /// Prepares the search for `setup`, which `twin` runs. No host is given more packet memory
    /// than `memory` bytes.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
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
            goodput_mbps: base.mean_mbps(),
            twin,
            base,
        })
    }

    /// Removes the levers of `causes`.
    pub fn without(&mut self, causes: &[Cause]) {
        self.levers.retain(|lever| !causes.contains(&lever.cause));
    }

    /// Returns the result of a run with `changes`, the changes of the levers at `places`; `None`
    /// if the host refuses them.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
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

    /// As [`gain`](Self::gain), for changes that extend or reduce those of the run `like`. If the
    /// difference has no effect, the run repeats `like` and ends early.
    ///
    /// # Errors
    /// Returns the errors of [`gain`](Self::gain).
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

    /// Returns the gain of a run with `changes`, whose speed is `speed`.
    fn gain_of(
        &self,
        places: &[usize],
        changes: &[Change],
        speed: Speed,
    ) -> Result<Gain, TwinFailure> {
        // Compare with a run of the unchanged row over the same number of seeds.
        let more = match speed.mbps.len() > self.base.mbps.len() {
            true => self.twin.forced(&[], speed.mbps.len())?,
            false => None,
        };
        let base = more.as_ref().unwrap_or(&self.base);
        Ok(self.gain_over(base, (places, changes), speed))
    }

    /// Returns the gain of a run with `changes` over `base`, which ran with the same seeds.
    pub fn gain_over(
        &self,
        base: &Speed,
        (places, changes): (&[usize], &[Change]),
        speed: Speed,
    ) -> Gain {
        let lost = self.base.first.measured.lost_share.unwrap_or_default();
        let still = speed.first.measured.lost_share.unwrap_or_default();
        Gain {
            saves: lost > LOST && still <= lost / 2.0,
            is_whole: false,
            places: places.to_vec(),
            changes: changes.to_vec(),
            ratio: speed.over(base),
            error: speed.error(base),
            // Do not compare the ends of datagram transfers: these always end after their time.
            ends: !self.setup.flow().is_udp() && speed.is_complete() && !base.is_complete(),
            is_complete: speed.completes_with(base),
            speed,
        }
    }

    /// Returns the better result of a lever's two values. Runs the smaller value of a resource or a
    /// link only if the ample value (so large that more would not help) gains nothing, because too
    /// much of a resource can harm.
    fn of_lever(&self, place: usize, seeds: usize) -> Result<Option<Gain>, TwinFailure> {
        let lever = &self.levers[place];
        let ample = self.gain(&[place], &lever.ample, seeds)?;
        let is_tried = lever.kind != LeverKind::Processor;
        let Some(twice) = lever.twice.as_ref().filter(|_| is_tried) else {
            return Ok(ample);
        };
        // Do not run the smaller amount if the ample amount left the run identical.
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

    /// Sorts the levers at `places` by the share of the time that they may explain, the largest
    /// share first. For levers of links, the account of the unchanged row gives the share. For the
    /// other levers, those of their clues that are in `clues` give the share. Levers that rarely help
    /// come last.
    pub fn likely_first(&self, clues: &Clues, places: &mut [usize]) {
        let likely = |place: &usize| {
            let lever = &self.levers[*place];
            match lever.place {
                Place::Link(link, way) => (self.share_of_link(lever.field, link, way), 0.0),
                _ => clues.share(lever.clues),
            }
        };
        places.sort_by(|one, other| {
            let [one, other] = [one, other].map(likely);
            let by_time = other.0.total_cmp(&one.0);
            by_time.then_with(|| other.1.total_cmp(&one.1))
        });
        places.sort_by_key(|place| self.levers[*place].is_rare);
    }

    /// Returns the share of the time that `field` of a link may explain. For the rate, it is the
    /// share for which the direction `way` was busy. For an impairment, it is the share in which
    /// the sender repaired losses or had a window that a loss had reduced. For other fields, it is
    /// zero.
    fn share_of_link(&self, field: &str, link: usize, way: Option<Direction>) -> f64 {
        let first = &self.base.first;
        if field == "rate" {
            let link = &first.path.links[link];
            return way.map_or(link.busy_share(), |way| link.direction(way).busy_share());
        }
        if USUAL.contains(&field) {
            return 0.0;
        }
        let waited = Shares::of(first.sender.times());
        let limits = [Limit::Recovery, Limit::CwndAfterLoss];
        limits.map(|limit| waited.share(limit)).iter().sum()
    }

    /// Runs all levers at `places` with few seeds, then the best ones with all seeds. The likely
    /// levers run first, because the budget (the number of events that the explanation may take)
    /// may end. Returns the results, the best first.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
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

    /// Sorts `gains` after running the best with all seeds, because few seeds do not distinguish a
    /// gain from chance. Only gains that may be the best, or its rival (a lever of another cause
    /// that helps about as much), are run again.
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

    /// Runs `gain` with all seeds, and with further seeds as long as the gain may be chance.
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

    /// Sorts gains, the best first. Among equal gains, a lever comes first if the host's system has
    /// a setting for it, then if it changes fewer settings.
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

    /// Indices of the levers of the wanted kinds that `clues` suggest.
    pub fn suggested(&self, clues: &Clues, is_wanted: impl Fn(LeverKind) -> bool) -> Vec<usize> {
        let all = self.levers.iter().enumerate();
        let found = all.filter(|(_, lever)| {
            is_wanted(lever.kind) && (lever.clues.is_empty() || clues.suggest(lever.clues))
        });
        found.map(|(place, _)| place).collect()
    }

    /// Returns the best of `gains` in runs with further seeds. A gain that was the largest of many
    /// is partly chance: with other seeds it is usually smaller.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
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
            // Among equal gains, keep the first one, as in `sort`.
            let is_more =
                |best: &Gain| (again.ends && !best.ends) || again.ratio > best.ratio * STEP;
            let is_best = best.as_ref().is_none_or(is_more);
            if is_confirmed && again.is_worth() && is_best {
                best = Some(again);
            }
        }
        Ok(best)
    }

    /// Returns true if a link on the path of a single flow is so full in the unchanged row that no
    /// lever of a host can gain [`WORTH`].
    pub fn is_path_full(&self) -> bool {
        self.is_full_in(&self.base.first)
    }

    /// Returns true if the only flow carries nearly the payload that the slowest link of its path
    /// can carry in full segments: at least the share [`NEARLY_FULL`].
    pub fn is_path_nearly_full(&self) -> bool {
        let setup = self.setup;
        let mtu = smallest_mtu(setup);
        let is_alone = setup.flows.len() == 1 && !setup.flow().is_udp();
        let path = Path::of(setup, mtu.saturating_sub(USUAL_OVERHEAD).max(1));
        let most_mbps = path.payload_bps / 1e6;
        is_alone
            && OPTIONS <= mtu as f64 * WORTH
            && self.base.is_complete()
            && self.goodput_mbps >= most_mbps * NEARLY_FULL
    }

    /// Index of the lever for the rate of the busiest link, in the direction of the payload, if the
    /// path is nearly full.
    pub fn nearly_full_link(&self) -> Option<usize> {
        let busy = |place: &usize| {
            let Place::Link(number, way) = self.levers[*place].place else {
                return 0.0;
            };
            let link = &self.base.first.path.links[number];
            match way.filter(|_| !link.shared) {
                Some(way) => link.direction(way).full_share(),
                None => link.busy_share(),
            }
        };
        let rates = self.rates().into_iter();
        rates
            .filter(|_| self.is_path_nearly_full())
            .max_by(|one, other| busy(one).total_cmp(&busy(other)))
    }

    /// Indices of the levers for the rates of the links, in the direction of the payload.
    pub fn rates(&self) -> Vec<usize> {
        let setup = self.setup;
        let route = setup.route(setup.flow().from, setup.flow().to);
        let is_of_payload = |lever: &Lever| match lever.place {
            Place::Link(link, Some(way)) => route.contains(&(link, way)),
            Place::Link(_, None) => true,
            Place::Hosts(_) | Place::Flow => false,
        };
        let mut all = self.of_path();
        all.retain(|place| {
            let lever = &self.levers[*place];
            RATES.contains(&lever.field) && is_of_payload(lever)
        });
        all
    }

    /// Returns true if a link on the path of a single flow is so full that no lever of a host can
    /// gain [`WORTH`]. Such a link is busy almost all the time, and carries almost only new payload
    /// in full segments. `played` is a run of the row, with or without changes.
    pub fn is_full_in(&self, played: &Played) -> bool {
        let setup = self.setup;
        let flow = setup.flow();
        let measured = &played.measured;
        let is_alone = setup.flows.len() == 1 && !flow.is_udp();
        let sent = measured.data_segments.max(1) as f64;
        // Compare segments with the path's MTU, because a small window can also cause small
        // segments.
        let mtu = smallest_mtu(setup);
        let is_large = measured.delivered_bytes as f64 / sent * (1.0 + WORTH)
            >= mtu.saturating_sub(USUAL_OVERHEAD) as f64;
        // With a small MTU, do not count the link as full: removing header options could gain
        // [`WORTH`].
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

    /// Index of the lever for the rate of a link that was always busy according to `account`. The
    /// link is on the first flow's path.
    pub fn full_link(&self, account: &PathAccount) -> Option<usize> {
        let is_full = |lever: &Lever| lever.field == "rate" && is_full(lever, account);
        self.levers.iter().position(is_full)
    }

    /// Index of the lever for the rate of a datagram sender, if nearly all datagrams arrive and the
    /// sender waited only for its own rate.
    pub fn offered_rate(&self) -> Option<usize> {
        let waited = Shares::of(self.base.first.sender.times());
        let lost = self.base.first.measured.lost_share?;
        let is_all = lost <= LOST && waited.share(Limit::Application) >= 1.0 - WORTH;
        let is_rate = |lever: &Lever| lever.place == Place::Flow && lever.field == "rate";
        self.levers.iter().position(is_rate).filter(|_| is_all)
    }

    /// Index of the lever for what is used up: the rate of a full or nearly full link, or of a sender
    /// of datagrams.
    pub fn used_up(&self) -> Option<usize> {
        self.full_link(&self.base.first.path)
            .or_else(|| self.offered_rate())
            .or_else(|| self.nearly_full_link())
    }

    /// Returns the levers of `gain`, each with its changes.
    pub fn parts(&self, gain: &Gain) -> Vec<(usize, Vec<Change>)> {
        let mut slot = 0;
        let part = |place: &usize| {
            let from = slot;
            slot += self.levers[*place].ample.len();
            (*place, gain.changes[from..slot].to_vec())
        };
        gain.places.iter().map(part).collect()
    }

    /// Returns `together` with one lever moved to the front: the lever that helps most alone. That
    /// lever names the cause.
    pub fn strongest_first(&self, together: Gain, singles: &[Gain]) -> Gain {
        let alone = |place: usize| {
            let own = singles.iter().find(|gain| gain.places == [place]);
            own.map_or(1.0, |gain| gain.ratio)
        };
        let mut parts = self.parts(&together);
        parts.sort_by(|one, other| alone(other.0).total_cmp(&alone(one.0)));
        Gain {
            places: parts.iter().map(|(place, _)| *place).collect(),
            changes: parts.into_iter().flat_map(|(_, changes)| changes).collect(),
            ..together
        }
    }

    /// Indices of the levers that remove impairments of the path. If the direction of the ACKs is
    /// full, the lever for the rate of this direction is included.
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

    /// Indices of the levers of the path.
    pub fn of_path(&self) -> Vec<usize> {
        self.suggested(&self.clues, |kind| kind == LeverKind::Path)
    }

    /// Indices of the levers of a slow reader, if unread payload limited the receive window for
    /// longer than the buffer's size did. A buffer as large as the transfer would hide such a
    /// reader.
    pub fn of_slow_reader(&self) -> Vec<usize> {
        let held = Shares::of(self.base.first.receiver.times());
        let is_slow = held.share(ReceiveLimit::Reader) > held.share(ReceiveLimit::Buffer);
        let all = self.of_others().into_iter();
        all.filter(|place| is_slow && self.levers[*place].cause == Cause::SLOW_READER)
            .collect()
    }

    /// Indices of the levers that remove an event or a rule of the path, or a pause of the
    /// application. They are named instead of a lever of the hosts that helps clearly less, because
    /// no setting of a host removes them.
    pub fn of_events(&self) -> Vec<usize> {
        let is_event =
            |lever: &Lever| lever.kind == LeverKind::Path && EVENTS.contains(&lever.field);
        let mut all = self.suggested(&self.clues, |kind| !kind.is_of_host());
        all.retain(|place| self.is_pause(*place) || is_event(&self.levers[*place]));
        all
    }

    /// Returns true if the lever at `place` is named before levers of the hosts that help: it makes
    /// a slow reader faster, or removes an event of the path or a pause of the application.
    pub fn is_named_first(&self, place: usize) -> bool {
        self.of_slow_reader().contains(&place) || self.of_events().contains(&place)
    }

    /// Returns true if all levers of `gain` are levers of the hosts.
    pub fn is_of_host(&self, gain: &Gain) -> bool {
        let mut places = gain.places.iter();
        places.all(|place| self.levers[*place].kind.is_of_host())
    }

    /// Returns true if the lever at `place` removes a pause of the sending application.
    pub fn is_pause(&self, place: usize) -> bool {
        let lever = &self.levers[place];
        lever.cause == Cause::APPLICATION && PAUSES.contains(&lever.field)
    }

    /// Returns true if the peer of an incomplete transfer is not gone but unreachable: with a
    /// change of the path, or with path MTU probing, the transfer completes.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    pub fn is_out_of_reach(&self) -> Result<bool, TwinFailure> {
        let mut places = self.of_path();
        let levers = self.levers.iter().enumerate();
        let probing = levers.filter(|(_, lever)| lever.field == "tcp.mtu_probing");
        places.extend(probing.map(|(place, _)| place));
        Ok(self.singles(&places)?.iter().any(|gain| gain.ends))
    }

    /// Indices of the levers of applications, processors and path.
    pub fn of_others(&self) -> Vec<usize> {
        let lost = self.base.first.measured.lost_share.unwrap_or_default();
        let mut hosts = self.base.first.path.hosts.iter();
        let is_overrun = lost > LOST && hosts.any(is_overrun);
        let mut all = self.suggested(&self.clues, |kind| !kind.is_of_host());
        // Omit a higher rate of datagrams: it does not help a host that loses datagrams.
        let is_offer = |lever: &Lever| lever.place == Place::Flow && lever.field == "rate";
        all.retain(|place| !is_overrun || !is_offer(&self.levers[*place]));
        all
    }

    /// Returns true if the row with `changes` is valid.
    pub fn is_possible(&self, changes: &[Change]) -> bool {
        changed(self.setup, changes).is_some()
    }

    /// Returns true if both levers change the same setting.
    pub fn is_same_setting(&self, one: usize, other: usize) -> bool {
        let [one, other] = [one, other].map(|place| &self.levers[place]);
        one.field == other.field && one.place == other.place
    }

    /// Returns `wanted` without each lever that changes the same setting as an earlier lever, or
    /// that the host refuses together with the earlier levers.
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

    /// Returns the ample settings of several levers.
    pub fn changes_of(&self, places: &[usize]) -> Vec<Change> {
        let all = places
            .iter()
            .flat_map(|place| self.levers[*place].ample.iter());
        all.cloned().collect()
    }
}

/// Returns true if `host` lost frames that it had no room for.
fn is_overrun(host: &HostAccount) -> bool {
    let mut losses = host.losses();
    losses.any(|(reason, lost)| lost > 0 && reason != HostLoss::Corruption)
}

/// Returns true if the direction that `lever` changes was busy all the time, according to
/// `account`.
fn is_full(lever: &Lever, account: &PathAccount) -> bool {
    let Place::Link(link, Some(direction)) = lever.place else {
        return false;
    };
    let link = &account.links[link];
    let whole = if link.shared { link.busy_share() } else { 0.0 };
    link.direction(direction).full_share().max(whole) >= 1.0 - WORTH
}
