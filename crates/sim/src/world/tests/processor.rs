//! Tests of hosts whose work takes time.

use super::*;
use crate::app::Amount;
use crate::device::DeviceModel;
use crate::{CpuModel, DatagramPlan, FrameCost, Pace};

/// The cost of a frame of any length: `us` microseconds.
fn cost(us: u64) -> FrameCost {
    FrameCost {
        packet: Duration::from_micros(us),
        byte_ps: 0,
    }
}

/// Transfers a megabyte over 1 Gbit/s from a client to a server that have these processors, and
/// receive rings of four frames.
fn transfer(client_cpu: CpuModel, server_cpu: CpuModel) -> (World, [HostId; 2], crate::FlowId) {
    let mut world = World::new(Seed(11));
    let link = world.link(LinkModel {
        rate_bps: 1_000_000_000,
        delay_us: 50,
        queue: Queue::Device,
        ..LinkModel::ideal()
    });
    let mut config = Config::default();
    config.tcp.pacing = false;
    let device = DeviceModel {
        receive_ring: 4,
        ..DeviceModel::plain(8)
    };
    let client = world.host_with(&link, config.clone(), device);
    let server = world.host_with(&link, config, device);
    world.set_cpu(client, client_cpu);
    world.set_cpu(server, server_cpu);
    let flow = world.send(client, server, MIB);
    (world, [client, server], flow)
}

#[test]
fn a_frame_costs_what_it_is_and_what_it_weighs() {
    let weighs = FrameCost {
        packet: Duration::from_nanos(100),
        byte_ps: 1_500,
    };
    assert_eq!(weighs.of(1_000), Duration::from_nanos(1_600));
    assert_eq!(weighs.of(1), Duration::from_nanos(102), "rounded up");
    assert_eq!(FrameCost::default().of(1_514), Duration::ZERO);
    let most = FrameCost {
        packet: Duration::from_secs(1),
        byte_ps: u64::MAX,
    };
    assert!(most.of(1_514) > Duration::from_secs(1), "no overflow");
}

#[test]
fn a_sender_is_no_faster_than_its_processor() {
    let model = CpuModel {
        send: cost(200),
        ..CpuModel::FREE
    };
    let (mut world, [client, server], flow) = transfer(model, CpuModel::FREE);
    world.run_until(Goal::Received(flow, MIB), Deadline::secs(5));
    let facts = world.facts(flow);
    let segments = facts.client.data_segments as f64;
    let least = segments * 200e-6;
    let elapsed = facts.elapsed.as_secs_f64();
    assert!(
        (least..least * 1.1).contains(&elapsed),
        "{elapsed} s for {segments} segments"
    );
    let busy = world.cpu_busy(client).as_secs_f64();
    assert!(busy > 0.9 * elapsed && busy <= world.now().as_secs_f64());
    assert_eq!(world.cpu_busy(server), Duration::ZERO);
    assert_eq!(facts.retransmissions, 0);
}

#[test]
fn a_receiver_that_is_busy_overflows_its_ring_and_everything_arrives_all_the_same() {
    let model = CpuModel {
        receive: cost(100),
        ..CpuModel::FREE
    };
    let (mut world, [client, server], flow) = transfer(CpuModel::FREE, model);
    world.run_until(flow.done(), Deadline::secs(30));
    let facts = world.facts(flow);
    assert_eq!(facts.bytes, MIB);
    let drops = world.ring_drops(server);
    assert!(drops > 0, "a burst is longer than four frames");
    assert!(facts.retransmissions > 0 && world.ring_drops(client) == 0);
}

#[test]
fn applications_are_run_when_the_processor_has_time_for_them() {
    let model = CpuModel {
        receive: cost(5),
        send: cost(5),
        call: Duration::from_micros(400),
        ..CpuModel::FREE
    };
    let (mut world, [_, server], flow) = transfer(CpuModel::FREE, model);
    world.run_until(flow.done(), Deadline::secs(30));
    assert_eq!(world.facts(flow).bytes, MIB);
    // During one call of the application, thirty frames arrive; the ring has room for four.
    assert!(world.ring_drops(server) > 0);
    assert!(world.cpu_busy(server) > Duration::from_millis(4));
}

/// A burst waits in the receive ring if applications run first, and otherwise in the receive queue.
#[test]
fn where_a_burst_waits_depends_on_who_goes_first() {
    for applications_first in [false, true] {
        let mut config = Config::default();
        config.udp.receive_queue = 2;
        let mut world = World::new(Seed(11));
        let link = world.link(LinkModel {
            rate_bps: 1_000_000_000,
            queue: Queue::Device,
            ..LinkModel::ideal()
        });
        let device = DeviceModel {
            receive_ring: 2,
            ..DeviceModel::plain(64)
        };
        let client = world.host(&link, config.clone());
        let server = world.host_with(&link, config, device);
        world.acquaint(client, server);
        world.set_cpu(
            server,
            CpuModel {
                receive: cost(8),
                call: Duration::from_micros(8),
                applications_first,
                ..CpuModel::FREE
            },
        );
        // Twenty datagrams arrive 12 µs apart, and each takes the processor 16 µs.
        let plan = DatagramPlan {
            size: 1_472,
            pace: Pace::Unpaced,
            amount: Amount::Bytes(20 * 1_472),
        };
        let id = world.datagrams(client, server, plan, Duration::ZERO);
        world.run_for(Duration::from_secs(1));
        let facts = world.datagram_facts(id);
        let in_ring = world.ring_drops(server);
        let in_queue = world.stack(server).counters().mib.udp_rcvbuf_errors;
        assert_eq!(facts.received + in_ring + in_queue, 20);
        assert_eq!(in_ring > 0, applications_first, "{in_ring} in the ring");
        assert_eq!(in_queue > 0, !applications_first, "{in_queue} in the queue");
    }
}

#[test]
fn a_processor_that_costs_nothing_is_as_if_there_were_none() {
    let outcome = |free: bool| {
        let (mut world, [client, _], flow) = transfer(CpuModel::FREE, CpuModel::FREE);
        if free {
            world.set_cpu(client, CpuModel::FREE);
        }
        world.run_until(flow.done(), Deadline::secs(5));
        (world.now(), world.steps(), world.frames())
    };
    assert_eq!(outcome(true), outcome(false));
}

/// A host whose processor works for seconds on each frame is silent, but its stack is not at
/// fault.
#[test]
fn a_processor_that_takes_seconds_for_a_frame_is_no_silent_connection() {
    let model = CpuModel {
        send: cost(3_000_000),
        call: Duration::from_secs(3),
        ..CpuModel::FREE
    };
    let (mut world, _, flow) = transfer(model, CpuModel::FREE);
    world.run_for(Duration::from_secs(600));
    assert!(world.facts(flow).bytes > 0);
}
