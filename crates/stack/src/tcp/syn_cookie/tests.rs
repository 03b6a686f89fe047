//! Tests of cookies.

use alloc::vec::Vec;

use fullpipe_tcp::SegmentOut;

use super::*;
use fullpipe_wire::{TcpHeader, Timestamps};

const STAMPS: Timestamps = Timestamps { value: 7, echo: 0 };

fn cookies() -> SynCookies {
    SynCookies::new(&Secret([7; 16]), 4)
}

fn tuple(port: u16) -> FourTuple {
    FourTuple::new(([10, 0, 0, 1], 80).into(), ([10, 0, 0, 2], port).into())
}

fn at(secs: u64) -> Instant {
    Instant::from_secs(secs)
}

fn syn(options: TcpOptions, flags: TcpFlags) -> Segment<'static> {
    let header = TcpHeader {
        seq: 5_000,
        flags: flags | TcpFlags::SYN,
        options,
        ..TcpHeader::default()
    };
    Segment::from_header(&header, &[], 0)
}

fn ack(seq: u32, ack: SeqNum, echo: Option<u32>) -> Segment<'static> {
    let header = TcpHeader {
        seq,
        ack: ack.0,
        flags: TcpFlags::ACK,
        options: TcpOptions {
            timestamps: echo.map(|echo| Timestamps { value: 9, echo }),
            ..TcpOptions::NONE
        },
        ..TcpHeader::default()
    };
    Segment::from_header(&header, &[], 0)
}

/// Answers `syn` at timestamp clock `clock`; returns the sequence number and the
/// timestamp of the SYN-ACK.
fn answered(
    cookies: &mut SynCookies,
    syn: &Segment<'_>,
    clock: u32,
    now: Instant,
) -> (SeqNum, Option<u32>) {
    let remembered = SynSummary::from_syn(syn, true);
    let iss = cookies.sequence(&tuple(4_000), &remembered, now);
    let stamps = remembered.options.timestamps;
    let segment = SegmentOut {
        options: TcpOptions {
            timestamps: stamps.map(|stamps| Timestamps {
                value: clock,
                echo: stamps.value,
            }),
            ..TcpOptions::NONE
        },
        ..SegmentOut::bare(iss, syn.seq + 1, TcpFlags::SYN | TcpFlags::ACK)
    };
    let answer = Answer {
        tuple: tuple(4_000),
        segment,
        station: crate::link::Station::UNSPECIFIED,
    };
    cookies.answer(answer, &remembered, now);
    let left = cookies
        .take(InterfaceId::FIRST)
        .expect("it was queued")
        .segment;
    (left.seq, left.options.timestamps.map(|stamps| stamps.value))
}

/// The options and flags of a SYN, and the options and flags that the ACK returns: MSS, window
/// scale, SACK, timestamps, ECN.
type Case = (
    &'static str,
    TcpOptions,
    TcpFlags,
    (u16, Option<u8>, bool, bool, bool),
);

fn cases() -> [Case; 7] {
    let ecn = TcpFlags::ECE | TcpFlags::CWR;
    let all = TcpOptions {
        mss: Some(1_460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some(STAMPS),
        ..TcpOptions::NONE
    };
    let steep = TcpOptions {
        window_scale: Some(200),
        ..all
    };
    let unscaled = TcpOptions {
        window_scale: None,
        ..all
    };
    let unstamped = TcpOptions {
        timestamps: None,
        ..all
    };
    let odd = TcpOptions {
        mss: Some(1_452),
        ..TcpOptions::NONE
    };
    let none = TcpOptions::NONE;
    let (seven, steepest) = (Some(7), Some(14));
    [
        ("everything", all, ecn, (1_460, seven, true, true, true)),
        (
            "no ECN",
            all,
            TcpFlags::NONE,
            (1_460, seven, true, true, false),
        ),
        ("steep", steep, ecn, (1_460, steepest, true, true, true)),
        ("no scale", unscaled, ecn, (1_460, None, true, true, true)),
        (
            "no timestamps",
            unstamped,
            ecn,
            (1_460, None, false, false, false),
        ),
        ("an odd size", odd, ecn, (1_440, None, false, false, false)),
        ("no size", none, ecn, (536, None, false, false, false)),
    ]
}

#[test]
fn the_ack_returns_the_contents_of_the_syn() {
    for (name, options, flags, expected) in cases() {
        for clock in [0, 1, 62, 63, 64, 0x1234_5678, u32::MAX] {
            let mut cookies = cookies();
            let (iss, stamp) = answered(&mut cookies, &syn(options, flags), clock, at(1_000));
            let behind = stamp.map_or(0, |stamp| clock.wrapping_sub(stamp));
            assert!(behind < 64, "{name}: {clock} became {stamp:?}");
            let back = cookies
                .verify(&tuple(4_000), &ack(5_001, iss + 1, stamp), at(1_000))
                .expect("a sound cookie");
            let got = (
                back.options.mss.expect("always named"),
                back.options.window_scale,
                back.options.sack_permitted,
                back.options.timestamps.is_some(),
                back.flags.contains(ECN_SETUP),
            );
            assert_eq!(got, expected, "{name}");
            assert_eq!(back.irs, SeqNum(5_000), "{name}");
        }
    }
}

#[test]
fn a_cookie_is_valid_for_its_tuple_numbers_and_time_only() {
    let mut cookies = cookies();
    let options = TcpOptions {
        mss: Some(1_460),
        ..TcpOptions::NONE
    };
    assert!(!cookies.may_return(at(0)), "none was made");
    // A period begins at 64 s.
    let (iss, _) = answered(&mut cookies, &syn(options, TcpFlags::NONE), 0, at(64));
    for (name, port, seq, off, now, sound) in [
        ("at once", 4_000, 5_001, 1, 64, true),
        ("a keepalive's number", 4_000, 5_000, 1, 64, true),
        ("after a period", 4_000, 5_001, 1, 191, true),
        ("after two", 4_000, 5_001, 1, 192, false),
        ("before it was made", 4_000, 5_001, 1, 0, false),
        ("another port", 4_001, 5_001, 1, 64, false),
        ("another number", 4_000, 5_002, 1, 64, false),
        ("no size that there is", 4_000, 5_001, 9, 64, false),
    ] {
        let guess = ack(seq, iss + off, None);
        let proven = cookies.verify(&tuple(port), &guess, at(now)).is_some();
        assert_eq!(proven, sound, "{name}");
    }
    assert!(cookies.may_return(at(191)) && !cookies.may_return(at(192)));
    let other = SynCookies::new(&Secret([8; 16]), 4);
    assert!(
        other
            .verify(&tuple(4_000), &ack(5_001, iss + 1, None), at(64))
            .is_none()
    );
}

/// A peer may choose its MSS in two ways: in the SYN, or by the number that it acknowledges.
#[test]
fn eight_numbers_are_valid_cookies_for_one_syn_each_for_another_mss() {
    let mut cookies = cookies();
    let options = TcpOptions {
        mss: Some(1_460),
        ..TcpOptions::NONE
    };
    let (iss, _) = answered(&mut cookies, &syn(options, TcpFlags::NONE), 0, at(64));
    let mut sizes = Vec::new();
    for size in 0..8 {
        let number = iss + (size << SIZE_SHIFT) + 1;
        let verify = |number| cookies.verify(&tuple(4_000), &ack(5_001, number, None), at(64));
        let near = (1..32).flat_map(|off| [number - off, number + off]);
        assert_eq!(near.filter(|near| verify(*near).is_some()).count(), 0);
        sizes.extend(verify(number).and_then(|back| back.options.mss));
    }
    sizes.sort_unstable();
    assert_eq!(sizes, SIZES);
}

/// An old ACK of bytes that an ended connection sent after its cookie opens no new connection.
#[test]
fn an_ack_of_bytes_after_the_cookie_is_no_cookie() {
    for mss in SIZES {
        let mut cookies = cookies();
        let options = TcpOptions {
            mss: Some(mss),
            ..TcpOptions::NONE
        };
        let (iss, _) = answered(&mut cookies, &syn(options, TcpFlags::NONE), 0, at(64));
        let is_valid = |sent: u32| {
            let old = ack(5_001, iss + 1 + sent, None);
            cookies.verify(&tuple(4_000), &old, at(64)).is_some()
        };
        assert!(is_valid(0));
        assert_eq!((1..100_000).find(|sent| is_valid(*sent)), None, "{mss}");
    }
}

#[test]
fn a_million_guesses_find_no_valid_cookie() {
    let mut cookies = cookies();
    answered(
        &mut cookies,
        &syn(TcpOptions::NONE, TcpFlags::NONE),
        0,
        at(64),
    );
    let mut rng = fullpipe_pool::Rng::seeded(1);
    let lucky = (0..1_000_000).filter(|_| {
        let guess = ack(5_001, SeqNum(rng.below(1 << 32) as u32), None);
        cookies.verify(&tuple(4_000), &guess, at(64)).is_some()
    });
    assert_eq!(lucky.count(), 0);
}

#[test]
fn every_mss_is_rounded_down_to_one_that_a_cookie_encodes() {
    for (offered, encoded) in [(0, 0), (20, 0), (255, 0), (256, 256), (1_459, 1_440)] {
        let options = TcpOptions {
            mss: Some(offered),
            ..TcpOptions::NONE
        };
        let summary = SynSummary::from_syn(&syn(options, TcpFlags::NONE), true);
        assert_eq!(summary.options.mss, Some(encoded), "{offered}");
    }
}
