//! Tests of look-ups in ranges of sequence space.

use super::Ranges;

#[test]
fn ranges_join_where_they_touch() {
    let mut ranges = Ranges::default();
    for (start, end) in [(10, 20), (30, 40), (50, 60), (20, 30), (0, 5), (38, 55)] {
        ranges.add(start, end);
    }
    assert_eq!(ranges.0, [(0, 5), (10, 60)]);
    for (start, end, is_in) in [
        (10, 60, true),
        (0, 5, true),
        (4, 10, false),
        (59, 61, false),
    ] {
        assert_eq!(ranges.has(start, end), is_in, "{start}..{end}");
    }
    assert_eq!((ranges.bytes(), ranges.count()), (55, 2));
    ranges.remove_before(15);
    assert_eq!(ranges.0, [(15, 60)]);
}
