//! Tests of the limits of a connection, and of the trust in the other side.

use std::{os::unix::net::UnixListener, process, sync::mpsc, thread};

use super::*;

#[test]
fn a_connection_to_a_full_queue_ends_after_the_patience() {
    let name = format!("fullpipe-test-{}", process::id());
    let address = SocketAddr::from_abstract_name(name).expect("a short name");
    let listener = UnixListener::bind_addr(&address).expect("a free name");
    // SAFETY: the descriptor is open as long as `listener` exists.
    check(unsafe { libc::listen(listener.as_raw_fd(), 0) }).expect("a shorter queue");
    let (ended, waits) = mpsc::channel::<()>();
    let guard = thread::spawn(move || {
        // Without a limit, the connection waits until the socket is closed.
        let _ = waits.recv_timeout(Duration::from_secs(20));
        drop(listener);
    });
    let patience = Duration::from_millis(100);
    let waiting = connect(&address, patience).expect("the queue has room for one");
    let refused = connect(&address, patience).expect_err("the queue is full");
    assert_eq!(refused.kind(), io::ErrorKind::WouldBlock, "{refused}");
    drop((waiting, ended));
    guard.join().expect("it does not panic");
}

#[test]
fn only_root_and_the_same_user_are_trusted_and_root_trusts_a_process_with_its_own_name() {
    let owner = |pid, uid, asker| Owner { pid, uid, asker };
    for (of, trusted) in [
        (owner(7, 1_000, 1_000), true),
        (owner(8, 1_000, 1_000), true),
        (owner(8, 0, 1_000), true),
        (owner(7, 1_001, 1_000), false),
        (owner(7, 1_001, 0), true),
        (owner(8, 1_001, 0), false),
        (owner(8, 0, 0), true),
    ] {
        assert_eq!(of.is_trusted_with(7), trusted, "{of:?}");
    }
}
