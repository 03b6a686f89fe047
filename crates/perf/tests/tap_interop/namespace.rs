//! A test in a network namespace of its own.
//!
//! Rule: the namespace belongs to one process and ends with it, however it ends.

use std::{
    process::Command,
    sync::{Mutex, PoisonError},
};

/// Set in the process that is inside.
const INSIDE: &str = "FULLPIPE_INSIDE_NAMESPACE";
/// One at a time: they are throughput tests.
static TURN: Mutex<()> = Mutex::new(());

/// Runs `body` in a process and a namespace of its own. `test` is the calling
/// test's name, by which the process finds it again.
pub fn isolated(test: &str, body: fn()) {
    if std::env::var_os(INSIDE).is_some() {
        let up = Command::new("ip")
            .args(["link", "set", "lo", "up"])
            .status();
        assert!(up.expect("iproute2 is installed").success());
        body();
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(super::stock::is_installed(), "iperf 2 is installed");
    let allowed = Command::new("unshare")
        .args(["--net", "test", "-c", "/dev/net/tun"])
        .status();
    assert!(
        allowed.is_ok_and(|status| status.success()),
        "root may make a network namespace and use /dev/net/tun"
    );
    // Ahead of whatever else the machine does: senders here never let up.
    let status = Command::new("unshare")
        .args(["--net", "nice", "-n", "-15"])
        .arg(std::env::current_exe().expect("this program has a path"))
        .args(["--include-ignored", "--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .expect("unshare runs");
    assert!(status.success(), "{test} failed inside its namespace");
}
