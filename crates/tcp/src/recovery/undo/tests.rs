//! Tests of `undo.rs`.

use super::*;

fn recovering() -> Undo {
    let mut undo = Undo::default();
    undo.start(SeqNum(100));
    undo.on_retransmission(2, Instant::from_millis(50));
    undo
}

#[test]
fn a_timestamp_from_before_the_retransmission_proves_it_needless() {
    assert!(recovering().is_needless(Some(Instant::from_millis(40)), false));
    assert!(!recovering().is_needless(Some(Instant::from_millis(50)), false));
}

#[test]
fn duplicates_of_everything_sent_again_prove_it_needless() {
    let mut undo = recovering();
    undo.on_dsack(SeqNum(100));
    assert!(!undo.is_needless(None, false));
    undo.on_dsack(SeqNum(50)); // from before this recovery
    assert!(!undo.is_needless(None, false));
    undo.on_dsack(SeqNum(101));
    assert!(undo.is_needless(None, false));
}
