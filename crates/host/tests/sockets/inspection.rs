//! Tests of questions about a running stack.
//!
//! Rule: both ends are in this process, and no privilege is needed.

use std::{
    io::Write as _,
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixStream},
    },
    process::Command,
    thread,
    time::{Duration, Instant},
};

use fullpipe_host::{Question, RunningStack, Runtime, UdpSocket};

use crate::{
    apart::apart,
    hosts::{at, start},
    wire::wire,
};

/// Returns the stacks of this process that can be asked. Tests run at the same time, so there may be
/// stacks of other tests.
fn own() -> Vec<RunningStack> {
    let stacks = RunningStack::list().expect("the system shows its sockets");
    let pid = std::process::id();
    stacks.into_iter().filter(|of| of.pid == pid).collect()
}

/// Starts a stack that can be asked, the only one of this process.
fn start_inspectable() -> (Runtime, RunningStack) {
    let runtime = Runtime::builder("10.0.0.1/24".parse().expect("an address"))
        .inspectable()
        .start(wire().0)
        .expect("the stack starts");
    let [stack] = own()[..] else {
        panic!("one stack can be asked: {:?}", own());
    };
    (runtime, stack)
}

/// Connects to the socket of `stack` and asks nothing.
fn silent_asker(stack: RunningStack) -> UnixStream {
    let address = SocketAddr::from_abstract_name(stack.to_string()).expect("a short name");
    UnixStream::connect_addr(&address).expect("it listens")
}

#[test]
fn askers_that_wait_do_not_delay_the_end_of_a_stack() {
    apart(
        "inspection::askers_that_wait_do_not_delay_the_end_of_a_stack",
        &[],
        || {
            let (runtime, stack) = start_inspectable();
            let askers: Vec<_> = (0..64).map(|_| silent_asker(stack)).collect();
            let before = Instant::now();
            drop(runtime);
            // An end that serves each asker before takes longer than 30 s.
            assert!(before.elapsed() < Duration::from_secs(15));
            drop(askers);
        },
    );
}

#[test]
fn an_asker_that_writes_a_byte_a_second_does_not_use_up_the_time_of_the_next() {
    apart(
        "inspection::an_asker_that_writes_a_byte_a_second_does_not_use_up_the_time_of_the_next",
        &[],
        || {
            let (_runtime, stack) = start_inspectable();
            let mut slow = silent_asker(stack);
            let writes = thread::spawn(move || {
                while slow.write_all(b"a").is_ok() {
                    thread::sleep(Duration::from_secs(1));
                }
            });
            stack.ask(Question::Routes).expect("it answers");
            writes.join().expect("the slow asker was dropped");
        },
    );
}

#[test]
fn a_stack_that_had_no_free_file_for_an_asker_answers_later() {
    apart(
        "inspection::a_stack_that_had_no_free_file_for_an_asker_answers_later",
        &[],
        || {
            let (_runtime, stack) = start_inspectable();
            let _asker = silent_asker(stack);
            // This process cannot start another one while it has no free file.
            let script = "prlimit --pid $0 --nofile=3: && sleep 3 && prlimit --pid $0 --nofile=64:";
            let pid = std::process::id().to_string();
            let limits = Command::new("sh").args(["-c", script, &pid]).status();
            assert!(limits.expect("there is a shell").success(), "{script}");
            stack.ask(Question::Routes).expect("it answers");
        },
    );
}

#[test]
fn a_stack_answers_for_its_tables_until_it_ends() {
    let (one, other) = wire();
    let peer = start(other, 2);
    let bound = UdpSocket::bind(&peer, at(2)).expect("the port is free");
    let runtime = Runtime::builder("10.0.0.1/24".parse().expect("an address"))
        .gateway("10.0.0.254".parse().expect("an address"))
        .mac(fullpipe::MacAddress([2, 0, 0, 0, 0, 9]))
        .inspectable()
        .start(one)
        .expect("the stack starts");
    let [stack] = own()[..] else {
        panic!("one stack can be asked: {:?}", own());
    };
    let addresses = stack.ask(Question::Addresses).expect("it answers");
    assert!(
        addresses.starts_with(r#"[{"interface":0,"mac":"02:00:00:00:00:09","mtu":1500,"loopback":false,"addresses":[{"address":"10.0.0.1","prefix_len":24,"state":"preferred","temporary":false}]}"#),
        "{addresses}"
    );
    let routes = stack.ask(Question::Routes).expect("it answers");
    for route in [
        r#"{"to":"10.0.0.0/24","gateway":null,"interface":0,"metric":0,"source":"10.0.0.1","origin":"address"}"#,
        r#"{"to":"0.0.0.0/0","gateway":"10.0.0.254","interface":0,"metric":0,"source":null,"origin":"added"}"#,
    ] {
        assert!(routes.contains(route), "{routes}");
    }
    assert_eq!(stack.ask(Question::Neighbours).expect("it answers"), "[]");
    let socket = UdpSocket::bind(&runtime, at(1)).expect("the port is free");
    socket.send_to(b"x", at(2)).expect("it has room");
    let mut buffer = [0; 9];
    bound.recv_from(&mut buffer).expect("it arrives");
    let neighbours = stack.ask(Question::Neighbours).expect("it answers");
    assert!(
        neighbours.contains(r#""address":"10.0.0.2""#),
        "{neighbours}"
    );
    assert!(
        neighbours.contains(r#""state":"REACHABLE""#),
        "{neighbours}"
    );
    drop(socket);
    drop(runtime);
    assert_eq!(own(), []);
    assert!(stack.ask(Question::Routes).is_err());
}
