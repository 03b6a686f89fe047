//! Reads the hosts' trace rings (ring buffers of records of each stack) while a row (scenario)
//! runs, and converts the records to facts and events.
//!
//! Rule: observing changes nothing in the run. A host's ring is emptied long before it is full. If
//! a ring overflows anyway, the facts contain the number of lost records.

use fullpipe_diagnose::facts::{Assembly, Host, LinkUsage, Observed};
use fullpipe_pool::Duration;
use fullpipe_sim::{HostId, LinkId, World, WorldFailure, link::Direction};

use crate::{
    experiment::{HostPlan, LinkPlan},
    watch::events::{EventLog, WatchEvent},
};

/// Capacity of an observed host's trace ring, in records.
pub const RECORDS: u32 = 1 << 18;
/// Shortest interval between two readings of the rings.
const SHORTEST: Duration = Duration::from_micros(100);
/// Longest interval between two readings of the rings.
const LONGEST: Duration = Duration::from_secs(1);

/// Collects the facts and the events of one world (simulated network).
#[derive(Debug)]
pub struct Observer {
    assembly: Option<Assembly>,
    log: Option<EventLog>,
    /// Interval to the next reading.
    interval: Duration,
}

impl Observer {
    /// Creates an observer of `hosts` and `links`. [`run`](Self::run) must get their ids in the
    /// same order. With `facts`, the observer collects facts; with `events`, it collects events.
    pub fn new(hosts: &[HostPlan], links: &[LinkPlan], facts: bool, events: bool) -> Self {
        let host = |plan: &HostPlan| Host {
            name: plan.name.clone(),
            pool_blocks: plan.config.pool.blocks,
            block_size: plan.config.pool.block_size,
            ..Host::default()
        };
        let link = |plan: &LinkPlan| {
            let is_shared = plan.link(Direction::Forward).radio.is_some();
            LinkUsage::new(plan.name.clone(), is_shared)
        };
        Self {
            assembly: facts.then(|| {
                Assembly::new(
                    hosts.iter().map(host).collect(),
                    links.iter().map(link).collect(),
                )
            }),
            log: events
                .then(|| EventLog::new(hosts.iter().map(|plan| plan.name.clone()).collect())),
            interval: SHORTEST,
        }
    }

    /// Runs `world` for `length` and reads the rings of `hosts`.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    pub fn run(
        &mut self,
        world: &mut World,
        hosts: &[HostId],
        links: &[LinkId],
        length: Duration,
    ) -> Result<(), WorldFailure> {
        let end = world.now() + length;
        while world.now() < end {
            world.try_pass(self.interval.min(end - world.now()))?;
            let most = self.drain_rings(world, hosts);
            self.take_usage(world, hosts, links);
            if most > RECORDS / 8 {
                self.interval = (self.interval / 4).max(SHORTEST);
            } else if most < RECORDS / 64 {
                self.interval = (self.interval * 2).min(LONGEST);
            }
        }
        Ok(())
    }

    /// Empties every ring. Returns the number of records in the fullest ring.
    fn drain_rings(&mut self, world: &mut World, hosts: &[HostId]) -> u32 {
        let mut most = 0;
        for (place, host) in hosts.iter().enumerate() {
            let mut records = 0;
            let forgotten = world.drain_trace(*host, |record| {
                records += 1;
                if let Some(assembly) = &mut self.assembly {
                    assembly.record(place, record);
                }
                if let Some(log) = &mut self.log {
                    log.record(place, record);
                }
            });
            if let Some(assembly) = &mut self.assembly {
                assembly.forgot(forgotten);
            }
            most = most.max(records);
        }
        most
    }

    /// Collects the busy times of links and processors since the last reading.
    fn take_usage(&mut self, world: &mut World, hosts: &[HostId], links: &[LinkId]) {
        let Some(assembly) = &mut self.assembly else {
            return;
        };
        for (place, host) in hosts.iter().enumerate() {
            for (from, until) in world.take_work(*host) {
                assembly.worked(place, from.as_nanos(), until.as_nanos());
            }
        }
        for (usage, link) in assembly.links_mut().iter_mut().zip(links) {
            for frame in world.take_transmissions(*link) {
                let way = match frame.direction {
                    Direction::Forward => &mut usage.forward,
                    Direction::Back => &mut usage.back,
                };
                let waiting = u32::try_from(frame.waiting).unwrap_or(u32::MAX);
                way.add(frame.from.as_nanos(), frame.until.as_nanos(), waiting);
            }
        }
    }

    /// Returns the collected facts and events.
    pub fn finish(self, world: &World) -> (Option<Observed>, Vec<WatchEvent>) {
        let end_ns = world.now().as_nanos();
        (
            self.assembly.map(|assembly| assembly.finish(end_ns)),
            self.log.map(EventLog::finish).unwrap_or_default(),
        )
    }
}
