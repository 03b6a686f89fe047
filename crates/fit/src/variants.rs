//! The candidates after the first estimate: experiments that may behave more like the captured
//! connection.
//!
//! Rule: each function changes one property of the best candidate so far. A function returns no
//! candidate if the segments of the capture show the value of the property.

use fullpipe_scenario::units::grouped;
use fullpipe_tcp::Limit;

use crate::{
    application, ends,
    evidence::Evidence,
    losses,
    misfit::{Compared, Figures},
    plan::{Basis, Plan, rate_value},
    reader,
};

/// Values that belong to a limit are varied only if the limit lasts for at least this share of the
/// lifetime.
const OPEN: f64 = 0.1;
/// Most kinds of candidates are tried only if the misfit of the best candidate (the sum of its
/// differences from the capture) is at least this.
const EXACT: f64 = 0.02;
/// The longer queue that is tried has this many times the length of the assumed queue.
const LONGER: f64 = 8.0;
/// The reader is not slow if nearly all windows exceed this share of the largest window.
const CONSTANT: f64 = 0.95;
/// A policer is tried only if there are at least this many retransmissions.
const POLICED: u64 = 10;
/// Burst sizes of policers, in bytes.
const BURSTS: [u64; 2] = [20_000, 100_000];
/// End of the reason for a value that was scaled once, or more than once.
const SCALED: &str = "; scaled to give the captured goodput";
/// Congestion controls, the most common first.
const CONGESTION: [&str; 3] = ["cubic", "bbr", "newreno"];

/// The best candidate so far, and the capture to which it is fitted.
#[derive(Clone, Copy)]
pub struct Best<'a> {
    /// Evidence from the capture.
    pub evidence: &'a Evidence<'a>,
    /// The candidate's experiment.
    pub plan: &'a Plan,
    /// Results of the candidate's run.
    pub figures: &'a Figures,
    /// Differences between these results and the capture.
    pub compared: &'a Compared,
}

/// Returns candidates with their names.
type Variants = fn(&Best<'_>) -> Vec<(String, Plan)>;

/// Every kind of candidate, in the order of trial.
pub const ALL: [Variants; 13] = [
    rate,
    queue,
    losses,
    reader,
    policer,
    largest_flight,
    first_burst,
    quick_acks,
    congestion,
    pacing,
    send_buffer,
    send_buffer,
    send_buffer,
];

/// Tries other congestion controls if the congestion window limits the sender.
fn congestion(best: &Best<'_>) -> Vec<(String, Plan)> {
    let &Best { evidence, plan, .. } = best;
    let share = evidence.share(&[
        Limit::CwndSlowStart,
        Limit::CwndSteady,
        Limit::CwndAfterLoss,
        Limit::Recovery,
    ]);
    if share < OPEN {
        return Vec::new();
    }
    let own = plan
        .setup()
        .ok()
        .map(|setup| setup.hosts[0].get("tcp.congestion"));
    let own = own.flatten().unwrap_or_default();
    let others = CONGESTION.into_iter().filter(|name| *name != own);
    let changed = others.map(|name| {
        let mut plan = plan.clone();
        let why = "of the tried values, this one fits the capture best";
        plan.set("sender.tcp.congestion", name, Basis::Guessed, why);
        if name == "bbr" {
            plan.unset("sender.tcp.pacing");
        }
        (format!("congestion control {name}"), plan)
    });
    changed.collect()
}

/// Tries a sender without pacing if the first flight does not show whether the sender paces.
fn pacing(best: &Best<'_>) -> Vec<(String, Plan)> {
    let &Best {
        evidence,
        plan,
        compared,
        ..
    } = best;
    let is_open = plan.get("sender.tcp.pacing").is_none();
    let is_small = evidence.share(&[Limit::Application]) > 0.5;
    if !is_open || is_small || compared.score() < EXACT {
        return Vec::new();
    }
    let mut plan = plan.clone();
    let why = "of the tried values, this one fits the capture best";
    plan.set("sender.tcp.pacing", "false", Basis::Guessed, why);
    vec![("no pacing".to_string(), plan)]
}

/// Corrects the send buffer by the candidate's error of goodput: a candidate that is 10 % too fast
/// gets a smaller buffer.
fn send_buffer(best: &Best<'_>) -> Vec<(String, Plan)> {
    let &Best {
        plan,
        figures,
        compared,
        ..
    } = best;
    let settings = [
        "sender.SO_SNDBUF",
        "sender.tcp.send_buffer",
        "sender.tcp_wmem",
    ];
    let inferred = settings.iter().find_map(|set| plan.get(set));
    let inferred = inferred.filter(|value| value.basis == Basis::Inferred);
    let error = compared.goodput_error;
    let is_limit = figures.send_buffer_share() >= 0.5;
    let Some(value) = inferred.filter(|_| is_limit && error.abs() > EXACT) else {
        return Vec::new();
    };
    let Some(bytes) = value
        .to
        .rsplit(' ')
        .next()
        .and_then(|last| last.parse::<f64>().ok())
    else {
        return Vec::new();
    };
    let bytes = (bytes / (1.0 + error)).round() as u64;
    let to = match value.set.ends_with("tcp_wmem") {
        true => ends::send_bounds(bytes),
        false => bytes.to_string(),
    };
    let mut changed = plan.clone();
    let why = format!("{}{SCALED}", value.why.trim_end_matches(SCALED));
    changed.set(&value.set, &to, Basis::Inferred, why);
    if value.is_either {
        changed.mark_either(&value.set);
    }
    vec![(format!("{} = {to}", value.set), changed)]
}

/// Tries a longer queue if the candidate lost segments and the captured connection lost none.
fn queue(best: &Best<'_>) -> Vec<(String, Plan)> {
    let &Best {
        evidence,
        plan,
        figures,
        ..
    } = best;
    let assumed = plan.get("path.forward.queue");
    let assumed = assumed.filter(|value| value.basis == Basis::Assumed);
    let bytes = assumed.and_then(|value| value.to.split(' ').next()?.parse::<f64>().ok());
    let lost = evidence.observed.data().retransmissions.total();
    let Some(bytes) = bytes.filter(|_| lost == 0 && figures.retransmitted_share > 0.0) else {
        return Vec::new();
    };
    let mut changed = plan.clone();
    let longer = (bytes * LONGER).round();
    let why =
        "the captured connection lost nothing; with a shorter queue, the twin would lose segments";
    changed.set(
        "path.forward.queue",
        format!("{longer} bytes"),
        Basis::Assumed,
        why,
    );
    vec![("a longer queue".to_string(), changed)]
}

/// Tries a reader that reads at equal intervals if windows vary and limit the sender.
fn reader(best: &Best<'_>) -> Vec<(String, Plan)> {
    let &Best { evidence, plan, .. } = best;
    let limits = evidence.share(&[Limit::ReceiveWindow, Limit::ZeroWindow]) >= OPEN;
    let has_reader = ["workload.read.every", "workload.read.stall_for"]
        .iter()
        .any(|set| plan.get(set).is_some());
    let mut windows: Vec<u64> = evidence
        .trace
        .acks
        .iter()
        .filter_map(|one| one.window)
        .collect();
    windows.sort_unstable();
    let [low, high] = [windows.len() / 10, windows.len().saturating_sub(1)];
    let varies = windows.get(low).zip(windows.get(high));
    let varies = varies.is_some_and(|(low, high)| *low as f64 <= CONSTANT * *high as f64);
    let mut changed = plan.clone();
    match limits && varies && !has_reader && reader::pace(&mut changed, evidence) {
        true => vec![(
            "a reader that reads at equal intervals".to_string(),
            changed,
        )],
        false => Vec::new(),
    }
}

/// Tries a policer if segments were lost although no queue had formed.
fn policer(best: &Best<'_>) -> Vec<(String, Plan)> {
    let &Best {
        evidence,
        plan,
        compared,
        ..
    } = best;
    let random = plan
        .get("path.forward.loss")
        .or(plan.get("path.forward.burst_loss.enter"));
    let lost = evidence.observed.data().retransmissions.total();
    if random.is_none() || lost < POLICED || compared.score() < EXACT {
        return Vec::new();
    }
    let trace = &evidence.trace;
    let Some(first) = trace.sent.iter().find(|sent| !sent.is_new) else {
        return Vec::new();
    };
    let before = trace.acks.iter().rev().find(|acked| acked.at <= first.at);
    let from = before.map_or(0, |acked| acked.ack);
    let seconds = trace.done.saturating_sub(first.at) as f64 / 1e9;
    let frame = f64::from(evidence.mss + evidence.headers()) / f64::from(evidence.mss);
    let bps = (trace.bytes - from) as f64 * 8.0 / seconds.max(1e-9) * frame;
    let made = BURSTS.into_iter().map(|burst| {
        let mut changed = plan.clone();
        for value in [
            "loss",
            "burst_loss.enter",
            "burst_loss.leave",
            "burst_loss.loss_bad",
        ] {
            changed.unset(&format!("path.forward.{value}"));
        }
        let why = "rate at which payload arrived after the first loss";
        changed.set(
            "path.forward.token_bucket.rate",
            rate_value(bps),
            Basis::Inferred,
            why,
        );
        let why = "of the tried values, this one fits the capture best";
        changed.set(
            "path.forward.token_bucket.burst",
            burst,
            Basis::Guessed,
            why,
        );
        let why = "segments were lost although the path had no queue";
        changed.set(
            "path.forward.token_bucket.latency",
            "1us",
            Basis::Inferred,
            why,
        );
        (format!("a policer with a burst of {burst} bytes"), changed)
    });
    made.collect()
}

/// If segments were lost and no candidate reproduces the capture, tries a send buffer of the size
/// of the largest flight: between losses, the send buffer may have limited the flight.
fn largest_flight(best: &Best<'_>) -> Vec<(String, Plan)> {
    let &Best {
        evidence,
        plan,
        compared,
        ..
    } = best;
    let flight = evidence.largest_flight();
    let data = evidence.observed.data();
    let lost = data.lost_before_tap + data.lost_after_tap;
    if lost == 0 || compared.is_reproduced() || ends::has_buffer(plan) {
        return Vec::new();
    }
    let mut changed = plan.clone();
    let why = format!("at most {} bytes were in flight", grouped(flight));
    ends::set_buffer(&mut changed, evidence, flight, why, Basis::Guessed);
    vec![(
        "a send buffer for the most bytes that were in flight".to_string(),
        changed,
    )]
}

/// Tries the rate of the fastest ACKs if the estimated rate is only a lower bound.
fn rate(best: &Best<'_>) -> Vec<(String, Plan)> {
    let &Best {
        evidence,
        plan,
        compared,
        ..
    } = best;
    let Some(rate) = evidence.rate.filter(|rate| !rate.is_seen) else {
        return Vec::new();
    };
    let frame = f64::from(evidence.mss + evidence.headers()) / f64::from(evidence.mss);
    let value = rate_value(rate.payload_bps * frame);
    let is_own = plan.get("path.rate").is_some_and(|known| known.to == value);
    if is_own || compared.score() < EXACT {
        return Vec::new();
    }
    let mut changed = plan.clone();
    let why = "the rate of the fastest ACKs in a row; of the tried values, this one fits the capture best";
    changed.set("path.rate", value, Basis::Guessed, why);
    vec![(
        "a path with the rate of the fastest ACKs".to_string(),
        changed,
    )]
}

/// Tries a receiver that delays ACKs from the beginning, if the application or Nagle's algorithm
/// limits the sender.
fn quick_acks(best: &Best<'_>) -> Vec<(String, Plan)> {
    let &Best {
        evidence,
        plan,
        compared,
        ..
    } = best;
    let waits = evidence.share(&[Limit::Application, Limit::Nagle]);
    if waits < OPEN || compared.score() < EXACT {
        return Vec::new();
    }
    let mut changed = plan.clone();
    let why = "of the tried values, this one fits the capture best";
    changed.set("receiver.tcp.quick_acks", 0, Basis::Guessed, why);
    vec![("delayed ACKs from the beginning".to_string(), changed)]
}

/// Adds link losses if the first estimate explained all losses by a full queue.
fn losses(best: &Best<'_>) -> Vec<(String, Plan)> {
    let &Best {
        evidence,
        plan,
        compared,
        ..
    } = best;
    let mut changed = plan.clone();
    if compared.score() < EXACT || !losses::add_all(&mut changed, evidence) {
        return Vec::new();
    }
    vec![(
        "losses on the link besides those in a full queue".to_string(),
        changed,
    )]
}

/// Tries writes of the size of the first burst if Nagle's algorithm joined writes: joining hides
/// the sizes of the writes.
fn first_burst(best: &Best<'_>) -> Vec<(String, Plan)> {
    let &Best {
        evidence,
        plan,
        compared,
        ..
    } = best;
    let mut changed = plan.clone();
    let is_open = compared.score() >= EXACT;
    match is_open && application::joined_writes(&mut changed, evidence) {
        true => vec![("writes as large as the first burst".to_string(), changed)],
        false => Vec::new(),
    }
}
