//! Tests that a fault or limit is named by its own name.
//!
//! Rule: the hosts' buffers are ample, so that only the fault that a test adds can be the limit.

use super::{explained, setup};
use crate::{cause::Cause, explanation::Explanation, lever::Ample, levers};

const AMPLE: &str = "near.tcp.send_buffer = 1M\nfar.tcp.receive_buffer = 1M\nnear.pool.blocks = 4096\nfar.pool.blocks = 4096\n";

fn of(settings: &str) -> Explanation {
    explained(&format!("{AMPLE}{settings}"))
}

#[test]
fn a_full_path_of_acks_is_the_rate_of_that_direction() {
    let found = of("workload.bytes = 4M\npath.forward.rate = 100mbit\npath.back.rate = 200kbit");
    let said = found.parts.line();
    assert!(
        said.contains("the rate of link `path` from `far` to `near`, which carries the ACKs"),
        "{said}"
    );
}

#[test]
fn a_policer_is_named_and_the_frames_that_it_dropped() {
    let found = of(
        "workload.bytes = 2M\npath.rate = 100mbit\npath.forward.token_bucket.rate = 5mbit\npath.forward.token_bucket.burst = 16K\npath.forward.token_bucket.latency = 1ms",
    );
    let said = found.parts.line();
    assert_eq!(found.limit.name, "policer", "{said}");
    assert!(said.contains("frames were lost"), "{said}");
}

#[test]
fn frames_out_of_order_are_named_where_they_are_taken_for_losses() {
    let found = of(
        "workload.bytes = 2M\npath.rate = 100mbit\npath.forward.reordering.chance = 3%\npath.forward.reordering.late = 60ms",
    );
    let said = found.parts.line();
    assert!(
        said.contains("frames out of order") || said.contains("reordering"),
        "{said}"
    );
}

/// Most lost frames are ACKs, but the lost segments cost the time.
#[test]
fn losses_of_payload_are_stated_although_more_acks_were_lost() {
    let found = of("workload.bytes = 1M\npath.forward.loss = 3%\npath.back.loss = 20%");
    let because = &found.parts.because;
    let lost = because
        .iter()
        .find(|said| said.contains("frames were lost"));
    let is_of_payload = lost.is_some_and(|said| said.ends_with(" from `near` to `far`."));
    assert!(is_of_payload, "{because:?}");
}

#[test]
fn a_hop_that_drops_large_packets_is_named_beside_the_probing_that_finds_it() {
    let found = of(
        "path.forward.hop.mtu = 1000\npath.forward.hop.silent = true\nnear.tcp.mtu_probing = off\nworkload.give_up = 60s",
    );
    let said = found.parts.line();
    let names_probing = found.levers.iter().any(|name| name.contains("mtu_probing"));
    assert!(names_probing || found.limit.name == "hop", "{said}");
}

/// A setting of a host gains a few percent, because with it the losses of the first flight are
/// repaired sooner. The outage is named nevertheless.
#[test]
fn an_outage_in_the_first_flight_is_named_whatever_the_hosts_can_gain() {
    let found = of("path.forward.outage.after = 45ms\npath.forward.outage.length = 5s");
    let said = found.parts.line();
    assert!(said.contains("the outage of link `path`"), "{said}");
    assert_eq!(found.limit.name, "outage", "{said}");
    assert!(said.contains("path.forward.outage.after"), "{said}");
}

#[test]
fn a_transfer_of_twenty_segments_is_limited_by_slow_start() {
    let found = of("path.rate = 100mbit\nworkload.bytes = 29000");
    let said = found.parts.line();
    let has_window = |name: &String| name == "near.tcp.initial_window";
    assert!(found.levers.iter().any(has_window), "{said}");
    assert!(said.contains("the initial congestion window"), "{said}");
}

#[test]
fn marks_are_named_with_the_link_that_makes_them() {
    let found = of(
        "near.tcp.ecn = on\nfar.tcp.ecn = on\nworkload.bytes = 4M\npath.rate = 20mbit\npath.forward.ecn_threshold = 2 packets\nnear.tcp.congestion = newreno",
    );
    let said = found.parts.line();
    assert!(
        said.contains("Link `path` from `near` to `far` put ECN marks on "),
        "{said}"
    );
    assert!(found.limit == Cause::ECN || said.contains("ECN"), "{said}");
}

#[test]
fn a_handshake_that_never_came_about_has_its_own_name_or_that_of_its_loss() {
    let found = of("path.forward.loss = 100%\nworkload.give_up = 30s");
    let said = found.parts.line();
    assert_eq!(found.limit.name, "loss", "{said}");
    assert!(said.contains("for the handshake"), "{said}");
    assert!(said.contains("frames were lost"), "{said}");
}

/// The receiver vanishes after 300 KB, so the transfer stays incomplete, and the verdict names the
/// peer.
#[test]
fn a_single_connection_whose_peer_vanished_is_never_complete() {
    let found = of(
        "workload.bytes = 4M\nworkload.read.vanish_after = 300K\nworkload.give_up = 100s\nnear.tcp.retries2 = 4",
    );
    let said = found.parts.line();
    assert_eq!(found.limit, Cause::PEER_GONE, "{said}");
}

#[test]
fn a_buffer_is_tried_as_large_as_the_path() {
    let mut setup = setup(super::LINK);
    setup
        .set("near.tcp.send_buffer", "1M")
        .expect("it is legal");
    let ample = Ample::of(&setup, 1e7, 0.04);
    let product = ample.product.expect("the path has a rate");
    assert!((47_000..50_000).contains(&product), "{product}");
    let name = format!("near.tcp.send_buffer={product}");
    let levers = levers::all(&setup, ample);
    assert!(levers.iter().any(|lever| lever.name == name));
}
