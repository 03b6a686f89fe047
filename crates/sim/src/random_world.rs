//! A whole world drawn from one seed: hosts, knobs, links, conversations.
//!
//! Rule: every knob comes from its row's simulation range, and what is changed
//! afterwards is changed only because a world without it would test nothing
//! (no connection to open, a frame that no link carries). The same seed draws
//! the same world for ever; so each part has a generator of its own.

use fullpipe::Config;
use fullpipe_pool::{Duration, Rng};

use crate::app::{
    Amount, Application, Ending, ReadPlan, Requester, Requests, Responder, Transfer, WritePlan,
    WriteSize,
};
use crate::link::{
    BurstLoss, Codel, ETHERNET_HEADER_LEN, EcnThreshold, Hop, LinkModel, Queue, Radio, Reordering,
    TokenBucket,
};
use crate::rule::{Rule, RuleAction};
use crate::{DeviceModel, HostId, LinkId, Merge, Seed, World};

/// A drawn world, and how it is to be lived in.
#[derive(Debug)]
pub struct RandomWorld {
    /// The world at time zero.
    pub world: World,
    /// How long impairments last before everything must come to an end.
    pub hardship: Duration,
    /// A link that is plugged out: which, when, and for how long. It ends
    /// before the hardship does.
    pub outage: Option<(LinkId, Duration, Duration)>,
}

/// Conversations of a world, at most.
const MOST_CONVERSATIONS: u32 = 64;
/// Bytes that all conversations of a world move together, at most.
const BYTES_OF_A_WORLD: u64 = 256 << 10;
/// Segments that the smallest segment size may cut these bytes into.
const SEGMENTS_OF_A_WORLD: u64 = 2_000;

/// Share of worlds in which nothing overtakes: no rule, jitter or reordering.
const IN_ORDER: f64 = 0.25;

/// Shorter keepalive times are drawn as none.
const SHORTEST_KEEPALIVE: Duration = Duration::from_millis(100);

impl RandomWorld {
    /// Draws the world of `seed`.
    pub fn draw(seed: Seed) -> Self {
        let rng = Rng::seeded(seed.0);
        let mut world = World::random(seed);
        // Where frames may overtake each other nothing bounds a rate sample.
        let in_order = rng.fork(4).chance(IN_ORDER);
        let (hosts, links) = draw_network(&mut world, in_order, &mut rng.fork(1));
        draw_conversations(&mut world, &hosts, &mut rng.fork(2));
        let mut rng = rng.fork(3);
        for _ in 0..rng.below(4) {
            let rule = draw_rule(&mut rng);
            if !in_order {
                world.rule(rule);
            }
        }
        let hardship = Duration::from_millis(rng.between(100, 60_000));
        let outage = rng.chance(0.2).then(|| {
            let length = hardship / (1 + rng.below(8) as u32);
            let begin = Duration::from_nanos(rng.between(0, (hardship - length).as_nanos()));
            (links[rng.below(links.len() as u64) as usize], begin, length)
        });
        Self {
            world,
            hardship,
            outage,
        }
    }
}

/// Two hosts on a link, or up to five around a switch.
fn draw_network(world: &mut World, in_order: bool, rng: &mut Rng) -> (Vec<HostId>, Vec<LinkId>) {
    let pair = rng.chance(0.6);
    let count = if pair { 2 } else { rng.between(3, 5) };
    let links = if pair { 1 } else { count };
    let mtu = draw_mtu(rng);
    let links: Vec<LinkId> = (0..links)
        .map(|_| {
            let forward = draw_link(rng, mtu);
            let back = if rng.chance(0.7) {
                forward
            } else {
                draw_link(rng, mtu)
            };
            let [forward, back] = [forward, back].map(|link| LinkModel {
                jitter_us: if in_order { 0 } else { link.jitter_us },
                reordering: link.reordering.filter(|_| !in_order),
                ..link
            });
            world.link_asymmetric(forward, back)
        })
        .collect();
    let hosts = (0..count as usize)
        .map(|number| {
            let link = &links[number.min(links.len() - 1)];
            let device = draw_device(rng);
            world.host_with(link, draw_config(rng, count as u32), device)
        })
        .collect();
    if !pair {
        let switch = world.switch();
        for link in &links {
            world.plug(link, switch);
        }
    }
    (hosts, links)
}

/// A plain device half of the time; else one that takes work from its stack.
fn draw_device(rng: &mut Rng) -> DeviceModel {
    let plain = DeviceModel::plain(rng.between(1, 64) as usize);
    // Of its own, so that what it draws moves nothing else.
    let rng = &mut rng.fork(0xde);
    if rng.chance(0.5) {
        return plain;
    }
    let merge = rng.chance(0.5).then(|| {
        let quiet_us = draw_spread(rng, 11);
        Merge {
            quiet: Duration::from_micros(quiet_us),
            longest: Duration::from_micros(quiet_us * rng.between(1, 20)),
            verifies: rng.chance(0.5),
        }
    });
    DeviceModel {
        checksum_tx: rng.chance(0.5),
        super_segment: if rng.chance(0.7) {
            draw_spread(rng, 16).min(60_000) as usize
        } else {
            0
        },
        reports_sent: rng.chance(0.5),
        merge,
        ..plain
    }
}

fn draw_mtu(rng: &mut Rng) -> usize {
    match rng.below(4) {
        0 => rng.between(256, 1_500) as usize,
        1 => 9_000,
        _ => 1_500,
    }
}

fn draw_config(rng: &mut Rng, hosts: u32) -> Config {
    let mut config = Config::default();
    config.draw(rng);
    // A client whose server has no slot for it rightly waits until its R2 is
    // over, which is half an hour: too long to tell from a stall.
    config.stack.connections = config.stack.connections.max(2 * MOST_CONVERSATIONS);
    // A neighbour cache that cannot hold who is talked to asks for ever.
    config.arp.entries = config.arp.entries.max(hosts);
    // A probe every few microseconds is legal, and drowns everything else.
    if config.tcp.keepalive_time < SHORTEST_KEEPALIVE {
        config.tcp.keepalive_time = Duration::ZERO;
    }
    config
}

/// A probability from 0 to `most`; none at all half of the time.
fn draw_chance(rng: &mut Rng, most: f64) -> f64 {
    if rng.chance(0.5) {
        0.0
    } else {
        rng.unit() * most
    }
}

/// A number from 1 to 2^`octaves`, small ones as likely as large ones.
fn draw_spread(rng: &mut Rng, octaves: u64) -> u64 {
    let octave = rng.between(1, octaves);
    rng.between(1, 1 << octave)
}

fn draw_link(rng: &mut Rng, mtu: usize) -> LinkModel {
    let frame = (mtu + ETHERNET_HEADER_LEN) as u64;
    let rate_bps = if rng.chance(0.2) {
        0
    } else {
        100_000 << rng.between(0, 10)
    };
    let delay_us = if rng.chance(0.3) {
        0
    } else {
        draw_spread(rng, 17)
    };
    let queue = match rng.below(4) {
        0 => Queue::Unlimited,
        1 => Queue::Device,
        2 => Queue::Packets(rng.between(1, 64) as u32),
        _ => Queue::Bytes(frame * rng.between(1, 32)),
    };
    let token_bucket = rng.chance(0.2).then(|| {
        let rate_bps = 200_000 << rng.between(0, 8);
        let burst_bytes = frame * rng.between(1, 10);
        TokenBucket::with_latency(rate_bps, burst_bytes, rng.between(1_000, 200_000))
    });
    let radio = rng.chance(0.2).then(|| Radio {
        access_us: rng.between(0, 1_000),
        backoff_us: rng.between(0, 500),
    });
    let burst_loss = rng.chance(0.2).then(|| BurstLoss {
        enter: rng.unit() * 0.02,
        leave: 0.1 + rng.unit() * 0.9,
        loss_good: 0.0,
        loss_bad: rng.unit(),
    });
    let reordering = rng.chance(0.4).then(|| Reordering {
        chance: rng.unit() * 0.2,
        late_us: draw_spread(rng, 17),
    });
    let link = LinkModel {
        rate_bps,
        delay_us,
        jitter_us: if rng.chance(0.5) {
            0
        } else {
            rng.between(0, 20_000)
        },
        loss: draw_chance(rng, 0.1),
        burst_loss,
        reordering,
        duplication: draw_chance(rng, 0.1),
        corruption: draw_chance(rng, 0.05),
        queue,
        token_bucket,
        radio,
        mtu,
        ..LinkModel::ideal()
    };
    draw_signals(rng, link)
}

/// `link` with what tells its senders to slow down or to send less at once.
fn draw_signals(rng: &mut Rng, link: LinkModel) -> LinkModel {
    let frame = (link.mtu + ETHERNET_HEADER_LEN) as u64;
    let ecn_threshold = rng.chance(0.2).then(|| match rng.below(2) {
        0 => EcnThreshold::Packets(rng.between(1, 32) as u32),
        _ => EcnThreshold::Bytes(frame * rng.between(1, 16)),
    });
    let codel = rng.chance(0.2).then(|| Codel {
        target_us: draw_spread(rng, 14),
        interval_us: draw_spread(rng, 18),
        ecn: rng.chance(0.5),
    });
    let hop = rng.chance(0.2).then(|| Hop {
        mtu: rng.between(256, link.mtu as u64) as u16,
        silent: rng.chance(0.5),
    });
    LinkModel {
        ecn_threshold,
        codel,
        hop,
        ..link
    }
}

fn draw_rule(rng: &mut Rng) -> Rule {
    let fate = match rng.below(3) {
        0 => RuleAction::Drop,
        1 => RuleAction::Delay(Duration::from_millis(rng.between(1, 2_000))),
        _ => RuleAction::Duplicate,
    };
    let (first, length) = (rng.between(1, 300), rng.between(1, 12));
    let mut seen = 0;
    Rule::new(fate, move |packet| {
        seen += u64::from(packet.tcp.is_some());
        packet.tcp.is_some() && (first..first + length).contains(&seen)
    })
}

fn draw_conversations(world: &mut World, hosts: &[HostId], rng: &mut Rng) {
    let count = match rng.below(3) {
        0 => rng.between(1, 3),
        1 => rng.between(1, 12),
        _ => rng.between(1, MOST_CONVERSATIONS.into()),
    };
    let segment = hosts
        .iter()
        .map(|&host| u64::from(world.config(host).tcp.mss_max))
        .min();
    let bytes = (segment.unwrap_or(64) * SEGMENTS_OF_A_WORLD).min(BYTES_OF_A_WORLD);
    for _ in 0..count {
        let client = rng.below(hosts.len() as u64) as usize;
        let others = hosts.len() as u64 - 1;
        // The first host is the favourite server: memory is contended there.
        let server = match client {
            0 => 1 + rng.below(others) as usize,
            _ if rng.chance(0.7) => 0,
            _ => (client + 1 + rng.below(others) as usize) % hosts.len(),
        };
        let (client_app, server_app) = draw_applications(rng, bytes / count);
        let start = Duration::from_millis(draw_spread(rng, 13));
        let flow = world.converse(hosts[client], hosts[server], client_app, server_app, start);
        world.set_in_place(flow, rng.chance(0.5));
    }
}

/// Two applications that fit each other and move about `bytes`.
fn draw_applications(rng: &mut Rng, bytes: u64) -> (Box<dyn Application>, Box<dyn Application>) {
    if rng.chance(0.25) {
        let count = rng.between(1, 8);
        let plan = Requests {
            count,
            request_len: rng.between(1, 1 + bytes / count / 2),
            response_len: rng.between(1, 1 + bytes / count / 2),
            think: Duration::from_millis(draw_spread(rng, 9)),
        };
        return (
            Box::new(Requester::new(plan)),
            Box::new(Responder::new(plan)),
        );
    }
    let ending = match rng.below(10) {
        0 => Ending::Abort {
            after: rng.between(0, bytes),
        },
        1 => Ending::Close {
            after: rng.between(0, bytes),
        },
        2 => Ending::Vanish {
            after: rng.between(0, bytes),
        },
        _ => Ending::Graceful,
    };
    let both_ways = rng.chance(0.3);
    let client_writes = both_ways || rng.chance(0.7);
    let plans = [client_writes, both_ways || !client_writes];
    let [client_plan, server_plan] = plans.map(|writes| writes.then(|| draw_writes(rng, bytes)));
    let (client_reads, server_reads) = (draw_reads(rng, bytes), draw_reads(rng, bytes));
    let client = Transfer::new(client_plan, client_reads, ending);
    let server = Transfer::new(server_plan, server_reads, Ending::Graceful);
    (Box::new(client), Box::new(server))
}

fn draw_writes(rng: &mut Rng, bytes: u64) -> WritePlan {
    let max = draw_spread(rng, 15);
    let size = if rng.chance(0.5) {
        WriteSize::Fixed(max)
    } else {
        WriteSize::Odd {
            max,
            rng: rng.fork(9),
        }
    };
    // A pause after each write must not make a small write size take for ever.
    let pause = if rng.chance(0.2) {
        Duration::from_nanos(rng.below(2_000_000_000 / (1 + bytes / (1 + max / 2))))
    } else {
        Duration::ZERO
    };
    WritePlan {
        amount: Amount::Bytes(rng.between(0, bytes)),
        size,
        pause,
        low_water: 0,
        no_push: false,
    }
}

fn draw_reads(rng: &mut Rng, bytes: u64) -> ReadPlan {
    match rng.below(6) {
        0 => ReadPlan::Rate {
            bytes: rng.between(1 + bytes / 200, 1 + bytes / 4),
            every: Duration::from_millis(rng.between(1, 100)),
        },
        1 => {
            let begin = Duration::from_millis(rng.below(3_000));
            ReadPlan::Stalls(vec![(begin, Duration::from_millis(rng.between(1, 5_000)))])
        }
        _ => ReadPlan::Eager,
    }
}

#[cfg(test)]
mod tests;
