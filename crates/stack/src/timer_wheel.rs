//! When is the next deadline, and whose is it: a hierarchical timer wheel.
//!
//! Rule: one deadline an index; setting, cancelling and finding the next cost
//! the same however many are set. A deadline never fires early, and at most
//! one tick (1.024 µs) late. Indices that share a tick fire in no promised
//! order, but the same calls give the same order. The wheel does not know what
//! a deadline is for.
//!
//! Level *l* has 64 slots of 64^l ticks. An index lies on the level of the
//! highest group of six bits in which its deadline differs from the wheel's
//! time, so everything on a lower level is due before anything on a higher
//! one. When time reaches a slot of a higher level its indices move down.

use alloc::vec::Vec;
use fullpipe_pool::Instant;

#[cfg(test)]
mod tests;

const NONE: u32 = u32::MAX;
/// Nanoseconds in a tick, as a shift.
const TICK_SHIFT: u32 = 10;
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
/// 64^9 ticks are 2^54: with the tick's ten bits, all of an `Instant`.
const LEVELS: usize = 9;
/// The list of what is due already comes after all slots.
const DUE: u16 = (LEVELS * SLOTS) as u16;
/// An index without a deadline.
const UNSET: u16 = u16::MAX;

#[derive(Clone, Copy, Debug)]
struct Timer {
    /// Ticks, rounded up.
    deadline: u64,
    before: u32,
    after: u32,
    /// The list it is in.
    list: u16,
}

/// Deadlines of the indices below a fixed number.
#[derive(Debug)]
pub(crate) struct TimerWheel {
    timers: Vec<Timer>,
    /// The first index of each slot's list, and of the list of those due.
    heads: Vec<u32>,
    /// Which slots of each level hold anything.
    occupied: [u64; LEVELS],
    /// The wheel's time in ticks: nothing before it is waiting.
    elapsed: u64,
}

impl TimerWheel {
    /// A wheel for the indices below `indices`. Allocates here and only here.
    pub(crate) fn new(indices: u32) -> Self {
        let unset = Timer {
            deadline: 0,
            before: NONE,
            after: NONE,
            list: UNSET,
        };
        Self {
            timers: alloc::vec![unset; indices as usize],
            heads: alloc::vec![NONE; LEVELS * SLOTS + 1],
            occupied: [0; LEVELS],
            elapsed: 0,
        }
    }

    /// Gives `index` the deadline `at`, or none; what it had is forgotten.
    pub(crate) fn set(&mut self, index: u32, at: Option<Instant>) {
        let Some(at) = at else {
            return self.unlink(index);
        };
        let deadline = at.as_nanos().div_ceil(1 << TICK_SHIFT);
        let timer = &self.timers[index as usize];
        if timer.list != UNSET && timer.deadline == deadline {
            return;
        }
        self.unlink(index);
        self.timers[index as usize].deadline = deadline;
        self.link(index);
    }

    /// A time no later than the next deadline at which the wheel must be asked
    /// again; exact when that deadline is near or alone in its slot. `None`
    /// when nothing is set.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        if self.heads[usize::from(DUE)] != NONE {
            return Some(instant(self.elapsed));
        }
        let (level, slot) = self.first_slot()?;
        let head = self.heads[level * SLOTS + slot];
        let timer = &self.timers[head as usize];
        if timer.after == NONE {
            return Some(instant(timer.deadline));
        }
        Some(instant(self.slot_start(level, slot)))
    }

    /// Takes one index whose deadline is not after `now`; `None` when there is
    /// no more.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<u32> {
        let now = now.as_nanos() >> TICK_SHIFT;
        loop {
            let due = self.heads[usize::from(DUE)];
            if due != NONE {
                self.unlink(due);
                return Some(due);
            }
            let next = self.first_slot();
            let Some((level, slot)) =
                next.filter(|&(level, slot)| self.slot_start(level, slot) <= now)
            else {
                self.elapsed = self.elapsed.max(now);
                return None;
            };
            self.elapsed = self.elapsed.max(self.slot_start(level, slot));
            self.empty_slot(level * SLOTS + slot);
        }
    }

    /// Links every index of the slot again, as seen from the time reached: to
    /// a lower level, or to those due.
    fn empty_slot(&mut self, list: usize) {
        let mut index = core::mem::replace(&mut self.heads[list], NONE);
        self.occupied[list / SLOTS] &= !(1 << (list % SLOTS));
        while index != NONE {
            let after = self.timers[index as usize].after;
            self.link(index);
            index = after;
        }
    }

    /// The level and slot that come due first.
    fn first_slot(&self) -> Option<(usize, usize)> {
        self.occupied
            .iter()
            .enumerate()
            .find(|(_, slots)| **slots != 0)
            .map(|(level, slots)| {
                // A slot is never before the wheel's time: the lowest bit is next.
                (level, slots.trailing_zeros() as usize)
            })
    }

    /// The first tick of a slot.
    fn slot_start(&self, level: usize, slot: usize) -> u64 {
        let shift = SLOT_BITS * level as u32;
        let above = self.elapsed >> shift >> SLOT_BITS << SLOT_BITS;
        (above | slot as u64) << shift
    }

    /// Puts `index` where its deadline belongs.
    fn link(&mut self, index: u32) {
        let deadline = self.timers[index as usize].deadline;
        let list = if deadline <= self.elapsed {
            usize::from(DUE)
        } else {
            let differing = (deadline ^ self.elapsed).ilog2();
            let level = (differing / SLOT_BITS) as usize;
            let slot = (deadline >> (SLOT_BITS * level as u32)) as usize % SLOTS;
            self.occupied[level] |= 1 << slot;
            level * SLOTS + slot
        };
        let after = core::mem::replace(&mut self.heads[list], index);
        if after != NONE {
            self.timers[after as usize].before = index;
        }
        let timer = &mut self.timers[index as usize];
        (timer.before, timer.after, timer.list) = (NONE, after, list as u16);
    }

    /// Takes `index` out of the list it is in, if any.
    fn unlink(&mut self, index: u32) {
        let Timer {
            before,
            after,
            list,
            ..
        } = self.timers[index as usize];
        if list == UNSET {
            return;
        }
        self.timers[index as usize].list = UNSET;
        if after != NONE {
            self.timers[after as usize].before = before;
        }
        if before != NONE {
            self.timers[before as usize].after = after;
            return;
        }
        self.heads[usize::from(list)] = after;
        if after == NONE && list != DUE {
            self.occupied[usize::from(list) / SLOTS] &= !(1 << (usize::from(list) % SLOTS));
        }
    }
}

/// The instant at which tick `tick` begins.
fn instant(tick: u64) -> Instant {
    Instant::from_nanos(tick.saturating_mul(1 << TICK_SHIFT))
}
