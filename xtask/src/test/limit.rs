//! A time limit for a process and everything that it started.
//!
//! The one rule: only the process and its descendants are killed, each by its process id.
//!
//! Descendants are found in /proc; on systems without /proc, only the process itself is killed.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Watches a process until this value is dropped.
pub struct Limit {
    over: Arc<AtomicBool>,
    /// Ends the watching thread when dropped.
    _ended: mpsc::Sender<()>,
}

impl Limit {
    /// Kills process `id` and its descendants after `limit`.
    pub fn start(id: u32, limit: Duration) -> Limit {
        let over = Arc::new(AtomicBool::new(false));
        let (ended, wait) = mpsc::channel();
        let seen = Arc::clone(&over);
        thread::spawn(move || {
            if wait.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                seen.store(true, Ordering::Release);
                kill_tree(id);
            }
        });
        Limit {
            over,
            _ended: ended,
        }
    }

    /// Returns true if the process was killed at its limit.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }
}

fn kill_tree(root: u32) {
    for id in tree(root, &parents()) {
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // Ignore an error: the process may have ended in the meantime.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Returns the parent of each process.
fn parents() -> BTreeMap<u32, u32> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    folders
        .filter_map(|folder| {
            let id = folder.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(folder.path().join("stat")).ok()?;
            Some((id, parent(&stat)?))
        })
        .collect()
}

/// Returns the parent from the text of a file `/proc/PID/stat`. The process name, which precedes
/// the parent, is in parentheses and may contain parentheses itself.
pub fn parent(stat: &str) -> Option<u32> {
    let (_, after) = stat.rsplit_once(')')?;
    after.split_whitespace().nth(1)?.parse().ok()
}

/// Returns `root` and its descendants, parents first.
pub fn tree(root: u32, parents: &BTreeMap<u32, u32>) -> Vec<u32> {
    let mut found = vec![root];
    let mut at = 0;
    while at < found.len() {
        let children = parents
            .iter()
            .filter(|(_, parent)| **parent == found[at])
            .map(|(id, _)| *id);
        found.extend(children.collect::<Vec<_>>());
        at += 1;
    }
    found
}
