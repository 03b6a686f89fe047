//! Generates runs of any length without simulation.
//!
//! Rule: generated runs are as irregular as real ones: round-trip times vary, losses are repaired,
//! limits (reasons that an end does not send) alternate. A regular run would be smaller when
//! compressed, and faster to draw, than a real one.

use fullpipe_diagnose::facts::{
    Bands, Connection, Endpoint, Figure, Host, LinkUsage, Observed, PathFacts, Peer, PoolLevels,
    Row, Run, Segments, ShownBy, VerdictParts,
};

const PAYLOAD: u32 = 1_448;
const WINDOW: u32 = 3_000_000;
const ACK: u16 = 0x10;
const RTT_NS: u64 = 20_000_000;
/// Number of segments from one lost segment to the next.
const LOST_ONE_IN: u64 = 2_000;

/// Returns a run with one row (scenario), one connection and `segments` segments with payload.
pub fn run(segments: u64) -> Run {
    let mut first = Endpoint::default();
    let mut second = Endpoint {
        host: 1,
        ..Endpoint::default()
    };
    let mut chance = 1_u64;
    let mut at_ns = 0;
    for number in 0..segments {
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let jitter = chance >> 54;
        at_ns += 8_000 + jitter;
        let seq = 1 + number * u64::from(PAYLOAD);
        let is_lost = number % LOST_ONE_IN == LOST_ONE_IN / 2;
        let outstanding = 2_000_000 + (jitter as u32) * 500;
        let status = if is_lost { Segments::LOST } else { 0 };
        segment(
            &mut first.sent,
            at_ns,
            (seq, 1),
            PAYLOAD,
            status,
            outstanding,
        );
        if is_lost {
            let again = (seq, 1);
            segment(
                &mut first.sent,
                at_ns + 1,
                again,
                PAYLOAD,
                Segments::RETRANSMITTED,
                outstanding,
            );
        }
        segment(
            &mut second.received,
            at_ns + RTT_NS / 2,
            (seq, 1),
            PAYLOAD,
            0,
            0,
        );
        if number % 2 == 1 {
            acknowledged(
                &mut first,
                &mut second,
                at_ns,
                seq + u64::from(PAYLOAD),
                jitter,
            );
        }
    }
    observed(first, second, at_ns + 2 * RTT_NS, segments)
}

/// Returns a row with two ends, with limits, memory and a link.
fn observed(mut first: Endpoint, mut second: Endpoint, end_ns: u64, segments: u64) -> Run {
    alternate(&mut first.limits, end_ns, segments / 5);
    alternate(&mut second.receive_limits, end_ns, segments / 5);
    alternate(&mut first.receive_limits, end_ns, 1);
    alternate(&mut second.limits, end_ns, 1);
    let pool = levels(end_ns, segments / 2);
    let host = |name: &str| Host {
        name: name.to_string(),
        pool_blocks: 4_096,
        block_size: 1_548,
        pool: pool.clone(),
        ..Host::default()
    };
    row(Observed {
        end_ns,
        hosts: vec![host("near"), host("far")],
        links: vec![link(end_ns, segments)],
        connections: vec![Connection {
            first,
            second: Some(second),
        }],
        forgotten: 0,
    })
}

/// Returns four rows: a connection, a connection with half as many segments, and two rows of
/// datagrams without a connection. One row of datagrams has a published outcome in words. Two rows
/// have published goodputs. One of these two rows also has the goodput of another system; the other
/// was changed by `--set`. The goodputs differ by a factor of thousands.
pub fn kinds() -> Run {
    let mut kinds = run(4_000);
    let mut half = run(2_000).rows.remove(0);
    half.label = "half".to_string();
    let mut datagrams = kinds.rows[0].clone();
    datagrams.label = "datagrams".to_string();
    datagrams.observed.connections.clear();
    for host in &mut datagrams.observed.hosts {
        host.pool = PoolLevels::default();
    }
    let mut in_words = datagrams.clone();
    in_words.label = "in words".to_string();
    in_words.published_outcome = Some("no payload arrived".to_string());
    let goodput = |value: f64| {
        vec![Figure {
            name: "goodput_mbps",
            heading: "Mbit/s",
            value,
        }]
    };
    half.published = goodput(500.0);
    half.is_compared = true;
    half.measured = goodput(450.0);
    half.peers = vec![Peer {
        name: "linux".to_string(),
        figures: goodput(480.0),
    }];
    datagrams.published = goodput(0.06);
    datagrams.measured = goodput(0.05);
    kinds.rows.extend([half, datagrams, in_words]);
    kinds
}

fn row(observed: Observed) -> Run {
    Run {
        experiment: "synthetic".to_string(),
        title: "Many segments".to_string(),
        rows: vec![Row {
            label: "all of them".to_string(),
            measured: vec![Figure {
                name: "goodput_mbps",
                heading: "Mbit/s",
                value: 1_000.0,
            }],
            outcome: "complete".to_string(),
            verdict: VerdictParts::limited_by(
                "the path: it is synthetic, and its link `line` was busy",
            ),
            shown_by: ShownBy::Link("line".to_string()),
            path: Some(PathFacts {
                receiver: 1,
                links: vec![(0, true)],
                payload_bps: Some(1.3e9),
                rtt_ns: RTT_NS,
                ..PathFacts::default()
            }),
            seeds: 1,
            observed,
            ..Row::default()
        }],
        ..Run::default()
    }
}

fn segment(
    table: &mut Segments,
    at_ns: u64,
    (seq, ack): (u64, u64),
    len: u32,
    status: u8,
    outstanding: u32,
) {
    table.at_ns.push(at_ns);
    table.seq.push(seq);
    table.len.push(len);
    table.ack.push(ack);
    table.window.push(WINDOW);
    table.flags.push(ACK);
    table.status.push(status);
    table.outstanding.push(outstanding);
}

/// Acknowledges a segment, and records the window and the round-trip time.
fn acknowledged(first: &mut Endpoint, second: &mut Endpoint, at_ns: u64, ack: u64, jitter: u64) {
    let arrives_ns = at_ns + RTT_NS;
    segment(&mut second.sent, at_ns + RTT_NS / 2, (1, ack), 0, 0, 0);
    let outstanding = 2_000_000 + (jitter as u32) * 400;
    segment(&mut first.received, arrives_ns, (1, ack), 0, 0, outstanding);
    let cwnd = 2_500_000 + (ack % 400_000) as u32;
    first.windows.at_ns.push(arrives_ns);
    first.windows.cwnd.push(cwnd);
    first.windows.ssthresh.push(2_000_000);
    first.windows.in_flight.push(outstanding);
    let sample_us = 20_000 + (jitter as u32) * 7;
    first.rtts.at_ns.push(arrives_ns);
    first.rtts.sample_us.push(sample_us);
    first.rtts.srtt_us.push(22_000 + (jitter as u32));
    first.rtts.rto_us.push(220_000);
}

fn alternate(bands: &mut Bands, end_ns: u64, count: u64) {
    for number in 0..count {
        let (from, until) = (end_ns * number / count, end_ns * (number + 1) / count);
        bands.at_ns.push(from);
        bands.end_ns.push(until);
        bands.reason.push((number * 7 % 5) as u8);
        bands.bytes.push(until - from);
    }
}

fn levels(end_ns: u64, count: u64) -> PoolLevels {
    let mut pool = PoolLevels::default();
    for number in 0..count {
        pool.at_ns.push(end_ns * number / count);
        pool.holder.push((number % 2) as u8);
        pool.held.push(1_000 + (number * 37 % 900) as u32);
        pool.reserved.push((number * 11 % 300) as u32);
    }
    pool
}

/// Returns a link that is busy for three quarters of the time, with a queue that forms and
/// empties.
fn link(end_ns: u64, periods: u64) -> LinkUsage {
    let mut link = LinkUsage::new("line".to_string(), false);
    for number in 0..periods {
        let (from, until) = (end_ns * number / periods, end_ns * (number + 1) / periods);
        let busy_until = if number % 5 == 0 {
            from + (until - from) / 4
        } else {
            until
        };
        link.forward
            .add(from, busy_until, (number * 13 % 40) as u32);
    }
    link
}
