//! Tests of the table of outstanding requests and of the messages on a kernel socket.

use super::*;

const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
const TIME: Duration = Duration::from_secs(10);

#[test]
fn a_request_is_answered_once_by_its_destination_and_with_its_data_only() {
    let now = std::time::Instant::now();
    let mut table = Outstanding::new(4, TIME);
    let seq = table.add(A, "data", now).expect("it has room");
    assert_eq!(table.take_if(seq, B, |_| true), None, "another host");
    assert_eq!(table.take_if(seq, A, |_| false), None, "other data");
    assert_eq!(table.take_if(seq + 1, A, |_| true), None, "another number");
    assert_eq!(table.take_if(seq, A, |_| true), Some("data"));
    assert_eq!(table.take_if(seq, A, |_| true), None, "a repeated reply");
    assert_eq!(table.expiry(), None);
}

#[test]
fn outstanding_requests_are_bounded_in_number_and_time() {
    let began = std::time::Instant::now();
    let mut table = Outstanding::new(2, TIME);
    let at = |seconds| began + Duration::from_secs(seconds);
    let first = table.add(A, 1, at(0)).expect("it has room");
    let second = table.add(A, 2, at(4)).expect("it has room");
    assert_eq!(table.add(A, 3, at(9)), None, "two wait");
    assert_eq!(table.expiry(), Some(at(10)));
    assert!(table.add(A, 4, at(10)).is_some(), "the first has expired");
    assert_eq!(table.take_if(first, A, |_| true), None);
    assert_eq!(table.take_if(second, A, |_| true), Some(2));
}

#[test]
fn a_number_is_not_given_twice_while_it_waits() {
    let now = std::time::Instant::now();
    let mut table = Outstanding::new(2, TIME);
    let waits = table.add(A, 0, now).expect("it has room");
    for _ in 0..=u16::MAX {
        let seq = table.add(B, 1, now).expect("it has room");
        assert_ne!(seq, waits);
        table.take_if(seq, B, |_| true).expect("it waits");
    }
}

/// The message of a raw IPv4 socket begins with the IPv4 header, here with four bytes of options.
#[test]
fn only_an_echo_reply_is_a_reply() {
    let reply = [0, 0, 0, 0, 1, 2, 3, 4, 5, 6];
    assert_eq!(
        reply_in(&reply, A, false),
        Some((0x0102, 0x0304, &[5, 6][..]))
    );
    let mut raw = vec![0x46; 24];
    raw.extend(reply);
    assert_eq!(reply_in(&raw, A, true), reply_in(&reply, A, false));
    for len in 0..32 {
        assert_eq!(reply_in(&raw[..len], A, true), None, "{len} bytes");
    }
    let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
    let mut reply = reply;
    assert_eq!(reply_in(&reply, v6, true), None, "type 0 of ICMPv6");
    reply[0] = 129;
    assert!(reply_in(&reply, v6, true).is_some());
    reply[0] = 8;
    assert_eq!(reply_in(&reply, A, false), None, "a request");
}
