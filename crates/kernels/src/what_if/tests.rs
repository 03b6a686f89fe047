//! Tests: a number determines its case (a drawn transfer), and the summary
//! counts each case once.

use super::{AdvisedBy, Applied, Effect, Ending, Repeated, WhatIf, WhatIfCase, WhatIfTally};
use crate::plan::KernelPlan;

fn case(before_mbps: f64, predicted_mbps: f64, after_mbps: f64, by: AdvisedBy) -> WhatIf {
    WhatIf {
        number: 0,
        title: String::new(),
        before: Repeated::of(&[before_mbps]),
        limits: [None; 2],
        agrees: before_mbps < 10.0,
        ending: Ending::Applied(Applied {
            by,
            advice: String::new(),
            predicted_mbps,
            after: Repeated::of(&[after_mbps]),
        }),
    }
}

#[test]
fn every_case_is_one_that_kernel_hosts_run_in_full() {
    for number in 0..200 {
        let drawn = WhatIfCase::draw(number);
        let plan = KernelPlan::of(&drawn.setup).expect("kernel hosts run it");
        assert_eq!(plan.not_applied, [""; 0], "{number}: {}", drawn.title);
        assert_eq!(drawn.setup, WhatIfCase::draw(number).setup);
    }
}

#[test]
fn errors_of_captures_and_of_rows_are_summarised_apart() {
    let cases = [
        case(1.0, 11.0, 10.0, AdvisedBy::Capture),
        case(10.0, 12.0, 10.0, AdvisedBy::Capture),
        case(10.0, 18.0, 9.0, AdvisedBy::Row(String::new())),
    ];
    let effects = cases.each_ref().map(|case| case.effect().unwrap());
    assert_eq!(effects, [Effect::Helps, Effect::Neutral, Effect::Worse]);
    let tally = WhatIfTally::new(&cases);
    let near = |found: Option<[f64; 2]>, wanted: [f64; 2]| {
        let pairs = found.unwrap().into_iter().zip(wanted);
        pairs.map(|(a, b)| (a - b).abs()).all(|apart| apart < 1e-9)
    };
    let [captures, rows] = tally.errors();
    assert!(near(captures, [0.2, 0.2]));
    assert!(near(rows, [1.0, 1.0]));
    assert!(!tally.is_met(), "one case is worse");
    assert!(
        tally
            .to_string()
            .contains("agree on the main limit in 1 of 3 cases")
    );
}

#[test]
fn what_the_losses_of_few_runs_explain_is_neutral() {
    let mut one = case(1.0, 2.0, 1.0, AdvisedBy::Capture);
    let mut after = |runs: &[f64]| {
        one.before = Repeated::of(&[8.0, 9.0, 10.0]);
        if let Ending::Applied(applied) = &mut one.ending {
            applied.after = Repeated::of(runs);
        }
        one.effect().unwrap()
    };
    assert_eq!(after(&[7.0, 8.0, 9.0]), Effect::Neutral);
    assert_eq!(after(&[5.0, 6.0, 7.0]), Effect::Worse);
    assert_eq!(after(&[12.0, 13.0, 14.0]), Effect::Helps);
}
