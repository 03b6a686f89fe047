//! Tests of every stack in every case.

use clap::ValueEnum;

use super::Case;
use crate::stacks::{self, StackName};

#[test]
fn every_stack_runs_every_case() {
    for case in Case::value_variants() {
        for name in StackName::value_variants() {
            if name.runs(*case) {
                let mut work = stacks::start(*name, *case);
                assert!(work.run(300) >= 300.0, "{} {}", name.name(), case.name());
                assert!(work.run(300) >= 300.0, "it can be continued");
            }
        }
    }
}

#[test]
fn stacks_without_a_fixed_number_of_connections_run_many() {
    for name in StackName::value_variants() {
        if name.has_many_connections() {
            for mut work in [stacks::active(*name, 20), stacks::idle(*name, 20)] {
                assert!(work.run(300) >= 300.0, "{}", name.name());
            }
        }
    }
}
