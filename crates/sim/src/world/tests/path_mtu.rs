//! Tests of paths whose MTU is smaller than the MTU of the hosts' devices. The smaller MTU lasts
//! for ever or for a limited time, with and without ICMP messages.

use fullpipe_wire::{ChecksumPolicy, EthernetHeader, Ipv4Header};

use super::*;
use crate::link::Hop;

/// Bytes of IP and TCP header with timestamps.
const HEADERS: u32 = 52;

fn path(hop: Option<Hop>) -> LinkModel {
    LinkModel {
        rate_bps: 50_000_000,
        delay_us: 5_000,
        queue: Queue::Packets(200),
        hop,
        ..LinkModel::ideal()
    }
}

fn world(hop: Option<Hop>, knobs: &[(&str, &str)]) -> (World, LinkId, [HostId; 2]) {
    let mut config = Config::default();
    for (name, value) in knobs {
        config.set(name, value).unwrap();
    }
    let mut world = World::new(Seed(11));
    let link = world.link(path(hop));
    let (client, server) = world.pair(&link, config);
    world.rule(drop_when(|packet| {
        if packet.tcp.is_some() {
            let (_, ip) = EthernetHeader::parse(packet.frame).unwrap();
            let (ip, _) = Ipv4Header::parse(ip, ChecksumPolicy::Trust).unwrap();
            assert!(ip.dont_fragment, "every segment forbids to be cut");
        }
        false
    }));
    (world, link, [client, server])
}

#[test]
fn a_black_hole_is_found_and_the_path_is_then_used_to_its_size() {
    for mtu in [1_400_u16, 600] {
        let (mut world, _, [client, server]) = world(Some(Hop { mtu, silent: true }), &[]);
        let flow = world.send(client, server, 8 * MIB);
        world.run_until(flow.done(), Deadline::secs(10));
        let facts = world.facts(flow);
        let info = facts.client.info.as_ref().unwrap();
        let most = u32::from(mtu) - HEADERS;
        assert!(
            info.mss <= most && info.mss + 16 >= most,
            "{} of {most}",
            info.mss
        );
        // The transfer takes three or four timeouts, plus the time for 8 MiB at the rate that
        // the headers leave for payload.
        let wire = f64::from(most) / f64::from(u32::from(mtu) + 14) * 50_000_000.0;
        let least = 8.0 * MIB as f64 * 8.0 / wire;
        let elapsed = facts.elapsed.as_secs_f64();
        assert!(
            elapsed < least + 5.0,
            "{mtu}: {elapsed} s, {least} s at path speed"
        );
        assert!(facts.timeouts <= 5, "{}", facts.timeouts);
        assert!(world.stack(client).tcp_counters().mtup_success > 0);
    }
}

#[test]
fn a_router_that_says_so_is_heard_at_once() {
    for mtu in [1_400_u16, 600] {
        let (mut world, _, [client, server]) = world(Some(Hop { mtu, silent: false }), &[]);
        let flow = world.send(client, server, MIB);
        world.run_until(flow.done(), Deadline::secs(10));
        let facts = world.facts(flow);
        assert_eq!(
            facts.client.info.as_ref().unwrap().mss,
            u32::from(mtu) - HEADERS
        );
        assert_eq!(facts.timeouts, 0);
        assert!(
            facts.elapsed < Duration::from_millis(400),
            "{:?}",
            facts.elapsed
        );
    }
}

#[test]
fn a_path_that_shrinks_in_several_steps_is_followed() {
    let (mut world, link, [client, server]) = world(None, &[]);
    let flow = world.send(client, server, 8 * MIB);
    for mtu in [1_400_u16, 1_300, 1_000] {
        world.run_for(Duration::from_millis(300));
        world.change_link(link, path(Some(Hop { mtu, silent: false })));
    }
    world.run_until(flow.done(), Deadline::secs(20));
    let facts = world.facts(flow);
    assert_eq!(facts.client.info.as_ref().unwrap().mss, 1_000 - HEADERS);
}

#[test]
fn a_path_that_grows_again_is_used_after_the_interval() {
    for probing in ["off", "black_hole", "always"] {
        let knobs = [("tcp.mtu_probing", probing), ("tcp.probe_interval", "1s")];
        let hop = Some(Hop {
            mtu: 1_200,
            silent: false,
        });
        let (mut world, link, [client, server]) = world(hop, &knobs);
        let flow = world.send(client, server, 16 * MIB);
        world.run_for(Duration::from_millis(500));
        let mss = world.facts(flow).client.info.as_ref().unwrap().mss;
        assert!(mss <= 1_200 - HEADERS, "{probing}: {mss}");
        world.change_link(link, path(None));
        world.run_until(flow.done(), Deadline::secs(20));
        let facts = world.facts(flow);
        assert_eq!(facts.client.info.as_ref().unwrap().mss, 1_448, "{probing}");
    }
}

#[test]
fn probing_from_the_start_costs_nothing_on_a_clean_path() {
    let (mut world, _, [client, server]) = world(None, &[("tcp.mtu_probing", "always")]);
    let flow = world.send(client, server, 4 * MIB);
    world.run_until(flow.done(), Deadline::secs(10));
    let facts = world.facts(flow);
    assert_eq!(facts.client.info.as_ref().unwrap().mss, 1_448);
    assert_eq!(facts.retransmissions, 0);
}
