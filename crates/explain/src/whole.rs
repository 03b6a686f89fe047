//! Gains of the whole transfer.
//!
//! Rule: the search runs a part of a long transfer, and a change may help the part but harm the
//! whole. Therefore the levers (things that could be changed) that are named, and the advice, run
//! on the whole transfer if the budget allows. A gain of a part is never compared with a gain of
//! the whole.

use fullpipe_scenario::{Outcome, Played, experiment::Stop, scene::Part};

use crate::{
    find::{FAULT, Found, is_named_before, is_rival},
    lever::Change,
    search::{Gain, Search},
    twin::{Speed, Twin, TwinFailure, steps},
};

/// Largest number of levers that are run on the whole transfer because the ones before them did not
/// help.
const REPLACEMENTS: usize = 2;

/// Runs the whole transfer with changes.
pub struct Whole<'a> {
    search: &'a Search<'a>,
    /// The row's own runs of the whole transfer.
    played: &'a Played,
    /// The part of the transfer that the search runs.
    part: Part,
}

impl<'a> Whole<'a> {
    /// Prepares runs of the whole transfer that `search` runs in part. `played` are the row's own
    /// runs.
    pub const fn new(search: &'a Search<'a>, played: &'a Played, part: Part) -> Self {
        Self {
            search,
            played,
            part,
        }
    }

    /// The search.
    pub const fn search(&self) -> &'a Search<'a> {
        self.search
    }

    /// Returns the gain of the whole transfer with the changes of `gain`, with as many seeds as a
    /// prediction needs; `None` if the search already ran the whole, or if the budget does not
    /// suffice.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    pub fn of_advice(&self, gain: &Gain) -> Result<Option<Gain>, TwinFailure> {
        if self.part.is_whole() || !self.is_affordable(&[gain], 1.0) {
            return Ok(None);
        }
        let speed = self.twin().certain(&gain.changes)?;
        let compared = speed.map(|speed| self.compared((&gain.places, &gain.changes), speed));
        compared.transpose()
    }

    /// Returns the gain of the whole transfer with `changes`, those of the levers at `places`, even
    /// if the budget is used up; `None` if the settings are refused.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    pub fn with(&self, places: &[usize], changes: &[Change]) -> Result<Option<Gain>, TwinFailure> {
        let speed = self.twin().forced(changes, self.search.twin.seeds())?;
        let compared = speed.map(|speed| self.compared((places, changes), speed));
        compared.transpose()
    }

    /// Runs the best lever, its rival and the impairment of the path that is named with them on the
    /// whole transfer, if the search ran only a part of it and the budget suffices. If the best lever does not help the whole transfer, the next one
    /// that does takes its place.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    pub fn confirm(&self, found: &mut Found) -> Result<(), TwinFailure> {
        let named = found.best.iter().chain(&found.rival).chain(&found.fault);
        let named: Vec<&Gain> = named.collect();
        // Leave as many events for the run with the advice.
        if self.part.is_whole() || named.is_empty() || !self.is_affordable(&named, 2.0) {
            return Ok(());
        }
        let rejected = [found.best.take(), found.rival.take()];
        let [best, rival] = rejected.each_ref().map(Option::as_ref);
        let (best, rival) = (self.worth(best)?, self.worth(rival)?);
        (found.best, found.rival) = match (best, rival) {
            (Some(best), Some(rival)) => self.ordered(best, rival),
            (None, Some(rival)) => (Some(rival), None),
            (Some(best), None) => (Some(best), None),
            (None, None) => (self.replacement(found, &rejected)?, None),
        };
        if let Some(alone) = self.best_alone(found)? {
            (found.best, found.rival) = (Some(alone), None);
        }
        let fault = self.worth(found.fault.take().as_ref())?;
        if let (Some(best), Some(fault)) = (&found.best, fault) {
            found.fault_saves = fault.saves_of(best);
            found.fault = Some(fault).filter(|_| found.fault_saves >= FAULT);
        }
        Ok(())
    }

    /// Returns the two gains in the order in which they are named, according to the whole transfer;
    /// the second only if it is a rival.
    fn ordered(&self, best: Gain, rival: Gain) -> (Option<Gain>, Option<Gain>) {
        let search = self.search;
        let is_first = search.is_named_first(best.places[0]);
        match is_first {
            true if is_named_before(search, &best, &rival) => (Some(best), Some(rival)),
            true if search.is_of_host(&rival) => (Some(rival), None),
            false if rival.is_clearly_better_than(&best) => (Some(rival), None),
            false if !is_rival(search, &best, &rival) => (Some(best), None),
            _ => (Some(best), Some(rival)),
        }
    }

    /// Returns the best of the single levers other than `rejected` that helps the whole transfer.
    /// Tries at most [`REPLACEMENTS`].
    fn replacement(
        &self,
        found: &Found,
        rejected: &[Option<Gain>],
    ) -> Result<Option<Gain>, TwinFailure> {
        let is_known = |gain: &Gain| {
            let mut known = rejected.iter().flatten();
            known.any(|known| known.places == gain.places && known.changes == gain.changes)
        };
        let others = found.tried.iter();
        let others = others.filter(|gain| gain.is_worth() && !is_known(gain));
        for gain in others.take(REPLACEMENTS) {
            if !self.is_affordable(&[gain], 1.0) {
                return Ok(None);
            }
            if let Some(whole) = self.worth(Some(gain))? {
                return Ok(Some(whole));
            }
        }
        Ok(None)
    }

    /// Returns the best single lever of the hosts, if the best of `found` is a combination of them and
    /// the single lever helps the whole transfer as much: further levers then helped only the part.
    fn best_alone(&self, found: &Found) -> Result<Option<Gain>, TwinFailure> {
        let together = found.best.as_ref().filter(|best| best.places.len() > 1);
        let Some(together) = together else {
            return Ok(None);
        };
        let is_own = |gain: &&Gain| gain.is_worth() && together.places.contains(&gain.places[0]);
        let alone = found.tried.iter().find(is_own);
        let Some(alone) = alone.filter(|alone| self.is_affordable(&[alone], 1.0)) else {
            return Ok(None);
        };
        let alone = self.worth(Some(alone))?;
        Ok(alone.filter(|alone| !together.is_more_than(Some(alone))))
    }

    /// Returns the gain of the whole transfer with the changes of `gain`, if it is worth a change.
    fn worth(&self, gain: Option<&Gain>) -> Result<Option<Gain>, TwinFailure> {
        let Some(gain) = gain else {
            return Ok(None);
        };
        let whole = self.with(&gain.places, &gain.changes)?;
        Ok(whole.filter(Gain::is_worth))
    }

    fn twin(&self) -> Twin<'a> {
        self.search.twin.of_whole()
    }

    /// Returns the gain of the changes of some levers, with which the whole transfer has `speed`.
    fn compared(&self, levers: (&[usize], &[Change]), speed: Speed) -> Result<Gain, TwinFailure> {
        let search = self.search;
        let base = match search.twin.seeds() {
            // The row's own run is the run without changes.
            1 => {
                let mbps = self.played.measured.first_flow_mbps(search.setup);
                let is_complete = self.played.measured.outcome == Outcome::Complete;
                search.base.with_result(mbps, is_complete)
            }
            _ => {
                let base = self.twin().forced(&[], speed.mbps.len())?;
                base.expect("the row itself is valid")
            }
        };
        Ok(Gain {
            is_whole: true,
            ..search.gain_over(&base, levers, speed)
        })
    }

    /// Returns true if the budget suffices for `times` runs of the whole transfer with the changes
    /// of each of `gains`, with every seed.
    fn is_affordable(&self, gains: &[&Gain], times: f64) -> bool {
        let twin = &self.search.twin;
        let (seeds, each) = (twin.seeds(), steps(self.played));
        let is_known = seeds == 1 || self.twin().has(&[], seeds);
        let base = if is_known { 0.0 } else { each };
        // A faster transfer of a fixed duration carries more bytes.
        let factor = |gain: &&Gain| match self.search.setup.flow().stop {
            Stop::Bytes(_) => 1.0,
            Stop::After(_) => gain.ratio.max(1.0),
        };
        let factors: f64 = gains.iter().map(factor).sum();
        let work = twin.work();
        let left = work.budget().saturating_sub(work.done()) as f64;
        let is_complete = self.played.measured.outcome == Outcome::Complete;
        is_complete && (factors * times).mul_add(each, base) * seeds as f64 <= left
    }
}
