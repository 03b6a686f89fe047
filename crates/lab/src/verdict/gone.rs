//! Peers that have vanished, and the memory that their connections hold.
//!
//! Rule: silent peers are the limit only if their silence has the most time, or if
//! another connection found no memory meanwhile. A peer that had closed its window is a
//! slow reader instead. A user timeout ends the wait; no buffer size does.

use fullpipe_diagnose::facts::VerdictParts;
use fullpipe_pool::Duration;
use fullpipe_scenario::{
    experiment::{FlowPlan, HostPlan, Setup, Stop},
    scene::{MemoryWait, Silence, patience, timeouts_in_vain},
    units::{grouped, three_digits},
};

use super::{
    Evidence, Next, SettingChange, Verdict, binding, bounds, cause::Cause, changed, changing,
    names, next_bound, predict, remedy, without_advice, wording,
};

/// A share of all connections' time above this is larger than any other.
const MOST: f64 = 0.5;
/// The time of some limits includes silence. This part of their time is compared with the
/// silence.
const PART_OF_IT: f64 = 0.5;
/// User timeouts are whole tenths of a second.
const STEP_US: u64 = 100_000;
/// Outage that a path may have while no other connection needs the memory. RFC 9293
/// §3.8.3, R2.
const LEAST: Duration = Duration::from_secs(100);

/// The verdict, if silent peers are the limit.
pub fn of(evidence: &Evidence<'_>) -> Option<Verdict> {
    let silence = evidence.silence?;
    is_longest(evidence, silence).then(|| verdict(evidence, silence))
}

/// The probes of a window that the reader had closed, if nothing answered them.
pub fn unanswered(evidence: &Evidence<'_>) -> Vec<String> {
    let Some(silence) = evidence.silence.filter(|silence| silence.closed > 0) else {
        return Vec::new();
    };
    let host = &evidence.setup.hosts[silence.host];
    let [first, _] = silence.heard_s.map(three_digits);
    let probes = wording::counted(silence.probes, "probe");
    let mut because = vec![format!(
        "The peer was last heard at {first} s, and {probes} after that had no answer."
    )];
    if silence.given_up > 0 {
        because.push(format!(
            "`{}` dropped the connection after {} s of silence.",
            host.name,
            three_digits(silence.longest_s),
        ));
        because.push(patience_words(host));
    }
    because
}

/// The end of a connection whose peer had closed its window and answered no probe, to be
/// read after the limit.
pub fn dropped_unread(evidence: &Evidence<'_>) -> Option<String> {
    let is_dropped = |silence: &&Silence| silence.closed > 0 && silence.given_up > 0;
    let silence = evidence.silence.filter(is_dropped)?;
    let probes = wording::counted(silence.probes, "probe");
    Some(format!(
        "; the connection was dropped because {probes} had no answer"
    ))
}

/// Returns true if silence has more time than any other limit.
fn is_longest(evidence: &Evidence<'_>, silence: &Silence) -> bool {
    if silence.closed * 2 > silence.connections {
        return false;
    }
    let waiting = starved(silence);
    let waited_s: f64 = waiting.iter().map(|waiting| waiting.waited_s).sum();
    let share = (silence.total_s + waited_s) / silence.lifetime_s;
    if share >= MOST || waiting.iter().any(|waiting| waiting.is_dropped) {
        return true;
    }
    binding::of(evidence).is_none_or(|other| match other.cause {
        // The time of these limits includes silence.
        Cause::Loss | Cause::Memory | Cause::Handshake => share > other.share * PART_OF_IT,
        Cause::Path
        | Cause::Application
        | Cause::SendBuffer
        | Cause::SendBufferLimit
        | Cause::Unacknowledged
        | Cause::DelayedAck
        | Cause::ReceiveWindow
        | Cause::ReceiveBufferLimit
        | Cause::InitialReceiveWindow
        | Cause::PeerMemory
        | Cause::SlowReader
        | Cause::Reassembly
        | Cause::OutOfOrder
        | Cause::RangeTable
        | Cause::ZeroWindow
        | Cause::SlowStart
        | Cause::Congestion
        | Cause::Pacing
        | Cause::Cpu
        | Cause::Descriptors
        | Cause::ReceiveQueue
        | Cause::Device
        | Cause::Nagle
        | Cause::Cork
        | Cause::PeerGone
        | Cause::Closing
        | Cause::Nothing => share > other.share,
    })
}

/// Returns true if another connection waited for the memory that silent peers hold.
pub fn is_waited_for(evidence: &Evidence<'_>) -> bool {
    let silence = evidence.silence;
    silence.is_some_and(|silence| !starved(silence).is_empty())
}

/// Connections that waited for longer than the repair of a lost segment takes.
fn starved(silence: &Silence) -> Vec<MemoryWait> {
    let long =
        |waiting: &&MemoryWait| waiting.is_dropped || waiting.waited_s > silence.rto.as_secs_f64();
    silence.waiting.iter().filter(long).copied().collect()
}

fn verdict(evidence: &Evidence<'_>, silence: &Silence) -> Verdict {
    let host = &evidence.setup.hosts[silence.host];
    let parts = proof(evidence, silence);
    let (needed, formula) = needed(host, silence);
    let present = host.config.tcp.user_timeout;
    let is_too_long = present > needed && !starved(silence).is_empty();
    if !present.is_zero() && !is_too_long {
        return without_advice(Cause::PeerGone, parts);
    }
    let setting = names::time(host, "tcp.user_timeout", needed);
    let remedy = remedy::one(host, setting, formula);
    let outlook = outlook(evidence, silence, needed, &remedy.changes);
    let mut gives = format!(
        "the memory is free {} s after the peers were last heard",
        three_digits(needed.as_secs_f64())
    );
    if let Some(Outlook { predicted, .. }) = &outlook {
        gives += &format!(
            ", and the last transfer ends after about {} s (predicted)",
            three_digits(predicted.elapsed_s)
        );
    }
    let predicted = outlook.as_ref().map(|outlook| outlook.predicted);
    let next = outlook.as_ref().map(|outlook| outlook.next);
    let parts = VerdictParts {
        gives: Some(gives),
        then: outlook.map(|outlook| outlook.then),
        ..parts
    };
    changing(
        without_advice(Cause::PeerGone, parts),
        remedy,
        predicted,
        next,
    )
}

/// The user timeout to set: a few retransmission timeouts if another connection needs the
/// memory, otherwise the outage that a path may have.
fn needed(host: &HostPlan, silence: &Silence) -> (Duration, String) {
    let tcp = &host.config.tcp;
    let least_us = patience(silence.rto, tcp).as_micros();
    let answer = Duration::from_micros(least_us.next_multiple_of(STEP_US));
    if starved(silence).is_empty() && answer < LEAST {
        let least = "RFC 9293 §3.8.3 asks for at least 100 s (R2)";
        return (LEAST, least.to_string());
    }
    let formula = format!(
        "{times} x {} s, the first retransmission timeout. Each timeout is twice the one before it, \
         so {} retransmissions and the wait after the last of them take {times} times the first",
        three_digits(silence.rto.as_secs_f64()),
        tcp.retries1,
        times = timeouts_in_vain(tcp),
    );
    (answer, formula)
}

fn proof(evidence: &Evidence<'_>, silence: &Silence) -> VerdictParts {
    let host = &evidence.setup.hosts[silence.host];
    let [first, last] = silence.heard_s.map(three_digits);
    let since = if first == last {
        format!("{first} s")
    } else {
        format!("{first} to {last} s")
    };
    let who = match (silence.connections, silence.of) {
        (1, 1) => "the peer was".to_string(),
        (gone, of) => format!("the peers of {gone} of {of} connections were"),
    };
    let longest = three_digits(silence.longest_s);
    let until = if silence.given_up == silence.connections {
        format!("`{}` gave up after {longest} s of silence", host.name)
    } else {
        format!("the run ended after {longest} s of silence")
    };
    let mut because = vec![
        format!(
            "Since then {} expired without an answer.",
            wording::counted(silence.timeouts, "retransmission timeout")
        ),
        format!(
            "{} used or reserved {} bytes of packet memory until {until}.",
            match silence.connections {
                1 => "The connection",
                _ => "These connections",
            },
            grouped(silence.held_bytes)
        ),
        patience_words(host),
    ];
    let starved = starved(silence);
    if starved.is_empty() {
        because.push("No other connection waited for that memory.".to_string());
    }
    because.extend(starved.iter().map(|waiting| waited(evidence, waiting)));
    VerdictParts {
        limited_by: format!(
            "{}: {who} last heard {since} after the start",
            Cause::PeerGone.words()
        ),
        because,
        ..VerdictParts::default()
    }
}

fn waited(evidence: &Evidence<'_>, waiting: &MemoryWait) -> String {
    let name = &evidence.setup.flows[waiting.flow].name;
    let ended = if waiting.is_dropped {
        " and was dropped"
    } else {
        ""
    };
    format!(
        "`{name}` found no free packet memory for {} s{ended}.",
        three_digits(waiting.waited_s)
    )
}

/// The setting of `host` that ends the wait for a silent peer, in a sentence.
fn patience_words(host: &HostPlan) -> String {
    let user = names::time(host, "tcp.user_timeout", Duration::ZERO);
    let retries = u64::from(host.config.tcp.retries2);
    let setting = names::number(host, "tcp.retries2", retries);
    if host.config.tcp.user_timeout.is_zero() {
        format!(
            "Only {} = {} ends such a wait, because {} = {} means no limit.",
            setting.name, setting.present, user.name, user.present
        )
    } else {
        format!("{} = {} ends such a wait.", user.name, user.present)
    }
}

/// Prediction for a connection that waited, and its next limit.
struct Outlook {
    predicted: predict::Predicted,
    next: Next,
    then: String,
}

/// Prediction for the one connection that waited for the memory: it starts at its own
/// time, or when the memory is free if that is later.
fn outlook(
    evidence: &Evidence<'_>,
    silence: &Silence,
    needed: Duration,
    changes: &[SettingChange],
) -> Option<Outlook> {
    let [waiting] = *starved(silence).as_slice() else {
        return None;
    };
    let setup = changed(evidence.setup, changes)?;
    let flow = &setup.flows[waiting.flow];
    let (Stop::Bytes(bytes), 1) = (flow.stop, flow.count) else {
        return None;
    };
    let begun_s = first_start(&setup.flows);
    let free_s = silence.heard_s[1] + needed.as_secs_f64();
    let starts_s = (flow.start.as_secs_f64() - begun_s).max(free_s);
    let alone = Setup {
        flows: vec![flow.clone()],
        ..setup
    };
    let evidence = Evidence {
        setup: &alone,
        ..*evidence
    };
    let bound = next_bound(&evidence, &alone)?;
    let takes = predict::under(&alone, &evidence.scale(), bound);
    let elapsed_s = starts_s + takes.elapsed_s;
    let delivered =
        evidence.measured.delivered_bytes + bytes.saturating_sub(waiting.delivered_bytes);
    let goodput_mbps = delivered as f64 * 8.0 / 1e6 / elapsed_s;
    let predicted = predict::Predicted::of(goodput_mbps, elapsed_s);
    let next = Next {
        limit: bound.cause,
        at_most_mbps: bound.bps / 1e6,
    };
    Some(Outlook {
        predicted,
        next,
        then: bounds::then_words(&alone, evidence.scale().segment, bound),
    })
}

fn first_start(flows: &[FlowPlan]) -> f64 {
    let starts = flows.iter().map(|flow| flow.start.as_secs_f64());
    starts.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests;
