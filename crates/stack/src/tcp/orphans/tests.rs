//! Tests of `orphans.rs`.

use super::*;

const fn stalled(blocks: u32) -> Option<Orphan> {
    Some(Orphan::Stalled { blocks })
}

#[test]
fn the_oldest_orphan_is_in_excess() {
    let mut orphans = Orphans::new(4, 2, 10);
    for index in [3, 1] {
        orphans.file(index, Some(Orphan::Finishing));
        assert_eq!(orphans.surplus(), None);
    }
    orphans.file(0, stalled(2));
    assert_eq!((orphans.surplus(), orphans.len()), (Some(3), 3));
    orphans.file(3, None);
    assert_eq!((orphans.surplus(), orphans.len()), (None, 2));
}

#[test]
fn memory_of_stalled_orphans_is_counted_and_the_first_exceeds_the_share() {
    let mut orphans = Orphans::new(4, 4, 10);
    orphans.file(0, Some(Orphan::Finishing));
    orphans.file(3, stalled(6));
    orphans.file(1, stalled(4));
    assert_eq!(orphans.over_share(), None);
    orphans.file(3, stalled(7));
    orphans.file(0, stalled(9));
    assert_eq!(orphans.over_share(), Some(3));
    // The peer of orphan 3 acknowledges payload again.
    orphans.file(3, Some(Orphan::Finishing));
    assert_eq!(orphans.over_share(), Some(1));
    for index in 0..4 {
        orphans.file(index, None);
    }
    assert_eq!(
        (orphans.len(), orphans.blocks, orphans.over_share()),
        (0, 0, None)
    );
}
