//! Time-sequence graphs for xplot, with tcptrace's marks.
//!
//! Rule: each file is one graph of one direction of one connection, as recorded at the sending end.
//! Times are seconds with nine decimals; sequence numbers count from the initial one. White bars
//! with arrows are segments with payload, and red bars with an R are retransmissions. The green
//! line is the acknowledgment number last received, with a tick at each duplicate ACK. The yellow
//! line is the right edge of the peer's window. Purple bars are SACK blocks. SYN, FIN and RTO are
//! labels.

use std::fmt::Write;

use fullpipe_diagnose::facts::{Endpoint, Host, Mark, Run};
use fullpipe_diagnose::vocabulary::TcpFlags;

/// A file for xplot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// File name without its extension: experiment, row (scenario), connection and direction.
    pub name: String,
    /// Content of the file.
    pub text: String,
}

/// Returns one graph for each direction that carried payload.
pub fn xplot(run: &Run) -> Vec<Graph> {
    let mut graphs = Vec::new();
    for (row, place) in run.rows.iter().zip(1..) {
        let connections = row.observed.connections.iter().zip(1..);
        for (connection, number) in connections {
            for end in connection.ends() {
                if end.sent.len.iter().all(|len| *len == 0) {
                    continue;
                }
                let host = &row.observed.hosts[end.host];
                graphs.push(Graph {
                    name: file_name(&format!(
                        "{}-{place}-{number}-{}",
                        run.experiment, host.name
                    )),
                    text: graph(&run.experiment, &row.label, host, end),
                });
            }
        }
    }
    graphs
}

/// Returns the name without characters that are unsuitable for a file name, such as the colon of a
/// port.
fn file_name(name: &str) -> String {
    name.replace([':', '/', '[', ']'], "_")
}

fn graph(experiment: &str, label: &str, host: &Host, end: &Endpoint) -> String {
    let mut text = format!(
        "timeval unsigned\ntitle\n{experiment}, {label}: what {} sends\nxlabel\ntime\nylabel\nsequence number\n",
        host.name
    );
    write_graph(&mut text, end).expect("writing into a string");
    text
}

fn write_graph(out: &mut String, end: &Endpoint) -> std::fmt::Result {
    let sent = &end.sent;
    for place in 0..sent.len() {
        let (at, seq) = (Seconds(sent.at_ns[place]), sent.seq[place]);
        let flags = TcpFlags::from_bits(sent.flags[place]);
        let top = seq + u64::from(sent.len[place]);
        for (flag, name) in [(TcpFlags::SYN, "SYN"), (TcpFlags::FIN, "FIN")] {
            if flags.contains(flag) {
                writeln!(out, "orange\natext {at} {top}\n{name}")?;
            }
        }
        if top == seq {
            continue;
        }
        let is_retransmission = sent.is_retransmission(place);
        let colour = if is_retransmission { "red" } else { "white" };
        writeln!(out, "{colour}\ndarrow {at} {seq}\nuarrow {at} {top}")?;
        writeln!(out, "line {at} {seq} {at} {top}")?;
        if is_retransmission {
            writeln!(out, "atext {at} {top}\nR")?;
        }
    }
    acknowledgments(out, end)?;
    let sacks = &end.sacks_received;
    for place in 0..sacks.len() {
        let at = Seconds(sacks.at_ns[place]);
        let (left, right) = (sacks.left[place], sacks.right[place]);
        writeln!(out, "purple\nline {at} {left} {at} {right}")?;
    }
    for place in end.marks.places(Mark::Timeout) {
        let at_ns = end.marks.at_ns[place];
        let received = &end.received;
        let before = received.at_ns.partition_point(|at| *at <= at_ns);
        let acked = before.checked_sub(1).map_or(0, |last| received.ack[last]);
        writeln!(out, "red\nbtext {} {acked}\nRTO", Seconds(at_ns))?;
    }
    writeln!(out, "go")
}

/// Writes the step lines of the acknowledgment number last received and of the window's
/// right edge.
fn acknowledgments(out: &mut String, end: &Endpoint) -> std::fmt::Result {
    let received = &end.received;
    let mut last: Option<(Seconds, u64, u64)> = None;
    for place in 0..received.len() {
        let flags = TcpFlags::from_bits(received.flags[place]);
        if !flags.contains(TcpFlags::ACK) || flags.contains(TcpFlags::RST) {
            continue;
        }
        let (at, ack) = (Seconds(received.at_ns[place]), received.ack[place]);
        let edge = ack + u64::from(received.window[place]);
        if let Some((before, last_ack, last_edge)) = last {
            writeln!(out, "green\nline {before} {last_ack} {at} {last_ack}")?;
            if ack == last_ack {
                writeln!(out, "dtick {at} {ack}")?;
            } else {
                writeln!(out, "line {at} {last_ack} {at} {ack}")?;
            }
            writeln!(out, "yellow\nline {before} {last_edge} {at} {last_edge}")?;
            if edge != last_edge {
                writeln!(out, "line {at} {last_edge} {at} {edge}")?;
            }
        }
        last = Some((at, ack, edge));
    }
    Ok(())
}

/// A time in nanoseconds, which is printed in seconds.
#[derive(Clone, Copy)]
struct Seconds(u64);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}.{:09}",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}
