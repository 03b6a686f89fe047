//! Records of a run other than its measured quantities.
//!
//! Rule: recording changes nothing in the simulated network, and only requested records are made.

use fullpipe_diagnose::facts::Observed;
use fullpipe_pool::{Duration, Instant};
use fullpipe_sim::{DatagramFlowId, Overflow, OverflowPlace, WorldFailure};

use super::built::Built;
use crate::{
    experiment::{FlowPlan, Setup},
    observer::Observer,
    watch::{
        Watch, Watched,
        counters::HostCounters,
        events::{EventKind, WatchEvent},
        sockets::{Socket, SocketOwner},
        udp::UdpSocket,
    },
};

/// The records of a run.
#[derive(Debug)]
pub(super) struct Watching {
    watch: Watch,
    observer: Option<Observer>,
    sockets: Vec<Socket>,
    udp_sockets: Vec<UdpSocket>,
}

impl Watching {
    /// Creates empty records for a simulated network of `setup`. With `observe`, every segment is
    /// recorded.
    pub fn new(setup: &Setup, observe: bool, watch: Watch) -> Self {
        Self {
            watch,
            observer: (observe || watch.events)
                .then(|| Observer::new(&setup.hosts, &setup.links, observe, watch.events)),
            sockets: Vec::new(),
            udp_sockets: Vec::new(),
        }
    }

    /// Runs the world (the simulated network) for `length` and reads the hosts' traces.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    pub fn run(&mut self, built: &mut Built<'_>, length: Duration) -> Result<(), WorldFailure> {
        match &mut self.observer {
            Some(observer) => observer.run(&mut built.world, &built.hosts, &built.links, length),
            None => built.world.try_pass(length),
        }
    }

    /// Returns the time until the next recording of sockets. If a recording is due now, returns a
    /// whole interval instead of 0.
    pub fn until_sockets(&self, now: Instant) -> Option<Duration> {
        let every = self.watch.sockets?.as_nanos();
        let now = now.as_nanos();
        Some(Duration::from_nanos(every - now % every))
    }

    /// Records all sockets if the present time is a multiple of the interval.
    pub fn look(&mut self, built: &mut Built<'_>) {
        let now = built.world.now();
        if self.watch.sockets.is_some() && self.until_sockets(now) == self.watch.sockets {
            self.record_sockets(built);
        }
    }

    /// Records both ends of every connection.
    fn record_sockets(&mut self, built: &mut Built<'_>) {
        let mut number = 0;
        self.record_udp_sockets(built);
        for index in 0..built.flows.len() {
            let first = index == 0 || built.flows[index - 1].0 != built.flows[index].0;
            number = if first { 1 } else { number + 1 };
            let plan = built.plan(index);
            let facts = built.facts(index);
            let name = match plan.count {
                1 => plan.name.clone(),
                _ => format!("{}#{number}", plan.name),
            };
            let ends = [
                (plan.from, plan.to, facts.client),
                (plan.to, plan.from, facts.server),
            ];
            for (host, peer, facts) in ends {
                // Skip a connection that was released: its facts are of an earlier time.
                let Some(info) = facts.info.filter(|info| info.at == built.world.now()) else {
                    continue;
                };
                let own = &built.setup.hosts[host];
                let dropped = built.world.stack(built.hosts[host]).tcp_counters();
                let whose = SocketOwner {
                    host: &own.name,
                    peer: &built.setup.hosts[peer].name,
                    flow: name.clone(),
                    congestion: own.get("tcp.congestion").unwrap_or_default(),
                    block_size: own.config.pool.block_size,
                    payload_shares: [
                        own.config.tcp.send_payload_share,
                        own.config.tcp.receive_payload_share,
                    ],
                    drops: dropped.ofo_drop + dropped.rcvq_drop,
                };
                self.sockets.push(Socket::of(whose, &info));
            }
        }
    }

    /// Records every UDP socket.
    fn record_udp_sockets(&mut self, built: &Built<'_>) {
        let at_ns = built.world.now().as_nanos();
        for (index, (place, id)) in built.datagrams.iter().enumerate() {
            let plan = &built.setup.flows[*place];
            let before = built.datagrams[..index].iter();
            let number = before.filter(|(other, _)| other == place).count() + 1;
            let name = match plan.count {
                1 => plan.name.clone(),
                _ => format!("{}#{number}", plan.name),
            };
            let [from, to] = [plan.from, plan.to].map(|host| &built.setup.hosts[host].name);
            let [sending, receiving] = built.world.datagram_sockets(*id);
            self.udp_sockets.extend([
                UdpSocket::of(at_ns, from, to, name.clone(), sending),
                UdpSocket::of(at_ns, to, from, name, receiving),
            ]);
        }
    }

    /// Returns every host's counters, if they were requested.
    fn host_counters(&self, built: &Built<'_>, elapsed_s: f64) -> Vec<HostCounters> {
        if !self.watch.counters {
            return Vec::new();
        }
        let hosts = built.setup.hosts.iter().zip(&built.hosts);
        hosts
            .map(|(plan, host)| HostCounters::of(&plan.name, built.world.stack(*host), elapsed_s))
            .collect()
    }

    /// Returns the facts, events, sockets and counters of a run that took `elapsed_s` seconds.
    pub fn take(&mut self, built: &Built<'_>, elapsed_s: f64) -> (Option<Observed>, Watched) {
        let observer = self.observer.take();
        let seen = observer.map(|observer| observer.finish(&built.world));
        let (observed, mut events) = seen.unwrap_or_default();
        events.extend(overflow_events(built));
        events.sort_by_key(|event| event.at_ns);
        let watched = Watched {
            events,
            sockets: std::mem::take(&mut self.sockets),
            udp_sockets: std::mem::take(&mut self.udp_sockets),
            counters: self.host_counters(built, elapsed_s),
        };
        (observed, watched)
    }
}

/// Returns the overflows of receive queues and receive rings as events.
fn overflow_events(built: &Built<'_>) -> Vec<WatchEvent> {
    let mut events = Vec::new();
    for (host, place, Overflow { from, until, lost }) in built.world.overflows() {
        let (connection, full, room) = match place {
            OverflowPlace::ReceiveQueue(id) => (
                Some(socket_number(built, id)),
                EventKind::ReceiveQueueFull,
                EventKind::ReceiveQueueRoom { lost },
            ),
            OverflowPlace::Ring => (None, EventKind::RingFull, EventKind::RingRoom { lost }),
        };
        let plans = built.setup.hosts.iter().zip(&built.hosts);
        let mut names = plans.filter(|(_, own)| **own == host);
        let name = names.next().map_or("", |(plan, _)| plan.name.as_str());
        let ends = [(Some(from), full), (until, room)];
        let timed = ends.into_iter().filter_map(|(at, what)| Some((at?, what)));
        events.extend(timed.map(|(at, what)| WatchEvent {
            at_ns: at.as_nanos(),
            host: name.to_string(),
            connection,
            what,
        }));
    }
    events
}

/// Returns the number of the receiver's socket among its host's UDP sockets, counted from 1.
fn socket_number(built: &Built<'_>, id: DatagramFlowId) -> u32 {
    let flow = |place: usize| &built.setup.flows[place];
    let own = built.datagrams.iter().find(|(_, other)| *other == id);
    let host = own.map_or(0, |(place, _)| flow(*place).to);
    let before = built.datagrams.iter().take_while(|(_, other)| *other != id);
    let opened = before.map(|(place, _)| {
        let FlowPlan { from, to, .. } = flow(*place);
        u32::from(*from == host) + u32::from(*to == host)
    });
    opened.sum::<u32>() + 1
}
