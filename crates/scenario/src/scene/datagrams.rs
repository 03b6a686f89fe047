//! Runs and measures a row of datagrams.
//!
//! Rule: with a duration, goodput counts the datagrams that were read while datagrams
//! were sent; with an amount, all that were read. Losses are counted after everything in
//! flight has had time to arrive.

use std::ops::ControlFlow;

use fullpipe_pool::{Duration, Instant};
use fullpipe_sim::{
    DatagramDemand, DatagramFacts, DatagramFlowId, Overflow, OverflowPlace, WorldFailure,
};

use super::{Activity, Played, SLICE, Scene, over};
use crate::{
    experiment::{FlowPlan, Stop},
    measured::{Measured, Outcome, jain},
    shares::Times,
    watch::{
        events::{EventKind, WatchEvent},
        udp::UdpSocket,
    },
};

/// Time after the last transmission in which datagrams may still arrive.
const UNDER_WAY: Duration = Duration::from_millis(500);

/// Facts of one flow at the end of sending, and after all datagrams had arrived.
struct EndedDatagrams<'a> {
    plan: &'a FlowPlan,
    sent: DatagramFacts,
    arrived: DatagramFacts,
    elapsed: Duration,
}

impl EndedDatagrams<'_> {
    fn goodput_mbps(&self) -> f64 {
        let bits = self.sent.received_bytes as f64 * 8.0;
        over(bits / 1e6, self.elapsed.as_secs_f64())
    }
}

impl Scene<'_> {
    /// Runs a row whose flows are datagrams.
    pub(super) fn play_datagrams(
        &mut self,
        progress: &dyn Fn(f64) -> ControlFlow<()>,
    ) -> Result<Option<Played>, WorldFailure> {
        let setup = self.setup;
        let ends = setup.flows.iter().map(|plan| match plan.stop {
            Stop::After(length) => plan.start + length,
            Stop::Bytes(_) => plan.latest_end(),
        });
        let end = Instant::ZERO + ends.max().unwrap_or(Duration::ZERO);
        while self.world.now() < end && !self.is_all_sent() {
            let rest = end - self.world.now();
            self.run_for(SLICE.min(rest))?;
            let share = self.age().as_secs_f64() / end.since(Instant::ZERO).as_secs_f64();
            if progress(share.min(1.0)).is_break() {
                return Ok(None);
            }
        }
        let sent: Vec<_> = self.datagram_facts();
        self.run_for(UNDER_WAY)?;
        self.world.try_run_for(Duration::ZERO)?;
        let arrived = self.datagram_facts();
        let places = self.datagrams.iter().map(|(place, _)| *place);
        let ended: Vec<_> = places
            .zip(sent.into_iter().zip(arrived))
            .map(|(place, (sent, arrived))| ended(&setup.flows[place], sent, arrived))
            .collect();
        let (busiest, busy) = self.busiest_link();
        let mut sender = Times::default();
        let mut receiver = Times::default();
        let mut demand = DatagramDemand::default();
        for (_, id) in &self.datagrams {
            let account = self.world.datagram_account(*id);
            sender.add(account.sender());
            receiver.add(account.receiver());
            demand = larger(demand, self.world.datagram_demand(*id));
        }
        let measured = self.datagrams_measured(&ended, busy);
        let (observed, watched) = self.take_observations(measured.elapsed_s);
        Ok(Some(Played {
            sender,
            receiver,
            demand,
            peer_window: 0,
            cwnd: 0,
            min_rtt: None,
            busiest,
            activity: Activity {
                share: 1.0,
                at_once: 1.0,
                payload_share: 1.0,
            },
            silence: None,
            measured,
            observed,
            watched,
        }))
    }

    /// Records every UDP socket.
    pub(super) fn record_udp_sockets(&mut self) {
        let at_ns = self.world.now().as_nanos();
        for (index, (place, id)) in self.datagrams.iter().enumerate() {
            let plan = &self.setup.flows[*place];
            let before = self.datagrams[..index].iter();
            let number = before.filter(|(other, _)| other == place).count() + 1;
            let name = match plan.count {
                1 => plan.name.clone(),
                _ => format!("{}#{number}", plan.name),
            };
            let [from, to] = [plan.from, plan.to].map(|host| &self.setup.hosts[host].name);
            let [sending, receiving] = self.world.datagram_sockets(*id);
            self.udp_sockets.extend([
                UdpSocket::of(at_ns, from, to, name.clone(), sending),
                UdpSocket::of(at_ns, to, from, name, receiving),
            ]);
        }
    }

    /// Overflows of receive queues and receive rings, as events.
    pub(super) fn overflow_events(&self) -> Vec<WatchEvent> {
        let mut events = Vec::new();
        for (host, place, Overflow { from, until, lost }) in self.world.overflows() {
            let (connection, full, room) = match place {
                OverflowPlace::ReceiveQueue(id) => (
                    Some(self.socket_number(id)),
                    EventKind::ReceiveQueueFull,
                    EventKind::ReceiveQueueRoom { lost },
                ),
                OverflowPlace::Ring => (None, EventKind::RingFull, EventKind::RingRoom { lost }),
            };
            let plans = self.setup.hosts.iter().zip(&self.hosts);
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

    /// Number of the receiver's socket among its host's UDP sockets, from 1.
    fn socket_number(&self, id: DatagramFlowId) -> u32 {
        let flow = |place: usize| &self.setup.flows[place];
        let own = self.datagrams.iter().find(|(_, other)| *other == id);
        let host = own.map_or(0, |(place, _)| flow(*place).to);
        let before = self.datagrams.iter().take_while(|(_, other)| *other != id);
        let opened = before.map(|(place, _)| {
            let FlowPlan { from, to, .. } = flow(*place);
            u32::from(*from == host) + u32::from(*to == host)
        });
        opened.sum::<u32>() + 1
    }

    fn is_all_sent(&self) -> bool {
        let mut facts = self.datagram_facts().into_iter();
        let amounts = self.setup.flows.iter();
        let mut amounts = amounts.map(|plan| matches!(plan.stop, Stop::Bytes(_)));
        amounts.all(|is_amount| is_amount) && facts.all(|facts| facts.is_sent)
    }

    fn datagram_facts(&self) -> Vec<DatagramFacts> {
        let datagrams = self.datagrams.iter();
        datagrams
            .map(|(_, id)| self.world.datagram_facts(*id))
            .collect()
    }

    fn datagrams_measured(&self, ended: &[EndedDatagrams<'_>], busy: Duration) -> Measured {
        let secs = ended.iter().map(|end| end.elapsed).max();
        let secs = secs.unwrap_or_default().as_secs_f64();
        let sum = |of: &dyn Fn(&EndedDatagrams<'_>) -> u64| ended.iter().map(of).sum::<u64>();
        let (sent, read) = (
            sum(&|end| end.arrived.sent),
            sum(&|end| end.arrived.received),
        );
        let goodputs: Vec<_> = ended.iter().map(EndedDatagrams::goodput_mbps).collect();
        let flows: Vec<_> = ended
            .iter()
            .map(|end| (end.plan, end.goodput_mbps(), end.arrived.received_bytes))
            .collect();
        let refused = self.hosts.iter().map(|&host| {
            let mib = &self.world.stack(host).counters().mib;
            mib.udp_rcvbuf_errors
        });
        let subject = self.world.stack(self.hosts[self.setup.subject]).pool();
        let mut measured = Measured {
            outcome: if read > 0 {
                Outcome::Complete
            } else {
                Outcome::Stalled
            },
            goodput_mbps: over(sum(&|end| end.sent.received_bytes) as f64 * 8.0 / 1e6, secs),
            elapsed_s: secs,
            delivered_bytes: sum(&|end| end.arrived.received_bytes),
            peak_pool_bytes: u64::from(subject.peak_blocks()) * u64::from(subject.block_size()),
            free_blocks: u64::from(subject.free_blocks().saturating_sub(subject.promised())),
            link_busy_share: over(busy.as_secs_f64(), secs).min(1.0),
            datagrams_sent: Some(sent as f64),
            lost_share: Some(over((sent - read) as f64, sent as f64)),
            udp_rcvbuf_errors: Some(refused.sum::<u64>() as f64),
            jain: jain(&goodputs),
            flows: self.flows_measured(&flows),
            ..Measured::default()
        };
        let secs = measured.elapsed_s;
        self.add_hosts(&mut measured, secs);
        self.add_counters(&mut measured);
        measured
    }
}

/// Returns the larger value of each field.
pub(super) fn larger(one: DatagramDemand, other: DatagramDemand) -> DatagramDemand {
    DatagramDemand {
        queue: one.queue.max(other.queue),
        ring: one.ring.max(other.ring),
        without_memory: one.without_memory.max(other.without_memory),
        without_neighbour: one.without_neighbour.max(other.without_neighbour),
    }
}

fn ended(plan: &FlowPlan, sent: DatagramFacts, arrived: DatagramFacts) -> EndedDatagrams<'_> {
    let start = Instant::ZERO + plan.start;
    match plan.stop {
        Stop::After(length) => EndedDatagrams {
            plan,
            sent,
            arrived,
            elapsed: length,
        },
        // A flow with an amount counts every datagram, until the last one is read.
        Stop::Bytes(_) => EndedDatagrams {
            plan,
            sent: arrived,
            arrived,
            elapsed: arrived.last_read.map_or(Duration::ZERO, |at| at - start),
        },
    }
}
