//! The result of one test, and its text.
//!
//! Rule: the text is made without floating point and without allocation, because small processors
//! may have no floating-point unit and no allocator.

use core::{fmt, net::SocketAddr};

use fullpipe::{Duration, Info, Instant, LimitClock, ReceiveClock};

use crate::{failure::Failure, tally::Span};

/// Protocol and direction of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestKind {
    /// Bytes sent over TCP.
    TcpSent,
    /// Bytes received over TCP.
    TcpReceived,
    /// Datagrams sent.
    UdpSent,
    /// Datagrams received.
    UdpReceived,
}

/// The limit clocks of a connection (time and bytes by limit) at the end of a test.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Time and bytes by limit, as a sender.
    pub sender: LimitClock,
    /// Time and bytes by limit, as a receiver.
    pub receiver: ReceiveClock,
    /// Time at which the clocks were copied.
    pub at: Instant,
}

impl From<&Info> for Limits {
    fn from(info: &Info) -> Self {
        Self {
            sender: info.limit.clone(),
            receiver: info.receive_limit.clone(),
            at: info.at,
        }
    }
}

/// The result of one test.
#[derive(Clone, Debug)]
pub struct Report {
    /// Protocol and direction.
    pub kind: TestKind,
    /// The peer's address.
    pub peer: SocketAddr,
    /// Counts of this end.
    pub span: Span,
    /// Counts of the UDP server, as the server reported them to this client. `None` if this end is
    /// a server, if the test uses TCP, or if the server did not report.
    pub at_peer: Option<Span>,
    /// Limits of the connection; `None` for UDP.
    pub limits: Option<Limits>,
    /// The error that ended the test early.
    pub failure: Option<Failure>,
}

impl fmt::Display for TestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TcpSent => "tcp sent",
            Self::TcpReceived => "tcp received",
            Self::UdpSent => "udp sent",
            Self::UdpReceived => "udp received",
        })
    }
}

/// Prints one line for the test, one for the counts at the peer, one for the limits as a
/// sender, one for the limits as a receiver, and one for the failure. A line whose value is
/// absent is left out.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            peer,
            span,
            at_peer,
            limits,
            failure,
        } = self;
        write!(f, "{kind} {peer}: {}", Counts(span))?;
        if let Some(span) = at_peer {
            write!(f, "\nat the peer: {}", Counts(span))?;
        }
        if let Some(limits) = limits {
            write!(f, "\n{limits}")?;
        }
        if let Some(failure) = failure {
            write!(f, "\nfailed: {failure}")?;
        }
        Ok(())
    }
}

/// The counts of a span as text.
struct Counts<'a>(&'a Span);

impl fmt::Display for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span {
            start,
            end,
            bytes,
            loss,
        } = self.0;
        let micros = end.saturating_sub(*start).as_micros() as u64;
        // Bits per microsecond are megabits per second.
        let hundredths = (bytes * 800).checked_div(micros).unwrap_or_default();
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000 / 10_000);
        write!(f, "{bytes} bytes in {seconds}.{rest:02} s, ")?;
        write!(f, "{}.{:02} Mbit/s", hundredths / 100, hundredths % 100)?;
        if loss.total > 0 {
            write!(f, ", lost {} of {} datagrams", loss.lost, loss.total)?;
            write!(f, ", {} out of order", loss.out_of_order)?;
            write!(f, ", jitter {} us", loss.jitter.as_micros())?;
        }
        Ok(())
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sender = self.sender.shares(self.at);
        shares(
            f,
            "sender",
            sender.map(|(limit, time, _)| (limit.name(), time)),
        )?;
        f.write_str("\n")?;
        let receiver = self.receiver.shares(self.at);
        shares(
            f,
            "receiver",
            receiver.map(|(limit, time, _)| (limit.name(), time)),
        )
    }
}

/// Largest number of limits of one direction.
const LIMITS: usize = 32;

/// Writes the limits of `role` (sender or receiver) with their shares of the time, largest first.
/// Limits with less than 0.1 % of the time are left out.
fn shares(
    f: &mut fmt::Formatter<'_>,
    role: &str,
    times: impl Iterator<Item = (&'static str, Duration)>,
) -> fmt::Result {
    let mut rows = [("", 0); LIMITS];
    for (row, (name, time)) in rows.iter_mut().zip(times) {
        *row = (name, time.as_micros());
    }
    let total: u64 = rows.iter().map(|(_, micros)| micros).sum();
    rows.sort_unstable_by_key(|(_, micros)| core::cmp::Reverse(*micros));
    write!(f, "limits ({role}):")?;
    let mut separator = " ";
    for (name, micros) in rows {
        let thousandths = (micros * 1_000).checked_div(total).unwrap_or_default();
        if thousandths > 0 {
            write!(
                f,
                "{separator}{name} {}.{}%",
                thousandths / 10,
                thousandths % 10
            )?;
            separator = ", ";
        }
    }
    Ok(())
}
