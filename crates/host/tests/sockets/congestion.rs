//! Tests of a runtime whose congestion control is an algorithm of the program.

use fullpipe::congestion::{
    AckSample, CongestionControl, CongestionEvent, CongestionStart, RegisterError,
};
use fullpipe_host::{Runtime, StartError, TcpListener, TcpStream};

use crate::{at, start, wire};

/// Window of [`Fixed`].
const WINDOW: u32 = 12_345;

/// An algorithm whose window never changes.
struct Fixed;

impl CongestionControl for Fixed {
    fn start(&mut self, _start: &CongestionStart) {}

    fn cwnd(&self) -> u32 {
        WINDOW
    }

    fn on_ack(&mut self, _sample: &AckSample) {}
    fn on_loss(&mut self, _event: &CongestionEvent) {}
    fn on_timeout(&mut self, _event: &CongestionEvent, _first: bool) {}
    fn on_idle(&mut self, _restart_window: u32) {}
}

#[test]
fn connections_have_the_congestion_control_of_the_builder() {
    let (one, other) = wire();
    let client = Runtime::builder("10.0.0.1/24".parse().unwrap())
        .congestion("fixed", || Fixed)
        .start(one)
        .expect("the stack starts");
    let server = start(other, 2);
    let _listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    let stream = TcpStream::connect(&client, at(2)).expect("the server listens");
    assert_eq!(stream.info().expect("it is open").cwnd, WINDOW);
    let named = client.with_stack(|stack, _| stack.congestion("fixed"));
    assert!(named.is_some());
}

#[test]
fn a_congestion_control_with_the_name_of_another_is_refused() {
    let started = Runtime::builder("10.0.0.1/24".parse().unwrap())
        .congestion("cubic", || Fixed)
        .start(wire().0);
    let Err(StartError::Congestion(error)) = started else {
        panic!("{started:?}");
    };
    assert_eq!(error, RegisterError::NameTaken);
}
