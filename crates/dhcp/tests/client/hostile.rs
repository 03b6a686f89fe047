//! Tests with answers from other hosts, and with answers that no server should send.

use std::net::Ipv4Addr;

use dhcproto::v4::{DhcpOption, Message, MessageType, Opcode, OptionCode};
use fullpipe::{Duration, Rng};

use crate::server::{
    LEASE, Link, OFFERED, SERVER_IP, answer, frame_of, frame_with, granting, option, silent,
};

type Change = fn(&mut Message);

/// Changes after which a message is an answer for another client, or no answer.
const FOREIGN: [(&str, Change); 5] = [
    ("transaction id", |message| {
        let wrong = message.xid() ^ 1;
        message.set_xid(wrong);
    }),
    ("hardware address", |message| {
        message.set_chaddr(&[2, 0, 0, 0, 0, 2]);
    }),
    ("length of the hardware address", |message| {
        message.set_chaddr(&[2, 0, 0, 0, 0, 1, 0]);
    }),
    ("operation", |message| {
        message.set_opcode(Opcode::BootRequest);
    }),
    ("no type", |message| {
        message.opts_mut().remove(OptionCode::MessageType);
    }),
];

/// Changes after which no host can work with the lease.
const UNUSABLE: [(&str, Change); 9] = [
    ("lease of 0 s", |message| {
        message.opts_mut().insert(DhcpOption::AddressLeaseTime(0));
    }),
    ("no lease time", |message| {
        message.opts_mut().remove(OptionCode::AddressLeaseTime);
    }),
    ("no server", |message| {
        message.opts_mut().remove(OptionCode::ServerIdentifier);
    }),
    ("server 0.0.0.0", |message| {
        let none = DhcpOption::ServerIdentifier(Ipv4Addr::UNSPECIFIED);
        message.opts_mut().insert(none);
    }),
    ("no address", |message| {
        message.set_yiaddr(Ipv4Addr::UNSPECIFIED);
    }),
    ("multicast address", |message| {
        message.set_yiaddr(Ipv4Addr::new(224, 0, 0, 1));
    }),
    ("broadcast address", |message| {
        message.set_yiaddr(Ipv4Addr::new(10, 0, 0, 255));
    }),
    ("mask with a hole", |message| {
        let mask = DhcpOption::SubnetMask(Ipv4Addr::new(255, 0, 255, 0));
        message.opts_mut().insert(mask);
    }),
    ("mask 0.0.0.0", |message| {
        let mask = DhcpOption::SubnetMask(Ipv4Addr::UNSPECIFIED);
        message.opts_mut().insert(mask);
    }),
];

#[test]
fn foreign_and_unusable_offers_and_grants_change_nothing() {
    for (name, change) in FOREIGN.into_iter().chain(UNUSABLE) {
        let mut link = Link::new(silent);
        link.exchange();
        let mut offer = answer(link.last_message().message(), MessageType::Offer);
        change(&mut offer);
        link.client.on_frame(&frame_of(&offer), false, link.now);
        assert_eq!(link.client.counters().accepted, 0, "offer: {name}");

        let offer = answer(link.last_message().message(), MessageType::Offer);
        link.client.on_frame(&frame_of(&offer), false, link.now);
        link.exchange();
        let mut ack = answer(link.last_message().message(), MessageType::Ack);
        change(&mut ack);
        link.client.on_frame(&frame_of(&ack), false, link.now);
        assert_eq!(link.client.counters().accepted, 1, "ack: {name}");
        link.run(Duration::from_secs(3));
        assert_eq!(link.client.lease(), None, "{name}");
    }
}

#[test]
fn only_the_chosen_server_decides_and_only_about_the_offered_address() {
    let other_server: Change = |message| {
        let server = DhcpOption::ServerIdentifier(Ipv4Addr::new(10, 0, 0, 66));
        message.opts_mut().insert(server);
    };
    let other_address: Change = |message| {
        message.set_yiaddr(Ipv4Addr::new(10, 0, 0, 78));
    };
    let mut link = Link::new(silent);
    link.exchange();
    let offer = answer(link.last_message().message(), MessageType::Offer);
    link.client.on_frame(&frame_of(&offer), false, link.now);
    link.exchange();
    let request = link.last_message().message().clone();
    for kind in [MessageType::Ack, MessageType::Nak, MessageType::Offer] {
        let mut decision = answer(&request, kind);
        other_server(&mut decision);
        link.client.on_frame(&frame_of(&decision), false, link.now);
    }
    let mut ack = answer(&request, MessageType::Ack);
    other_address(&mut ack);
    link.client.on_frame(&frame_of(&ack), false, link.now);
    let counters = link.client.counters();
    assert_eq!((counters.accepted, counters.ignored), (1, 4));
}

#[test]
fn an_offer_after_the_fact_changes_nothing() {
    let mut link = Link::new(granting);
    link.bind();
    let lease = link.client.lease().cloned();
    let discover = link.sent[0].1.message().clone();
    for kind in [MessageType::Offer, MessageType::Ack, MessageType::Nak] {
        let mut late = answer(&discover, kind);
        late.set_yiaddr(Ipv4Addr::new(10, 0, 0, 99));
        link.client.on_frame(&frame_of(&late), false, link.now);
    }
    link.exchange();
    assert_eq!(link.client.lease().cloned(), lease);
    assert_eq!(link.events.len(), 1);
}

#[test]
fn a_stranger_without_the_transaction_id_cannot_take_a_lease_away() {
    let mut link = Link::new(granting);
    link.bind();
    link.server = silent;
    link.now = link
        .client
        .lease()
        .and_then(|lease| lease.renews_at)
        .expect("T1");
    link.exchange();
    let request = link.last_message().message().clone();
    let mut rng = Rng::seeded(3);
    for _ in 0..10_000 {
        let mut nak = answer(&request, MessageType::Nak);
        nak.set_xid(request.xid() ^ (1 + rng.next_u64() as u32 / 2));
        link.client.on_frame(&frame_of(&nak), false, link.now);
    }
    assert!(link.client.lease().is_some());
    assert_eq!(link.client.counters().ignored, 10_000);
}

#[test]
fn the_offer_of_another_server_is_preferred_after_a_failure() {
    fn two_servers(request: &Message) -> Vec<Message> {
        let rogue = DhcpOption::ServerIdentifier(Ipv4Addr::new(10, 0, 0, 66));
        match request.opts().msg_type() {
            Some(MessageType::Discover) => {
                let mut first = answer(request, MessageType::Offer);
                first.opts_mut().insert(rogue);
                vec![first, answer(request, MessageType::Offer)]
            }
            Some(MessageType::Request)
                if option(request, OptionCode::ServerIdentifier) == Some(&rogue) =>
            {
                Vec::new()
            }
            _ => granting(request),
        }
    }
    let mut link = Link::new(two_servers);
    link.run(Duration::from_secs(70));
    assert_eq!(
        link.client.lease().map(|lease| lease.server),
        Some(SERVER_IP)
    );
}

#[test]
fn a_truncated_or_random_message_never_panics() {
    let mut rng = Rng::seeded(1);
    let mut link = Link::new(silent);
    link.exchange();
    let offer = frame_of(&answer(link.last_message().message(), MessageType::Offer));
    let message = &offer[42..];
    // Deliver the first `len` bytes of the frame or of the message. A message of less than 240
    // bytes has no options, so the client cannot use it.
    for len in 0..message.len() {
        link.client.on_frame(&offer[..len], false, link.now);
        link.client.on_frame(&offer[..len], true, link.now);
        if len < 240 {
            link.client
                .on_frame(&frame_with(&message[..len]), false, link.now);
        }
    }
    assert_eq!(link.client.counters().accepted, 0);
    for _ in 0..20_000 {
        let mut changed = message.to_vec();
        for _ in 0..rng.between(1, 8) {
            let at = rng.below(changed.len() as u64) as usize;
            changed[at] = rng.next_u64() as u8;
        }
        changed.truncate(rng.between(200, 400) as usize);
        link.client.on_frame(&frame_with(&changed), false, link.now);
        link.exchange();
        if link.client.next_timeout().is_none() {
            break;
        }
    }
}

#[test]
fn a_wrong_checksum_is_refused_unless_the_device_verified_it() {
    let mut link = Link::new(silent);
    link.exchange();
    let mut offer = frame_of(&answer(link.last_message().message(), MessageType::Offer));
    offer[40] ^= 0xff;
    assert!(!link.client.on_frame(&offer, false, link.now));
    assert!(link.client.on_frame(&offer, true, link.now));
    assert_eq!(link.client.counters().accepted, 1);
}

#[test]
fn times_out_of_order_are_replaced_and_unusable_servers_left_out() {
    fn odd(request: &Message) -> Vec<Message> {
        let mut granted = granting(request);
        for message in &mut granted {
            let options = message.opts_mut();
            options.insert(DhcpOption::Renewal(LEASE));
            options.insert(DhcpOption::Rebinding(1));
            options.insert(DhcpOption::Router(vec![OFFERED, Ipv4Addr::BROADCAST]));
            options.insert(DhcpOption::DomainName("a b\n".into()));
            options.insert(DhcpOption::InterfaceMtu(0));
        }
        granted
    }
    let mut link = Link::new(odd);
    link.bind();
    let lease = link.client.lease().expect("a lease");
    assert_eq!(
        lease.renews_at,
        Some(lease.since + Duration::from_secs(300))
    );
    assert!(lease.routers.is_empty());
    assert_eq!((lease.mtu, &lease.domain), (None, &None));
}
