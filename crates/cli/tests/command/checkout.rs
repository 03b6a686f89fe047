//! Tests with all experiments of a checkout.
//!
//! Rule: the test writes its own small experiments. The checkout's real experiments run in the
//! tests of `fullpipe-lab`.

use std::fs;

use serde_json::Value;

use super::{Folder, fullpipe, fullpipe_in, stdout};

#[test]
fn json_is_an_object_for_one_experiment_and_an_array_for_all() {
    let short = ["--json", "--seed", "3", "--set", "workload.duration=1s"];
    let one = fullpipe(&[&["lab", "run", "nuttx"][..], &short].concat());
    let one: Value = serde_json::from_str(&stdout(&one)).unwrap();
    assert_eq!(
        (one["experiment"].as_str(), one["seed"].as_u64()),
        (Some("nuttx"), Some(3))
    );
    // Create a checkout: its experiments replace the built-in ones.
    let checkout = Folder::new("checkout");
    fs::create_dir_all(checkout.0.join("crates/lab")).unwrap();
    fs::write(checkout.0.join("crates/lab/Cargo.toml"), "").unwrap();
    fs::create_dir(checkout.0.join("experiments")).unwrap();
    let list = stdout(&fullpipe_in(&checkout.0, &["lab"]));
    let names: Vec<_> = list
        .lines()
        .filter_map(|line| line.split(' ').next())
        // Skip indented lines: they continue the title of the experiment above them.
        .filter(|name| !name.is_empty())
        .collect();
    assert!(
        names.contains(&"nuttx") && names.contains(&"loss"),
        "{list}"
    );
    for name in &names {
        let file = checkout.0.join(format!("experiments/{name}.toml"));
        fs::write(file, SMALL).unwrap();
    }
    let all = fullpipe_in(
        &checkout.0,
        &[&["lab", "run", "--all"][..], &short].concat(),
    );
    let all: Value = serde_json::from_str(&stdout(&all)).unwrap();
    let ran = all.as_array().unwrap().iter();
    let ran: Vec<_> = ran.filter_map(|at| at["experiment"].as_str()).collect();
    assert_eq!(ran, names);
    let one = fullpipe_in(&checkout.0, &[&["lab", "run", "tso"][..], &short].concat());
    let one: Value = serde_json::from_str(&stdout(&one)).unwrap();
    assert!(all.as_array().unwrap().contains(&one));
}

const SMALL: &str = r#"
title = "One small transfer"
hosts.near = {}
hosts.far = {}
links.path = { between = ["near", "far"], rate = "1mbit", delay = "1ms" }
workload = { from = "near", to = "far", duration = "3s" }
rows = [{ label = "only" }]
"#;
