//! Tests of a thread's processor time.

use super::*;
use crate::{Experiment, RunOptions, run};

#[test]
fn rows_and_explanations_have_their_own_processor_time() {
    let text = r#"
        title = "A small receive buffer"
        hosts.near = {}
        hosts.far = { set.tcp.receive_buffer = "8K" }
        links.path = { between = ["near", "far"], rate = "10mbit", delay = "20ms" }
        workload = { from = "near", to = "far", bytes = 100000 }
        rows = [{ label = "8 KB" }]
    "#;
    let experiment = Experiment::parse("clock", "clock.toml", text).expect("no mistake");
    for (explain, is_explained) in [(false, false), (true, true)] {
        let clock = ProcessorClock::default();
        let options = RunOptions {
            explain,
            clock: Some(&clock),
            ..RunOptions::plain(1)
        };
        run(&experiment, &options).expect("the stack is right");
        let total = clock.total();
        let seen = (total.rows_s > 0.0, total.explanations_s > 0.0);
        assert_eq!(seen, (true, is_explained), "{total:?}");
    }
}
