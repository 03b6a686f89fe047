//! The sentences of an explanation.
//!
//! Rule: a sentence states what a run or the account says; nothing is judged here. A figure
//! of a change is the gain of a run.

use fullpipe_scenario::{
    Played, Setup, Shares,
    experiment::Stop,
    units::{grouped, rate_text, seconds_text, three_digits},
};
use fullpipe_tcp::Limit;

use crate::{
    advice,
    explanation::Predicted,
    find::{Found, refuted},
    lever::{Lever, Place},
    search::{Gain, Search, WORTH},
    shown_by::BUSY,
};

/// Shares of the time that are worth a sentence.
const WORTH_TELLING: f64 = 0.1;
/// Most limits of the account, and most changes without gain, that are told.
const MOST_TOLD: usize = 3;

/// The limit and its value, to follow "limited by".
pub fn limited_by(setup: &Setup, search: &Search<'_>, found: &Found) -> String {
    let Some(best) = &found.best else {
        return nothing(search);
    };
    let levers: Vec<_> = best
        .places
        .iter()
        .map(|place| &search.levers[*place])
        .collect();
    let mut words: Vec<&str> = levers.iter().map(|lever| lever.cause.words).collect();
    words.dedup();
    let settings: Vec<_> = levers
        .iter()
        .filter_map(|lever| present(setup, lever))
        .collect();
    let together = if words.len() > 1 { " together" } else { "" };
    let mut text = format!(
        "{}{}{together}",
        listed(&words),
        place_words(setup, levers[0])
    );
    if !settings.is_empty() {
        text += &format!(": {}", settings.join(", "));
    }
    if let Some(rival) = &found.rival {
        let other = &search.levers[rival.places[0]];
        text += &format!(
            "; {}{} limits it as much",
            other.cause.words,
            place_words(setup, other)
        );
    }
    text
}

/// The words for a transfer that no lever speeds up.
fn nothing(search: &Search<'_>) -> String {
    let shares = Shares::of(search.base.first.sender.times());
    let longest = shares.largest_first();
    match longest.first() {
        Some((limit, _)) => format!(
            "nothing that was tried: it mostly waits {}",
            waits_for(*limit)
        ),
        None => "nothing known: no connection came about".to_string(),
    }
}

/// Figures that prove the limit, one sentence each.
pub fn because(setup: &Setup, played: &Played, search: &Search<'_>, found: &Found) -> Vec<String> {
    let mut told = account(setup, played);
    if played.measured.link_busy_share >= BUSY {
        told.push(format!(
            "Link `{}` was busy {} of the time.",
            setup.links[played.busiest].name,
            percent(played.measured.link_busy_share)
        ));
    }
    let mut runs = Vec::new();
    if let Some(best) = &found.best {
        runs.push(tried(setup, search, best));
    }
    if let Some(rival) = &found.rival {
        runs.push(tried(setup, search, rival));
    }
    if !runs.is_empty() {
        told.push(format!("Tried: {}.", runs.join("; ")));
    }
    told.extend(no_help(setup, search, found));
    told
}

/// The resources of which more does not help.
fn no_help(setup: &Setup, search: &Search<'_>, found: &Found) -> Option<String> {
    let best = found.best.iter().flat_map(|best| &best.places);
    let named: Vec<_> = best.map(|place| search.levers[*place].cause).collect();
    let mut words: Vec<String> = Vec::new();
    for place in refuted(search, found) {
        let lever = &search.levers[place];
        if named.contains(&lever.cause) {
            continue;
        }
        let Place::Hosts(hosts) = &lever.place else {
            continue;
        };
        let host = &setup.hosts[hosts[0]];
        let name = advice::present_setting(host, lever.field).name;
        // A knob that the host's system does not have is no candidate of its users.
        let is_own = name != lever.field || host.preset.name == "default";
        if is_own && !words.contains(&name) {
            words.push(name);
        }
    }
    words.truncate(MOST_TOLD);
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    (!words.is_empty()).then(|| format!("More of {} gains nothing.", listed(&words)))
}

/// The limits for which the sender waited longest.
fn account(setup: &Setup, played: &Played) -> Vec<String> {
    let shares = Shares::of(played.sender.times());
    let waits = shares.largest_first().into_iter();
    let waits = waits.filter(|(_, share)| *share >= WORTH_TELLING);
    let parts: Vec<_> = waits
        .take(MOST_TOLD)
        .map(|(limit, share)| format!("{} {}", percent(share), waits_for(limit)))
        .collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let sender = &setup.hosts[setup.flow().from].name;
    vec![format!("`{sender}` waited: {}.", parts.join(", "))]
}

/// A change and its gain: `SO_SNDBUF = 65536 +830 %`.
fn tried(setup: &Setup, search: &Search<'_>, gain: &Gain) -> String {
    let lever = &search.levers[gain.places[0]];
    let change = &gain.changes[0];
    let names = match &lever.place {
        Place::Hosts(places) if lever.field == "cpu" => {
            let host = &setup.hosts[places[0]].name;
            vec![format!("work of `{host}` that takes no time")]
        }
        Place::Link(..) | Place::Flow => vec![format!("{} = {}", change.set, change.to)],
        Place::Hosts(_) => {
            let settings = advice::settings(setup, search, gain).into_iter();
            let mut names: Vec<String> = settings
                .map(|at| format!("{} = {}", at.setting.name, at.setting.wanted))
                .collect();
            names.dedup();
            names
        }
    };
    let gained = gain.ratio - 1.0;
    let result = match gain.ends {
        true => "the transfer ends".to_string(),
        false if gained.abs() < WORTH / 10.0 => "no gain".to_string(),
        false if !gained.is_finite() => "payload arrives".to_string(),
        false => format!(
            "{}{} %",
            if gained > 0.0 { "+" } else { "−" },
            three_digits(gained.abs() * 100.0)
        ),
    };
    format!("{}: {result}", names.join(" with "))
}

/// The present value of a lever's setting, by the name of its system.
fn present(setup: &Setup, lever: &Lever) -> Option<String> {
    match &lever.place {
        Place::Hosts(places) if lever.field != "cpu" => {
            let host = &setup.hosts[places[0]];
            let setting = advice::present_setting(host, lever.field);
            Some(format!("{} = {}", setting.name, setting.present))
        }
        Place::Flow => {
            let value = lever.present.as_ref()?;
            Some(format!("{} = {value}", lever.name))
        }
        Place::Hosts(_) => None,
        Place::Link(..) => lever.present.clone(),
    }
}

/// The part of the setup that a lever changes, to follow its cause.
fn place_words(setup: &Setup, lever: &Lever) -> String {
    match &lever.place {
        Place::Hosts(places) if lever.field == "cpu" => {
            format!(", that of `{}`", setup.hosts[places[0]].name)
        }
        Place::Hosts(_) | Place::Flow => String::new(),
        Place::Link(number, direction) => {
            let link = &setup.links[*number];
            let way = direction.map_or_else(String::new, |way| {
                let ends = [way.index(), way.reverse().index()];
                let [from, to] = ends.map(|end| setup.place_name(link.between[end]));
                format!(" from `{from}` to `{to}`")
            });
            format!(" of link `{}`{way}", link.name)
        }
    }
}

/// A limit of the sender, to follow "waited for".
fn waits_for(limit: Limit) -> &'static str {
    match limit {
        Limit::Application => "for its application to write",
        Limit::SendBuffer => "for room in the send buffer",
        Limit::ReceiveWindow => "for the receive window",
        Limit::ZeroWindow => "for a closed receive window",
        Limit::CwndSlowStart => "for the congestion window in slow start",
        Limit::CwndSteady => "for the congestion window",
        Limit::CwndAfterLoss => "for the congestion window after a loss",
        Limit::CwndAfterMark => "for the congestion window after a mark",
        Limit::CwndAfterIdle => "for the congestion window after an idle time",
        Limit::Pacing => "for the pacing rate",
        Limit::Device => "for the device",
        Limit::Nagle => "for Nagle's algorithm or a cork",
        Limit::Recovery => "for the repair of losses",
        Limit::Memory => "for packet memory",
        Limit::Handshake => "for the handshake",
        Limit::Closing => "for the close",
        Limit::Processor => "for the processor",
    }
}

/// The predicted result beside the measured one.
pub fn gives(setup: &Setup, played: &Played, predicted: &Predicted) -> String {
    let measured = &played.measured;
    let flows = measured.flows.first();
    let goodput = flows.map_or(measured.goodput_mbps, |flow| flow.goodput_mbps);
    let rate = |mbps: f64| rate_text(mbps * 1e6);
    let by_time = match setup.flow().stop {
        Stop::Bytes(bytes) if setup.flows.len() == 1 => {
            let all = (bytes * u64::from(setup.flow().count)) as f64 * 8.0 / 1e6;
            Some(move |mbps: f64| all / mbps)
        }
        Stop::Bytes(_) | Stop::After(_) => None,
    };
    let text = |mbps: f64| match &by_time {
        Some(time) => seconds_text(time(mbps)),
        None => rate(mbps),
    };
    let present = match &by_time {
        Some(_) => seconds_text(measured.elapsed_s),
        None => rate(goodput),
    };
    let mut ends = [predicted.low_mbps, predicted.high_mbps];
    if by_time.is_some() {
        ends.reverse();
    }
    let [low, high] = ends.map(text);
    let about = text(predicted.goodput_mbps);
    match low == high {
        true => format!("{about} instead of {present} (simulated)"),
        false => format!("about {about} instead of {present} (simulated; {low} to {high})"),
    }
}

/// A number and its noun: `1 probe`, `15 probes`.
pub fn counted(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", grouped(number)),
    }
}

fn percent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

/// `a`, `a and b`, `a, b and c`.
fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_string(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}
