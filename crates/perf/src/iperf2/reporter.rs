//! The thread that prints a test's results.
//!
//! Rule: only this thread prints while a test runs; the threads that send and receive
//! notify it with [`ReportEvent`]s. Intervals are counted from each stream's own start.
//! The sum of a group of streams is printed once every live stream of the group has
//! reported its interval. `text` formats the lines.

use std::{
    collections::HashSet,
    io::{self, Write},
    net::IpAddr,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use super::{
    tally::{Span, Tally},
    text::{self, Label},
    traffic::{Flow, StreamKind},
};
use crate::sockets::{LimitTime, Stream};

/// The output of a test.
pub struct Screen<'a> {
    /// Results.
    pub out: &'a mut (dyn Write + Send),
    /// Errors and warnings.
    pub err: &'a mut (dyn Write + Send),
}

impl Screen<'_> {
    /// Prints `lines` between two horizontal lines.
    pub fn print_banner(&mut self, lines: &[String]) -> io::Result<()> {
        writeln!(self.out, "{}", text::RULE)?;
        for line in lines {
            writeln!(self.out, "{line}")?;
        }
        writeln!(self.out, "{}", text::RULE)?;
        self.out.flush()
    }
}

/// The limits of a stream, as reported by its stack.
#[derive(Clone, Debug)]
pub enum ReportedLimits {
    /// The socket is not a TCP socket and has no limits.
    None,
    /// The stack does not report limits.
    Unknown,
    /// The role, `sender` or `receiver`, and the time of each limit.
    Times(&'static str, Vec<LimitTime>),
}

impl ReportedLimits {
    /// Reads the limits of `stream` as a receiver or as a sender.
    pub fn of(stream: &impl Stream, received: bool) -> Self {
        match stream.limits() {
            None => Self::Unknown,
            Some(limits) if received => Self::Times("receiver", limits.receiver),
            Some(limits) => Self::Times("sender", limits.sender),
        }
    }
}

/// A message to the reporter from a thread that sends or receives.
pub enum ReportEvent {
    /// A complete line to print.
    Line(String),
    /// An error message to print.
    Error(String),
    /// A stream has started. Streams with the same peer address form a group.
    Started(Arc<Flow>, IpAddr),
    /// The stream with this number has ended, this long after its start.
    Ended(u32, Duration, ReportedLimits),
    /// The server's report of a stream, or the number of tries without an answer.
    Report(u32, Result<Span, u32>),
}

/// Result of one stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamResult {
    /// The stream's number.
    pub id: u32,
    /// Bytes and losses that this side counted.
    pub span: Span,
    /// Datagrams sent, the last one included; 0 for TCP.
    pub datagrams_sent: u64,
    /// The server's report of a UDP stream.
    pub server_report: Option<Span>,
}

/// Results of a test's streams, in the order in which they ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Result of each stream.
    pub streams: Vec<StreamResult>,
    /// Number of errors and warnings printed.
    pub errors: usize,
}

struct LiveStream {
    flow: Arc<Flow>,
    group: IpAddr,
    reported: Tally,
    reported_at: Duration,
}

struct Group {
    key: IpAddr,
    streams: usize,
    interval: Span,
    interval_reports: HashSet<u32>,
    whole: Option<Span>,
    kind: StreamKind,
    datagrams_sent: u64,
    limits: Vec<LimitTime>,
    limits_role: Option<&'static str>,
    limits_unknown: bool,
}

/// Prints the results of a test.
pub struct Reporter<'a, 'b> {
    screen: &'a mut Screen<'b>,
    interval: Option<Duration>,
    live: Vec<LiveStream>,
    groups: Vec<Group>,
    headings: HashSet<&'static str>,
    summary: Summary,
}

fn label(flow: &Flow) -> Label {
    Label::Stream {
        id: flow.id,
        reverse: flow.starred,
    }
}

/// Shortest remainder of an interval that gets its own line, as a share of the
/// interval.
const REMAINDER: f64 = 0.05;

impl<'a, 'b> Reporter<'a, 'b> {
    /// Returns a reporter that prints every `interval`; without an interval, only at
    /// the end.
    pub fn new(screen: &'a mut Screen<'b>, interval: Option<Duration>) -> Self {
        Self {
            screen,
            interval,
            live: Vec::new(),
            groups: Vec::new(),
            headings: HashSet::new(),
            summary: Summary::default(),
        }
    }

    /// Prints until all senders of `events` are dropped.
    ///
    /// # Errors
    /// Fails if a line cannot be written.
    pub fn run(mut self, events: &mpsc::Receiver<ReportEvent>) -> io::Result<Summary> {
        loop {
            let wait = self
                .next_boundary()
                .map(|at| at.saturating_duration_since(Instant::now()));
            let event = match wait {
                Some(wait) => events.recv_timeout(wait),
                None => events
                    .recv()
                    .map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            };
            match event {
                Ok(event) => self.on_event(event)?,
                Err(mpsc::RecvTimeoutError::Timeout) => self.on_boundary()?,
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(self.summary),
            }
            self.screen.out.flush()?;
        }
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.screen.out, "{line}")
    }

    fn heading(&mut self, kind: StreamKind) -> io::Result<()> {
        let heading = match kind {
            StreamKind::Bytes | StreamKind::DatagramsSent => text::HEADING,
            StreamKind::DatagramsReceived => text::HEADING_LOSS,
        };
        if self.headings.insert(heading) {
            self.line(heading)
        } else {
            Ok(())
        }
    }

    fn on_event(&mut self, event: ReportEvent) -> io::Result<()> {
        match event {
            ReportEvent::Line(line) => self.line(&line),
            ReportEvent::Error(line) => {
                self.summary.errors += 1;
                writeln!(self.screen.err, "{line}")
            }
            ReportEvent::Started(flow, group) => {
                self.on_started(flow, group);
                Ok(())
            }
            ReportEvent::Ended(id, end, limits) => self.on_ended(id, end, limits),
            ReportEvent::Report(id, report) => self.on_report(id, report),
        }
    }

    fn on_started(&mut self, flow: Arc<Flow>, key: IpAddr) {
        if self.live.is_empty() {
            self.headings.clear();
        }
        match self.groups.iter_mut().find(|group| group.key == key) {
            Some(group) => group.streams += 1,
            None => self.groups.push(Group {
                key,
                streams: 1,
                interval: Span::default(),
                interval_reports: HashSet::new(),
                whole: None,
                kind: flow.kind,
                datagrams_sent: 0,
                limits: Vec::new(),
                limits_role: None,
                limits_unknown: false,
            }),
        }
        self.live.push(LiveStream {
            flow,
            group: key,
            reported: Tally::default(),
            reported_at: Duration::ZERO,
        });
    }

    fn next_boundary(&self) -> Option<Instant> {
        let interval = self.interval?;
        self.live
            .iter()
            .map(|live| live.flow.start + live.reported_at + interval)
            .min()
    }

    /// Prints the intervals that are due.
    fn on_boundary(&mut self) -> io::Result<()> {
        let Some(interval) = self.interval else {
            return Ok(());
        };
        let now = Instant::now();
        for index in 0..self.live.len() {
            let live = &self.live[index];
            let end = live.reported_at + interval;
            if live.flow.start + end <= now {
                let tally = live.flow.tally();
                self.print_interval(index, tally, end)?;
            }
        }
        self.print_interval_sums()
    }

    fn print_interval(&mut self, index: usize, tally: Tally, end: Duration) -> io::Result<()> {
        let live = &mut self.live[index];
        let span = tally.since(&live.reported, live.reported_at, end);
        (live.reported, live.reported_at) = (tally, end);
        let (flow, key) = (Arc::clone(&live.flow), live.group);
        self.print_span(label(&flow), flow.kind, &span)?;
        if let Some(group) = self.groups.iter_mut().find(|group| group.key == key) {
            if group.interval_reports.is_empty() {
                group.interval = span;
            } else {
                group.interval.add(&span);
            }
            group.interval_reports.insert(flow.id);
        }
        Ok(())
    }

    fn print_span(&mut self, label: Label, kind: StreamKind, span: &Span) -> io::Result<()> {
        self.heading(kind)?;
        match kind {
            StreamKind::Bytes | StreamKind::DatagramsSent => {
                self.line(&text::transfer(label, span))
            }
            StreamKind::DatagramsReceived => {
                self.line(&text::transfer_with_loss(label, span))?;
                if span.loss.out_of_order > 0 {
                    self.line(&text::out_of_order(label, span))
                } else {
                    Ok(())
                }
            }
        }
    }

    /// Prints the sum of each group whose live streams have all reported.
    fn print_interval_sums(&mut self) -> io::Result<()> {
        let mut due = Vec::new();
        for group in &mut self.groups {
            let mut of_group = self.live.iter().filter(|live| live.group == group.key);
            let complete = of_group.all(|live| group.interval_reports.contains(&live.flow.id));
            if group.interval_reports.is_empty() || !complete {
                continue;
            }
            let several = group.interval_reports.len() > 1;
            group.interval_reports.clear();
            if several {
                due.push((group.kind, group.interval));
            }
        }
        for (kind, span) in due {
            self.print_span(Label::Sum, kind, &span)?;
        }
        Ok(())
    }

    fn on_ended(&mut self, id: u32, end: Duration, limits: ReportedLimits) -> io::Result<()> {
        let Some(index) = self.live.iter().position(|live| live.flow.id == id) else {
            return Ok(());
        };
        let tally = self.live[index].flow.tally();
        self.print_remainder(index, tally, end)?;
        let LiveStream {
            flow, group: key, ..
        } = self.live.remove(index);
        let whole = tally.whole(end);
        self.print_span(label(&flow), flow.kind, &whole)?;
        let datagrams_sent = if flow.kind == StreamKind::DatagramsSent {
            tally.datagrams
        } else {
            0
        };
        if flow.kind == StreamKind::DatagramsSent {
            self.line(&text::sent(label(&flow), datagrams_sent))?;
        }
        self.summary.streams.push(StreamResult {
            id,
            span: whole,
            datagrams_sent,
            server_report: None,
        });
        let others = self.live.iter().any(|live| live.group == key);
        let Some(at) = self.groups.iter().position(|group| group.key == key) else {
            return Ok(());
        };
        let group = &mut self.groups[at];
        group.datagrams_sent += datagrams_sent;
        match &mut group.whole {
            Some(sum) => sum.add(&whole),
            None => group.whole = Some(whole),
        }
        group.add_limits(limits);
        if others {
            return Ok(());
        }
        let group = self.groups.remove(at);
        self.print_group(&group)
    }

    /// Prints the rest of the last interval of a stream that ended at `end`.
    fn print_remainder(&mut self, index: usize, tally: Tally, end: Duration) -> io::Result<()> {
        let Some(interval) = self.interval else {
            return Ok(());
        };
        // First print the complete intervals that have not been printed yet.
        while self.live[index].reported_at + interval < end {
            let at = self.live[index].reported_at + interval;
            self.print_interval(index, tally, at)?;
            self.print_interval_sums()?;
        }
        let left = end.saturating_sub(self.live[index].reported_at);
        let is_whole_test = self.live[index].reported_at.is_zero();
        if !is_whole_test && left.as_secs_f64() > interval.as_secs_f64() * REMAINDER {
            self.print_interval(index, tally, end)?;
            self.print_interval_sums()?;
        }
        Ok(())
    }

    fn print_group(&mut self, group: &Group) -> io::Result<()> {
        if let (2.., Some(whole)) = (group.streams, &group.whole) {
            self.print_span(Label::Sum, group.kind, whole)?;
            if group.kind == StreamKind::DatagramsSent {
                self.line(&text::sent_in_all(group.streams, group.datagrams_sent))?;
            }
        }
        match group.limits_role {
            Some(role) => self.line(&text::limits(role, &group.limits)),
            None if group.limits_unknown => self.line("limits: unknown (kernel socket)"),
            None => Ok(()),
        }
    }

    fn on_report(&mut self, id: u32, report: Result<Span, u32>) -> io::Result<()> {
        let label = Label::Stream { id, reverse: false };
        match report {
            Ok(span) => {
                self.line(&text::server_report(label))?;
                self.print_span(label, StreamKind::DatagramsReceived, &span)?;
                if let Some(stream) = self
                    .summary
                    .streams
                    .iter_mut()
                    .find(|stream| stream.id == id)
                {
                    stream.server_report = Some(span);
                }
                Ok(())
            }
            Err(tries) => {
                self.summary.errors += 1;
                writeln!(
                    self.screen.err,
                    "{}",
                    text::no_acknowledgement(label, tries)
                )
            }
        }
    }
}

impl Group {
    fn add_limits(&mut self, limits: ReportedLimits) {
        match limits {
            ReportedLimits::None => {}
            ReportedLimits::Unknown => self.limits_unknown = true,
            ReportedLimits::Times(role, times) => {
                self.limits_role = Some(role);
                for limit in times {
                    match self.limits.iter_mut().find(|sum| sum.name == limit.name) {
                        Some(sum) => sum.time += limit.time,
                        None => self.limits.push(limit),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
