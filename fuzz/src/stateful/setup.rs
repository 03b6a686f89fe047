//! Draws the conditions of a run from the script (the fuzzer's input): knobs, device and clock.
//!
//! The one rule: every configuration that is drawn here is legal, so a failure with it is a fault
//! of the stack.

use core::net::{IpAddr, Ipv4Addr};

use fullpipe::config::Config;
use fullpipe::device::{Capabilities, Medium};
use fullpipe::presets::PRESETS;
use fullpipe::{Duration, Instant, Interface};
use fullpipe_pool::Rng;

use super::packets::{GATEWAY, OUR_IP, OUR_MAC};
use crate::script::Script;

/// MTUs of the device. The first is the smallest legal one.
const MTUS: [usize; 12] = [68, 69, 72, 80, 88, 128, 296, 576, 1006, 1492, 1500, 9000];
/// Sizes of super-segments in bytes.
const SUPER_SEGMENTS: [usize; 4] = [0, 1, 4_000, 65_535];
/// Largest number of ARP requests during the longest retransmission that the knobs allow.
const MOST_REQUESTS: u32 = 250_000;

/// The conditions of one run.
pub struct Setup {
    /// Knobs of the stack.
    pub config: Config,
    /// Interface of the stack.
    pub interface: Interface,
    /// Time at which the run starts.
    pub start: Instant,
    /// True if the knobs guarantee that an honest client is served even while other connections
    /// exist.
    pub is_kind: bool,
    /// True if the knobs allow a listener.
    pub serves: bool,
}

/// Draws a setup; `None` at the end of the script.
pub fn draw(script: &mut Script<'_>) -> Option<Setup> {
    let kind = script.byte()?;
    let rng = Rng::seeded(u64::from(script.number()?));
    let config = config(kind, &rng);
    let capabilities = capabilities(script.byte()?, script.byte()?);
    let start = match script.byte()? % 6 {
        0 => Instant::ZERO,
        1 => Instant::from_secs(1),
        // Start shortly before the timestamp clock, which counts milliseconds in 32 bits, changes
        // its sign or wraps around.
        2 => Instant::from_millis((1 << 31) - 5_000),
        3 => Instant::from_millis((1 << 32) - 5_000),
        4 => Instant::from_millis((1 << 32) * 50),
        5.. => Instant::from_nanos(1 << 62),
    };
    let serves = config.stack.listeners > 0;
    Some(Setup {
        config,
        interface: Interface {
            mac: OUR_MAC,
            address: OUR_IP.into(),
            prefix_len: 24,
            gateway: Some(IpAddr::V4(GATEWAY)),
            capabilities,
        },
        start,
        is_kind: serves && kind % 4 < 2,
        serves,
    })
}

/// Draws knobs: random ones, those of a preset, some at the ends of their ranges, or those of a
/// tiny pool.
fn config(kind: u8, rng: &Rng) -> Config {
    let mut config = Config::default();
    let draw = &mut rng.fork_named("choices");
    match kind % 4 {
        0 => config.draw(rng),
        1 => config = PRESETS[draw.below(PRESETS.len() as u64) as usize].config(),
        2 => {
            config.draw(rng);
            set_to_ends(&mut config, draw);
        }
        3.. => {
            config.draw(rng);
            shrink_pool(&mut config, draw);
            if draw.chance(0.3) {
                set_to_ends(&mut config, draw);
            }
        }
    }
    // Limit the sizes of tables, because a stack is created many times per second.
    config.pool.blocks = config.pool.blocks.min(1_024);
    config.pool.send_floor = config.pool.send_floor.min(config.pool.blocks / 2);
    config.pool.receive_floor = config.pool.receive_floor.min(config.pool.blocks / 2);
    config.udp.receive_queue = config.udp.receive_queue.min(64);
    config.trace.records = config.trace.records.min(1_024);
    config.stack.sent_ranges = config.stack.sent_ranges.min(1_024);
    config.stack.time_wait_entries = config.stack.time_wait_entries.min(1_024);
    config.stack.half_open = config.stack.half_open.min(1_024);
    bound_requests(&mut config);
    config.validate().expect("the drawn knobs agree");
    config
}

/// Limits the number of ARP requests for a neighbour that never answers, because a run must end.
/// Without the limit, 255 retransmissions at intervals of an hour would take 900 million requests,
/// one in each millisecond.
fn bound_requests(config: &mut Config) {
    let tcp = &config.tcp;
    let retries = [
        tcp.retries2,
        tcp.orphan_retries,
        tcp.syn_retries,
        tcp.synack_retries,
    ];
    let most = retries.into_iter().max().unwrap_or(0);
    let longest = tcp.rto_max * most;
    let interval = &mut config.arp.request_interval;
    *interval = (*interval).max(longest / MOST_REQUESTS);
}

/// Sets an eighth of the knobs to an end of their ranges, one by one, if the other knobs allow it.
/// The upper end of a knob outside `tcp` is the largest value that the simulator draws, so that
/// tables stay small.
fn set_to_ends(config: &mut Config, draw: &mut Rng) {
    for row in Config::rows() {
        if row.name.starts_with("pool.") || !draw.chance(0.125) {
            continue;
        }
        let largest = match row.name.starts_with("tcp.") {
            true => row.legal.1,
            false => row.simulated.1,
        };
        let end = if draw.chance(0.5) {
            largest
        } else {
            row.legal.0
        };
        let before = config.clone();
        config.set(&row.name, &end).expect("an end is legal");
        if config.validate().is_err() {
            *config = before;
        }
    }
}

/// Reduces the pool to a few small blocks, which may be overcommitted many times.
fn shrink_pool(config: &mut Config, draw: &mut Rng) {
    let pool = &mut config.pool;
    pool.blocks = draw.between(2, 24) as u32;
    pool.block_size = draw.between(1, 256) as u32;
    pool.ranges = draw.below(16) as u32;
    (pool.send_floor, pool.receive_floor) = (1, 1);
    if draw.chance(0.5) {
        pool.overcommit_percent = draw.between(100, 10_000) as u32;
    }
    // Require three blocks: two for a window, and one for writers.
    if u64::from(pool.blocks) * u64::from(pool.overcommit_percent) < 300 {
        pool.blocks = 3;
    }
}

fn capabilities(size: u8, offers: u8) -> Capabilities {
    let medium = match offers & 1 {
        0 => Medium::Ethernet,
        _ => Medium::Ip,
    };
    let checksum_tx = offers & 2 != 0;
    let super_segment = match checksum_tx {
        true => SUPER_SEGMENTS[usize::from(offers >> 4) % SUPER_SEGMENTS.len()],
        false => 0,
    };
    Capabilities {
        checksum_tx,
        super_segment,
        reports_sent: offers & 4 != 0,
        ..Capabilities::plain(medium, MTUS[usize::from(size) % MTUS.len()])
    }
}

/// Returns a power of two of microseconds, up to weeks.
pub fn jump(exponent: u8) -> Duration {
    Duration::from_micros(1 << (exponent % 42))
}

/// Returns the address of peer number `n`. Most peers are neighbours, the others are behind the
/// gateway.
pub fn peer_ip(n: u8) -> Ipv4Addr {
    match n % 6 {
        near @ 0..=3 => Ipv4Addr::new(10, 0, 0, 2 + near),
        far => Ipv4Addr::new(192, 0, 2, far),
    }
}
