//! Tests of the segments that are merged, of those that are not, and of the times that they wait.

use fullpipe_wire::{Ecn, TcpOptions, Timestamps};

use super::*;
use crate::ids::Family;
use crate::test_frames::{self, FAMILIES};

const MODEL: Merge = Merge {
    quiet: Duration::from_micros(10),
    longest: Duration::from_micros(100),
    verifies: true,
};

/// A segment that equals its neighbours in all compared fields. A test may change some
/// fields.
struct Segment {
    family: Family,
    seq: u32,
    ack: u32,
    flags: TcpFlags,
    window: u16,
    stamp: u32,
    port: u16,
    ecn: Ecn,
    len: usize,
}

impl Segment {
    fn new(seq: u32) -> Self {
        Self {
            family: Family::V4,
            seq,
            ack: 5,
            flags: TcpFlags::ACK,
            window: 100,
            stamp: 1,
            port: 80,
            ecn: Ecn::NotEct,
            len: 1_000,
        }
    }

    fn over(family: Family, seq: u32) -> Self {
        Self {
            family,
            ..Self::new(seq)
        }
    }

    fn frame(&self) -> Vec<u8> {
        let header = TcpHeader {
            src_port: self.port,
            dst_port: 2,
            seq: self.seq,
            ack: self.ack,
            flags: self.flags,
            window: self.window,
            options: TcpOptions {
                timestamps: Some(Timestamps {
                    value: self.stamp,
                    echo: 0,
                }),
                ..TcpOptions::NONE
            },
            ..TcpHeader::default()
        };
        let payload: Vec<u8> = (0..self.len)
            .map(|place| (self.seq as usize + place) as u8)
            .collect();
        let mut frame = test_frames::segment(self.family, &header, &payload, self.ecn);
        seal(&mut frame, 0);
        frame
    }
}

/// Passes the segments to a merger, a microsecond apart, and then lets time pass. Returns
/// the number of segments in each frame that arrived.
fn merged(segments: &[Segment]) -> Vec<u16> {
    let (mut merger, mut arrived) = (Merger::new(MODEL), ReceivedFrames::new());
    for (number, segment) in segments.iter().enumerate() {
        merger.take(
            segment.frame(),
            Instant::from_micros(number as u64),
            &mut arrived,
        );
    }
    merger.interrupt(Instant::from_secs(1), &mut arrived);
    assert_eq!(merger.next_interrupt(), None);
    arrived.iter().map(|(_, meta)| meta.merged.max(1)).collect()
}

#[test]
fn segments_in_order_become_one_sound_frame() {
    for family in FAMILIES {
        let (mut merger, mut arrived) = (Merger::new(MODEL), ReceivedFrames::new());
        for seq in [u32::MAX - 999, 0, 1_000] {
            let frame = Segment::over(family, seq).frame();
            merger.take(frame, Instant::ZERO, &mut arrived);
        }
        assert!(arrived.is_empty());
        let due = merger.next_interrupt().unwrap();
        assert_eq!(due, Instant::from_micros(10));
        merger.interrupt(due, &mut arrived);
        let (frame, meta) = arrived.pop_front().unwrap();
        assert_eq!((meta.merged, meta.checksum_verified), (3, true));
        // This also checks the checksum of the IPv4 header.
        test_frames::ecn_of(&frame);
        let ip = IpPacket::parse(&frame).unwrap();
        verify_checksum(ip.payload, ip.src, ip.dst).unwrap();
        let (header, payload) = TcpHeader::parse(ip.payload).unwrap();
        assert_eq!((header.seq, payload.len()), (u32::MAX - 999, 3_000));
        let first = (u32::MAX - 999) as usize;
        let expected = (first..first + 1_000).chain(0..2_000);
        assert!(
            payload
                .iter()
                .copied()
                .eq(expected.map(|place| place as u8))
        );
    }
}

#[test]
fn only_what_could_have_been_sent_as_one_is_merged() {
    for family in FAMILIES {
        let with = |change: fn(&mut Segment)| {
            let new = |seq| Segment::over(family, seq);
            let mut second = new(1_000);
            change(&mut second);
            merged(&[new(0), second, new(2_000)])
        };
        assert_eq!(with(|_| ()), [3]);
        assert_eq!(with(|second| second.ack = 6), [1, 1, 1]);
        assert_eq!(with(|second| second.window = 9), [1, 1, 1]);
        assert_eq!(with(|second| second.stamp = 2), [1, 1, 1]);
        assert_eq!(with(|second| second.ecn = Ecn::Ce), [1, 1, 1]);
        assert_eq!(with(|second| second.seq = 1_001), [1, 1, 1]);
        assert_eq!(with(|second| second.flags |= TcpFlags::URG), [1, 1, 1]);
        // A segment with PSH and a short segment each complete the merged frame.
        assert_eq!(with(|second| second.flags |= TcpFlags::PSH), [2, 1]);
        assert_eq!(with(|second| second.len = 500), [2, 1]);
        // A second segment of another connection leaves a gap between the first and the third, so
        // none are merged.
        assert_eq!(with(|second| second.port = 81), [1, 1, 1]);
    }
    let of_both = [Family::V4, Family::V6].map(|family| Segment::over(family, 0));
    assert_eq!(merged(&of_both), [1, 1]);
}

#[test]
fn what_may_not_wait_does_not_overtake_what_was_held() {
    let mut acknowledgment = Segment::new(1_000);
    acknowledgment.len = 0;
    let (mut merger, mut arrived) = (Merger::new(MODEL), ReceivedFrames::new());
    merger.take(Segment::new(0).frame(), Instant::ZERO, &mut arrived);
    merger.take(acknowledgment.frame(), Instant::ZERO, &mut arrived);
    let lens: Vec<usize> = arrived.iter().map(|(frame, _)| frame.len()).collect();
    assert_eq!(lens, [1_066, 66]);
}

#[test]
fn damaged_segments_pass_unmerged_and_unverified() {
    let mut damaged = Segment::new(1_000).frame();
    *damaged.last_mut().unwrap() ^= 1;
    let (mut merger, mut arrived) = (Merger::new(MODEL), ReceivedFrames::new());
    merger.take(Segment::new(0).frame(), Instant::ZERO, &mut arrived);
    merger.take(damaged, Instant::ZERO, &mut arrived);
    assert_eq!(arrived.len(), 2);
    assert!(!arrived[1].1.checksum_verified);
}

#[test]
fn nothing_is_held_longer_than_the_longest_and_no_frame_grows_too_long() {
    let (mut merger, mut arrived) = (Merger::new(MODEL), ReceivedFrames::new());
    for number in 0..11 {
        let now = Instant::from_micros(u64::from(number) * 9);
        merger.take(Segment::new(number * 1_000).frame(), now, &mut arrived);
    }
    assert_eq!(merger.next_interrupt(), Some(Instant::from_micros(100)));
    for number in 11..100 {
        let now = Instant::from_micros(99);
        merger.take(Segment::new(number * 1_000).frame(), now, &mut arrived);
    }
    assert_eq!(arrived.len(), 1);
    assert!(arrived[0].0.len() <= EthernetHeader::LEN + usize::from(u16::MAX));
}
