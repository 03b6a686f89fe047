//! Tests of the work of explanations, counted in events of the simulator.

use std::{fs, ops::ControlFlow, path::Path};

use fullpipe_scenario::{
    Played, Scene,
    experiment::{Experiment, Row},
    watch::Watch,
};

use crate::{Effort, TwinFailure, explain_played, work::most};

fn rows(name: &str) -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let text = fs::read_to_string(folder.join(format!("{name}.toml"))).expect("it is shipped");
    let file = format!("{name}.toml");
    let experiment = Experiment::parse(name, &file, &text).expect("no mistake");
    experiment.rows
}

fn played(row: &Row) -> Played {
    let mut scene = Scene::new(&row.setup, 1, false, Watch::NONE);
    let played = scene.play(&|_share| ControlFlow::Continue(()));
    let played = played.expect("the stack is right");
    played.expect("nothing interrupts it")
}

#[test]
fn the_explanation_of_a_cheap_row_keeps_to_its_budget() {
    for name in ["nuttx", "linux-buffers-a"] {
        for row in rows(name) {
            let played = played(&row);
            let go_on = |_share| ControlFlow::Continue(());
            let found = explain_played(&row.setup, 1, &played, None, Effort::Usual, &go_on);
            let found = found.expect("the stack is right");
            let most = most(played.steps);
            let title = row.title();
            assert!(
                found.steps <= most,
                "{name}, {title}: {} > {most}",
                found.steps
            );
            assert!(found.steps > 0, "{name}, {title}");
        }
    }
}

#[test]
fn an_explanation_can_be_interrupted() {
    let row = &rows("nuttx")[0];
    let result =
        explain_played(
            &row.setup,
            1,
            &played(row),
            None,
            Effort::Usual,
            &|share| match share > 0.3 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            },
        );
    assert!(matches!(result, Err(TwinFailure::Interrupted)));
}
