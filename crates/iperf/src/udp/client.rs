//! The UDP client.
//!
//! Rule: a datagram leaves when it is due. A client that is late sends several datagrams at once,
//! as many as the stack has room for. A client that is more than a second late does not make up for
//! the delay.

use fullpipe::{Duration, Instant, InterfaceId, Stack, UdpError, UdpId};

use crate::{
    failure::Failure,
    header::{CLIENT_LEN, DATAGRAM_LEN, DatagramHeader, parse_report},
    report::{Report, TestKind},
    tally::{Span, Tally},
    tester::{Event, Remaining, TestPlan, Tester},
};

/// Bytes of the largest report.
const REPORT_MAX: usize = 256;
/// Largest number of times that the last datagram is sent.
const LAST_TRIES: u32 = 10;
/// Time to wait for the answer to the last datagram.
const LAST_WAIT: Duration = Duration::from_millis(250);
/// Longest delay that the client makes up for.
const LAG_MAX: Duration = Duration::from_secs(1);

/// A UDP client with one test.
#[derive(Debug)]
pub struct UdpClient<'a> {
    plan: TestPlan,
    socket: UdpId,
    datagram: &'a mut [u8],
    tally: Tally,
    state: State,
}

#[derive(Debug)]
enum State {
    Unstarted,
    Sending {
        started: Instant,
        remaining: Remaining,
        due: Instant,
    },
    Ending {
        started: Instant,
        ended: Instant,
        tries: u32,
        again: Instant,
    },
    Ended,
}

impl<'a> UdpClient<'a> {
    /// Returns a client that builds each datagram in the buffer `datagram`. The length of the buffer
    /// is the length of the datagrams.
    ///
    /// # Errors
    /// See [`Stack::udp_bind`].
    pub fn new(
        plan: TestPlan,
        datagram: &'a mut [u8],
        stack: &mut Stack,
    ) -> Result<Self, UdpError> {
        for (place, digit) in datagram.iter_mut().zip((b'0'..=b'9').cycle()) {
            *place = digit;
        }
        let head = datagram.get_mut(DATAGRAM_LEN..DATAGRAM_LEN + CLIENT_LEN);
        if let Some(head) = head.and_then(|place| place.try_into().ok()) {
            plan.header(true).write_udp(head);
        }
        let source = stack.routes().source(plan.remote.ip());
        let local = (
            source.unwrap_or(stack.interface(InterfaceId::FIRST).address),
            0,
        )
            .into();
        Ok(Self {
            plan,
            socket: stack.udp_bind(local)?,
            datagram,
            tally: Tally::default(),
            state: State::Unstarted,
        })
    }

    /// Sends the datagram with number `id`. Returns false if the stack's queue is full.
    fn send(&mut self, id: i64, stack: &mut Stack, now: Instant) -> Result<bool, UdpError> {
        if let Some(head) = self.datagram.first_chunk_mut() {
            let sent = now.since(Instant::ZERO).into();
            DatagramHeader { id, sent }.write(head);
        }
        stack.udp_send(self.socket, self.plan.remote, self.datagram)
    }

    fn next_id(&self) -> i64 {
        self.tally.datagrams as i64 + 1
    }

    /// Sends datagrams that are due. Returns the time of the next datagram, or `None` if only the
    /// last datagram remains.
    fn send_due(
        &mut self,
        remaining: &mut Remaining,
        due: &mut Instant,
        stack: &mut Stack,
        now: Instant,
    ) -> Result<Option<Instant>, UdpError> {
        let length = self.datagram.len();
        if *due + LAG_MAX < now {
            *due = now;
        }
        while *due <= now {
            // `step` sends the last datagram. The first datagram is never the last one.
            if self.tally.datagrams > 0 && remaining.next_length(length + 1, now) <= length {
                return Ok(None);
            }
            if !self.send(self.next_id(), stack, now)? {
                // An event of the stack reports room in the queue. Wait at most a millisecond for
                // this event.
                return Ok(Some(now + Duration::from_millis(1)));
            }
            self.tally.moved(length);
            remaining.subtract(length);
            *due += self.plan.rate.time_of(length).into();
        }
        Ok(Some(remaining.end.map_or(*due, |end| end.min(*due))))
    }

    /// Returns the server's report, if it has arrived.
    fn answer(&mut self, stack: &mut Stack) -> Result<Option<Span>, UdpError> {
        let mut buffer = [0; REPORT_MAX];
        while let Some(received) = stack.udp_receive(self.socket, &mut buffer)? {
            if received.from == self.plan.remote
                && let Some(span) = parse_report(&buffer[..received.copied])
            {
                return Ok(Some(span));
            }
        }
        Ok(None)
    }

    fn step(&mut self, stack: &mut Stack, now: Instant) -> Result<Event, UdpError> {
        loop {
            let state = core::mem::replace(&mut self.state, State::Ended);
            match state {
                State::Unstarted => {
                    self.state = State::Sending {
                        started: now,
                        remaining: Remaining::new(self.plan.amount, now),
                        due: now,
                    };
                }
                State::Sending {
                    started,
                    mut remaining,
                    mut due,
                } => match self.send_due(&mut remaining, &mut due, stack, now)? {
                    Some(wake) => {
                        self.state = State::Sending {
                            started,
                            remaining,
                            due,
                        };
                        return Ok(Event::Waits(Some(wake)));
                    }
                    None => {
                        self.tally.moved(self.datagram.len());
                        self.state = State::Ending {
                            started,
                            ended: now,
                            tries: 0,
                            again: now,
                        };
                    }
                },
                State::Ending {
                    started,
                    ended,
                    mut tries,
                    mut again,
                } => {
                    let at_peer = self.answer(stack)?;
                    let gave_up = tries == LAST_TRIES && now >= again;
                    if at_peer.is_some() || gave_up {
                        return self.end(ended.since(started), at_peer, stack);
                    }
                    if now >= again && self.send(-(self.tally.datagrams as i64), stack, now)? {
                        tries += 1;
                        again = now + LAST_WAIT;
                    }
                    self.state = State::Ending {
                        started,
                        ended,
                        tries,
                        again,
                    };
                    return Ok(Event::Waits(Some(
                        again.max(now + Duration::from_millis(1)),
                    )));
                }
                State::Ended => return Ok(Event::Waits(None)),
            }
        }
    }

    fn end(
        &mut self,
        time: Duration,
        at_peer: Option<Span>,
        stack: &mut Stack,
    ) -> Result<Event, UdpError> {
        stack.udp_close(self.socket)?;
        let failure = at_peer.is_none().then_some(Failure::Silence);
        Ok(self.report(time, at_peer, failure))
    }

    fn report(&self, time: Duration, at_peer: Option<Span>, failure: Option<Failure>) -> Event {
        Event::Ended(Report {
            kind: TestKind::UdpSent,
            peer: self.plan.remote,
            span: self.tally.whole(time.into()),
            at_peer,
            limits: None,
            failure,
        })
    }
}

impl Tester for UdpClient<'_> {
    fn poll(&mut self, stack: &mut Stack, now: Instant) -> Event {
        match self.step(stack, now) {
            Ok(event) => event,
            Err(error) => {
                self.state = State::Ended;
                // If `error` says that the socket is closed, this call fails, too.
                let _ = stack.udp_close(self.socket);
                self.report(Duration::ZERO, None, Some(Failure::Udp(error)))
            }
        }
    }
}
