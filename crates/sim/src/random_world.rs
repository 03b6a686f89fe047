//! Draws a whole world (a simulated network with its traffic) from one seed: hosts, knobs (settings
//! of the stack), links, applications, faults.
//!
//! Rule: every property is drawn from a generator that is forked by the property's name
//! ([`Rng::fork_named`]), and every knob from a generator that is forked by the knob's name. A new
//! property or knob therefore changes no other draw: the world of a seed differs only in the new
//! property. A changed range or a changed way of drawing does change worlds; a world that must
//! last is kept as a file (`world_plan.rs`), not as a seed.
//!
//! Knobs are drawn from the simulation ranges of the knob table. A drawn value is changed only
//! if the world would otherwise test nothing (no connection to open, a frame that no link
//! carries).

use fullpipe::Config;
use fullpipe_pool::{Duration, Rng};

use crate::app::{Amount, Ending, ReadPlan, Requests, WritePlan, WriteSize};
use crate::device::{DeviceModel, Merge};
use crate::ids::{Family, Seed};
use crate::link::{
    AckThinning, BurstLoss, Codel, ETHERNET_HEADER_LEN, EcnThreshold, Hop, LinkModel, Queue, Radio,
    Reordering, TokenBucket,
};
use crate::rule::RuleAction;
use crate::world_plan::{
    AbsencePlan, AppsPlan, FlowPlan, HostPlan, LinkPlan, OutagePlan, RulePlan, TransferPlan,
    WorldPlan,
};

/// Largest number of flows in a world.
const MOST_FLOWS: u32 = 64;
/// Approximate largest number of bytes that all flows of a world together move in one direction.
const BYTES_OF_A_WORLD: u64 = 256 << 10;
/// Largest number of full-sized segments that the bytes of a world fill.
const SEGMENTS_OF_A_WORLD: u64 = 2_000;

/// Share of worlds that are drawn without rules, jitter and reordering, so that delivery-rate
/// samples can be checked: they must not exceed the path's rate.
const IN_ORDER: f64 = 0.25;

/// Share of worlds with flows over IPv6, among the worlds whose links have an MTU large enough for
/// IPv6.
const WITH_V6: f64 = 0.4;

/// Share of worlds with two interfaces for each host, among the worlds with two hosts.
const WITH_SECOND_LINK: f64 = 0.2;

/// Share of worlds in which hosts lose addresses for a while.
const WITH_ABSENCES: f64 = 0.2;

/// A drawn keepalive time below this time is replaced by 0, which switches keepalive off.
const SHORTEST_KEEPALIVE: Duration = Duration::from_millis(100);

impl WorldPlan {
    /// Draws the world of `seed`.
    pub fn draw(seed: Seed) -> Self {
        let rng = Rng::seeded(seed.0);
        let in_order = rng.fork_named("in_order").chance(IN_ORDER);
        let pair = rng.fork_named("pair").chance(0.6);
        let count = if pair {
            2
        } else {
            rng.fork_named("host_count").between(3, 5)
        };
        let mtu = draw_mtu(rng.fork_named("mtu"));
        let of = rng.fork_named("links");
        let links: Vec<LinkPlan> = (0..if pair { 1 } else { count })
            .map(|number| draw_link(&of.fork(number), mtu, in_order))
            .collect();
        let of = rng.fork_named("hosts");
        let hosts: Vec<HostPlan> = (0..count)
            .map(|number| HostPlan {
                link: if pair { 0 } else { number as usize },
                ..draw_host(&of.fork(number), count as u32)
            })
            .collect();
        let impaired_for =
            Duration::from_millis(rng.fork_named("impaired_for").between(100, 60_000));
        let plan = Self {
            seed: seed.0,
            impaired_for,
            outage: draw_outage(&rng.fork_named("outage"), impaired_for, links.len()),
            absences: draw_absences(&rng.fork_named("absences"), impaired_for, hosts.len()),
            rules: draw_rules(&rng.fork_named("rules"), in_order),
            flows: draw_flows(&rng.fork_named("flows"), &hosts),
            parallel: None,
            links,
            hosts,
        };
        let plan = if pair && rng.fork_named("has_parallel").chance(WITH_SECOND_LINK) {
            let of = rng.fork_named("parallel");
            let mtu = draw_mtu(of.fork_named("mtu"));
            with_second_link(plan, draw_link(&of, mtu, in_order), &of)
        } else {
            plan
        };
        if mtu >= Family::V6.min_mtu() && rng.fork_named("has_v6").chance(WITH_V6) {
            with_v6(plan, &rng.fork_named("families"))
        } else {
            plan
        }
    }
}

/// Gives both hosts a second interface on `link`, and lets about half of the flows use it.
fn with_second_link(mut plan: WorldPlan, link: LinkPlan, rng: &Rng) -> WorldPlan {
    let rng = rng.fork_named("flows");
    for (number, flow) in plan.flows.iter_mut().enumerate() {
        flow.parallel = rng.fork(number as u64).chance(0.5);
    }
    for HostPlan { config, .. } in &mut plan.hosts {
        config.stack.listeners = config.stack.listeners.max(3);
    }
    plan.parallel = Some(link);
    plan
}

/// Lets about half of the flows use IPv6, and gives the hosts and links what IPv6 needs. A hop with
/// a smaller MTU than 1,280 bytes would lose every full segment for ever, because no host shortens
/// its packets below 1,280 bytes (RFC 8201 §4).
fn with_v6(mut plan: WorldPlan, rng: &Rng) -> WorldPlan {
    for (number, flow) in plan.flows.iter_mut().enumerate() {
        if !flow.parallel && rng.fork(number as u64).chance(0.5) {
            flow.family = Family::V6;
        }
    }
    let rng = rng.fork_named("absences");
    for (number, absence) in plan.absences.iter_mut().enumerate() {
        if rng.fork(number as u64).chance(0.5) {
            absence.family = Family::V6;
        }
    }
    let neighbours = 3 * plan.hosts.len() as u32;
    for HostPlan { config, .. } in &mut plan.hosts {
        config.ip.addresses = config.ip.addresses.max(2);
        config.stack.listeners = config.stack.listeners.max(2);
        // Each other host has an IPv4 address, an IPv6 address and a link-local address.
        config.arp.entries = config.arp.entries.max(neighbours);
    }
    for LinkPlan { forward, back } in &mut plan.links {
        for hop in [Some(forward), back.as_mut()].into_iter().flatten() {
            if let Some(hop) = &mut hop.hop {
                hop.mtu = hop.mtu.max(Family::V6.min_mtu() as u16);
            }
        }
    }
    plan
}

/// Returns a value with probability `chance`, otherwise `None`.
fn sometimes<T>(mut rng: Rng, chance: f64, draw: impl FnOnce(&mut Rng) -> T) -> Option<T> {
    rng.chance(chance).then(|| draw(&mut rng))
}

/// A probability from 0 to `most`; 0 in half of the draws.
fn draw_chance(mut rng: Rng, most: f64) -> f64 {
    if rng.chance(0.5) {
        0.0
    } else {
        rng.unit() * most
    }
}

/// A number from 1 to 2^`octaves`; all orders of magnitude are about equally likely.
fn draw_spread(rng: &mut Rng, octaves: u64) -> u64 {
    let octave = rng.between(1, octaves);
    rng.between(1, 1 << octave)
}

fn draw_mtu(mut rng: Rng) -> usize {
    match rng.below(4) {
        0 => rng.between(256, 1_500) as usize,
        1 => 9_000,
        _ => 1_500,
    }
}

fn draw_outage(rng: &Rng, impaired_for: Duration, links: usize) -> Option<OutagePlan> {
    let of = |name| rng.fork_named(name);
    of("is_out").chance(0.2).then(|| {
        let length = impaired_for / (1 + of("length").below(8) as u32);
        let latest = (impaired_for - length).as_nanos();
        OutagePlan {
            link: of("link").below(links as u64) as usize,
            begin: Duration::from_nanos(of("begin").between(0, latest)),
            length,
        }
    })
}

/// Absences of IPv4 addresses; `with_v6` makes some of them absences of IPv6 addresses.
fn draw_absences(rng: &Rng, impaired_for: Duration, hosts: usize) -> Vec<AbsencePlan> {
    let of = |name| rng.fork_named(name);
    if !of("are_absent").chance(WITH_ABSENCES) {
        return Vec::new();
    }
    let draw = |number| {
        let rng = rng.fork(number);
        let of = |name| rng.fork_named(name);
        let length = impaired_for / (1 + of("length").below(32) as u32);
        let latest = (impaired_for - length).as_nanos();
        AbsencePlan {
            host: of("host").below(hosts as u64) as usize,
            family: Family::V4,
            begin: Duration::from_nanos(of("begin").between(0, latest)),
            length,
        }
    };
    (0..of("count").between(1, 3)).map(draw).collect()
}

fn draw_rules(rng: &Rng, in_order: bool) -> Vec<RulePlan> {
    let count = if in_order {
        0
    } else {
        rng.fork_named("count").below(4)
    };
    let draw = |number| {
        let rng = rng.fork(number);
        let of = |name| rng.fork_named(name);
        RulePlan {
            action: match of("action").below(3) {
                0 => RuleAction::Drop,
                1 => RuleAction::Delay(Duration::from_millis(of("delay").between(1, 2_000))),
                _ => RuleAction::Duplicate,
            },
            first: of("first").between(1, 300),
            count: of("count").between(1, 12),
        }
    };
    (0..count).map(draw).collect()
}

fn draw_host(rng: &Rng, hosts: u32) -> HostPlan {
    HostPlan {
        link: 0,
        device: draw_device(&rng.fork_named("device")),
        cpu: None,
        config: draw_config(&rng.fork_named("config"), hosts),
    }
}

/// A device without offloads in half of the draws; otherwise a device with random offloads.
fn draw_device(rng: &Rng) -> DeviceModel {
    let of = |name| rng.fork_named(name);
    let plain = DeviceModel::plain(of("queue").between(1, 64) as usize);
    if of("is_plain").chance(0.5) {
        return plain;
    }
    let merge = sometimes(of("merge"), 0.5, |rng| {
        let quiet_us = draw_spread(rng, 11);
        Merge {
            quiet: Duration::from_micros(quiet_us),
            longest: Duration::from_micros(quiet_us * rng.between(1, 20)),
            verifies: rng.chance(0.5),
        }
    });
    let super_segment = sometimes(of("super_segment"), 0.7, |rng| draw_spread(rng, 16));
    DeviceModel {
        checksum_tx: of("checksum_tx").chance(0.5),
        super_segment: super_segment.unwrap_or(0).min(60_000) as usize,
        reports_sent: of("reports_sent").chance(0.5),
        merge,
        ..plain
    }
}

fn draw_config(rng: &Rng, hosts: u32) -> Config {
    let mut config = Config::default();
    config.draw(rng);
    // Give every client's connection a slot. A client that finds no slot at its server retries for
    // half an hour, and could not be distinguished from a stalled client.
    config.stack.connections = config.stack.connections.max(2 * MOST_FLOWS);
    // Give the ARP table an entry for each host. With fewer entries, neighbours would evict each
    // other, and ARP requests would never end.
    config.arp.entries = config.arp.entries.max(hosts);
    // Switch keepalive off if its time is shorter than `SHORTEST_KEEPALIVE`. Probes every few
    // microseconds are legal, but would leave no time for anything else.
    if config.tcp.keepalive_time < SHORTEST_KEEPALIVE {
        config.tcp.keepalive_time = Duration::ZERO;
    }
    config
}

fn draw_link(rng: &Rng, mtu: usize, in_order: bool) -> LinkPlan {
    let draw = |name| {
        let model = draw_direction(&rng.fork_named(name), mtu);
        LinkModel {
            jitter_us: if in_order { 0 } else { model.jitter_us },
            reordering: model.reordering.filter(|_| !in_order),
            ..model
        }
    };
    let is_symmetric = rng.fork_named("is_symmetric").chance(0.7);
    LinkPlan {
        forward: draw("forward"),
        back: (!is_symmetric).then(|| draw("back")),
    }
}

fn draw_direction(rng: &Rng, mtu: usize) -> LinkModel {
    let of = |name| rng.fork_named(name);
    let frame = (mtu + ETHERNET_HEADER_LEN) as u64;
    let rate_bps = sometimes(of("rate"), 0.8, |rng| 100_000 << rng.between(0, 10));
    let delay_us = sometimes(of("delay"), 0.7, |rng| draw_spread(rng, 17));
    let jitter_us = sometimes(of("jitter"), 0.5, |rng| rng.between(0, 20_000));
    let queue = match of("queue").below(4) {
        0 => Queue::Unlimited,
        1 => Queue::Device,
        2 => Queue::Packets(of("queue_packets").between(1, 64) as u32),
        _ => Queue::Bytes(frame * of("queue_bytes").between(1, 32)),
    };
    LinkModel {
        rate_bps: rate_bps.unwrap_or(0),
        delay_us: delay_us.unwrap_or(0),
        jitter_us: jitter_us.unwrap_or(0),
        loss: draw_chance(of("loss"), 0.1),
        burst_loss: sometimes(of("burst_loss"), 0.2, |rng| BurstLoss {
            enter: rng.unit() * 0.02,
            leave: 0.1 + rng.unit() * 0.9,
            loss_good: 0.0,
            loss_bad: rng.unit(),
        }),
        reordering: sometimes(of("reordering"), 0.4, |rng| Reordering {
            chance: rng.unit() * 0.2,
            late_us: draw_spread(rng, 17),
        }),
        duplication: draw_chance(of("duplication"), 0.1),
        corruption: draw_chance(of("corruption"), 0.05),
        #[cfg(feature = "recipes")]
        truncation: draw_chance(of("truncation"), 0.05),
        ack_thinning: sometimes(of("ack_thinning"), 0.2, |rng| AckThinning {
            every: rng.between(2, 64) as u32,
            wait_us: draw_spread(rng, 16),
        }),
        queue,
        ecn_threshold: sometimes(of("ecn_threshold"), 0.2, |rng| match rng.below(2) {
            0 => EcnThreshold::Packets(rng.between(1, 32) as u32),
            _ => EcnThreshold::Bytes(frame * rng.between(1, 16)),
        }),
        codel: sometimes(of("codel"), 0.2, |rng| Codel {
            target_us: draw_spread(rng, 14),
            interval_us: draw_spread(rng, 18),
            ecn: rng.chance(0.5),
        }),
        token_bucket: sometimes(of("token_bucket"), 0.2, |rng| {
            let rate_bps = 200_000 << rng.between(0, 8);
            let burst_bytes = frame * rng.between(1, 10);
            TokenBucket::with_latency(rate_bps, burst_bytes, rng.between(1_000, 200_000))
        }),
        radio: sometimes(of("radio"), 0.2, |rng| Radio {
            access_us: rng.between(0, 1_000),
            backoff_us: rng.between(0, 500),
        }),
        mtu,
        hop: sometimes(of("hop"), 0.2, |rng| Hop {
            mtu: rng.between(256, mtu as u64) as u16,
            silent: rng.chance(0.5),
        }),
        outage: None,
    }
}

fn draw_flows(rng: &Rng, hosts: &[HostPlan]) -> Vec<FlowPlan> {
    let count = {
        let mut rng = rng.fork_named("count");
        match rng.below(3) {
            0 => rng.between(1, 3),
            1 => rng.between(1, 12),
            _ => rng.between(1, MOST_FLOWS.into()),
        }
    };
    let segment = hosts
        .iter()
        .map(|host| u64::from(host.config.tcp.mss_max))
        .min();
    let bytes = (segment.unwrap_or(64) * SEGMENTS_OF_A_WORLD).min(BYTES_OF_A_WORLD);
    let draw = |number| {
        let rng = rng.fork(number);
        let (client, server) = draw_ends(rng.fork_named("ends"), hosts.len());
        FlowPlan {
            client,
            server,
            family: Family::V4,
            parallel: false,
            start: Duration::from_millis(draw_spread(&mut rng.fork_named("start"), 13)),
            in_place: rng.fork_named("in_place").chance(0.5),
            apps: draw_apps(&rng.fork_named("apps"), bytes / count),
        }
    };
    (0..count).map(draw).collect()
}

/// The hosts of client and server. Host 0 is most often the server, so that many
/// flows contend for its memory.
fn draw_ends(mut rng: Rng, hosts: usize) -> (usize, usize) {
    let client = rng.below(hosts as u64) as usize;
    let others = hosts as u64 - 1;
    let server = match client {
        0 => 1 + rng.below(others) as usize,
        _ if rng.chance(0.7) => 0,
        _ => (client + 1 + rng.below(others) as usize) % hosts,
    };
    (client, server)
}

/// Two matching applications, each of which writes at most about `bytes`.
fn draw_apps(rng: &Rng, bytes: u64) -> AppsPlan {
    let of = |name| rng.fork_named(name);
    if of("are_requests").chance(0.25) {
        let count = of("requests").between(1, 8);
        let most = 1 + bytes / count / 2;
        return AppsPlan::Requests(Requests {
            count,
            request_len: of("request_len").between(1, most),
            response_len: of("response_len").between(1, most),
            think: Duration::from_millis(draw_spread(&mut of("think"), 9)),
        });
    }
    let after = of("ending_after").between(0, bytes);
    let ending = match of("ending").below(10) {
        0 => Ending::Abort { after },
        1 => Ending::Close { after },
        2 => Ending::Vanish { after },
        _ => Ending::Graceful,
    };
    let both_write = of("both_write").chance(0.3);
    let client_writes = both_write || of("client_writes").chance(0.7);
    let transfer = |rng: Rng, writes: bool, ending| TransferPlan {
        write: writes.then(|| draw_writes(&rng.fork_named("write"), bytes)),
        read: draw_reads(&rng.fork_named("read"), bytes),
        ending,
    };
    AppsPlan::Transfer {
        client: transfer(of("client"), client_writes, ending),
        server: transfer(of("server"), both_write || !client_writes, Ending::Graceful),
    }
}

fn draw_writes(rng: &Rng, bytes: u64) -> WritePlan {
    let of = |name| rng.fork_named(name);
    let max = draw_spread(&mut of("size"), 15);
    let size = if of("is_fixed").chance(0.5) {
        WriteSize::Fixed(max)
    } else {
        // The seed has 63 bits, because a TOML number has no more.
        let seed = of("sizes").next_u64() >> 1;
        WriteSize::Odd { max, seed }
    };
    // Bound the pause, so that a transfer with small writes does not take for ever.
    let longest_ns = 2_000_000_000 / (1 + bytes / (1 + max / 2));
    let pause = sometimes(of("pause"), 0.2, |rng| {
        Duration::from_nanos(rng.below(longest_ns))
    });
    WritePlan {
        amount: Amount::Bytes(of("amount").between(0, bytes)),
        size,
        pause: pause.unwrap_or(Duration::ZERO),
        low_water: 0,
        no_push: false,
    }
}

fn draw_reads(rng: &Rng, bytes: u64) -> ReadPlan {
    let of = |name| rng.fork_named(name);
    match of("plan").below(6) {
        0 => ReadPlan::Rate {
            bytes: of("bytes").between(1 + bytes / 200, 1 + bytes / 4),
            every: Duration::from_millis(of("every").between(1, 100)),
        },
        1 => {
            let begin = Duration::from_millis(of("stall_begin").below(3_000));
            let length = Duration::from_millis(of("stall_length").between(1, 5_000));
            ReadPlan::Stalls(vec![(begin, length)])
        }
        _ => ReadPlan::Eager,
    }
}

#[cfg(test)]
mod tests;
