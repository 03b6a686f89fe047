//! Tests of questions about a running stack.
//!
//! Rule: both ends are in this process, and no privilege is needed.

use fullpipe_host::{Question, RunningStack, Runtime, UdpSocket};

use crate::{
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
