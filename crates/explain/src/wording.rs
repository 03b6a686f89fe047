//! The sentences of an explanation.
//!
//! A lever is a thing that somebody could change, such as a setting. Rule: a sentence states the
//! result of a run or of the account (time by limit); this file decides nothing.

use fullpipe_scenario::{
    Outcome, Played, Setup, Shares,
    experiment::{Stop, with_bytes},
    units::{rate_text, seconds_text, three_digits},
};
use fullpipe_sim::link::Direction;
use fullpipe_tcp::Limit;

use crate::{
    advice,
    cause::Cause,
    explanation::Predicted,
    find::Found,
    lever::{Lever, Place},
    own_words::words_of,
    search::{Gain, Search},
    work::Effort,
};

/// Returns the words that follow "limited by": the limit and its value. If the words state a
/// goodput, it is the goodput of `played`, a run of the transfer or of a part of it.
pub fn limited_by(setup: &Setup, played: &Played, search: &Search<'_>, found: &Found) -> String {
    let Some(best) = &found.best else {
        return found.used_up.map_or_else(
            || match &found.unproven {
                Some(together) => unproven(search, together),
                None => nothing(setup, played),
            },
            |place| used_up(setup, played, &search.levers[place]),
        );
    };
    let mut text = cause_of(setup, search, best);
    if let Some(rival) = &found.rival {
        text += &compared(rival, best, &cause_of(setup, search, rival));
    }
    if let Some(fault) = &found.fault {
        let other = &search.levers[fault.places[0]];
        let cause = cause_with_place(setup, other);
        text += &match found.fault_saves > 1.0 {
            true => format!(". The transfer loses even more time on the path: {cause}"),
            false => format!(". The transfer also loses time on the path: {cause}"),
        };
    }
    text
}

/// Returns the causes of the levers of `gain`, each with its present settings: `the send buffer:
/// SO_SNDBUF = 8192`.
fn cause_of(setup: &Setup, search: &Search<'_>, gain: &Gain) -> String {
    let levers: Vec<_> = gain
        .places
        .iter()
        .map(|place| &search.levers[*place])
        .collect();
    let causes = each_once(levers.iter().map(|lever| words_of(lever)));
    let settings_of = |words: &str| {
        let own = levers.iter().filter(|lever| words_of(lever) == words);
        each_once(own.filter_map(|lever| present(setup, lever))).join(", ")
    };
    if let [only] = causes[..] {
        let place = place_words(setup, levers[0]);
        return match settings_of(only) {
            settings if settings.is_empty() => format!("{only}{place}"),
            settings => format!("{only}{place}: {settings}"),
        };
    }
    let each: Vec<_> = causes
        .iter()
        .map(|words| match settings_of(words) {
            settings if settings.is_empty() => (*words).to_string(),
            settings => format!("{words} ({settings})"),
        })
        .collect();
    let each: Vec<_> = each.iter().map(String::as_str).collect();
    format!("{} together", listed(&each))
}

/// Returns the words for `cause`, the cause of the lever `second`, beside that of the lever `first`.
/// Two small gains may differ by a factor although the goodputs are about equal, so both the
/// goodputs and the gains must be about equal for "equally".
fn compared(second: &Gain, first: &Gain, cause: &str) -> String {
    let is_as_much = second.saves_about_as_much_as(first) || (second.saves && first.saves);
    beside(second.equals(first), is_as_much, cause)
}

/// Returns the words for `cause` beside a first cause: `is_equal` says that the two goodputs are
/// about equal, `is_as_much` that the two changes save about as much time.
fn beside(is_equal: bool, is_as_much: bool, cause: &str) -> String {
    match (is_equal, is_as_much) {
        (true, true) => format!(". The transfer is limited equally by {cause}"),
        (false, true) => {
            format!(". The transfer loses about as much time to a second cause, {cause}")
        }
        (_, false) => format!(". The transfer is also limited by {cause}"),
    }
}

/// Returns the cause of a lever (a thing that could be changed) and the part of the setup that the
/// lever changes.
pub fn cause_with_place(setup: &Setup, lever: &Lever) -> String {
    format!("{}{}", words_of(lever), place_words(setup, lever))
}

/// Returns `all` without repetitions.
fn each_once<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for item in all {
        if !once.contains(&item) {
            once.push(item);
        }
    }
    once
}

/// Returns the words that follow "limited by" for the limit that remains after the advised change.
pub fn limited_next(setup: &Setup, search: &Search<'_>, found: &Found) -> String {
    match found.best.is_none() && found.used_up.is_none() {
        true => format!(
            "{}. No further change that was tried helps",
            Cause::NOTHING.words
        ),
        false => limited_by(setup, &search.base.first, search, found),
    }
}

/// Returns the words that follow "limited by" if no lever (a thing that could be changed) helps.
/// `lever` is the rate of a full link, or of an application whose datagrams nearly all arrive.
fn used_up(setup: &Setup, played: &Played, lever: &Lever) -> String {
    let value = match lever.place {
        Place::Flow => format!(
            "at least 99 % of its datagrams arrive, with a goodput of {}",
            rate_text(played.measured.first_flow_mbps(setup) * 1e6)
        ),
        _ => lever.present.clone().unwrap_or_default(),
    };
    format!("{}{}: {value}", words_of(lever), place_words(setup, lever))
}

/// Returns true if no connection was established.
pub fn is_unopened(played: &Played) -> bool {
    let shares = Shares::of(played.sender.times());
    let waited = shares.largest_first();
    played.measured.delivered_bytes == 0
        && waited
            .first()
            .is_some_and(|(limit, _)| *limit == Limit::Handshake)
}

/// Says how to search longer than this search.
fn longer(search: &Search<'_>) -> &'static str {
    match search.twin.work().effort() {
        Effort::Usual => "`fullpipe lab explain EXPERIMENT --row ROW` searches longer",
        Effort::High => {
            "`fullpipe lab explain EXPERIMENT --row ROW --matrix` tries every change on the whole \
             transfer"
        }
    }
}

/// Returns the words for a combination of levers whose needless levers are not known.
fn unproven(search: &Search<'_>, together: &Gain) -> String {
    let gain = match together.ends {
        true => "the simulated transfer completes".to_string(),
        false => format!(
            "the simulated goodput is {} times as high",
            three_digits(together.ratio)
        ),
    };
    format!(
        "{}. With {} settings of the hosts together, {gain}. Which of them are needed is not known, \
         because the search ended too early. {}",
        Cause::UNKNOWN.words,
        together.changes.len(),
        longer(search)
    )
}

/// Returns the words for a transfer that no lever speeds up. `played` is the run whose account
/// (time by limit) proves the limit, so that the words and the proof agree.
fn nothing(setup: &Setup, played: &Played) -> String {
    let shares = Shares::of(played.sender.times());
    if is_unopened(played) {
        return format!(
            "{}. No connection was established. No change that was tried helps",
            Cause::HANDSHAKE.words
        );
    }
    let longest = shares.largest_first();
    match longest.first() {
        Some((limit, _)) => format!(
            "{}. No change that was tried helps. The sender waits longest {}",
            Cause::NOTHING.words,
            waits_for(*limit, setup.flow().is_udp())
        ),
        None => format!("{}. The transfer took no time", Cause::NOTHING.words),
    }
}

/// The present value of a lever's setting. A setting of a host has the name that the host's system
/// uses. Of two hosts, the first whose setting the lever changes is used.
fn present(setup: &Setup, lever: &Lever) -> Option<String> {
    match &lever.place {
        Place::Hosts(places) if lever.field != "cpu" => {
            let host = advice::first_changed(setup, places, lever);
            let setting = advice::present_setting(host, lever.field);
            Some(format!("{} = {}", setting.name, setting.present))
        }
        Place::Flow => {
            let value = lever.present.as_ref()?;
            Some(format!(
                "{} = {}",
                lever.name,
                with_bytes(&lever.name, value)
            ))
        }
        Place::Hosts(_) => None,
        Place::Link(..) => lever.present.clone(),
    }
}

/// Returns the words that follow a cause: the part of the setup that the lever changes.
fn place_words(setup: &Setup, lever: &Lever) -> String {
    match &lever.place {
        Place::Hosts(places) if lever.field == "cpu" => {
            format!(" of `{}`", setup.hosts[places[0]].name)
        }
        Place::Hosts(_) | Place::Flow => String::new(),
        Place::Link(number, direction) => {
            let link = &setup.links[*number];
            let way = direction.map_or_else(String::new, |way| {
                let flow = setup.flow();
                let route = setup.route(flow.from, flow.to);
                let is_back = route.contains(&(*number, way.reverse()));
                let acks = if is_back {
                    ", which carries the ACKs"
                } else {
                    ""
                };
                format!("{}{acks}", ends_of(setup, *number, way))
            });
            format!(" of link `{}`{way}", link.name)
        }
    }
}

/// Returns the words that follow a link's name: the ends of its direction `way`.
pub fn ends_of(setup: &Setup, link: usize, way: Direction) -> String {
    let ends = [way.index(), way.reverse().index()];
    let [from, to] = ends.map(|end| setup.place_name(setup.links[link].between[end]));
    format!(" from `{from}` to `{to}`")
}

/// Returns the words that follow "waited" or "waits longest": the limit for which the sender waits.
/// `is_udp` is true for a sender of datagrams, which has no connection to close.
pub fn waits_for(limit: Limit, is_udp: bool) -> &'static str {
    match limit {
        Limit::Application => "for its application to write",
        Limit::SendBuffer => "for room in the send buffer",
        Limit::ReceiveWindow => "for the receive window",
        Limit::ZeroWindow => "for a closed receive window to open",
        Limit::CwndSlowStart => "for the congestion window in slow start",
        Limit::CwndSteady => "for the congestion window",
        Limit::CwndAfterLoss => "for the congestion window after a loss",
        Limit::CwndAfterMark => "for the congestion window after an ECN mark",
        Limit::CwndAfterIdle => "for the congestion window after an idle period",
        Limit::Pacing => "for the pacing timer",
        Limit::Device => "for room in the transmit queue of its network device",
        Limit::Nagle => "for Nagle's algorithm or a cork",
        Limit::Recovery => "for loss recovery",
        Limit::Memory => "for free packet memory",
        Limit::Handshake => "for the handshake",
        Limit::Closing if is_udp => "for the last datagrams to arrive",
        Limit::Closing => "for the connection to close",
        Limit::Processor => "for the processor",
    }
}

/// Returns the sentence for a transfer that is too long to run with each change. The first flow's
/// goodput is `part_mbps` at the beginning, the only part that can be run often enough, and
/// `whole_mbps` in the whole transfer.
pub fn untold(search: &Search<'_>, part_mbps: f64, whole_mbps: f64) -> String {
    let setup = search.setup;
    let who = match setup.flows.len() {
        1 => "the transfer".to_string(),
        _ => format!("flow `{}`", setup.flow().name),
    };
    let [part, whole] = [part_mbps, whole_mbps].map(|mbps| rate_text(mbps * 1e6));
    format!(
        "{}. No change was tried. The whole transfer takes too long to simulate with every change, \
         and its beginning is not typical of the whole: {who} has a goodput of {part} at the \
         beginning and {whole} overall. A change that helps the beginning may therefore not help \
         the whole. {}",
        Cause::UNKNOWN.words,
        longer(search)
    )
}

/// States the predicted result beside the measured one. If results depend on the seed, states the
/// unchanged result with the seeds of the prediction, because the row has other seeds.
pub fn gives(setup: &Setup, played: &Played, predicted: &Predicted) -> String {
    let measured = &played.measured;
    let goodput = measured.first_flow_mbps(setup);
    let rate = |mbps: f64| rate_text(mbps * 1e6);
    let is_complete = measured.outcome == Outcome::Complete;
    let is_by_chance = predicted.low_mbps < predicted.high_mbps && predicted.unchanged_mbps > 0.0;
    let by_time = match setup.flow().stop {
        Stop::Bytes(bytes) if setup.flows.len() == 1 && is_complete => {
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
        Some(_) if measured.is_cut_off(setup.flow()) => {
            format!("more than {}", seconds_text(measured.elapsed_s))
        }
        Some(time) if is_by_chance => seconds_text(time(predicted.unchanged_mbps)),
        Some(_) => seconds_text(measured.elapsed_s),
        None if is_by_chance => rate(predicted.unchanged_mbps),
        None => rate(goodput),
    };
    let mut ends = [predicted.low_mbps, predicted.high_mbps];
    if by_time.is_some() {
        ends.reverse();
    }
    let [low, high] = ends.map(text);
    let about = text(predicted.goodput_mbps);
    let flow = match setup.flows.len() {
        1 => String::new(),
        _ => format!(" for flow `{}`", setup.flow().name),
    };
    let what = match by_time {
        Some(_) => "a transfer time",
        None => "a goodput",
    };
    match low == high {
        true => format!("{what} of {about} instead of {present}{flow} (simulated)"),
        false => format!(
            "{what} of about {about} instead of {present}{flow} (simulated; {low} to {high} with \
             different seeds)"
        ),
    }
}

/// Returns a share in percent.
pub fn percent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

/// Joins words: `a`, `a and b`, `a, b and c`.
pub fn listed(words: &[&str]) -> String {
    joined(words, "and")
}

/// Joins alternatives: `a`, `a or b`, `a, b or c`.
pub fn either(words: &[&str]) -> String {
    joined(words, "or")
}

fn joined(words: &[&str], word: &str) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_string(),
        [others @ .., last] => format!("{} {word} {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests;
