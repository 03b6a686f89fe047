//! The sentences that prove a limit. Each states one result.
//!
//! Rule: a sentence states what the account (time by limit) of the unchanged run counted, or what a
//! run measured. A resource is called useless only if a run shows that more of it does not help.

use fullpipe_scenario::{
    Outcome, Played, Setup, Shares,
    experiment::{HostPlan, RELIEFS, Stop, with_bytes},
    path_account::{LinkAccount, LossPlace, PathLoss},
    units::{counted, seconds_text, three_digits},
};
use fullpipe_sim::link::Direction;
use fullpipe_tcp::{Limit, ReceiveLimit};

use crate::{
    advice::{self, Advised, UNSET},
    find::{Found, refuted},
    lever::{Lever, Place, USUAL},
    search::{Gain, Search, WORTH},
    shown_by::BUSY,
    smaller::{is_smaller_buffer, overflows},
    wording::{self, either, ends_of, listed, percent, waits_for},
};

/// A sentence about a share of the time is written only if the share is at least this.
const WORTH_TELLING: f64 = 0.1;
/// Largest number of limits of the account that are listed; also the largest number of changes
/// without gain that are listed.
const MOST_TOLD: usize = 3;
/// Fields of a link that bound what it carries.
const CAPACITY: [&str; 2] = ["rate", "radio"];
/// A link that is busy for at least this share of the time is full.
const FULL: f64 = 0.98;
/// Limits that fill up behind a full link.
const BEHIND_A_FULL_LINK: [Limit; 4] = [
    Limit::SendBuffer,
    Limit::ReceiveWindow,
    Limit::Memory,
    Limit::Device,
];
/// A wait is explained by a full link only if it took at least this share of the time.
const MAINLY: f64 = 0.5;
/// Gains from this ratio on are printed as a ratio, smaller gains in percent.
const MANY: f64 = 10.0;

/// A full link of the first flow's path that other flows use, too.
pub struct SharedLink {
    /// Index of the link.
    pub link: usize,
    /// Direction of the first flow's payload.
    pub way: Direction,
    /// Indices of the other flows.
    pub others: Vec<usize>,
    /// Share of the other flows in the payload of all flows of the link.
    pub share: f64,
    /// Gain of the first flow without the other flows, as a share of its goodput.
    pub gain: f64,
}

/// Returns the sentences that prove the limit.
pub fn because(setup: &Setup, played: &Played, search: &Search<'_>, found: &Found) -> Vec<String> {
    let mut told: Vec<String> = account(setup, played).into_iter().collect();
    told.extend(reader(setup, played));
    told.extend(unanswered(setup, played));
    told.extend(unfinished(setup, played));
    let best = found.best.as_ref();
    let lever = best.map(|best| &search.levers[best.places[0]]);
    told.extend(losses(setup, played, lever));
    told.extend(marks(setup, played));
    if played.measured.link_busy_share >= BUSY {
        told.push(busy(setup, played));
        told.extend(only_waits(played, search, found));
    }
    let runs = found.best.iter().chain(&found.rival).chain(&found.fault);
    told.extend(runs.map(|gain| tried(setup, played, search, gain)));
    told.extend(less_is_more(setup, played, search, found));
    told.extend(no_help(setup, search, found));
    told
}

/// Says that a smaller buffer is faster because the queue of the path is short, if the run with the
/// smaller buffer lost a smaller share of the frames in that queue.
fn less_is_more(
    setup: &Setup,
    played: &Played,
    search: &Search<'_>,
    found: &Found,
) -> Option<String> {
    let is_smaller = |gain: &&Gain| {
        let mut places = gain.places.iter();
        places.any(|place| is_smaller_buffer(&search.levers[*place]))
    };
    let mut named = found.best.iter().chain(&found.rival);
    let gain = named.find(is_smaller)?;
    let before = if gain.is_whole {
        played
    } else {
        &search.base.first
    };
    let [before, after] = [before, &gain.speed.first].map(|run| overflows(setup, run));
    (after < before).then(|| {
        "With a smaller buffer, the sender overflows the short queue of the path less often."
            .to_string()
    })
}

/// Returns the sentences that prove that other flows on a full link are the limit.
pub fn of_shared_link(setup: &Setup, played: &Played, shared: &SharedLink) -> Vec<String> {
    let link = &played.path.links[shared.link];
    let busy = match link.shared {
        true => busy_medium(link, &percent(link.busy_share())),
        false => {
            let share = percent(link.direction(shared.way).full_share());
            busy_direction(setup, (shared.link, shared.way), &share)
        }
    };
    let flow = &setup.flow().name;
    let others = shared.others.iter().map(|number| &setup.flows[*number]);
    let without = match shared.others.len() {
        count if count > MOST_TOLD => format!("the {count} other flows of the link"),
        _ => {
            let names: Vec<_> = others
                .map(|other| format!("flow `{}`", other.name))
                .collect();
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            listed(&names)
        }
    };
    let ratio = 1.0 + shared.gain;
    let gain = match ratio >= MANY {
        true => format!("is {} times as high", three_digits(ratio)),
        false => format!("rises by {}", percent(shared.gain)),
    };
    let alone = format!("Without {without}, the simulated goodput of flow `{flow}` {gain}.");
    let told = account(setup, played).into_iter();
    let told = told.chain(losses(setup, played, None));
    told.chain([busy, alone]).collect()
}

/// Says that a full link explains the longest wait of the account, if that wait was for memory, a
/// window or a queue. A search names a link only if no run with more of them gained anything.
fn only_waits(played: &Played, search: &Search<'_>, found: &Found) -> Option<String> {
    let lever = &search.levers[found.place()?];
    let is_busiest = matches!(lever.place, Place::Link(number, _) if number == played.busiest);
    let is_full = played.measured.link_busy_share >= FULL;
    let is_capacity = is_busiest && is_full && CAPACITY.contains(&lever.field);
    let is_alone = found.rival.is_none() && found.fault.is_none();
    let shares = Shares::of(played.sender.times());
    let (longest, share) = *shares.largest_first().first()?;
    let is_filled = BEHIND_A_FULL_LINK.contains(&longest) && share >= MAINLY;
    (is_capacity && is_alone && is_filled)
        .then(|| "The sender waited only because this link carries no more.".to_string())
}

/// Lists the limits for which the sender waited longest, at most [`MOST_TOLD`].
fn account(setup: &Setup, played: &Played) -> Option<String> {
    let shares = Shares::of(played.sender.times());
    let is_udp = setup.flow().is_udp();
    let waits = shares.largest_first().into_iter();
    let waits = waits.filter(|(_, share)| *share >= WORTH_TELLING);
    let parts: Vec<_> = waits
        .take(MOST_TOLD)
        .enumerate()
        .map(|(place, (limit, share))| {
            let of_time = if place == 0 { " of the time" } else { "" };
            let words = waits_for(limit, is_udp);
            format!("{}{of_time} {words}", percent(share))
        })
        .collect();
    let parts: Vec<_> = parts.iter().map(String::as_str).collect();
    let sender = match setup.hosts[setup.flow().from].name.as_str() {
        "sender" => String::new(),
        name => format!(" (`{name}`)"),
    };
    (!parts.is_empty()).then(|| format!("The sender{sender} waited {}.", listed(&parts)))
}

/// States the time for which the receiving application left payload unread.
fn reader(setup: &Setup, played: &Played) -> Option<String> {
    let share = Shares::of(played.receiver.times()).share(ReceiveLimit::Reader);
    let receiver = &setup.hosts[setup.flow().to].name;
    (share >= WORTH_TELLING).then(|| {
        format!(
            "The application on `{receiver}` left received payload unread for {} of the time.",
            percent(share)
        )
    })
}

/// Counts the window probes that the peer did not answer.
fn unanswered(setup: &Setup, played: &Played) -> Option<String> {
    let silence = played.silence.as_ref()?;
    let is_one = silence.connections == 1 && silence.closed == 1 && silence.probes > 0;
    is_one.then(|| {
        let host = &setup.hosts[silence.host].name;
        let dropped = match silence.given_up {
            0 => String::new(),
            _ => format!(
                " `{host}` dropped the connection after {} of silence.",
                seconds_text(silence.longest_s)
            ),
        };
        format!(
            "The peer's last segment arrived {} after the start. The peer left {} \
             unanswered.{dropped}",
            seconds_text(silence.heard_s[0]),
            counted(silence.probes, "window probe"),
        )
    })
}

/// Counts the bytes that an incomplete transfer carried.
fn unfinished(setup: &Setup, played: &Played) -> Option<String> {
    let bytes = counted(played.measured.delivered_bytes, "byte");
    let who = match setup.flows.iter().map(|flow| flow.count).sum::<u32>() {
        1 => "The connection",
        _ => "A connection",
    };
    match played.measured.outcome {
        Outcome::Complete => None,
        Outcome::Stalled => Some(format!("The transfer stalled after {bytes}.")),
        Outcome::Dropped => Some(format!(
            "{who} was dropped after the receiving application had read {bytes}."
        )),
    }
}

/// Names the place of the main loss, if the losses cost time, datagrams or the handshake. `lever`
/// is the lever that helps most.
fn losses(setup: &Setup, played: &Played, lever: Option<&Lever>) -> Option<String> {
    let shares = Shares::of(played.sender.times());
    let repair = shares.share(Limit::Recovery) + shares.share(Limit::CwndAfterLoss);
    let most = main_loss(setup, played, lever)?.words(setup);
    if setup.flow().is_udp() {
        let lost = played.measured.lost_share.filter(|share| *share > 0.0)?;
        let lost = percent(lost);
        return Some(format!("{lost} of the datagrams were lost. {most}."));
    }
    let opening = wording::is_unopened(played);
    let all = match played.worlds {
        1 => String::new(),
        runs => format!("in the {runs} runs together, "),
    };
    (repair >= WORTH_TELLING || opening).then(|| capitalised(&format!("{all}{most}.")))
}

/// Returns the largest loss in the direction whose impairment is the cause. If the cause is no
/// impairment, or if this direction lost nothing, returns the largest loss outside the direction of
/// the ACKs, because a lost ACK costs little: a later ACK acknowledges the same payload. If only
/// ACKs were lost, returns the largest loss of all.
fn main_loss<'a>(setup: &Setup, played: &'a Played, lever: Option<&Lever>) -> Option<PathLoss<'a>> {
    let losses = played.path.losses();
    let is_at = |loss: &PathLoss<'_>, number: usize, way: Direction| match loss.place {
        LossPlace::Link {
            link, direction, ..
        } => link == setup.links[number].name && direction == way,
        LossPlace::Host { .. } => false,
    };
    let named = lever.and_then(|lever| match lever.place {
        Place::Link(number, Some(way)) if !USUAL.contains(&lever.field) => Some((number, way)),
        Place::Link(..) | Place::Hosts(_) | Place::Flow => None,
    });
    let route = setup.route(setup.flow().from, setup.flow().to);
    let is_of_acks = |loss: &PathLoss<'_>| {
        let mut route = route.iter();
        route.any(|(number, way)| is_at(loss, *number, way.reverse()))
    };
    let of_named = named.and_then(|(number, way)| {
        let mut losses = losses.iter();
        losses.find(|loss| is_at(loss, number, way))
    });
    let main = of_named.or_else(|| losses.iter().find(|loss| !is_of_acks(loss)));
    main.or(losses.first()).copied()
}

/// States the busy share of the busiest link. Names the busier direction, unless both directions
/// share the medium.
fn busy(setup: &Setup, played: &Played) -> String {
    let account = &played.path.links[played.busiest];
    let share = percent(played.measured.link_busy_share);
    if account.shared {
        return busy_medium(account, &share);
    }
    let way = match account.back.busy > account.forward.busy {
        true => Direction::Back,
        false => Direction::Forward,
    };
    busy_direction(setup, (played.busiest, way), &share)
}

/// States the busy share of a link whose directions share the medium.
fn busy_medium(link: &LinkAccount, share: &str) -> String {
    format!(
        "Link `{}`, whose two directions share the medium, was busy {share} of the time.",
        link.link
    )
}

/// States the busy share of one direction of a link.
fn busy_direction(setup: &Setup, (link, way): (usize, Direction), share: &str) -> String {
    format!(
        "Link `{}`{} was busy {share} of the time.",
        setup.links[link].name,
        ends_of(setup, link, way),
    )
}

/// Counts the segments that links marked, if the sender waited because of the marks.
fn marks(setup: &Setup, played: &Played) -> Option<String> {
    let waited = Shares::of(played.sender.times()).share(Limit::CwndAfterMark);
    let route = setup.route(setup.flow().from, setup.flow().to);
    let marks = |(number, way): &(usize, Direction)| {
        let link = &played.path.links[*number];
        (*number, *way, link.direction(*way).counters.marked)
    };
    let (number, way, marked) = route.iter().map(marks).max_by_key(|(.., marked)| *marked)?;
    (waited >= WORTH && marked > 0).then(|| {
        format!(
            "Link `{}`{} put ECN marks on {}.",
            setup.links[number].name,
            ends_of(setup, number, way),
            counted(marked, "frame")
        )
    })
}

/// States a change and its result: `With SO_SNDBUF = 65536 on ..., the simulated goodput rises by
/// 830 %.` Of several settings, adds that no run with fewer of them gained as much.
fn tried(setup: &Setup, played: &Played, search: &Search<'_>, gain: &Gain) -> String {
    let gained = gain.ratio - 1.0;
    let of_flow = match setup.flows.len() {
        1 => String::new(),
        _ => format!(" of flow `{}`", setup.flow().name),
    };
    let result = match gain.ends {
        true => completes(setup, played),
        false if gained.abs() < WORTH / 10.0 => {
            format!("the simulated goodput{of_flow} does not change")
        }
        false if !gained.is_finite() => format!("payload{of_flow} arrives in the simulation"),
        false if gain.ratio >= MANY => format!(
            "the simulated goodput{of_flow} is {} times as high",
            three_digits(gain.ratio)
        ),
        false => format!(
            "the simulated goodput{of_flow} {} by {} %",
            if gained > 0.0 { "rises" } else { "falls" },
            three_digits(gained.abs() * 100.0)
        ),
    };
    format!(
        "{}, {result}.{}",
        change(setup, search, gain),
        needed(setup, search, gain)
    )
}

/// Returns the result of a run that completes, unlike the unchanged transfer.
fn completes(setup: &Setup, played: &Played) -> String {
    let flow = setup.flow();
    match (flow.stop, played.measured.outcome) {
        (_, Outcome::Dropped) => "no simulated connection is dropped".to_string(),
        (Stop::After(_), _) => "the simulated transfer does not stall".to_string(),
        (Stop::Bytes(_), Outcome::Stalled) => "the simulated transfer completes".to_string(),
        (Stop::Bytes(_), Outcome::Complete) => flow.at_most.map_or_else(
            || "the simulated transfer completes".to_string(),
            |limit| {
                let limit = seconds_text(limit.as_secs_f64());
                format!("the simulated transfer completes within its time limit of {limit}")
            },
        ),
    }
}

/// States that fewer of the settings of `gain` gain less; empty if there is only one setting.
///
/// The number of levers is not printed, because the reader sees settings: a lever may consist of
/// several settings, and two levers may share one setting.
fn needed(setup: &Setup, search: &Search<'_>, gain: &Gain) -> &'static str {
    let settings = advice::settings(setup, search, gain).len();
    match (gain.places.len(), settings) {
        (1, _) | (_, 0 | 1) => "",
        (2, 2) => " Each of the two changes alone gains less.",
        _ => " No run with fewer of these settings gained as much.",
    }
}

/// Returns the change of a run with its hosts, named as the hosts' systems name it: `With SO_RCVBUF
/// = 65536 on ...`, or `Without random losses of link ...`.
fn change(setup: &Setup, search: &Search<'_>, gain: &Gain) -> String {
    let lever = &search.levers[gain.places[0]];
    match &lever.place {
        Place::Hosts(places) if lever.field == "cpu" => {
            let host = &setup.hosts[places[0]].name;
            format!("With an infinitely fast processor on `{host}`")
        }
        Place::Link(..) | Place::Flow => {
            let all = gain.changes.iter();
            let all: Vec<_> = all
                .map(|at| format!("{} = {}", at.set, with_bytes(&at.set, &at.to)))
                .collect();
            let all: Vec<_> = all.iter().map(String::as_str).collect();
            match is_removed(lever, gain) {
                true => format!(
                    "Without {} ({})",
                    wording::cause_with_place(setup, lever),
                    listed(&all)
                ),
                false => format!("With {}", listed(&all)),
            }
        }
        Place::Hosts(_) => format!("With {}", of_hosts(&advice::settings(setup, search, gain))),
    }
}

/// Returns true if the run of `gain` removes an impairment of the path completely.
fn is_removed(lever: &Lever, gain: &Gain) -> bool {
    let mut removed = RELIEFS.iter().filter(|relief| relief.is_removed);
    removed.any(|relief| relief.name == lever.field) && gain.changes == lever.ample
}

/// Lists settings, those of one host together: ``a = 1 and b = 2 on `client`, and c = 3 on
/// `server` ``.
fn of_hosts(settings: &[Advised]) -> String {
    let mut hosts: Vec<&str> = Vec::new();
    for at in settings {
        if !hosts.contains(&at.on.as_str()) {
            hosts.push(&at.on);
        }
    }
    let texts: Vec<_> = hosts
        .iter()
        .map(|host| {
            let own = settings.iter().filter(|at| at.on == *host);
            let own: Vec<_> = own
                .map(|at| match at.setting.wanted.as_str() {
                    UNSET => format!("{} {UNSET}", at.setting.name),
                    wanted => format!("{} = {wanted}", at.setting.name),
                })
                .collect();
            let own: Vec<_> = own.iter().map(String::as_str).collect();
            format!("{} on `{host}`", listed(&own))
        })
        .collect();
    let is_long = settings.len() > hosts.len();
    texts.join(if is_long { ", and " } else { " and " })
}

/// Lists the resources that do not help if enlarged: one sentence for each host.
fn no_help(setup: &Setup, search: &Search<'_>, found: &Found) -> Vec<String> {
    let best = found.best.iter().flat_map(|best| &best.places);
    let named: Vec<_> = best.map(|place| search.levers[*place].cause).collect();
    let mut names: Vec<(usize, String)> = Vec::new();
    for place in refuted(search, found) {
        let lever = &search.levers[place];
        let Place::Hosts(hosts) = &lever.place else {
            continue;
        };
        if named.contains(&lever.cause) {
            continue;
        }
        let host = &setup.hosts[hosts[0]];
        let name = advice::present_setting(host, lever.field).name;
        // Omit a knob that the host's system does not have.
        let is_own = name != lever.field || host.preset.name == "default";
        if is_own && !names.contains(&(hosts[0], name.clone())) {
            names.push((hosts[0], name));
        }
    }
    names.truncate(MOST_TOLD);
    let of_host = |(place, host): (usize, &HostPlan)| {
        let own = names.iter().filter(|(of, _)| *of == place);
        let own: Vec<_> = own.map(|(_, name)| name.as_str()).collect();
        let own: Vec<_> = own.iter().map(|name| format!("only {name}")).collect();
        let own: Vec<_> = own.iter().map(String::as_str).collect();
        let raised = either(&own);
        (!own.is_empty()).then(|| format!("On `{}`, raising {raised} gains nothing.", host.name))
    };
    setup.hosts.iter().enumerate().filter_map(of_host).collect()
}

/// Returns `text` with a capital first letter.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
