//! Draws random worlds (simulated networks with their traffic). Each has one bulk transfer, and a
//! link with one known impairment.

use fullpipe::Config;
use fullpipe::config::CongestionAlgorithm;
use fullpipe_diagnose::inferred::{PathInference, infer};
use fullpipe_pool::{Duration, Instant, Rng};
use fullpipe_sim::link::{
    BurstLoss, Codel, Direction, EcnThreshold, Hop, LinkCounters, LinkModel, Outage, Queue, Radio,
    Reordering, TokenBucket,
};
use fullpipe_sim::{Goal, LinkId, Seed, World};

use super::captured::Captured;

/// Longest virtual time that a transfer may take.
const LONGEST: Duration = Duration::from_secs(60);

/// The impairment of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    None,
    Random,
    Burst,
    ShortQueue,
    Policer,
    Shaper,
    Codel,
    Threshold,
    Outage,
    Hole,
    TooBig,
    Corruption,
    Reordering,
    Jitter,
    Radio,
    Duplication,
    Marks,
}

pub const KINDS: [Kind; 17] = [
    Kind::None,
    Kind::Random,
    Kind::Burst,
    Kind::ShortQueue,
    Kind::Policer,
    Kind::Shaper,
    Kind::Codel,
    Kind::Threshold,
    Kind::Outage,
    Kind::Hole,
    Kind::TooBig,
    Kind::Corruption,
    Kind::Reordering,
    Kind::Jitter,
    Kind::Radio,
    Kind::Duplication,
    Kind::Marks,
];

/// A world after its run, and the path that was inferred from its frames.
pub struct Ran {
    pub seed: u64,
    pub kind: Kind,
    pub truth: [LinkCounters; 2],
    pub models: [LinkModel; 2],
    pub inferred: PathInference,
    pub seconds: f64,
}

/// A link of a random rate and delay with the impairment `kind`.
fn link(kind: Kind, rng: &mut Rng) -> LinkModel {
    let plain = LinkModel {
        rate_bps: 1_000_000 << rng.between(0, 5),
        delay_us: rng.between(500, 50_000),
        queue: Queue::Packets(2_000),
        ..LinkModel::ideal()
    };
    match kind {
        Kind::None => plain,
        Kind::ShortQueue
        | Kind::Policer
        | Kind::Shaper
        | Kind::Codel
        | Kind::Threshold
        | Kind::Marks => with_queue(kind, plain, rng),
        Kind::Random => LinkModel {
            loss: 0.005 + rng.unit() * 0.04,
            ..plain
        },
        Kind::Burst => LinkModel {
            burst_loss: Some(BurstLoss {
                enter: 0.002 + rng.unit() * 0.008,
                leave: 0.15 + rng.unit() * 0.3,
                loss_good: 0.0,
                loss_bad: 0.8 + rng.unit() * 0.2,
            }),
            ..plain
        },
        Kind::Outage => LinkModel {
            outage: Some(Outage {
                after_us: rng.between(300_000, 1_500_000),
                length_us: rng.between(500_000, 3_000_000),
            }),
            ..plain
        },
        Kind::Hole | Kind::TooBig => LinkModel {
            hop: Some(Hop {
                mtu: rng.between(600, 1_400) as u16,
                silent: kind == Kind::Hole,
            }),
            ..plain
        },
        Kind::Corruption => LinkModel {
            corruption: 0.002 + rng.unit() * 0.02,
            ..plain
        },
        Kind::Reordering | Kind::Jitter | Kind::Radio | Kind::Duplication => {
            with_delays(kind, plain, rng)
        }
    }
}

/// `plain` with a queue or a queue discipline that loses or marks frames.
fn with_queue(kind: Kind, plain: LinkModel, rng: &mut Rng) -> LinkModel {
    let rate_bps = plain.rate_bps;
    let pipe = rate_bps * 2 * plain.delay_us / 8_000_000;
    match kind {
        Kind::ShortQueue => LinkModel {
            queue: Queue::Packets((pipe / 1_514).clamp(5, 100) as u32),
            ..plain
        },
        Kind::Policer => LinkModel {
            // Use a link without a rate: otherwise, frames that wait for the wire would be
            // dropped, too.
            rate_bps: 0,
            token_bucket: Some(TokenBucket {
                rate_bps,
                burst_bytes: 20_000 + rng.between(0, 100_000),
                limit_bytes: 1_514,
            }),
            ..plain
        },
        Kind::Shaper => LinkModel {
            rate_bps: rate_bps * 10,
            token_bucket: Some(TokenBucket::with_latency(
                rate_bps,
                10_000 + rng.between(0, 50_000),
                rng.between(1_000, 50_000),
            )),
            ..plain
        },
        Kind::Codel => LinkModel {
            codel: Some(Codel::internet()),
            ..plain
        },
        _ => LinkModel {
            ecn_threshold: Some(EcnThreshold::Packets(rng.between(10, 50) as u32)),
            ..plain
        },
    }
}

/// `plain` with delays or copies of some frames.
fn with_delays(kind: Kind, plain: LinkModel, rng: &mut Rng) -> LinkModel {
    match kind {
        Kind::Reordering => LinkModel {
            reordering: Some(Reordering {
                chance: 0.002 + rng.unit() * 0.02,
                late_us: rng.between(1_000, 30_000),
            }),
            ..plain
        },
        Kind::Jitter => LinkModel {
            jitter_us: rng.between(500, 20_000),
            ..plain
        },
        Kind::Radio => LinkModel {
            radio: Some(Radio {
                access_us: rng.between(50, 500),
                backoff_us: rng.between(50, 500),
            }),
            ..plain
        },
        _ => LinkModel {
            duplication: 0.01,
            ..plain
        },
    }
}

fn config(rng: &mut Rng, kind: Kind) -> Config {
    let mut config = Config::default();
    config.tcp.send_buffer = 128 << rng.between(10, 13);
    config.tcp.receive_buffer = config.tcp.send_buffer;
    config.tcp.congestion = [
        CongestionAlgorithm::Cubic,
        CongestionAlgorithm::NewReno,
        CongestionAlgorithm::Bbr,
    ][rng.below(3) as usize];
    config.pool.blocks = 4_000;
    if kind == Kind::Marks {
        config.set("tcp.ecn", "on").expect("a knob");
    }
    if kind == Kind::Hole {
        config.set("tcp.mtu_probing", "black_hole").expect("a knob");
    }
    config
}

/// Runs `world` to the end of its transfers, and infers the path from the capture.
fn ran((seed, kind): (u64, Kind), mut world: World, captured: &Captured, link: LinkId) -> Ran {
    let slice = Duration::from_millis(100);
    while world.now().since(Instant::ZERO) < LONGEST && !world.is_reached(Goal::AllDone) {
        world.try_run_for(slice).expect("no rule is violated");
    }
    // Run for two more seconds, so that everything in flight arrives.
    let rest = world.try_run_for(Duration::from_secs(2));
    rest.expect("no rule is violated");
    let ends = captured.ends();
    let last = ends[1].received.last().map_or(0, |frame| frame.at_ns);
    let first = ends[0].sent.first().map_or(0, |frame| frame.at_ns);
    let engine = world.link_engine(link);
    Ran {
        seed,
        kind,
        truth: Direction::ALL.map(|direction| *engine.counters(direction)),
        models: Direction::ALL.map(|direction| *engine.link(direction)),
        inferred: infer([&ends[0], &ends[1]], world.now().as_nanos()),
        seconds: (last - first) as f64 / 1e9,
    }
}

/// Runs the world of `seed`.
pub fn run(seed: u64) -> Ran {
    let mut rng = Rng::seeded(seed).fork_named("path");
    let kind = KINDS[(seed % KINDS.len() as u64) as usize];
    let forward = link(kind, &mut rng);
    let rate = match forward.token_bucket {
        Some(bucket) => bucket.rate_bps,
        None => forward.rate_bps,
    };
    let back = LinkModel {
        rate_bps: rate,
        delay_us: forward.delay_us,
        outage: forward.outage.filter(|_| rng.chance(0.5)),
        loss: if rng.chance(0.3) {
            rng.unit() * 0.05
        } else {
            0.0
        },
        ..LinkModel::ideal()
    };
    let mut world = World::new(Seed(seed));
    let link = world.link_asymmetric(forward, back);
    let config = config(&mut rng, kind);
    let (client, server) = world.pair(&link, config);
    let captured = Captured::start(&mut world, [client, server]);
    let bytes = (rate / 8 * rng.between(2, 8)).min(8 << 20);
    world.send(client, server, bytes);
    ran((seed, kind), world, &captured, link)
}

/// Runs a world in which two transfers share the bottleneck. Only the hosts of the first
/// transfer are observed.
pub fn run_shared(seed: u64) -> Ran {
    let mut rng = Rng::seeded(seed).fork_named("shared");
    let kind = [
        Kind::None,
        Kind::ShortQueue,
        Kind::Random,
        Kind::Codel,
        Kind::Burst,
    ][(seed % 5) as usize];
    let forward = link(kind, &mut rng);
    let back = LinkModel {
        rate_bps: forward.rate_bps,
        delay_us: forward.delay_us,
        ..LinkModel::ideal()
    };
    let mut world = World::new(Seed(seed));
    let bottleneck = world.link_asymmetric(forward, back);
    let switches = [world.switch(), world.switch()];
    let config = config(&mut rng, kind);
    let mut host = |world: &mut World, side: usize| {
        let access = world.link(LinkModel {
            delay_us: rng.between(0, 2_000),
            ..LinkModel::ideal()
        });
        let host = world.host(&access, config.clone());
        world.plug(&access, switches[side]);
        host
    };
    let [client, server] = [0, 1].map(|side| host(&mut world, side));
    let [other, far] = [0, 1].map(|side| host(&mut world, side));
    for switch in switches {
        world.plug(&bottleneck, switch);
    }
    let captured = Captured::start(&mut world, [client, server]);
    let bytes = (forward.rate_bps / 8 * rng.between(2, 8)).min(8 << 20);
    world.send(client, server, bytes);
    world.send(other, far, bytes);
    ran((seed, kind), world, &captured, bottleneck)
}
