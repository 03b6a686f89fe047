//! The UDP server.
//!
//! Rule: the counts of an ended test are kept for three seconds, because the client repeats its
//! last datagram until an answer arrives, and late datagrams must not begin a new test.

use core::net::SocketAddr;

use fullpipe::{Duration, Instant, Stack, UdpError, UdpId};

use crate::{
    failure::Failure,
    header::{CLIENT_LEN, DATAGRAM_LEN, DatagramHeader, report_bytes},
    report::{Report, TestKind},
    tally::Tally,
    tester::{Event, SILENCE, Tester},
};

/// Clients that are served at a time.
const CLIENTS: usize = 4;
/// Time for which the counts of an ended test are kept.
const FORGET_AFTER: Duration = Duration::from_secs(3);

/// A UDP server.
#[derive(Debug)]
pub struct UdpServer {
    socket: UdpId,
    tests: [Option<Test>; CLIENTS],
}

#[derive(Debug)]
struct Test {
    peer: SocketAddr,
    started: Instant,
    last_arrival: Instant,
    tally: Tally,
    has_ended: bool,
}

impl Test {
    fn report(&self, failure: Option<Failure>) -> Report {
        let time = self.last_arrival.since(self.started);
        Report {
            kind: TestKind::UdpReceived,
            peer: self.peer,
            span: self.tally.whole(time.into()),
            at_peer: None,
            limits: None,
            failure,
        }
    }

    /// Counts a datagram of `len` bytes that begins with `head`. Returns true for the last one.
    fn count(&mut self, head: &[u8], len: usize, now: Instant) -> bool {
        self.last_arrival = now;
        let Some(header) = DatagramHeader::parse(head) else {
            self.tally.moved(len);
            return false;
        };
        // The clocks are not synchronised, but jitter needs only the changes of this difference.
        let transit_s = now.as_secs_f64() - header.sent.as_secs_f64();
        let id = header.id.saturating_abs();
        self.tally.received(id, len, Some(transit_s));
        header.id < 0
    }

    /// Returns the time at which a running test ends, or an ended test is forgotten, if nothing
    /// arrives before.
    fn wake(&self) -> Instant {
        self.last_arrival
            + if self.has_ended {
                FORGET_AFTER
            } else {
                SILENCE
            }
    }
}

impl UdpServer {
    /// Returns a server on `local`.
    ///
    /// # Errors
    /// See [`Stack::udp_bind`].
    pub fn new(local: SocketAddr, stack: &mut Stack) -> Result<Self, UdpError> {
        Ok(Self {
            socket: stack.udp_bind(local)?,
            tests: [const { None }; CLIENTS],
        })
    }

    /// Returns the test of `peer`. If `peer` has none, begins one; returns `None` instead if the
    /// datagram is a last one (`is_last`) or the server has no place for another test.
    fn test(&mut self, peer: SocketAddr, is_last: bool, now: Instant) -> Option<&mut Test> {
        let known = |test: &Option<Test>| test.as_ref().is_some_and(|test| test.peer == peer);
        let place = match self.tests.iter().position(known) {
            Some(place) => place,
            // A last datagram of an unknown test belongs to a test that was forgotten.
            None if is_last => return None,
            None => self.tests.iter().position(Option::is_none)?,
        };
        Some(self.tests[place].get_or_insert(Test {
            peer,
            started: now,
            last_arrival: now,
            tally: Tally::default(),
            has_ended: false,
        }))
    }

    /// Handles the next datagram. Returns `None` if there is none.
    fn receive(
        &mut self,
        stack: &mut Stack,
        now: Instant,
    ) -> Result<Option<Option<Report>>, UdpError> {
        let mut head = [0; DATAGRAM_LEN + CLIENT_LEN];
        let Some(received) = stack.udp_receive(self.socket, &mut head)? else {
            return Ok(None);
        };
        let head = &head[..received.copied];
        let is_last = DatagramHeader::parse(head).is_some_and(|header| header.id < 0);
        let socket = self.socket;
        let Some(test) = self.test(received.from, is_last, now) else {
            return Ok(Some(None));
        };
        let ends = !test.has_ended && test.count(head, received.len, now);
        test.has_ended |= ends;
        if is_last {
            let report = report_bytes(&test.report(None).span);
            // If this answer is lost, the client repeats its last datagram and gets another answer.
            stack.udp_send(socket, received.from, &report)?;
        }
        Ok(Some(ends.then(|| test.report(None))))
    }
}

impl Tester for UdpServer {
    fn poll(&mut self, stack: &mut Stack, now: Instant) -> Event {
        // `receive` fails only for a closed socket, and only this server can close it.
        while let Ok(Some(ended)) = self.receive(stack, now) {
            if let Some(report) = ended {
                return Event::Ended(report);
            }
        }
        for slot in &mut self.tests {
            if let Some(test) = slot.take_if(|test| now >= test.wake())
                && !test.has_ended
            {
                return Event::Ended(test.report(Some(Failure::Silence)));
            }
        }
        Event::Waits(self.tests.iter().flatten().map(Test::wake).min())
    }
}
