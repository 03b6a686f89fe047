//! Tests of the comparison of named levers (things to change) with the best levers.

use super::*;

fn best(gain: f64, error: f64) -> Best {
    Best {
        levers: if gain > 0.0 {
            vec!["a.b".into()]
        } else {
            Vec::new()
        },
        changes: Vec::new(),
        gain,
        error,
        is_of_host: true,
        family: NOTHING.into(),
        missing: Vec::new(),
    }
}

#[test]
fn named_levers_are_right_missed_or_wrong_by_their_share_of_the_best_gain() {
    use Verdict::{Missed, Right, Wrong};
    for (best_gain, best_error, named_gain, named_error, expected) in [
        (1.0, 0.0, 0.8, 0.0, Right),
        (1.0, 0.0, 0.79, 0.0, Missed),
        (1.0, 0.0, 0.2, 0.0, Missed),
        (1.0, 0.0, 0.19, 0.0, Wrong),
        // A named gain below 2 % is wrong only if the best gain is above 5 %.
        (0.06, 0.0, 0.019, 0.0, Wrong),
        (0.04, 0.0, 0.019, 0.0, Missed),
        // Right, because the gains differ by less than twice the error of the difference.
        (0.10, 0.03, 0.07, 0.02, Right),
        // Wrong although the gains differ by less than twice the error: the named gain
        // itself is not significant.
        (0.10, 0.03, 0.0, 0.08, Wrong),
        // No lever helps. A named lever is right only if its gain is at least 1 %.
        (0.0, 0.0, 0.012, 0.0, Right),
        (0.0, 0.0, 0.0, 0.0, Missed),
    ] {
        let answer = Answer {
            levers: vec!["a.c".into()],
            ..Answer::default()
        };
        let named = Gain {
            share: named_gain,
            error: named_error,
        };
        let found = verdict(&best(best_gain, best_error), &answer, named);
        assert_eq!(found, expected, "best {best_gain}, named {named_gain}");
    }
    assert_eq!(
        verdict(&best(0.0, 0.0), &Answer::default(), Gain::NONE),
        Right
    );
    assert_eq!(
        verdict(&best(0.03, 0.0), &Answer::default(), Gain::NONE),
        Wrong
    );
}
