//! A hierarchical timer wheel.
//!
//! Rule: each index has at most one deadline. Setting a deadline, cancelling it and finding the
//! next one take constant time. A timer never expires early, and expires at most one tick (1.024
//! µs) late. Timers of the same tick expire in an unspecified order, which is the same for the same
//! calls. The caller decides what a timer is for.
//!
//! Level *l* has 64 slots of 64^l ticks. The deadline of an index is compared with the wheel's time
//! in groups of six bits. The index lies on the level of the highest group that differs, so each
//! timer on a lower level is due before the timers on a higher level. When time reaches a slot of a
//! higher level, the indices of that slot move down.
//!
//! A wheel of few indices has no table of list heads, which saves 2.3 KB. Such a wheel searches all
//! timers for the head of a list. The timers expire in the same order.

use alloc::vec::Vec;
use fullpipe_pool::Instant;

#[cfg(test)]
mod tests;

const NONE: u32 = u32::MAX;
/// Binary logarithm of the nanoseconds in a tick.
const TICK_SHIFT: u32 = 10;
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
/// Number of levels. 64⁹ ticks are 2⁵⁴; with the ten bits of a tick they cover every
/// `Instant`.
const LEVELS: usize = 9;
/// Number of ticks in the range of `Instant`. A deadline in the last microsecond rounds up to this
/// tick, which no time reaches.
const TICKS: u64 = 1 << (SLOT_BITS * LEVELS as u32);
/// Index of the list of timers already due; it follows the indices of all slots.
const DUE: u16 = (LEVELS * SLOTS) as u16;
/// List of an index without a deadline.
const UNSET: u16 = (1 << LIST_BITS) - 1;
/// Bits of the number of a list. A deadline takes the other 54 bits of a 64-bit number.
const LIST_BITS: u32 = 10;
/// Largest number of indices of a wheel without a table of heads.
const FEW: u32 = 64;

#[derive(Clone, Copy, Debug)]
struct Timer {
    /// Deadline in ticks, rounded up, and in the lowest bits the index of the list that contains
    /// this timer, or `UNSET`.
    deadline_and_list: u64,
    before: u32,
    after: u32,
}

impl Timer {
    const UNSET: Self = Self {
        deadline_and_list: UNSET as u64,
        before: NONE,
        after: NONE,
    };

    /// Returns the deadline in ticks, rounded up; meaningless without a list.
    const fn deadline(&self) -> u64 {
        self.deadline_and_list >> LIST_BITS
    }

    /// Returns the index of the list that contains this timer, or `UNSET`.
    const fn list(&self) -> u16 {
        self.deadline_and_list as u16 & UNSET
    }

    /// Sets the deadline, below [`TICKS`], and the list.
    const fn set(&mut self, deadline: u64, list: u16) {
        self.deadline_and_list = deadline << LIST_BITS | list as u64;
    }
}

/// The timers of the indices below a fixed number.
#[derive(Debug)]
pub(crate) struct TimerWheel {
    timers: Vec<Timer>,
    /// First index of each slot's list; empty for few indices.
    heads: Vec<u32>,
    /// First due timer.
    first_due: u32,
    /// Bit mask of the slots in use, for each level.
    occupied: [u64; LEVELS],
    /// Bit mask of the levels in use.
    levels: u16,
    /// Time of the wheel in ticks. Slots contain only timers with a later deadline.
    elapsed: u64,
}

impl TimerWheel {
    /// Allocates a wheel for the indices below `indices`.
    pub(crate) fn new(indices: u32) -> Self {
        Self {
            timers: alloc::vec![Timer::UNSET; indices as usize],
            heads: alloc::vec![NONE; if indices <= FEW { 0 } else { LEVELS * SLOTS }],
            first_due: NONE,
            occupied: [0; LEVELS],
            levels: 0,
            elapsed: 0,
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.timers) + size_of_val(&*self.heads)
    }

    /// Sets the deadline of `index` to `at`, or cancels it if `at` is `None`. A deadline in the
    /// last microsecond of `Instant`, where times saturate, never comes.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn set(&mut self, index: u32, at: Option<Instant>) {
        let deadline = at.map_or(TICKS, |at| at.as_nanos().div_ceil(1 << TICK_SHIFT));
        let timer = &self.timers[index as usize];
        let known = if timer.list() == UNSET {
            TICKS
        } else {
            timer.deadline()
        };
        if deadline != known {
            self.change(index, deadline);
        }
    }

    /// Sets the deadline of `index` to tick `deadline`, or cancels it if no time reaches
    /// that tick.
    fn change(&mut self, index: u32, deadline: u64) {
        if deadline >= TICKS {
            return self.unlink(index);
        }
        self.unlink(index);
        self.link(index, deadline);
    }

    /// Returns the time at which to call [`expire`](Self::expire) next; `None` if no timer is set.
    /// The time is the next deadline or, if its slot has several timers, the start of that slot.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        if self.first_due != NONE {
            return Some(instant(self.elapsed));
        }
        let (level, slot) = self.first_slot()?;
        let head = self.head(level * SLOTS + slot);
        let timer = &self.timers[head as usize];
        if timer.after == NONE {
            return Some(instant(timer.deadline()));
        }
        Some(instant(self.slot_start(level, slot)))
    }

    /// Removes and returns one index whose deadline is not after `now`; `None` if there
    /// is none.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<u32> {
        let now = now.as_nanos() >> TICK_SHIFT;
        loop {
            let due = self.first_due;
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

    /// Moves every index of a slot that time has reached to a lower level or to the list
    /// of due timers.
    fn empty_slot(&mut self, list: usize) {
        let mut index = self.head(list);
        self.set_head(list, NONE);
        self.vacate(list);
        while index != NONE {
            let timer = self.timers[index as usize];
            self.link(index, timer.deadline());
            index = timer.after;
        }
    }

    /// Returns the first index of `list`, or `NONE`.
    fn head(&self, list: usize) -> u32 {
        if list == usize::from(DUE) {
            return self.first_due;
        }
        self.heads.get(list).copied().unwrap_or_else(|| {
            let is_head = |timer: &Timer| usize::from(timer.list()) == list && timer.before == NONE;
            let head = self.timers.iter().position(is_head);
            head.map_or(NONE, |index| index as u32)
        })
    }

    /// Stores the first index of `list`.
    fn set_head(&mut self, list: usize, index: u32) {
        if list == usize::from(DUE) {
            self.first_due = index;
        } else if let Some(head) = self.heads.get_mut(list) {
            *head = index;
        }
    }

    /// Returns the level and slot that are due first.
    fn first_slot(&self) -> Option<(usize, usize)> {
        if self.levels == 0 {
            return None;
        }
        // No occupied slot is before the wheel's time, so the lowest bit is the next slot.
        let level = self.levels.trailing_zeros() as usize;
        Some((level, self.occupied[level].trailing_zeros() as usize))
    }

    /// Marks the slot of `list` as in use.
    fn occupy(&mut self, list: usize) {
        self.occupied[list / SLOTS] |= 1 << (list % SLOTS);
        self.levels |= 1 << (list / SLOTS);
    }

    /// Marks the slot of `list` as free.
    fn vacate(&mut self, list: usize) {
        let slots = &mut self.occupied[list / SLOTS];
        *slots &= !(1 << (list % SLOTS));
        self.levels &= !(u16::from(*slots == 0) << (list / SLOTS));
    }

    /// Returns the first tick of a slot.
    fn slot_start(&self, level: usize, slot: usize) -> u64 {
        let shift = SLOT_BITS * level as u32;
        let above = self.elapsed >> shift >> SLOT_BITS << SLOT_BITS;
        (above | slot as u64) << shift
    }

    /// Links `index` to the list of `deadline`, which becomes its deadline.
    fn link(&mut self, index: u32, deadline: u64) {
        let list = if deadline <= self.elapsed {
            usize::from(DUE)
        } else {
            let differing = (deadline ^ self.elapsed).ilog2();
            let level = (differing / SLOT_BITS) as usize;
            let slot = (deadline >> (SLOT_BITS * level as u32)) as usize % SLOTS;
            self.occupy(level * SLOTS + slot);
            level * SLOTS + slot
        };
        let after = self.head(list);
        self.set_head(list, index);
        if after != NONE {
            self.timers[after as usize].before = index;
        }
        let timer = &mut self.timers[index as usize];
        (timer.before, timer.after) = (NONE, after);
        timer.set(deadline, list as u16);
    }

    /// Removes `index` from its list, if any.
    fn unlink(&mut self, index: u32) {
        let timer = &mut self.timers[index as usize];
        let (list, before, after) = (timer.list(), timer.before, timer.after);
        if list == UNSET {
            return;
        }
        timer.set(0, UNSET);
        if after != NONE {
            self.timers[after as usize].before = before;
        }
        if before != NONE {
            self.timers[before as usize].after = after;
            return;
        }
        self.set_head(list.into(), after);
        if after == NONE && list != DUE {
            self.vacate(list.into());
        }
    }
}

/// Returns the instant at which tick `tick` begins.
fn instant(tick: u64) -> Instant {
    Instant::from_nanos(tick.saturating_mul(1 << TICK_SHIFT))
}
