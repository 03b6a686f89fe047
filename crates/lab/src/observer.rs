//! Reads the hosts' traces while a row runs, and makes facts and events of them.
//!
//! Rule: watching changes nothing. The ring of a host is emptied long before it
//! is full, so that nothing is forgotten; where it was too small all the same,
//! the facts say how much is missing.

use fullpipe_diagnose::facts::{Assembly, Host, LinkUsage, Observed};
use fullpipe_pool::Duration;
use fullpipe_sim::{HostId, LinkId, World, WorldFailure, link::Direction};

use crate::{
    experiment::{HostPlan, LinkPlan},
    watch::events::{Happening, Log},
};

/// Records that a watched host's ring holds.
pub const RECORDS: u32 = 1 << 18;
/// The shortest time between two looks at the rings.
const SHORTEST: Duration = Duration::from_micros(100);
/// The longest.
const LONGEST: Duration = Duration::from_secs(1);

/// Facts in the making.
#[derive(Debug)]
pub struct Observer {
    assembly: Option<Assembly>,
    log: Option<Log>,
    /// Time until the next look.
    pace: Duration,
}

impl Observer {
    /// Knows the hosts, in the order in which they will be watched, and whether
    /// facts and events are wanted.
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
            log: events.then(|| Log::new(hosts.iter().map(|plan| plan.name.clone()).collect())),
            pace: SHORTEST,
        }
    }

    /// Runs `world` for `length` and watches `hosts`.
    ///
    /// # Errors
    /// A checker found something.
    pub fn run(
        &mut self,
        world: &mut World,
        hosts: &[HostId],
        links: &[LinkId],
        length: Duration,
    ) -> Result<(), WorldFailure> {
        let end = world.now() + length;
        while world.now() < end {
            world.try_pass(self.pace.min(end - world.now()))?;
            let most = self.look(world, hosts);
            self.look_at_usage(world, hosts, links);
            if most > RECORDS / 8 {
                self.pace = (self.pace / 4).max(SHORTEST);
            } else if most < RECORDS / 64 {
                self.pace = (self.pace * 2).min(LONGEST);
            }
        }
        Ok(())
    }

    /// Empties every ring. Returns how many records the fullest had.
    fn look(&mut self, world: &mut World, hosts: &[HostId]) -> u32 {
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

    /// Takes what links and processors did since the last look.
    fn look_at_usage(&mut self, world: &mut World, hosts: &[HostId], links: &[LinkId]) {
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

    /// What was seen, and what happened, where they were wanted.
    pub fn finish(self, world: &World) -> (Option<Observed>, Vec<Happening>) {
        let end_ns = world.now().as_nanos();
        (
            self.assembly.map(|assembly| assembly.finish(end_ns)),
            self.log.map(Log::finish).unwrap_or_default(),
        )
    }
}
