//! Tests of the order of worlds (random networks, settings and traffic), of the files of failed
//! worlds, and of captures of kernel hosts.

#[path = "../../../../crates/host/tests/apart/mod.rs"]
mod apart;

use std::path::PathBuf;

use fullpipe_judge::captures::{KernelCase, View, judge_kernel};
use fullpipe_kernels::captured_at_both_ends;
use fullpipe_perf::Stop;
use fullpipe_sim::{Seed, WorldPlan};

use super::world_files;
use super::world_files::WorldSource;
use super::worlds::{Plan, check_build};

#[test]
fn world_files_run_before_drawn_worlds() {
    let plan = Plan {
        files: vec![PathBuf::from("a.toml"), PathBuf::from("b.toml")],
        first: 100,
        worlds: 2,
        seconds: None,
        jobs: None,
    };
    let order: Vec<String> = plan.order().map(|world| world.to_string()).collect();
    let expected = ["world a.toml", "world b.toml", "world 100", "world 101"];
    assert_eq!(order, expected);
}

#[test]
fn a_failed_world_is_kept_in_full_with_its_failure_in_the_comment() {
    let text = world_files::text(7, "host 1: a leak\nin detail");
    assert!(text.contains("# host 1: a leak\n# in detail\n"), "{text}");
    assert_eq!(WorldPlan::from_toml(&text), Ok(WorldPlan::draw(Seed(7))));
}

#[test]
fn every_world_file_of_the_repository_can_be_read_and_names_its_bug() {
    let files = world_files::all().unwrap();
    assert!(!files.is_empty());
    for file in files {
        world_files::read(&file).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            !text.contains("Name the bug here"),
            "{}: its comment names no bug",
            file.display()
        );
        assert!(WorldSource::File(file).plan().is_ok());
    }
}

#[test]
fn worlds_run_with_debug_assertions_and_overflow_checks() {
    check_build().unwrap();
}

/// Robust cases of [`KernelCase`]: a send buffer, a receive buffer, a reader that pauses, an
/// application that pauses, requests, a pacing rate, and a hop with a smaller MTU.
const KERNEL_CASES: [u64; 7] = [0, 1, 3, 12, 13, 15, 19];

#[test]
#[ignore = "needs root; `cargo xtask test` runs it"]
fn captures_of_kernel_hosts_name_the_constructed_limit() {
    let name = "soak::tests::captures_of_kernel_hosts_name_the_constructed_limit";
    apart::apart(name, &[], kernel_cases_are_right_at_the_sender);
}

fn kernel_cases_are_right_at_the_sender() {
    let stop = Stop::new();
    for number in KERNEL_CASES {
        let case = KernelCase::draw(number);
        let (measured, captured) = captured_at_both_ends(&case.setup, number, &stop).unwrap();
        let judged = judge_kernel(&case, &captured, &measured.by_socket.limits).unwrap();
        assert_eq!(judged.len(), View::ALL.len(), "case {number}");
        judged.iter().for_each(|one| println!("{one}"));
        assert!(judged[0].is_right(), "{}", judged[0]);
    }
}
