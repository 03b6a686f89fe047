//! Tests of `error_queue`.

use fullpipe_pool::{PoolConfig, Rng};
use fullpipe_wire::{ChecksumPolicy, UdpHeader};

use super::*;
use crate::{
    config::IpConfig,
    device::{Capabilities, Medium},
    icmp::{PathError, quoted},
    ip::{Addresses, Subnet},
};

const DATAGRAM: [u8; 12] = [0x13, 0x89, 0, 7, 0, 12, 0, 0, 1, 2, 3, 4];

fn packet(broadcast: bool, payload: &[u8]) -> Packet<'_> {
    let (src, dst) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let header = Ipv4Header::new(src, dst, Protocol::Udp, payload.len());
    Packet {
        header: IpHeader::V4(header),
        broadcast,
        station: crate::link::Station::UNSPECIFIED,
        payload,
    }
}

fn pool() -> Pool {
    Pool::new(&PoolConfig::default())
}

#[test]
fn a_datagram_to_a_port_without_a_socket_is_quoted_in_an_error() {
    let mut counters = Counters::default();
    let mut errors = ErrorQueue::new(&IcmpConfig::default(), &Secret([5; 16]));
    errors.report(
        &packet(false, &DATAGRAM),
        UnreachableCode::Port,
        (&mut pool(), Instant::ZERO),
        &mut counters,
    );

    let device = Capabilities::plain(Medium::Ip, 1500);
    let mut sender = IpSender::new(&device, &IpConfig::default(), Rng::seeded(1), true);
    let mut out = [0; 100];
    let built = errors
        .poll_packet(&mut sender, &mut pool(), &mut out, &mut counters)
        .unwrap();
    assert_eq!(built.len, 56);
    let (header, payload) = Ipv4Header::parse(&out[..56], ChecksumPolicy::Verify).unwrap();
    assert_eq!(header.dst.octets(), [10, 0, 0, 1]);
    let (message, quoted) = Icmpv4Message::parse(payload, ChecksumPolicy::Verify).unwrap();
    // Parse the error as the sender of the datagram does.
    let theirs = Subnet {
        address: [10, 0, 0, 1].into(),
        prefix_len: 24,
    };
    let event = quoted::parse(message, quoted, &Addresses::new(theirs, 1, false), 552).unwrap();
    assert_eq!(event.error, PathError::Unreachable { hard: true });
    assert_eq!((event.local.port(), event.remote.port()), (5001, 7));
    assert!(UdpHeader::parse_quoted(&quoted[20..]).is_ok());
    assert_eq!(counters.mib.icmp_out_dest_unreachs, 1);
    assert!(
        errors
            .poll_packet(&mut sender, &mut pool(), &mut out, &mut counters)
            .is_none()
    );
}

#[test]
fn a_flood_is_answered_at_the_rate_and_no_faster() {
    let config = IcmpConfig {
        errors_burst: 5,
        errors_per_source: 10,
        ..IcmpConfig::default()
    };
    let mut errors = ErrorQueue::new(&config, &Secret([5; 16]));
    let mut counters = Counters::default();
    let device = Capabilities::plain(Medium::Ip, 1500);
    let mut sender = IpSender::new(&device, &IpConfig::default(), Rng::seeded(1), true);
    let mut out = [0; 100];
    for ms in 0..2_000 {
        let now = Instant::from_millis(ms);
        errors.report(
            &packet(false, &DATAGRAM),
            UnreachableCode::Port,
            (&mut pool(), now),
            &mut counters,
        );
        errors.poll_packet(&mut sender, &mut pool(), &mut out, &mut counters);
    }
    // The limit allows a burst of 5, then one error every 100 ms up to 1,900 ms.
    assert_eq!(counters.mib.icmp_out_msgs, 5 + 19);
    assert_eq!(counters.mib.icmp_out_rate_limit_global, 2_000 - 24);
}

#[test]
fn no_error_is_sent_about_broadcasts() {
    let mut errors = ErrorQueue::new(&IcmpConfig::default(), &Secret([5; 16]));
    let mut counters = Counters::default();
    let code = UnreachableCode::Port;
    errors.report(
        &packet(true, &DATAGRAM),
        code,
        (&mut pool(), Instant::ZERO),
        &mut counters,
    );
    assert!(!errors.wants_output());
}

#[test]
fn a_packet_shorter_than_a_quotation_is_quoted_whole() {
    let mut errors = ErrorQueue::new(&IcmpConfig::default(), &Secret([5; 16]));
    let mut counters = Counters::default();
    let code = UnreachableCode::Protocol;
    let short = packet(false, &DATAGRAM[..3]);
    errors.report(&short, code, (&mut pool(), Instant::ZERO), &mut counters);
    let device = Capabilities::plain(Medium::Ip, 1500);
    let mut sender = IpSender::new(&device, &IpConfig::default(), Rng::seeded(1), true);
    let mut out = [0; 100];
    let built = errors.poll_packet(&mut sender, &mut pool(), &mut out, &mut counters);
    assert_eq!(built.map(|built| built.len), Some(20 + 8 + 23));
    let (_, payload) = Ipv4Header::parse(&out[..51], ChecksumPolicy::Verify).unwrap();
    let (message, quoted) = Icmpv4Message::parse(payload, ChecksumPolicy::Verify).unwrap();
    let expected = Icmpv4Message::Unreachable {
        code,
        next_hop_mtu: 0,
    };
    assert_eq!((message, &quoted[20..]), (expected, &DATAGRAM[..3]));
}

#[test]
fn a_queue_that_is_not_polled_stays_within_its_bounds() {
    let config = IcmpConfig {
        errors: 3,
        ..IcmpConfig::default()
    };
    let mut errors = ErrorQueue::new(&config, &Secret([5; 16]));
    let mut counters = Counters::default();
    for second in 0..50 {
        errors.report(
            &packet(false, &DATAGRAM),
            UnreachableCode::Port,
            (&mut pool(), Instant::from_secs(second)),
            &mut counters,
        );
    }
    assert_eq!(counters.discarded(Discard::IcmpErrorQueueFull), 47);
}
