//! The simulated network (world) of a setup, with the ids of its hosts, links and flows.
//!
//! Rule: the id of each part has the same index as the part in the setup. Nothing is run or judged
//! here.

use fullpipe_pool::{Duration, Instant};
use fullpipe_sim::{
    DatagramFlowId, Facts, Family, FlowId, HostId, LinkId, Seed, Side, World,
    app::{QueryClient, QueryServer, ReadPlan, Transfer},
    link::Direction,
};
use fullpipe_tcp::{Info, Limit, ReceiveLimit};

use crate::{
    experiment::{FlowPlan, Place, Setup},
    observer,
    shares::Times,
};

/// The world of a setup, with the ids of its parts.
#[derive(Debug)]
pub(super) struct Built<'a> {
    pub setup: &'a Setup,
    pub world: World,
    /// Links, in the order of the setup.
    pub links: Vec<LinkId>,
    /// Hosts, in the order of the setup.
    pub hosts: Vec<HostId>,
    /// Connections, each with the index of its flow, in the order of the setup.
    pub flows: Vec<(usize, FlowId)>,
    /// Senders of datagrams, each with the index of its flow.
    pub datagrams: Vec<(usize, DatagramFlowId)>,
}

impl<'a> Built<'a> {
    /// Builds the world of `setup` at time zero. With `traces`, each host has a trace ring, a ring
    /// buffer of records of its stack.
    pub fn new(setup: &'a Setup, seed: u64, traces: bool) -> Self {
        let mut world = World::new(Seed(seed));
        let (links, hosts) = connect(&mut world, setup, traces);
        let (flows, datagrams) = schedule(&mut world, setup, &hosts);
        Self {
            setup,
            world,
            links,
            hosts,
            flows,
            datagrams,
        }
    }

    /// Returns the flow of connection number `number`.
    pub fn plan(&self, number: usize) -> &'a FlowPlan {
        &self.setup.flows[self.flows[number].0]
    }

    /// Returns the facts of connection number `number`, with the sender as the client.
    pub fn facts(&mut self, number: usize) -> Facts {
        let facts = self.world.facts(self.flows[number].1);
        if self.plan(number).question().is_some() {
            facts.turned()
        } else {
            facts
        }
    }

    /// Returns the present state of the sender of connection number `number`, and the bytes that
    /// the receiver's application has read. Costs less than [`facts`](Self::facts).
    pub fn progress(&mut self, number: usize) -> (Option<Box<Info>>, u64) {
        let flow = self.flows[number].1;
        let sender = match self.plan(number).question() {
            Some(_) => Side::Server,
            None => Side::Client,
        };
        let bytes = self.world.bytes_read(flow, sender.other());
        (self.world.info(flow, sender), bytes)
    }

    /// Time since the start of the world.
    pub fn age(&self) -> Duration {
        self.world.now().since(Instant::ZERO)
    }

    /// Time for which each direction of a link has been in use so far.
    pub fn link_busy(&self, number: usize) -> [Duration; 2] {
        let engine = self.world.link_engine(self.links[number]);
        Direction::ALL.map(|direction| engine.counters(direction).busy)
    }

    /// Time for which each direction of a link has waited for tokens so far.
    pub fn link_shaped(&self, number: usize) -> [Duration; 2] {
        let engine = self.world.link_engine(self.links[number]);
        Direction::ALL.map(|direction| engine.counters(direction).shaped)
    }

    /// Time for which a host's processor has worked so far.
    pub fn cpu_busy(&self, place: usize) -> Duration {
        self.world.cpu_busy(self.hosts[place])
    }
}

/// Connects the hosts and switches of `setup` by its links. Returns links and hosts in the order
/// of the setup. With `traces`, each host has a trace ring.
fn connect(world: &mut World, setup: &Setup, traces: bool) -> (Vec<LinkId>, Vec<HostId>) {
    let switches: Vec<_> = setup.switches.iter().map(|_| world.switch()).collect();
    let mut hosts = vec![None; setup.hosts.len()];
    let mut links = Vec::new();
    for plan in &setup.links {
        let [forward, back] = Direction::ALL.map(|direction| plan.link(direction));
        let link = world.link_asymmetric(forward, back);
        // Connect the ends in this order, because the end that is connected first is the
        // simulator's first end of the link.
        for place in plan.between {
            match place {
                Place::Host(number) => {
                    let host = &setup.hosts[number];
                    let mut config = host.config.clone();
                    if traces {
                        config.trace.records = observer::RECORDS;
                    }
                    hosts[number] = Some(world.host_with(&link, config, host.device_model()));
                }
                Place::Switch(number) => world.plug(&link, switches[number]),
            }
        }
        links.push(link);
    }
    let hosts: Vec<HostId> = hosts
        .into_iter()
        .map(|host| host.expect("every host of a checked experiment is on a link"))
        .collect();
    for (plan, &host) in setup.hosts.iter().zip(&hosts) {
        world.set_cpu(host, plan.cpu);
        if let Some(registered) = plan.registered_congestion() {
            registered.choose(world, host);
        }
        for family in families(setup).into_iter().filter(|_| plan.acquainted) {
            world.use_family(family);
            for &other in hosts.iter().filter(|&&other| other != host) {
                world.acquaint(host, other);
            }
        }
    }
    (links, hosts)
}

/// Returns the IP versions of the flows of `setup`, each once.
fn families(setup: &Setup) -> Vec<Family> {
    let mut all = vec![Family::V4, Family::V6];
    all.retain(|family| setup.flows.iter().any(|flow| flow.family == *family));
    all
}

/// Connections and senders of datagrams, each with the index of its flow.
type Scheduled = (Vec<(usize, FlowId)>, Vec<(usize, DatagramFlowId)>);

/// Schedules every flow of `setup`, in the order of the setup.
fn schedule(world: &mut World, setup: &Setup, hosts: &[HostId]) -> Scheduled {
    let mut flows = Vec::new();
    let mut datagrams = Vec::new();
    for (place, plan) in setup.flows.iter().enumerate() {
        world.use_family(plan.family);
        for _ in 0..plan.count {
            if plan.is_udp() {
                let (from, to) = (hosts[plan.from], hosts[plan.to]);
                let id = world.datagrams(from, to, plan.datagram_plan(), plan.start);
                datagrams.push((place, id));
            } else {
                flows.push((place, schedule_connection(world, setup, hosts, plan)));
            }
        }
    }
    (flows, datagrams)
}

/// Schedules a connection of `plan` in `world`.
fn schedule_connection(
    world: &mut World,
    setup: &Setup,
    hosts: &[HostId],
    plan: &FlowPlan,
) -> FlowId {
    // Cap the value at 1 GiB, the size of the largest send buffer.
    let low_water = setup.low_water(plan).min(1 << 30) as u32;
    let write = plan.write_plan(low_water);
    let writer = Transfer::new(Some(write), ReadPlan::Eager, plan.ending());
    let reader = Transfer::new(None, plan.read_plan(), plan.reader_ending());
    let (from, to) = (hosts[plan.from], hosts[plan.to]);
    if let Some((bytes, think)) = plan.question() {
        let client = QueryClient::new(bytes, reader);
        let server = QueryServer::new(bytes, think, writer);
        return world.converse(to, from, Box::new(client), Box::new(server), plan.start);
    }
    world.converse(from, to, Box::new(writer), Box::new(reader), plan.start)
}

/// Sums the time charged to the limits (reasons not to send or to read) of the senders and of the
/// receivers of `all`.
pub(super) fn times<'a>(
    all: impl Iterator<Item = &'a Facts>,
) -> (Times<Limit>, Times<ReceiveLimit>) {
    let mut sender = Times::default();
    let mut receiver = Times::default();
    for facts in all {
        if let Some(info) = &facts.client.info {
            sender.add(info.limit.shares(info.at));
        }
        if let Some(info) = &facts.server.info {
            receiver.add(info.receive_limit.shares(info.at));
        }
    }
    (sender, receiver)
}
