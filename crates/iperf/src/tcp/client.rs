//! The TCP client: one connection that sends or, in a reversed test, receives.
//!
//! Rule: the time of a test begins when the connection is established, and ends when the server
//! closes its direction. A server does this when everything has arrived or, in a reversed test,
//! when it has sent everything.

use fullpipe::{ConnectOptions, Instant, Read, Stack};

use super::{Flow, Head, Sent};
use crate::{
    failure::Failure,
    header::CLIENT_LEN,
    report::{Report, TestKind},
    tally::Span,
    tester::{Event, Remaining, SILENCE, TestPlan, Tester},
};

/// A TCP client with one test.
#[derive(Debug)]
pub struct TcpClient {
    plan: TestPlan,
    state: State,
    /// The connection, while the test runs.
    flow: Option<Flow>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Unopened,
    Connecting,
    Sending(Remaining),
    /// Everything is written; the server's FIN has not arrived.
    Draining,
    Receiving,
}

/// The progress of a test.
enum Step {
    /// Nothing more to do now.
    Waits,
    /// The next state may have something to do.
    Next(State),
    Ended,
}

impl TcpClient {
    /// Returns a client that connects at the first [`poll`](Tester::poll).
    pub const fn new(plan: TestPlan) -> Self {
        Self {
            plan,
            state: State::Unopened,
            flow: None,
        }
    }

    fn kind(&self) -> TestKind {
        if self.plan.reverse {
            TestKind::TcpReceived
        } else {
            TestKind::TcpSent
        }
    }

    fn open(&mut self, stack: &mut Stack, now: Instant) -> Event {
        let remote = self.plan.remote;
        self.state = State::Connecting;
        match stack.tcp_connect(remote, None, ConnectOptions::default(), now) {
            Ok(id) => {
                self.flow = Some(Flow::new(id, remote, now));
                Event::Waits(None)
            }
            Err(error) => Event::Ended(Report {
                kind: self.kind(),
                peer: remote,
                span: Span::default(),
                at_peer: None,
                limits: None,
                failure: Some(Failure::Open(error)),
            }),
        }
    }

    /// Returns true if the server was silent for too long although it had to send data or its FIN.
    fn is_silent(&self, now: Instant) -> bool {
        let is_due = matches!(self.state, State::Draining | State::Receiving);
        is_due && self.flow.as_ref().is_some_and(|flow| flow.is_silent(now))
    }

    /// Returns the time of the next call if no frame arrives before it.
    fn wake(&self) -> Option<Instant> {
        let flow = self.flow.as_ref()?;
        match self.state {
            State::Unopened | State::Connecting => None,
            State::Sending(remaining) => remaining.end,
            State::Draining | State::Receiving => Some(flow.last_arrival + SILENCE),
        }
    }
}

/// Does what can be done in the test's present state.
fn step(
    plan: &TestPlan,
    state: &mut State,
    flow: &mut Flow,
    stack: &mut Stack,
    now: Instant,
) -> Result<Step, Failure> {
    match state {
        State::Unopened => Ok(Step::Waits),
        State::Connecting => begin(plan, flow, stack, now),
        State::Sending(remaining) => {
            match flow.send(remaining, plan.length, stack, now) {
                Ok(Sent::Blocked) => return Ok(Step::Waits),
                Ok(Sent::All) => stack.tcp_shutdown(flow.id, now),
                Err(error) => Err(error),
            }
            .map_err(Failure::Connection)?;
            flow.last_arrival = now;
            Ok(Step::Next(State::Draining))
        }
        State::Draining => ended(flow.drain(stack, now)?),
        State::Receiving => {
            let read = flow.receive(&mut Head::default(), stack, now);
            ended(read.map_err(Failure::Connection)? == Read::End)
        }
    }
}

fn ended(has_ended: bool) -> Result<Step, Failure> {
    Ok(if has_ended { Step::Ended } else { Step::Waits })
}

/// Begins the test once the connection is established: writes the header that announces the test,
/// if there is one. If the client is to send fewer bytes than a header has, it sends no header,
/// because the server would wait for a whole header.
fn begin(
    plan: &TestPlan,
    flow: &mut Flow,
    stack: &mut Stack,
    now: Instant,
) -> Result<Step, Failure> {
    let ready = stack.tcp_ready(flow.id, now).map_err(Failure::Connection)?;
    if let Some(reason) = ready.closed {
        return Err(Failure::ended(reason));
    }
    if !ready.connected {
        return Ok(Step::Waits);
    }
    *flow = Flow::new(flow.id, flow.peer, now);
    let mut remaining = Remaining::new(plan.amount, now);
    let has_room = remaining.next_length(CLIENT_LEN, now) == CLIENT_LEN;
    let has_header = plan.reverse || (plan.sends_header && has_room);
    if !has_header {
        return Ok(Step::Next(State::Sending(remaining)));
    }
    let mut head = [0; CLIENT_LEN];
    plan.header(false).write_tcp(&mut head);
    // A new connection has room for a header unless other connections use all packet memory. In
    // that case the test begins when there is room.
    let written = stack
        .tcp_write(flow.id, &head, now)
        .map_err(Failure::Connection)?;
    if written == 0 {
        return Ok(Step::Waits);
    }
    if plan.reverse {
        return Ok(Step::Next(State::Receiving));
    }
    flow.tally.moved(written);
    remaining.subtract(written);
    Ok(Step::Next(State::Sending(remaining)))
}

impl Tester for TcpClient {
    fn poll(&mut self, stack: &mut Stack, now: Instant) -> Event {
        if let State::Unopened = self.state {
            return self.open(stack, now);
        }
        while let Some(flow) = &mut self.flow {
            let failure = match step(&self.plan, &mut self.state, flow, stack, now) {
                Ok(Step::Next(state)) => {
                    self.state = state;
                    continue;
                }
                Ok(Step::Waits) if self.is_silent(now) => Some(Failure::Silence),
                Ok(Step::Waits) => break,
                Ok(Step::Ended) => None,
                Err(failure) => Some(failure),
            };
            let kind = self.kind();
            if let Some(flow) = self.flow.take() {
                return flow.end(kind, failure, stack, now);
            }
        }
        Event::Waits(self.wake())
    }
}
