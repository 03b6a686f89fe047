//! Tests of listening sockets.

use super::*;
use fullpipe_tcp::TcpConfig;

fn listeners() -> ListeningSockets {
    ListeningSockets::new(4, 8, &Secret([1; 16]))
}

fn at(local: &str, backlog: u32) -> ListeningSocket {
    ListeningSocket {
        local: StoredEnd::new(local.parse().unwrap()),
        backlog,
        tuning: Tuning::from_config(&TcpConfig::default()),
        deferred: false,
        removed: false,
    }
}

#[test]
fn the_listener_at_exactly_this_address_comes_first() {
    let mut listeners = listeners();
    let any = listeners.add(at("0.0.0.0:80", 1)).unwrap();
    let one = listeners.add(at("10.0.0.1:80", 1)).unwrap();
    for (local, expected) in [
        ("10.0.0.1:80", Some(one)),
        ("10.0.0.2:80", Some(any)),
        ("10.0.0.1:81", None),
        ("[::1]:80", None),
    ] {
        assert_eq!(
            listeners.listening_at(local.parse().unwrap()),
            expected,
            "{local}"
        );
    }
    listeners.remove(one.index);
    assert_eq!(
        listeners.listening_at("10.0.0.1:80".parse().unwrap()),
        Some(any)
    );
    assert!(listeners.get(one).is_none());
}

#[test]
fn connections_wait_in_order_up_to_the_backlog() {
    let mut listeners = listeners();
    let key = listeners.add(at("0.0.0.0:80", 2)).unwrap();
    listeners.push(key.index, 5);
    assert!(listeners.has_room(key));
    listeners.push(key.index, 3);
    assert!(!listeners.has_room(key));
    listeners.forget(5);
    listeners.push(key.index, 6);
    assert_eq!(listeners.take(key.index), Some(3));
    assert_eq!(listeners.take(key.index), Some(6));
    assert_eq!(listeners.take(key.index), None);
}
