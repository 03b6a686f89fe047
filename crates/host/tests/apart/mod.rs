//! Runs a test in a process of its own, with a time limit and a second try.
//!
//! Rule: only tests that run other programs or depend on real time use this file. The process
//! leads a process group. All processes that it starts are in the group and end with it, so that a
//! program that hangs cannot hang the tests. The output is shown when the test fails.
//!
//! Tests of several crates share this file with `#[path]`.

use std::{
    env, fs,
    fs::File,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Environment variable that is set in the process that runs the body.
const INSIDE: &str = "FULLPIPE_TEST_APART";
/// Longest run of one try. The tests take up to half a minute; the limit allows for a machine that
/// is ten times slower and busy, and ends programs that hang.
const LIMIT: Duration = Duration::from_secs(600);
/// Number of tries before a test fails. A second try is allowed because programs of other projects
/// sometimes fail by themselves.
const TRIES: u32 = 2;
/// Runs one test at a time: the tests share ports, and would slow each other down.
static TURN: Mutex<()> = Mutex::new(());

/// Runs `body` in a process of its own, which `wrapper` starts (`&[]` for no wrapper).
/// `test` is the calling test's name, by which the new process finds the test.
///
/// # Panics
/// Panics if each try failed or exceeded its limit.
pub fn apart(test: &str, wrapper: &[&str], body: fn()) {
    apart_within(LIMIT, test, wrapper, body);
}

/// Like [`apart`], with the time limit `limit` for each try.
pub fn apart_within(limit: Duration, test: &str, wrapper: &[&str], body: fn()) {
    if env::var_os(INSIDE).is_some() {
        return body();
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let said = env::temp_dir().join(format!("fullpipe-{test}-{}.txt", std::process::id()));
    let passed = (1..=TRIES).any(|attempt| {
        let ended = attempt_once(limit, test, wrapper, &said);
        let text = fs::read(&said).unwrap_or_default();
        println!("attempt {attempt} of {test}: {ended:?}");
        // The lines are indented, so that none is taken for a result of the outer tests.
        for line in String::from_utf8_lossy(&text).lines() {
            println!("    {line}");
        }
        // If no test has this name, no test runs. This counts as a failure.
        let ran = String::from_utf8_lossy(&text).contains("running 1 test");
        ran && ended.is_some_and(|status| status.success())
    });
    let _ = fs::remove_file(&said);
    assert!(passed, "{test} failed {TRIES} times");
}

/// Runs the test in a process. Returns the status of the process, or `None` if it was killed after
/// `limit`.
fn attempt_once(
    limit: Duration,
    test: &str,
    wrapper: &[&str],
    said: &PathBuf,
) -> Option<ExitStatus> {
    let out = File::create(said).expect("the folder for temporary files is writable");
    let program = env::current_exe().expect("this program has a path");
    let mut command = match wrapper {
        [first, more @ ..] => {
            let mut command = Command::new(first);
            command.args(more).arg(program);
            command
        }
        [] => Command::new(program),
    };
    let child = command
        .args(["--include-ignored", "--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .stdin(Stdio::null())
        .stdout(out.try_clone().expect("a file can be shared"))
        .stderr(out)
        .process_group(0)
        .spawn()
        .expect("the test's own program starts");
    wait(child, limit)
}

fn wait(mut child: Child, limit: Duration) -> Option<ExitStatus> {
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            break Some(status);
        }
        if started.elapsed() > limit {
            println!("killed after {} s", limit.as_secs());
            break None;
        }
        thread::sleep(Duration::from_millis(20));
    };
    // Kills the processes that the test left behind, too. There is no `--`, because not every
    // shell's `kill` accepts it.
    let group = child.id().to_string();
    let killed = Command::new("sh")
        .args(["-c", "kill -KILL -$0 2>/dev/null", &group])
        .status();
    let killed = killed.expect("there is a shell");
    assert!(
        status.is_some() || killed.success(),
        "process group {group} cannot be ended"
    );
    let _ = child.wait();
    status
}

/// Runs `body` in a new process with its own network namespace, which ends with the process. The
/// process has a higher priority, because senders in these tests never pause.
// Some of the tests that share this file need no namespace.
#[allow(dead_code)]
pub fn in_network_namespace(test: &str, body: fn()) {
    if env::var_os(INSIDE).is_some() {
        // A test that gives up its privileges calls this function a second time. The interface is
        // already up then, so an error of this command is ignored.
        let up = Command::new("ip")
            .args(["link", "set", "lo", "up"])
            .status();
        up.expect("iproute2 is installed");
    } else {
        let allowed = Command::new("unshare")
            .args(["--net", "test", "-c", "/dev/net/tun"])
            .status();
        assert!(
            allowed.is_ok_and(|status| status.success()),
            "root may make a network namespace and use /dev/net/tun"
        );
    }
    apart(test, &["unshare", "--net", "nice", "-n", "-15"], body);
}
