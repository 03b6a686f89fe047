//! Tests of transfers over paths with an MTU of 68 bytes (the smallest of RFC 791) to 120 bytes,
//! with timestamps, SACK, window scaling, ECN and losses.
//!
//! Rule: the path drops every packet that is longer than its MTU and may not be fragmented. A
//! transfer can therefore end only if each of its packets fits the MTU or may be fragmented. Each
//! transfer ends.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use fullpipe::Config;
use fullpipe_sim::{
    Deadline, DeviceModel, LinkModel, Seed, World,
    link::{Hop, Queue},
    rule::drop_when,
};

/// Payload of a transfer in each direction.
const BYTES: u64 = 12_000;

/// Bytes of IP and TCP header with timestamps.
const HEADERS: u32 = 52;

fn path(mtu: usize, loss: f64) -> LinkModel {
    LinkModel {
        rate_bps: 10_000_000,
        delay_us: 2_000,
        queue: Queue::Packets(1_000),
        mtu,
        loss,
        ..LinkModel::ideal()
    }
}

/// Sends [`BYTES`] in each direction over `links`, and returns the segment sizes of the two
/// senders and the number of packets that carried SACK blocks.
fn transfer(
    links: [LinkModel; 2],
    device: DeviceModel,
    knobs: &[(&str, &str)],
    seed: u64,
) -> ([u32; 2], u64) {
    let mut config = Config::default();
    config.set("tcp.ecn", "on").expect("a legal value");
    for buffer in ["tcp.send_buffer", "tcp.receive_buffer"] {
        config.set(buffer, "256K").expect("a legal value");
    }
    for (name, value) in knobs {
        config.set(name, value).expect("a legal value");
    }
    let mut world = World::new(Seed(seed));
    let link = world.link_asymmetric(links[0], links[1]);
    let hosts = [0, 1].map(|_| world.host_with(&link, config.clone(), device));
    let reports = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&reports);
    world.rule(drop_when(move |packet| {
        let options = packet.tcp.as_ref().map(|tcp| tcp.header.options);
        let reports = options.is_some_and(|options| !options.sack.is_empty());
        count.fetch_add(reports.into(), Ordering::Relaxed);
        false
    }));
    let flows = [(0, 1), (1, 0)].map(|(from, to)| world.send(hosts[from], hosts[to], BYTES));
    for flow in flows {
        world.run_until(flow.done(), Deadline::secs(60));
    }
    let sizes = flows.map(|flow| {
        let facts = world.facts(flow);
        assert_eq!(facts.bytes, BYTES, "each byte was compared as it was read");
        facts.client.info.expect("it has sent").mss
    });
    (sizes, reports.load(Ordering::Relaxed))
}

fn cutting() -> DeviceModel {
    DeviceModel {
        super_segment: 60_000,
        reports_sent: true,
        ..DeviceModel::plain(256)
    }
}

#[test]
fn every_small_mtu_carries_transfers_with_losses_in_both_directions() {
    for mtu in 68..=120 {
        let (mut reports, full) = (0, mtu as u32 - HEADERS);
        for (losses, device) in [
            ([0.03, 0.0], DeviceModel::plain(256)),
            ([0.0, 0.03], cutting()),
            ([0.03, 0.03], cutting()),
        ] {
            let links = losses.map(|loss| path(mtu, loss));
            let (sizes, reported) = transfer(links, device, &[], mtu as u64);
            assert_eq!(sizes, [full; 2], "MTU {mtu}, {losses:?}");
            reports += reported;
        }
        assert!(reports > 0, "MTU {mtu}: losses are reported by SACK blocks");
    }
}

#[test]
fn a_small_mtu_carries_transfers_without_some_option_and_after_cookies() {
    for mtu in 68..=120 {
        let settings = [
            ("tcp.timestamps", "false"),
            ("tcp.sack", "false"),
            ("tcp.window_scaling", "false"),
            ("stack.syn_cookies", "always"),
        ];
        let setting = settings[mtu % settings.len()];
        let links = [path(mtu, 0.03); 2];
        transfer(links, DeviceModel::plain(256), &[setting], mtu as u64);
    }
}

/// With `ip.path_mtu_min` = 68, segments become as small as the MTU that a router reports. With the
/// default of 552, segments may be longer than that MTU, and routers may fragment them. SACK
/// blocks make some ACKs longer than the MTU; routers may fragment these ACKs, too.
#[test]
fn every_small_mtu_of_a_hop_is_found_and_carries_transfers_with_losses() {
    for mtu in 68..=120 {
        let hop = Some(Hop { mtu, silent: false });
        for (least, of_link) in [("68", 1_500), ("552", 1_500), ("68", 120), ("552", 120)] {
            let device = match mtu % 2 {
                0 => DeviceModel::plain(256),
                _ => cutting(),
            };
            let link = LinkModel {
                hop,
                ..path(of_link, 0.03)
            };
            let knobs = [("ip.path_mtu_min", least)];
            let (sizes, _) = transfer([link; 2], device, &knobs, mtu.into());
            let full = match least {
                "68" => u32::from(mtu) - HEADERS,
                _ => (of_link as u32).min(552) - HEADERS,
            };
            assert!(sizes.iter().all(|size| *size <= full), "{mtu}: {sizes:?}");
        }
    }
}
