//! Tests of handshakes in progress.

use super::*;
use fullpipe_pool::{Pool, PoolConfig};
use fullpipe_tcp::{ActiveOpen, SeqNum, Tuning};
use fullpipe_wire::TcpHeader;

fn segment(flags: TcpFlags, seq: u32, ack: u32) -> Segment<'static> {
    let header = TcpHeader {
        seq,
        ack,
        flags,
        window: 1_000,
        ..TcpHeader::default()
    };
    Segment::from_header(&header, &[], 0)
}

/// The state for a SYN with sequence number 100; the SYN-ACK has sequence number 900.
fn handshake(config: &TcpConfig) -> Handshake {
    let pool = Pool::new(&PoolConfig::default());
    let open = ActiveOpen {
        iss: SeqNum(900),
        mss_limit: 1_460,
        timestamp_offset: 0,
        tuning: Tuning::from_config(config),
    };
    let syn = segment(TcpFlags::SYN, 100, 0);
    Handshake {
        tuple: FourTuple::new(([10, 0, 0, 1], 80).into(), ([10, 0, 0, 2], 4_000).into()),
        half_open: HalfOpen::from_syn(&syn, open, config, &pool, u32::MAX),
        station: crate::link::Station::UNSPECIFIED,
        listener: Key {
            index: 0,
            generation: 0,
        },
        hash: 0,
        timeouts: 0,
        decision: Decision::Accept,
    }
}

/// Returns a cache in which an address may have two handshakes.
fn cache(most: u32, most_set_aside: u32) -> SynCache {
    let secret = crate::secret::Secret([3; 16]);
    SynCache::new(most, 1, most_set_aside, SourceCounts::new(most, 2, secret))
}

#[test]
fn a_segment_completes_repeats_or_ends_a_handshake() {
    let handshake = handshake(&TcpConfig::default());
    let (ack, rst, syn) = (TcpFlags::ACK, TcpFlags::RST, TcpFlags::SYN);
    for (name, segment, expected) in [
        (
            "the last ACK",
            segment(ack, 101, 901),
            HandshakeAction::Complete,
        ),
        (
            "payload first",
            segment(ack, 201, 901),
            HandshakeAction::Complete,
        ),
        (
            "with FIN",
            segment(ack | TcpFlags::FIN, 101, 901),
            HandshakeAction::Complete,
        ),
        (
            "SYN again",
            segment(syn, 100, 0),
            HandshakeAction::RepeatSynAck,
        ),
        (
            "another SYN",
            segment(syn, 77_000, 0),
            HandshakeAction::RepeatSynAck,
        ),
        (
            "outside the window",
            segment(ack, 99, 901),
            HandshakeAction::RepeatSynAck,
        ),
        (
            "ACK of nothing",
            segment(ack, 101, 900),
            HandshakeAction::Reset,
        ),
        (
            "ACK of too much",
            segment(ack, 101, 902),
            HandshakeAction::Reset,
        ),
        (
            "no ACK",
            segment(TcpFlags::NONE, 101, 0),
            HandshakeAction::Discard,
        ),
        (
            "the exact reset",
            segment(rst, 101, 0),
            HandshakeAction::Abort,
        ),
        (
            "a guessed reset",
            segment(rst, 102, 0),
            HandshakeAction::Challenge,
        ),
    ] {
        assert_eq!(handshake.action_for(&segment), expected, "{name}");
    }
}

#[test]
fn a_syn_ack_without_an_answer_is_retransmitted_for_three_minutes_at_least() {
    let config = TcpConfig::default();
    let mut pool = Pool::new(&PoolConfig::default());
    let mut cache = cache(1, 1_000);
    let index = cache.add(handshake(&config), &mut pool).unwrap();
    let mut now = Instant::ZERO;
    let mut asked = 0;
    loop {
        assert_eq!(cache.first_due(InterfaceId::FIRST), Some(index));
        cache.answered(index);
        asked += 1;
        now = cache.deadline(index, &config, now);
        if !cache.on_timeout(index, &config) {
            break;
        }
    }
    assert_eq!(asked, config.synack_retries + 1);
    assert!(now >= Instant::from_secs(180), "given up at {now:?}");
}

#[test]
fn a_full_cache_takes_nothing() {
    let config = TcpConfig::default();
    let mut pool = Pool::new(&PoolConfig::default());
    let mut cache = cache(1, 1_000);
    cache.add(handshake(&config), &mut pool).unwrap();
    assert!(cache.is_full_for([10, 9, 9, 9].into()));
    assert!(cache.add(handshake(&config), &mut pool).is_none());
    cache.remove(0, &mut pool);
    assert_eq!(
        (cache.len(), cache.first_due(InterfaceId::FIRST)),
        (0, None)
    );
}

#[test]
fn an_entry_is_small() {
    let size = size_of::<Handshake>();
    assert!(size <= 112, "{size} bytes");
}

#[test]
fn a_handshake_whose_peer_answers_never_times_out() {
    let config = TcpConfig::default();
    let mut pool = Pool::new(&PoolConfig::default());
    let mut cache = cache(1, 1_000);
    let index = cache.add(handshake(&config), &mut pool).unwrap();
    for _ in 0..100 {
        cache.answered(index);
        assert!(cache.on_timeout(index, &config));
        cache.keep_waiting(index);
        let wait = cache.deadline(index, &config, Instant::ZERO);
        assert!(wait <= Instant::from_secs(8), "{wait:?}");
    }
}

#[test]
fn windows_of_handshakes_reserve_a_share_of_memory_and_no_more() {
    let config = TcpConfig::default();
    let mut pool = Pool::new(&PoolConfig::default());
    let mut cache = cache(100, 20);
    let mut begun = 0;
    while cache.add(handshake(&config), &mut pool).is_some() {
        begun += 1;
    }
    let each = handshake(&config).half_open.blocks(&pool);
    assert_eq!(begun, 20 / each);
    assert_eq!(pool.promised(), begun * each);
    for index in 0..begun {
        cache.remove(index, &mut pool);
    }
    assert_eq!(pool.promised(), 0);
}

#[test]
fn one_address_cannot_take_every_entry() {
    let config = TcpConfig::default();
    let mut pool = Pool::new(&PoolConfig::default());
    let mut cache = cache(8, 1_000);
    for (last, fits) in [(2, true), (2, true), (2, false), (3, true)] {
        let mut next = handshake(&config);
        let remote = ([10, 0, 0, last], next.tuple.remote().port());
        next.tuple = FourTuple::new(next.tuple.local(), remote.into());
        assert_eq!(cache.add(next, &mut pool).is_some(), fits);
    }
    cache.remove(0, &mut pool);
    assert!(!cache.is_full_for([10, 0, 0, 2].into()));
    (1..3).for_each(|index| _ = cache.remove(index, &mut pool));
    pool.verify();
}
