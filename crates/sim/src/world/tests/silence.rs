//! Tests of connections that send nothing for a long time: cases in which this is allowed, and
//! cases in which it is a failure.

use super::*;
use crate::check::silence;
use crate::device::DeviceModel;

/// A line of 28 kbit/s whose frames wait, without limit, in the sender's device.
fn slow_line() -> LinkModel {
    LinkModel {
        rate_bps: 28_119,
        delay_us: 558,
        queue: Queue::Device,
        ..LinkModel::ideal()
    }
}

/// A host whose retransmission timeout is at most 4 s.
fn short_timeout(knobs: &[(&str, &str)]) -> Config {
    let mut config = Config::default();
    let common = [
        ("tcp.congestion", "newreno"),
        ("tcp.pacing", "false"),
        ("tcp.rto_max", "4s"),
    ];
    for (name, value) in common.iter().chain(knobs) {
        config.set(name, value).unwrap();
    }
    config
}

/// The last connection's first segments leave after the segments of the other three connections,
/// which take 13 s. The last connection's timer fires during that time, and each retransmission
/// joins the same queue.
#[test]
fn segments_that_wait_in_the_device_behind_other_connections_are_sent() {
    let mut world = World::new(Seed(3062));
    let link = world.link(slow_line());
    let device = DeviceModel::plain(4_096);
    let client = world.host_with(&link, short_timeout(&[]), device);
    let server = world.host_with(&link, short_timeout(&[]), device);
    let flows = [(); 4].map(|()| world.send(client, server, 90 * KIB));
    world.run_for(Duration::from_secs(12));
    let last = world.facts(flows[3]).client.info.unwrap();
    assert_eq!(last.bytes_acked, 0);
    assert!(last.timeouts >= 4, "{}", last.timeouts);
    assert!(last.segments_retransmitted >= last.timeouts, "{last:?}");
    world.run_until(Goal::AllDone, Deadline::secs(1_800));
}

/// The receiver reads nothing, so its window only shrinks. ACKs arrive for 18 s, and each ACK
/// restarts the sender's retransmission timer.
#[test]
fn a_sender_may_be_silent_while_acks_restart_its_timer() {
    let config = short_timeout(&[
        ("tcp.rto_initial", "4s"),
        ("tcp.rto_min", "4s"),
        ("tcp.initial_window", "100"),
        ("tcp.initial_receive_window", "100"),
        ("tcp.delayed_ack", "0s"),
        ("tcp.receive_buffer", "65535"),
        ("tcp.send_buffer", "131072"),
    ]);
    let mut world = World::new(Seed(1));
    let link = world.link(LinkModel {
        queue: Queue::Unlimited,
        ..slow_line()
    });
    let (client, server) = world.pair(&link, config);
    let stall = ReadPlan::Stalls(vec![(Duration::ZERO, Duration::from_secs(60))]);
    let flow = world.send_planned(client, server, WritePlan::bulk(90 * KIB, 16 << 10), stall);
    world.run_for(Duration::from_secs(16));
    let info = world.facts(flow).client.info.unwrap();
    assert_eq!(info.bytes_retransmitted, 0);
    assert!(info.unsent > 0 && info.bytes_acked > 50_000, "{info:?}");
    world.run_until(flow.done(), Deadline::secs(120));
}

#[test]
fn a_sender_that_lets_its_longest_timer_pass_is_found() {
    let config = short_timeout(&[]);
    let mut world = World::new(Seed(2));
    let link = world.link(slow_line());
    let (client, server) = world.pair(&link, config.clone());
    let flow = world.send(client, server, 90 * KIB);
    world.run_for(Duration::from_secs(1));
    let info = world.facts(flow).client.info.unwrap();
    let now = world.now() + Duration::from_secs(60);
    let silent_for = |silent, timer, device_moves| {
        let waits_since = now - Duration::from_millis(silent);
        let seen = silence::ConnectionView {
            now,
            waits_since,
            timer,
            is_busy: false,
            device_moves,
        };
        silence::check(&info, &config.tcp, &seen)
    };
    // The limit is 9 s: 4 s for the timer and 5 s for address resolution.
    assert!(silent_for(9_000, Some(now), false).is_ok());
    assert!(silent_for(9_001, Some(now), false).is_err());
    assert!(silent_for(9_001, Some(now), true).is_ok());
    assert!(silent_for(0, None, false).is_err());
}
