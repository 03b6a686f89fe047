//! Tests with a small, fixed number of cases (transfers whose limit is known).

use super::{CaptureTally, Case, Family, JudgedCapture, View, judge_case};

fn judge_all(numbers: impl Iterator<Item = u64>) -> (Vec<JudgedCapture>, usize) {
    let (mut judged, mut broken) = (Vec::new(), 0);
    for number in numbers {
        match judge_case(number) {
            Ok(captures) => judged.extend(captures),
            Err(failure) => {
                println!("{failure}");
                broken += 1;
            }
        }
    }
    (judged, broken)
}

#[test]
fn a_case_is_its_number() {
    let (one, other) = (Case::draw(7), Case::draw(7));
    assert_eq!(one.setup, other.setup);
    assert_eq!(one.family, Family::ALL[7]);
}

/// One case of each construction. `cargo xtask soak --captures` judges many.
#[test]
fn most_captures_show_the_longest_limit_of_the_sender() {
    let (judged, broken) = judge_all(0..22);
    let tally = CaptureTally::new(&judged, broken);
    assert_eq!((judged.len(), broken), (66, 0));
    assert!(tally.right(Some(View::Sender)) >= 0.98, "{tally}");
    assert!(tally.right(None) >= 0.9, "{tally}");
}
