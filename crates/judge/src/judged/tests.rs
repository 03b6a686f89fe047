//! Tests of the comparison of named levers with the best ones.

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
        // The gain is below 2 %, and the best gain is above 5 %.
        (0.06, 0.0, 0.019, 0.0, Wrong),
        (0.04, 0.0, 0.019, 0.0, Missed),
        // The difference between the gains is below twice its error.
        (0.10, 0.03, 0.07, 0.02, Right),
        // A gain that is not significant counts as no gain.
        (0.10, 0.03, 0.0, 0.08, Wrong),
        // If nothing helps, a gain of nearly 2 % is not a mistake.
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
