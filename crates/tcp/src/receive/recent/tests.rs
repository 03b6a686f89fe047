//! Tests of the order and the merging of the ranges that changed last.

use alloc::vec::Vec;

use super::*;

fn ranges(recent: &RecentRanges) -> Vec<(u32, u32)> {
    recent
        .iter()
        .map(|range| (range.start.0, range.end.0))
        .collect()
}

fn range(start: u32, end: u32) -> Range<SeqNum> {
    SeqNum(start)..SeqNum(end)
}

#[test]
fn a_range_that_grows_takes_the_place_of_those_it_absorbs() {
    let mut recent = RecentRanges::NONE;
    for (start, end) in [(10, 20), (30, 40), (50, 60), (70, 80), (90, 100)] {
        recent.add(range(start, end));
    }
    assert_eq!(
        ranges(&recent),
        [(90, 100), (70, 80), (50, 60), (30, 40)],
        "four, the newest first"
    );
    recent.add(range(30, 60));
    assert_eq!(ranges(&recent), [(30, 60), (90, 100), (70, 80)]);
    recent.add_oldest(range(70, 80));
    assert_eq!(recent.len(), 3, "known");
    recent.add_oldest(range(10, 20));
    recent.add_oldest(range(1, 2));
    assert_eq!(
        ranges(&recent),
        [(30, 60), (90, 100), (70, 80), (10, 20)],
        "no fifth"
    );
    recent.remove(&range(70, 100));
    assert_eq!(ranges(&recent), [(30, 60), (10, 20)]);
}

#[test]
fn ranges_around_the_wrap_of_sequence_numbers_are_merged_too() {
    let mut recent = RecentRanges::NONE;
    recent.add(range(u32::MAX - 9, 0));
    recent.add(range(5, 10));
    recent.add(range(u32::MAX - 9, 10));
    assert_eq!(ranges(&recent), [(u32::MAX - 9, 10)]);
}
