//! Privileges of the program after `--user`.
//!
//! Rule: the kernel's files about each thread say which privileges are left.

use std::fs;

use crate::{
    apart::in_network_namespace,
    ground::{Forwarder, add_targets},
};

/// Returns the words after `name` in a file `status` of /proc.
fn field<'a>(status: &'a str, name: &str) -> Vec<&'a str> {
    let mut lines = status.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(first, _)| *first == name);
    let (_, words) = found.unwrap_or_else(|| panic!("{name} is not in {status}"));
    words.split_whitespace().collect()
}

/// User and group of nobody in Debian.
const NOBODY: &str = "65534";

#[test]
#[ignore = "needs root and a TUN device: cargo xtask test"]
fn no_thread_has_privileges_after_the_user_is_changed() {
    in_network_namespace(
        "privileges::no_thread_has_privileges_after_the_user_is_changed",
        || {
            add_targets();
            let forwarder = Forwarder::start("--user nobody --prometheus 127.0.0.1:9100");
            let threads = format!("/proc/{}/task", forwarder.0.id());
            let threads: Vec<_> = fs::read_dir(threads)
                .expect("it runs")
                .map(|thread| thread.expect("an entry").path().join("status"))
                .collect();
            // The first thread, the one of the metrics, and the forwarder.
            assert!(threads.len() >= 3, "{threads:?}");
            for thread in threads {
                let status = fs::read_to_string(thread).expect("it runs");
                let name = field(&status, "Name").join(" ");
                for ids in ["Uid", "Gid"] {
                    assert_eq!(field(&status, ids), [NOBODY; 4], "{name}: {ids}");
                }
                assert!(field(&status, "Groups").is_empty(), "{name}: groups");
                for set in ["CapEff", "CapPrm", "CapAmb"] {
                    assert_eq!(field(&status, set), ["0000000000000000"], "{name}: {set}");
                }
                assert_eq!(field(&status, "NoNewPrivs"), ["1"], "{name}");
            }
        },
    );
}
