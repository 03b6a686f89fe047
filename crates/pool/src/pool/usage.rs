//! The use of blocks: the blocks that each holder (kind of buffer) holds, was promised, and can
//! still get.
//!
//! The one rule: blocks held, blocks promised and the unused parts of the floors together never
//! exceed the limit (`pool.overcommit_percent` of the pool). Every operation preserves this rule.
//! If the limit equals the number of blocks in the pool, every promise can therefore be kept.
//!
//! A floor is the number of blocks guaranteed to a holder. It includes the blocks that the holder
//! already holds or was promised. This file only counts blocks and never touches them.

use super::pressure::{Gauge, Pressure};
use crate::config::PoolConfig;
use crate::record;

/// The kind of buffer or queue that has a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Holder {
    /// Bytes written by an application and not yet acknowledged.
    Send,
    /// Bytes received and not yet read, and the windows promised for more.
    Receive,
    /// Datagrams waiting for their reader.
    Datagram,
    /// Fragments waiting for the rest of their datagram.
    Fragment,
    /// Packets waiting for a neighbour's address.
    Neighbour,
    /// Echo requests waiting to be answered, and the ends of long quotations in ICMP errors.
    Echo,
}

record!(
    enum Holder {
        Send,
        Receive,
        Datagram,
        Fragment,
        Neighbour,
        Echo,
    }
);

impl core::fmt::Display for Holder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

impl Holder {
    /// Every holder, in index order.
    pub const ALL: [Self; 6] = [
        Self::Send,
        Self::Receive,
        Self::Datagram,
        Self::Fragment,
        Self::Neighbour,
        Self::Echo,
    ];

    /// The holder's name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Datagram => "datagram",
            Self::Fragment => "fragment",
            Self::Neighbour => "neighbour",
            Self::Echo => "echo",
        }
    }
}

/// One holder's blocks: held, promised, guaranteed.
#[derive(Clone, Copy, Debug, Default)]
struct HolderUsage {
    held: u32,
    promised: u32,
    floor: u32,
}

#[derive(Debug)]
pub(super) struct PoolUsage {
    count: u32,
    /// Limit on blocks held and promised together.
    limit: u64,
    free: u32,
    peak: u32,
    /// Blocks held and promised, over all holders.
    committed: u64,
    /// Sum of the parts of the floors that are neither held nor promised.
    unused_floors: u64,
    /// Sum of the parts of the floors that are not held.
    missing_floors: u32,
    gauge: Gauge,
    accounts: [HolderUsage; Holder::ALL.len()],
}

impl PoolUsage {
    pub(super) fn new(config: &PoolConfig) -> Self {
        let mut accounts = [HolderUsage::default(); Holder::ALL.len()];
        accounts[Holder::Send as usize].floor = config.send_floor;
        accounts[Holder::Receive as usize].floor = config.receive_floor;
        // Cap the limit so that 32-bit counts of blocks, which never exceed the limit, cannot
        // overflow.
        let limit = (u64::from(config.blocks) * u64::from(config.overcommit_percent) / 100)
            .min(u64::from(u32::MAX));
        Self {
            count: config.blocks,
            limit,
            free: config.blocks,
            peak: 0,
            committed: 0,
            unused_floors: accounts.iter().map(HolderUsage::unused_floor).sum(),
            missing_floors: accounts.iter().map(HolderUsage::missing_floor).sum(),
            gauge: Gauge::new(config, limit),
            accounts,
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn free(&self) -> u32 {
        self.free
    }

    pub(super) fn peak(&self) -> u32 {
        self.peak
    }

    pub(super) fn held(&self, holder: Holder) -> u32 {
        self.accounts[holder as usize].held
    }

    pub(super) fn promised(&self, holder: Holder) -> u32 {
        self.accounts[holder as usize].promised
    }

    /// Returns true if at least a quarter of the limit is held or promised, without counting
    /// `aside` blocks.
    pub(super) fn quarter_is_committed(&self, aside: u32) -> bool {
        self.committed - u64::from(aside) >= self.limit / 4
    }

    pub(super) fn pressure(&self) -> Pressure {
        self.gauge.level()
    }

    fn others(&self, holder: Holder) -> impl Iterator<Item = &HolderUsage> {
        let own = holder as usize;
        self.accounts
            .iter()
            .enumerate()
            .filter(move |(line, _)| *line != own)
            .map(|(_, account)| account)
    }

    /// The limit minus the blocks held and promised.
    fn uncommitted(&self) -> u64 {
        self.limit.saturating_sub(self.committed)
    }

    /// Free blocks that `holder` can take while every other holder can still reach its
    /// floor.
    pub(super) fn physical_room(&self, holder: Holder) -> u32 {
        let kept = self.missing_floors - self.accounts[holder as usize].missing_floor();
        self.free.saturating_sub(kept)
    }

    /// Blocks that `holder` can take or be promised, besides those already promised to it.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub(super) fn room(&self, holder: Holder) -> u32 {
        let kept = self.unused_floors - self.accounts[holder as usize].unused_floor();
        let room = self.uncommitted().saturating_sub(kept);
        // Do not cap the room at the free blocks: in an overcommitted pool, a promise may exceed
        // them.
        u32::try_from(room).unwrap_or(u32::MAX)
    }

    /// Largest number of blocks that `holder` can hold and be promised: the limit without the
    /// floors of the other holders.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub(super) fn most(&self, holder: Holder) -> u32 {
        let floors: u64 = self
            .others(holder)
            .map(|account| u64::from(account.floor))
            .sum();
        self.limit.saturating_sub(floors) as u32
    }

    pub(super) fn promise(&mut self, holder: Holder, blocks: u32) {
        if blocks > 0 {
            self.change(holder, |account| account.promised += blocks);
            self.commit(self.committed + u64::from(blocks));
        }
    }

    pub(super) fn unpromise(&mut self, holder: Holder, blocks: u32) {
        if blocks > 0 {
            self.change(holder, |account| account.promised -= blocks);
            self.commit(self.committed - u64::from(blocks));
        }
    }

    /// Changes the blocks counted for `holder`, and with them the sums over all holders.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn change(&mut self, holder: Holder, change: impl FnOnce(&mut HolderUsage)) {
        let account = &mut self.accounts[holder as usize];
        self.unused_floors -= account.unused_floor();
        self.missing_floors -= account.missing_floor();
        change(account);
        self.unused_floors += account.unused_floor();
        self.missing_floors += account.missing_floor();
    }

    pub(super) fn take(&mut self, holder: Holder, promised: bool) {
        self.change(holder, |account| {
            account.held += 1;
            account.promised -= u32::from(promised);
        });
        self.free -= 1;
        self.peak = self.peak.max(self.count - self.free);
        if !promised {
            self.commit(self.committed + 1);
        }
    }

    pub(super) fn give_back(&mut self, holder: Holder, blocks: u32) {
        self.change(holder, |account| account.held -= blocks);
        self.free += blocks;
        self.commit(self.committed - u64::from(blocks));
    }

    fn commit(&mut self, committed: u64) {
        self.committed = committed;
        self.gauge.follow(committed);
    }

    pub(super) fn verify(&self) {
        let held: u64 = self
            .accounts
            .iter()
            .map(|account| u64::from(account.held))
            .sum();
        let promised: u64 = self
            .accounts
            .iter()
            .map(|account| u64::from(account.promised))
            .sum();
        let unused: u64 = self.accounts.iter().map(HolderUsage::unused_floor).sum();
        let missing: u32 = self.accounts.iter().map(HolderUsage::missing_floor).sum();
        assert_eq!(
            (self.unused_floors, self.missing_floors),
            (unused, missing),
            "the sums of the floors differ from the accounts"
        );
        assert_eq!(
            held + u64::from(self.free),
            u64::from(self.count),
            "free and held blocks are not all blocks"
        );
        assert_eq!(
            held + promised,
            self.committed,
            "blocks held and promised are not what is committed"
        );
        assert!(
            held + promised + unused <= self.limit,
            "{held} held, {promised} promised and {unused} guaranteed blocks together exceed the limit of {}",
            self.limit
        );
        assert!(
            u64::from(self.peak) >= held && self.peak <= self.count,
            "the peak of {} blocks is impossible",
            self.peak
        );
    }
}

impl HolderUsage {
    /// The part of the floor that is neither held nor promised.
    fn unused_floor(&self) -> u64 {
        u64::from(self.floor).saturating_sub(u64::from(self.held) + u64::from(self.promised))
    }

    /// The part of the floor that is not held.
    fn missing_floor(&self) -> u32 {
        self.floor.saturating_sub(self.held)
    }
}
