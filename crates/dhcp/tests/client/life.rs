//! Tests of the life of a lease, from the first request to its end.

use std::net::Ipv4Addr;

use dhcproto::v4::{DhcpOption, Message, MessageType, OptionCode};
use fullpipe::{Duration, Instant, MacAddress};
use fullpipe_dhcp::{Event, Loss, Settings};
use fullpipe_wire::ArpOperation;

use crate::server::{
    CLIENT, LEASE, Link, OFFERED, SERVER, SERVER_IP, Sent, answer, arp, granting, option, silent,
};

#[test]
fn a_lease_is_obtained_with_its_parameters() {
    let mut link = Link::new(granting);
    link.bind();
    let lease = link.client.lease().expect("a lease").clone();
    assert_eq!((lease.address, lease.prefix_len), (OFFERED, 24));
    assert_eq!(lease.routers, [SERVER_IP]);
    assert_eq!(lease.dns_servers, [SERVER_IP]);
    assert_eq!(lease.mtu, Some(1_400));
    let seconds = |at: Option<Instant>| at.map(|at| at.since(lease.since).as_secs());
    assert_eq!(seconds(lease.renews_at), Some(300));
    assert_eq!(seconds(lease.rebinds_at), Some(525));
    assert_eq!(seconds(lease.expires_at), Some(LEASE.into()));
    assert_eq!(link.events, [Event::Bound(lease)]);
}

#[test]
fn the_request_repeats_the_offer_and_is_broadcast_without_an_address() {
    let mut link = Link::new(granting);
    link.bind();
    let discover = link.sent[0].1.message().clone();
    let Sent::Message(request, ends, station) = &link.sent[1].1 else {
        panic!("no request");
    };
    assert_eq!(*ends, (Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST));
    assert_eq!(*station, MacAddress::BROADCAST);
    assert_eq!(request.xid(), discover.xid());
    assert!(request.ciaddr().is_unspecified());
    assert_eq!(
        option(request, OptionCode::RequestedIpAddress),
        Some(&DhcpOption::RequestedIpAddress(OFFERED))
    );
    assert_eq!(
        option(request, OptionCode::ServerIdentifier),
        Some(&DhcpOption::ServerIdentifier(SERVER_IP))
    );
}

#[test]
fn three_probes_precede_the_lease_and_an_announcement_follows() {
    let mut link = Link::new(granting);
    link.bind();
    let senders: Vec<_> = link
        .sent
        .iter()
        .filter_map(|(_, sent)| match sent {
            Sent::Arp(packet) => {
                assert_eq!(packet.target_ip, OFFERED);
                Some(packet.sender_ip)
            }
            Sent::Message(..) => None,
        })
        .collect();
    let none = Ipv4Addr::UNSPECIFIED;
    assert_eq!(senders, [none, none, none, OFFERED]);
}

#[test]
fn an_unanswered_discover_is_repeated_with_growing_random_intervals() {
    let mut link = Link::new(silent);
    link.run(Duration::from_secs(300));
    let times: Vec<_> = link.sent.iter().map(|(at, _)| *at).collect();
    let gaps: Vec<_> = times
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_millis())
        .collect();
    for (gap, nominal) in gaps
        .iter()
        .zip([4_000, 8_000, 16_000, 32_000, 64_000, 64_000])
    {
        let range = nominal - 1_000..=nominal + 1_000;
        assert!(range.contains(gap), "{gap} ms after {nominal} ± 1000 ms");
    }
    assert!(gaps.len() >= 5, "{gaps:?}");
    assert!(gaps.iter().any(|gap| gap % 1_000 != 0), "{gaps:?}");
}

#[test]
fn a_request_without_an_answer_begins_again_after_four_transmissions() {
    let only_offers = |request: &Message| match request.opts().msg_type() {
        Some(MessageType::Discover) => vec![answer(request, MessageType::Offer)],
        _ => Vec::new(),
    };
    let mut link = Link::new(only_offers);
    link.run(Duration::from_secs(70));
    let kinds: Vec<_> = link
        .sent
        .iter()
        .filter_map(|(_, sent)| sent.kind())
        .collect();
    let (again, request) = (MessageType::Discover, MessageType::Request);
    let expected = [again, request, request, request, request, again];
    assert_eq!(kinds[..6], expected);
}

#[test]
fn a_lease_is_renewed_by_unicast_at_t1() {
    let mut link = Link::new(granting);
    link.bind();
    let first = link.client.lease().expect("a lease").clone();
    link.now = first.renews_at.expect("an end");
    link.exchange();
    let Sent::Message(request, ends, station) = link.last_message() else {
        panic!("no request");
    };
    assert_eq!((*ends, *station), ((OFFERED, SERVER_IP), SERVER));
    assert_eq!(request.ciaddr(), OFFERED);
    assert_eq!(option(request, OptionCode::ServerIdentifier), None);
    assert_eq!(option(request, OptionCode::RequestedIpAddress), None);
    let renewed = link.client.lease().expect("a lease").clone();
    assert_eq!(renewed.since, first.renews_at.expect("an end"));
    assert_eq!(link.events[1..], [Event::Renewed(renewed)]);
}

#[test]
fn a_lease_is_renewed_early_on_request() {
    let mut link = Link::new(granting);
    link.client.renew(link.now);
    link.bind();
    link.client.renew(link.now);
    link.exchange();
    let renewed = link.client.lease().expect("a lease").clone();
    assert_eq!(renewed.since, link.now);
    assert_eq!(link.events[1..], [Event::Renewed(renewed)]);
}

#[test]
fn a_lease_is_rebound_by_broadcast_at_t2_and_expires_at_its_end() {
    let mut link = Link::new(granting);
    link.bind();
    let lease = link.client.lease().expect("a lease").clone();
    let (t1, t2, end) = (lease.renews_at, lease.rebinds_at, lease.expires_at);
    let (t1, t2, end) = (t1.expect("T1"), t2.expect("T2"), end.expect("an end"));
    link.server = silent;
    link.run(end.since(link.now) - Duration::from_millis(1));
    let requests = |from: Instant, to: Instant| {
        link.sent
            .iter()
            .filter(|(at, sent)| from <= *at && *at < to && sent.kind().is_some())
            .map(|(at, sent)| match sent {
                Sent::Message(_, (src, dst), _) => (at.since(lease.since).as_secs(), *src, *dst),
                Sent::Arp(_) => unreachable!(),
            })
            .collect::<Vec<_>>()
    };
    // After each request, the client waits for half of the time left until T2, at least a minute.
    // At the first request, 225 s are left.
    let unicast = |at| (at, OFFERED, SERVER_IP);
    assert_eq!(requests(t1, t2), [unicast(300), unicast(412), unicast(472)]);
    let broadcast = |at| (at, OFFERED, Ipv4Addr::BROADCAST);
    assert_eq!(requests(t2, end), [broadcast(525), broadcast(585)]);
    assert!(link.client.lease().is_some());
    link.run(Duration::from_millis(1));
    assert_eq!(link.client.lease(), None);
    assert_eq!(link.events.last(), Some(&Event::Lost(Loss::Expired)));
    assert_eq!(link.last_message().kind(), Some(MessageType::Discover));
}

#[test]
fn another_server_can_extend_a_lease_that_is_being_rebound() {
    fn other(request: &Message) -> Vec<Message> {
        let mut granted = granting(request);
        for message in &mut granted {
            let server = DhcpOption::ServerIdentifier(Ipv4Addr::new(10, 0, 0, 2));
            message.opts_mut().insert(server);
        }
        granted
    }
    let mut link = Link::new(granting);
    link.bind();
    link.server = other;
    link.run(Duration::from_secs(520));
    assert!(
        link.client.counters().ignored > 0,
        "not its server before T2"
    );
    link.run(Duration::from_secs(10));
    let lease = link.client.lease().expect("a lease");
    assert_eq!(lease.server, Ipv4Addr::new(10, 0, 0, 2));
}

#[test]
fn a_nak_takes_the_address_away_and_begins_again() {
    fn refusing(request: &Message) -> Vec<Message> {
        match request.opts().msg_type() {
            Some(MessageType::Request) => vec![answer(request, MessageType::Nak)],
            _ => Vec::new(),
        }
    }
    let mut link = Link::new(granting);
    link.bind();
    link.server = refusing;
    link.run(Duration::from_secs(300));
    assert_eq!(link.events.last(), Some(&Event::Lost(Loss::Refused)));
    assert_eq!(link.last_message().kind(), Some(MessageType::Discover));
}

#[test]
fn a_server_that_always_refuses_is_asked_ever_more_rarely() {
    fn refusing(request: &Message) -> Vec<Message> {
        match request.opts().msg_type() {
            Some(MessageType::Discover) => vec![answer(request, MessageType::Offer)],
            Some(MessageType::Request) => vec![answer(request, MessageType::Nak)],
            _ => Vec::new(),
        }
    }
    let mut link = Link::new(refusing);
    link.run(Duration::from_secs(600));
    let discovers = link.count(MessageType::Discover);
    assert!((8..40).contains(&discovers), "{discovers}");
}

#[test]
fn an_address_that_another_host_has_is_declined() {
    for conflict in [
        arp(ArpOperation::Reply, OFFERED, OFFERED),
        arp(ArpOperation::Request, Ipv4Addr::UNSPECIFIED, OFFERED),
    ] {
        let mut link = Link::new(granting);
        link.exchange();
        assert_eq!(link.client.lease(), None, "it probes");
        link.client.on_frame(&conflict, false, link.now);
        link.exchange();
        let decline = link.last_message();
        assert_eq!(decline.kind(), Some(MessageType::Decline));
        assert!(decline.message().ciaddr().is_unspecified());
        assert_eq!(
            option(decline.message(), OptionCode::RequestedIpAddress),
            Some(&DhcpOption::RequestedIpAddress(OFFERED))
        );
        link.run(Duration::from_secs(9));
        assert_eq!(link.count(MessageType::Discover), 1, "it waits ten seconds");
        link.run(Duration::from_secs(9));
        assert_eq!(
            link.client.lease().map(|lease| lease.address),
            Some(OFFERED)
        );
    }
}

#[test]
fn an_address_in_use_is_defended_at_most_every_ten_seconds() {
    let mut link = Link::new(granting);
    link.bind();
    let before = link.sent.len();
    for _ in 0..100 {
        let conflict = arp(ArpOperation::Reply, OFFERED, SERVER_IP);
        link.client.on_frame(&conflict, false, link.now);
        link.exchange();
    }
    assert_eq!(link.sent.len(), before + 1);
    assert_eq!(link.client.counters().conflicts, 100);
    assert!(link.client.lease().is_some());
}

#[test]
fn the_address_of_an_earlier_lease_is_asked_for_first() {
    let mut settings = Settings::new(CLIENT);
    settings.previous = Some(OFFERED);
    let mut link = Link::with(settings.clone(), granting);
    link.bind();
    assert_eq!(link.count(MessageType::Discover), 0);
    let request = link.sent[0].1.message();
    assert_eq!(option(request, OptionCode::ServerIdentifier), None);

    let mut link = Link::with(settings, silent);
    link.run(Duration::from_secs(14));
    assert_eq!(link.count(MessageType::Request), 2);
    assert_eq!(link.count(MessageType::Discover), 1);
}

#[test]
fn a_released_address_goes_back_to_its_server() {
    let mut link = Link::new(granting);
    link.bind();
    link.client.release(link.now);
    link.exchange();
    let Sent::Message(release, ends, station) = link.last_message() else {
        panic!("no message");
    };
    assert_eq!(release.opts().msg_type(), Some(MessageType::Release));
    assert_eq!((*ends, *station), ((OFFERED, SERVER_IP), SERVER));
    assert_eq!(release.ciaddr(), OFFERED);
    assert_eq!(link.events.last(), Some(&Event::Lost(Loss::Released)));
    assert_eq!(link.client.next_timeout(), None);
}

#[test]
fn a_lease_without_end_is_never_renewed() {
    fn endless(request: &Message) -> Vec<Message> {
        let mut granted = granting(request);
        for message in &mut granted {
            message
                .opts_mut()
                .insert(DhcpOption::AddressLeaseTime(u32::MAX));
        }
        granted
    }
    let mut link = Link::new(endless);
    link.bind();
    assert_eq!(link.client.next_timeout(), None);
}
