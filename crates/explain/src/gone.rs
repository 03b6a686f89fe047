//! Peers that have vanished, and the memory that their connections hold.
//!
//! Rule: silent peers are the cause if another connection waited for the memory that the silent
//! peers' connections occupy, or if the silence is at least half of all connections' time. A peer
//! that had closed its window counts as a slow reader, even if it answers no probe. A user timeout
//! ends the wait for a silent peer; a buffer size cannot end the wait.

use fullpipe_diagnose::facts::VerdictParts;
use fullpipe_pool::Duration;
use fullpipe_scenario::{
    Outcome, Played, Setup, Shares,
    experiment::HostPlan,
    scene::{MemoryWait, Silence, patience, timeouts_in_vain},
    units::{counted, grouped, three_digits},
};
use fullpipe_tcp::ReceiveLimit;

use crate::{
    advice::Advised,
    cause::Cause,
    explanation::{Explanation, Predicted},
    lever::{Change, LeverKind, changed},
    names,
    twin::{self, TwinFailure},
    wording::percent,
    work::Work,
};

/// Smallest share of the time that makes silence the cause.
const MOST: f64 = 0.5;
/// An advised user timeout is a multiple of this: a tenth of a second.
const STEP_US: u64 = 100_000;
/// Shortest user timeout that is advised if no other connection needs the memory, as RFC 9293
/// §3.8.3 (R2) recommends.
const LEAST: Duration = Duration::from_secs(100);

/// Returns the explanation if silent peers are the cause.
///
/// # Errors
/// Returns a violation that a checker of the simulator found, or an interrupted run.
pub fn of(
    setup: &Setup,
    seed: u64,
    played: &Played,
    work: &Work<'_>,
) -> Result<Option<Explanation>, TwinFailure> {
    if let Some(found) = stopped(setup, played) {
        return Ok(Some(found));
    }
    let Some(silence) = longest(played) else {
        return Ok(None);
    };
    let host = &setup.hosts[silence.host];
    let mut found = Explanation::of(Cause::PEER_GONE, proof(setup, silence));
    let (needed, formula) = needed(host, silence);
    let present = host.config.tcp.user_timeout;
    let is_too_long = present > needed && !starved(silence).is_empty();
    if !present.is_zero() && !is_too_long {
        return Ok(Some(found));
    }
    let mut setting = names::setting(host, "tcp.user_timeout", &needed.to_string());
    setting.cautions.insert(0, format!("{formula}."));
    let change = Change {
        set: format!("{}.{}", host.name, setting.name),
        to: setting.wanted.clone(),
    };
    let Some(after) = changed(setup, std::slice::from_ref(&change)) else {
        return Ok(Some(found));
    };
    let after = twin::of_row(&after, seed, std::slice::from_ref(&change), work)?;
    let free = three_digits(needed.as_secs_f64());
    let mut gives =
        format!("free packet memory {free} s after the last segment of a vanished peer");
    if after.measured.outcome == Outcome::Complete && !starved(silence).is_empty() {
        gives += &format!(
            ". The last transfer ends after {} s (simulated)",
            three_digits(after.measured.elapsed_s)
        );
    }
    found.predicted = Some(Predicted::certain(
        after.measured.goodput_mbps,
        played.measured.goodput_mbps,
        after.measured.elapsed_s,
    ));
    found.parts.gives = Some(gives);
    found.advise(vec![Advised {
        change,
        setting,
        on: host.name.clone(),
        knob: "tcp.user_timeout".to_string(),
    }]);
    Ok(Some(found))
}

/// Returns the explanation if a connection was given up while its reader left the window closed. The
/// cause is named without a run: a run with a faster reader would not complete either, because the
/// peer no longer answers.
fn stopped(setup: &Setup, played: &Played) -> Option<Explanation> {
    let silence = played.silence.as_ref()?;
    let share = Shares::of(played.receiver.times()).share(ReceiveLimit::Reader);
    let is_closed = silence.closed == silence.connections && silence.given_up > 0;
    let is_most = share >= MOST && silence.total_s / silence.lifetime_s >= MOST;
    (is_closed && is_most).then(|| {
        let host = &setup.hosts[silence.host];
        let reader = &setup.hosts[setup.flow().to].name;
        let because = vec![
            format!(
                "The peer's last segment arrived {} s after the start. The peer left {} \
                 unanswered.",
                three_digits(silence.heard_s[0]),
                counted(silence.probes, "window probe"),
            ),
            format!(
                "`{}` dropped the connection after {} s of silence. The application on `{reader}` \
                 had read {} bytes.",
                host.name,
                three_digits(silence.longest_s),
                grouped(played.measured.delivered_bytes),
            ),
            patience_words(host),
        ];
        let parts = VerdictParts {
            limited_by: format!(
                "{}: `{reader}` left received payload unread for {} of the time",
                Cause::SLOW_READER.words,
                percent(share)
            ),
            because,
            ..VerdictParts::default()
        };
        Explanation {
            kind: Some(LeverKind::Application),
            ..Explanation::of(Cause::SLOW_READER, parts)
        }
    })
}

/// Returns true if silent peers may be the cause of `played`, a run of `setup`.
pub fn is_suspected(setup: &Setup, played: &Played) -> bool {
    stopped(setup, played).is_some() || longest(played).is_some()
}

/// Returns the silence of `played` if it is the cause.
fn longest(played: &Played) -> Option<&Silence> {
    let silence = played.silence.as_ref();
    silence.filter(|silence| is_longest(silence))
}

/// Returns true if silence is the cause. The silence must take at least half of all connections'
/// time, or another connection must have waited for the memory. In both cases, at most half of the
/// silent peers may have closed their windows.
fn is_longest(silence: &Silence) -> bool {
    let waiting = starved(silence);
    let waited_s: f64 = waiting.iter().map(|waiting| waiting.waited_s).sum();
    let share = (silence.total_s + waited_s) / silence.lifetime_s;
    silence.closed * 2 <= silence.connections && (share >= MOST || !waiting.is_empty())
}

/// Returns the connections that waited for memory for longer than a retransmission timeout or were
/// dropped.
fn starved(silence: &Silence) -> Vec<MemoryWait> {
    let long =
        |waiting: &&MemoryWait| waiting.is_dropped || waiting.waited_s > silence.rto.as_secs_f64();
    silence.waiting.iter().filter(long).copied().collect()
}

/// Returns the user timeout to set, and its derivation. The timeout is the longest silence that a
/// live peer may have ([`patience`]), and at least [`LEAST`] if no other connection needs the memory.
fn needed(host: &HostPlan, silence: &Silence) -> (Duration, String) {
    let tcp = &host.config.tcp;
    let least_us = patience(silence.rto, tcp).as_micros();
    let answer = Duration::from_micros(least_us.next_multiple_of(STEP_US));
    if starved(silence).is_empty() && answer < LEAST {
        let least = "RFC 9293 §3.8.3 (R2) recommends waiting at least 100 s for an ACK";
        return (LEAST, least.to_string());
    }
    let formula = format!(
        "The first retransmission timeout is {} s, and each timeout is twice the previous one. \
         After {} times the first timeout, {} retransmissions have stayed unanswered",
        three_digits(silence.rto.as_secs_f64()),
        timeouts_in_vain(tcp),
        tcp.retries1,
    );
    (answer, formula)
}

fn proof(setup: &Setup, silence: &Silence) -> VerdictParts {
    let host = &setup.hosts[silence.host];
    let [first, last] = silence.heard_s.map(three_digits);
    let since = if first == last {
        format!("{first} s")
    } else {
        format!("{first} to {last} s")
    };
    let who = match (silence.connections, silence.of) {
        (1, 1) => "the peer's last segment arrived".to_string(),
        (gone, of) => {
            format!("{gone} of {of} connections wait for peers whose last segments arrived")
        }
    };
    let longest = three_digits(silence.longest_s);
    let until = if silence.given_up == silence.connections {
        format!("`{}` gave up after {longest} s of silence", host.name)
    } else {
        format!("the run ended after {longest} s of silence")
    };
    let mut because = vec![
        format!(
            "During the silence, {} expired without an ACK.",
            counted(silence.timeouts, "retransmission timeout")
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
        because.push("No other connection waited for packet memory.".to_string());
    }
    because.extend(starved.iter().map(|waiting| waited(setup, waiting)));
    VerdictParts {
        limited_by: format!("{}: {who} {since} after the start", Cause::PEER_GONE.words),
        because,
        ..VerdictParts::default()
    }
}

fn waited(setup: &Setup, waiting: &MemoryWait) -> String {
    let name = &setup.flows[waiting.flow].name;
    let ended = if waiting.is_dropped {
        " and was dropped"
    } else {
        ""
    };
    format!(
        "Flow `{name}` found no free packet memory for {} s{ended}.",
        three_digits(waiting.waited_s)
    )
}

/// Returns a sentence that names the setting of `host` that ends the wait for a silent peer.
fn patience_words(host: &HostPlan) -> String {
    let user = names::setting(host, "tcp.user_timeout", &Duration::ZERO.to_string());
    let retries = host.config.tcp.retries2.to_string();
    let setting = names::setting(host, "tcp.retries2", &retries);
    if host.config.tcp.user_timeout.is_zero() {
        format!(
            "Only {} = {} ends the wait for a silent peer, because {} = {} sets no time limit.",
            setting.name, setting.present, user.name, user.present
        )
    } else {
        format!(
            "{} = {} ends the wait for a silent peer.",
            user.name, user.present
        )
    }
}
