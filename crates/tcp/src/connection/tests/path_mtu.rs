//! Tests of path MTU discovery: sizes that acknowledged segments prove, packet-too-big messages,
//! probes.

use super::*;
use crate::{IcmpError, MtuProbing};

/// Bytes of the timestamp option, which each segment carries.
const OPTIONS: u32 = 12;

/// Returns the payload of a full segment at the client.
fn mss(pair: &mut Pair) -> u32 {
    pair.at(CLIENT, |connection, env| connection.mss(env))
}

/// Reports that the segment at `snd_una` was too big for a path that carries `mss_limit`.
fn report(pair: &mut Pair, mss_limit: u16) {
    let error = IcmpError::FragmentationNeeded {
        mss_limit,
        fragment: false,
    };
    pair.at(CLIENT, |connection, env| {
        connection.on_icmp(error, connection.send.snd_una, env)
    });
}

/// RFC 5927 §7.2: options count as part of the size that an ACK proves.
#[test]
fn an_acknowledged_segment_outweighs_a_message_about_less_than_its_size() {
    for (reported, expected) in [(511, 1_448), (512, 500)] {
        let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
        pair.write(CLIENT, &[7; 500]);
        pair.run_for(Duration::from_millis(100));
        pair.write(CLIENT, &[7; 1_448]);
        assert_eq!(mss(&mut pair), 1_448);
        report(&mut pair, reported);
        assert_eq!(mss(&mut pair), expected, "{reported}");
    }
}

#[test]
fn a_segment_in_flight_proves_nothing() {
    let client = TcpConfig {
        nagle: false,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(client, TcpConfig::default());
    pair.write(CLIENT, &[7; 100]);
    pair.run_for(Duration::from_millis(100));
    // Of two segments, the first one (100 bytes) arrives and the second one (500 bytes) is lost.
    pair.lose = Box::new(|f| f.payload.len() > 100);
    pair.write(CLIENT, &[7; 100]);
    pair.write(CLIENT, &[7; 500]);
    pair.run_for(Duration::from_millis(70));
    let outstanding = pair.at(CLIENT, |connection, _| connection.send.outstanding());
    assert_eq!(outstanding, 500);
    report(&mut pair, 511);
    assert_eq!(mss(&mut pair), 511 - OPTIONS);
}

/// RFC 8899 §5.3.2: a size that was lost twice is not tried again before the search timer.
#[test]
fn a_search_ends_below_what_the_path_carries_and_starts_again_later() {
    let client = TcpConfig {
        mtu_probing: MtuProbing::Always,
        probe_interval: Duration::from_secs(600),
        send_buffer: 1 << 20,
        ..TcpConfig::default()
    };
    let server = TcpConfig {
        receive_buffer: 1 << 20,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(client, server);
    pair.lose = Box::new(|f| f.payload.len() as u32 + OPTIONS > 1_200);
    let found = |pair: &mut Pair| {
        pair.transfer(CLIENT, 2_000_000, Duration::from_secs(60));
        let counters = &pair.ends[CLIENT].counters;
        (counters.mtup_fail, counters.mtup_success)
    };
    let first = found(&mut pair);
    // Probes of 1,460, 1,242 and 1,214 bytes were lost twice each. Probes of 1,133, 1,187 and 1,200
    // bytes were acknowledged.
    assert_eq!(first, (6, 3));
    assert_eq!(mss(&mut pair) + OPTIONS, 1_200);
    assert_eq!(found(&mut pair), first, "nothing is tried again");
    pair.run_for(Duration::from_secs(600));
    let later = found(&mut pair);
    // Each later probe is larger than the proven size, and at most as large as the first link
    // carries.
    assert!(later.0 > first.0, "{later:?}");
}
