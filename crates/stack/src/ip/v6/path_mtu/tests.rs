//! Tests of the table of path MTUs.

use super::*;

const fn dst(number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, number)
}

const fn at(seconds: u64) -> Instant {
    Instant::from_nanos(seconds * 1_000_000_000)
}

#[test]
fn reports_lower_the_mtu_and_it_rises_after_ten_minutes() {
    let mut paths = PathMtus::new(4);
    paths.learn(dst(1), 1_400, Evidence::Datagram, at(0));
    paths.learn(dst(1), 1_300, Evidence::Datagram, at(1));
    paths.learn(dst(1), 1_450, Evidence::Datagram, at(2));
    assert_eq!(paths.get(dst(1)), Some(1_300));
    assert_eq!(paths.get(dst(2)), None);
    paths.expire(at(601));
    assert_eq!(paths.get(dst(1)), Some(1_300));
    paths.expire(at(602));
    assert_eq!(paths.get(dst(1)), None);
}

#[test]
fn a_full_table_forgets_the_entry_that_ends_first() {
    let mut paths = PathMtus::new(2);
    for number in 1..=3 {
        paths.learn(dst(number), 1_280, Evidence::Datagram, at(number.into()));
    }
    assert_eq!(paths.get(dst(1)), None);
    assert_eq!(paths.get(dst(2)), Some(1_280));
    assert_eq!(paths.get(dst(3)), Some(1_280));
}

#[test]
fn a_report_about_an_echo_reply_removes_no_entry_of_a_datagram() {
    let mut paths = PathMtus::new(2);
    paths.learn(dst(1), 1_280, Evidence::Datagram, at(1));
    for number in 2..=9 {
        paths.learn(dst(number), 1_280, Evidence::EchoReply, at(number.into()));
    }
    let known = |paths: &PathMtus| -> Vec<u16> {
        let numbers = 1..=20;
        numbers
            .filter(|number| paths.get(dst(*number)).is_some())
            .collect()
    };
    assert_eq!(known(&paths), [1, 9]);
    paths.learn(dst(10), 1_280, Evidence::Datagram, at(10));
    assert_eq!(known(&paths), [1, 10]);
    paths.learn(dst(11), 1_280, Evidence::EchoReply, at(11));
    assert_eq!(known(&paths), [1, 10]);
    // The echo reply to a destination of datagrams shows the same MTU.
    paths.learn(dst(1), 1_290, Evidence::EchoReply, at(500));
    paths.expire(at(700));
    assert_eq!(known(&paths), [1]);
}
