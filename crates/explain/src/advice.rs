//! The advice: the smallest settings that keep the gain of ample settings, in the names of the
//! host's system. A setting is ample if a larger value would not help.
//!
//! Rule: each value is found by simulated runs: first guesses, then bisection. A setting of the
//! host's system is used only if it makes the same change as fullpipe's knob. A value that the
//! setting cannot express is rounded up.

use fullpipe::presets::alias;
use fullpipe_diagnose::facts::ChangeLine;
use fullpipe_scenario::experiment::{HostPlan, HostStack, Setup, other_names};

use crate::{
    caution,
    lever::{Change, Lever, Place, changed},
    names::{self, NamedSetting},
    search::{Gain, KEPT, Search},
    twin::TwinFailure,
};

/// The search ends when the smallest value that suffices is at most this many times the largest
/// value that does not suffice, or after [`MOST_STEPS`] values.
const PRECISE: f64 = 1.05;
/// Largest number of values that are tried for one setting.
const MOST_STEPS: usize = 9;
/// Value that stands for the size of a buffer if no application has set the size.
pub const UNSET: &str = "unset";
/// Settings that hold payload in packet memory, in bytes.
const BUFFERS: [&str; 6] = [
    "tcp.send_buffer",
    "tcp.send_buffer_max",
    "tcp.receive_buffer",
    "tcp.receive_buffer_max",
    "udp.send_buffer",
    "udp.receive_buffer",
];
/// Largest number of times that a buffer is lowered because its host's system rounds its size up.
const ROUNDING_STEPS: u32 = 8;
/// Number of first values that are guessed; later values come from bisection.
const GUESSES: usize = 3;
/// Factor by which a guess exceeds the computed need.
const MARGIN: f64 = 1.01;
/// Few seeds are enough if their result differs from the required result by more than this share.
const CLEAR: f64 = 0.03;

/// One setting of an advice.
#[derive(Clone, Debug, PartialEq)]
pub struct Advised {
    /// The setting as `--set` takes it.
    pub change: Change,
    /// The setting's name in its host's system, with its present value.
    pub setting: NamedSetting,
    /// Name of the host with the setting; for a setting of a flow, the sending host.
    pub on: String,
    /// The knob of fullpipe that the setting changes, or the field of the device or flow.
    pub knob: String,
}

impl Advised {
    /// Returns true if this setting and `other` cannot be combined: both are sizes of one buffer,
    /// or values of one setting.
    pub fn replaces(&self, other: &Self) -> bool {
        let root = |advised: &Self| advised.knob.trim_end_matches("_max").to_string();
        self.on == other.on && root(self) == root(other)
    }

    /// The setting as one line of the verdict.
    pub fn line(&self) -> ChangeLine {
        ChangeLine {
            host: self.on.clone(),
            paste: self.setting.paste.clone(),
            from: self.setting.present.clone(),
            notes: self.setting.cautions.clone(),
        }
    }
}

/// Reduces each ample amount of `gain` to the smallest value that gives nearly the same goodput. A
/// cap on a buffer is not searched if the size of the buffer is: it gets this size. Also returns the
/// names of the settings whose ample value remains, because the budget allowed no run with a smaller
/// value.
///
/// # Errors
/// Returns a violation that a checker of the simulator found.
pub fn smallest(search: &Search<'_>, gain: Gain) -> Result<(Gain, Vec<String>), TwinFailure> {
    let enough = Enough::of(&gain);
    let mut best = left_to_tuning(search, gain, enough)?;
    let mut slot = 0;
    let mut hint = None;
    let mut untried = Vec::new();
    for place in best.places.clone() {
        let lever = &search.levers[place];
        if let Some([present, _]) = lever.range
            && buffer_of_cap(&best.changes, slot).is_none()
            && let Ok(most) = best.changes[slot].to.parse::<u64>()
        {
            let is_done = search.twin.work().is_done();
            best = smallest_of(search, best, slot, [present, most], enough, hint)?;
            let found: Option<u64> = best.changes[slot].to.parse().ok();
            let is_large = most as f64 > present.max(1) as f64 * PRECISE;
            // A value may be reduced after the end of the budget, by runs that are known.
            if is_done && is_large && found == Some(most) {
                untried.push(best.changes[slot].set.clone());
            }
            hint = found.filter(|found| *found < most).or(hint);
        }
        slot += lever.ample.len();
    }
    within_pool(search, &mut best.changes);
    lower_caps(&mut best.changes);
    rounded_within_pool(search, &mut best);
    Ok((best, untried))
}

/// Lowers each buffer in the changes of `best` whose size the host's system rounds up to more than
/// the packet memory that the host has after the changes.
fn rounded_within_pool(search: &Search<'_>, best: &mut Gain) {
    for step in 0..ROUNDING_STEPS {
        let settings = settings(search.setup, search, best);
        let set: Vec<Change> = settings.iter().map(|at| at.change.clone()).collect();
        let Some(after) = changed(search.setup, &set) else {
            return;
        };
        let mut is_within = true;
        for change in &mut best.changes {
            let own = |host: &&HostPlan| is_buffer_of(host, &change.set);
            let Some(host) = after.hosts.iter().find(own) else {
                continue;
            };
            let knob = &change.set[host.name.len() + 1..];
            let rounded = host.get(knob).and_then(|size| size.parse::<u64>().ok());
            let size = change.to.parse::<u64>().ok();
            let Some((rounded, size)) = rounded.zip(size) else {
                continue;
            };
            // The present size is legal, even if it is larger than the packet memory.
            if rounded > host.pool_bytes() && rounded > size {
                is_within = false;
                let excess = (rounded - host.pool_bytes()) << step;
                change.to = size.saturating_sub(excess).max(1).to_string();
            }
        }
        if is_within {
            return;
        }
    }
}

/// Lowers each buffer in `changes` to the packet memory that its host has after the changes, but not
/// below its present size. No run is needed: a buffer never holds more than the packet memory.
fn within_pool(search: &Search<'_>, changes: &mut [Change]) {
    let Some(after) = changed(search.setup, changes) else {
        return;
    };
    for change in changes {
        let own = |host: &&HostPlan| is_buffer_of(host, &change.set);
        let Some(host) = after.hosts.iter().find(own) else {
            continue;
        };
        let present = search.setup.hosts.iter().find(own);
        let present = present.and_then(|host| host.get(&change.set[host.name.len() + 1..]));
        let present = present.and_then(|size| size.parse().ok()).unwrap_or(0);
        let most = host.pool_bytes().max(present);
        if change.to.parse::<u64>().is_ok_and(|size| size > most) {
            change.to = most.to_string();
        }
    }
}

/// Returns true if `set` is the size of a buffer of `host`, or a bound on this size.
fn is_buffer_of(host: &HostPlan, set: &str) -> bool {
    let knob = set.strip_prefix(&host.name);
    let knob = knob.and_then(|rest| rest.strip_prefix('.'));
    knob.is_some_and(|knob| BUFFERS.contains(&knob))
}

/// Returns `settings` with a note on each setting that `untried` names: its value is perhaps not the
/// smallest that suffices.
pub fn noted(mut settings: Vec<Advised>, untried: &[String]) -> Vec<Advised> {
    for at in &mut settings {
        let name = format!("{}.{}", at.on, at.knob);
        if untried.contains(&name) && at.setting.wanted != UNSET {
            let note = "A smaller value may suffice; none was tried.";
            at.setting.cautions.push(note.to_string());
        }
    }
    settings
}

/// Returns the index of the change to the buffer whose cap the change at `slot` sets; `None` if this
/// change sets no cap, or `changes` do not set the buffer's size.
fn buffer_of_cap(changes: &[Change], slot: usize) -> Option<usize> {
    let buffer = changes[slot].set.strip_suffix("_limit")?;
    changes.iter().position(|change| change.set == buffer)
}

/// Lowers each cap on a buffer to the size of this buffer, if `changes` set both. No run is needed:
/// the smaller of the two applies, so the transfer remains the same.
fn lower_caps(changes: &mut [Change]) {
    for slot in 0..changes.len() {
        let Some(buffer) = buffer_of_cap(changes, slot) else {
            continue;
        };
        let sizes = [slot, buffer].map(|at| changes[at].to.parse::<u64>());
        if let [Ok(cap), Ok(size)] = sizes {
            let least = cap.min(size).to_string();
            changes[slot].to.clone_from(&least);
            changes[buffer].to = least;
        }
    }
}

/// Returns `best` with autotuning in place of each fixed buffer size that the system can tune, if
/// the gain remains. Autotuning needs no number and also suits other paths.
fn left_to_tuning(
    search: &Search<'_>,
    mut best: Gain,
    enough: Enough,
) -> Result<Gain, TwinFailure> {
    let mut slot = 0;
    for number in 0..best.places.len() {
        let lever = &search.levers[best.places[number]];
        let own = slot..slot + lever.ample.len();
        slot = own.end;
        let is_within = |other: &Lever| {
            let mut sizes = other.ample.iter();
            let size = sizes.find_map(|change| change.to.parse::<u64>().ok());
            let most = search.memory.into_iter();
            let pools = hosts_of(search.setup, other).map(HostPlan::pool_bytes);
            most.chain(pools).min() >= size
        };
        let is_other = |other: &&Lever| {
            other.field.strip_suffix("_max") == Some(lever.field)
                && is_within(other)
                && other.place == lever.place
                && hosts_of(search.setup, other).all(|host| is_set(host, other.field))
        };
        let Some(place) = search.levers.iter().position(|other| is_other(&other)) else {
            continue;
        };
        let mut tuned = best.clone();
        tuned.places[number] = place;
        let ample = &search.levers[place].ample;
        let end = own.start + ample.len();
        tuned.changes.splice(own, ample.iter().cloned());
        if let Probe::Enough(gain) = sufficient(search, &tuned, &tuned.changes, enough)? {
            best = *gain;
            slot = end;
        }
    }
    Ok(best)
}

/// Returns the hosts whose settings a lever (a thing that could be changed) changes.
fn hosts_of<'a>(setup: &'a Setup, lever: &'a Lever) -> impl Iterator<Item = &'a HostPlan> {
    let places = match &lever.place {
        Place::Hosts(places) => places.as_slice(),
        Place::Link(..) | Place::Flow => &[],
    };
    places.iter().map(|place| &setup.hosts[*place])
}

/// Returns the first of the hosts at `places` whose setting `lever` changes; the first host if the
/// lever changes none. A lever of two hosts may change only one of them, because the setting of the
/// other host may already have the new value.
pub fn first_changed<'a>(setup: &'a Setup, places: &[usize], lever: &Lever) -> &'a HostPlan {
    let each = lever.ample.len() / places.len();
    let is_new = |(number, host): &(usize, &HostPlan)| {
        is_changed(host, &lever.ample[number * each..][..each])
    };
    let hosts = places.iter().map(|place| &setup.hosts[*place]);
    let first = hosts.enumerate().find(is_new);
    first.map_or(&setup.hosts[places[0]], |(_, host)| host)
}

/// Returns true if `changes` change a setting of `host`, or if the host refuses one of them.
fn is_changed(host: &HostPlan, changes: &[Change]) -> bool {
    let mut after = host.clone();
    let is_set = |change: &Change| {
        let knob = &change.set[host.name.len() + 1..];
        after.set(knob, &change.to).is_ok()
    };
    !changes.iter().all(is_set) || after != *host
}

/// Returns true if the hosts that the lever changes have a setting for the change. A host that runs
/// fullpipe's own stack has every setting; a host that runs a kernel has only those of its system.
pub fn can_be_set(setup: &Setup, lever: &Lever) -> bool {
    let is_real = hosts_of(setup, lever).any(|host| host.stack == HostStack::Kernel);
    let is_named = |advised: &Advised| advised.setting.name != advised.knob;
    let all = || of_lever(setup, lever, &lever.ample);
    !is_real || !lever.kind.is_of_host() || all().iter().all(is_named)
}

/// The result that a value smaller than the ample value must reach.
#[derive(Clone, Copy)]
struct Enough {
    /// Goodput, divided by the goodput of the unchanged row (the simulated transfer as the
    /// experiment file describes it).
    ratio: f64,
    /// Goodput in Mbit/s. Used only if the unchanged row delivers nothing, because then no ratio
    /// exists; otherwise 0.
    mbps: f64,
}

impl Enough {
    fn of(gain: &Gain) -> Self {
        match gain.ratio.is_finite() {
            true => Self {
                ratio: 1.0 + (gain.ratio - 1.0) * KEPT,
                mbps: 0.0,
            },
            false => Self {
                ratio: 1.0,
                mbps: gain.speed.mean_mbps() * KEPT,
            },
        }
    }

    /// Difference between the result of `gain` and the required result, as a share of the required
    /// result.
    fn distance(self, gain: &Gain) -> f64 {
        match self.mbps > 0.0 {
            true => (gain.speed.mean_mbps() / self.mbps - 1.0).abs(),
            false => (gain.ratio / self.ratio - 1.0).abs(),
        }
    }

    fn is_kept_by(self, gain: &Gain) -> bool {
        gain.ratio >= self.ratio && gain.speed.mean_mbps() >= self.mbps
    }
}

/// Searches for the smallest sufficient value of one amount, the change at index `slot` of `best`.
/// Bisects between a value that does not suffice and a larger value that does. Goodput is often
/// proportional to the amount, so the first values are extrapolated. `hint`, the value found for
/// another amount, is tried first, because the send buffer and the receive buffer of a transfer
/// often need the same size.
fn smallest_of(
    search: &Search<'_>,
    mut best: Gain,
    slot: usize,
    [mut few, mut many]: [u64; 2],
    enough: Enough,
    hint: Option<u64>,
) -> Result<Gain, TwinFailure> {
    few = few.max(1);
    // Goodput with the value `few`, divided by the unchanged goodput, for extrapolation. `None`
    // after a guess has sufficed.
    let mut known = Some(1.0);
    if let Some(hint) = hint.filter(|hint| few < *hint && *hint < many) {
        let mut changes = best.changes.clone();
        changes[slot].to = hint.to_string();
        match sufficient(search, &best, &changes, enough)? {
            Probe::Enough(gain) => {
                best = *gain;
                few = below(search, &mut best, slot, [few, hint], enough)?;
                many = best.changes[slot].to.parse().unwrap_or(hint);
                known = None;
            }
            Probe::Less(ratio) => {
                few = hint;
                known = ratio;
            }
        }
    }
    for step in 0..MOST_STEPS {
        if many as f64 <= few as f64 * PRECISE || many <= few + 1 {
            break;
        }
        let guess = known.filter(|_| step < GUESSES).map(|ratio: f64| {
            let wanted = few as f64 * enough.ratio / ratio.max(0.1) * MARGIN;
            (wanted.max(few as f64 * PRECISE), true)
        });
        let middle = (few as f64 * many as f64).sqrt();
        let (wanted, is_guess) = guess.unwrap_or((middle, false));
        // Replace a guess far above the geometric middle by the middle: if such a guess sufficed,
        // the remaining range would be hardly smaller than before.
        let (wanted, is_guess) = match wanted * wanted > middle * many as f64 {
            true => (middle, false),
            false => (wanted, is_guess),
        };
        let value = (wanted as u64).clamp(few + 1, many - 1);
        let mut changes = best.changes.clone();
        changes[slot].to = value.to_string();
        match sufficient(search, &best, &changes, enough)? {
            Probe::Enough(gain) => {
                best = *gain;
                many = value;
                if is_guess {
                    // Try a slightly smaller value, too: if the guess was precise, the smaller
                    // value does not suffice, and the search can end.
                    few = below(search, &mut best, slot, [few, value], enough)?;
                    many = best.changes[slot].to.parse().unwrap_or(many);
                }
                known = None;
            }
            Probe::Less(ratio) => {
                few = value;
                known = known.and(ratio);
            }
        }
    }
    Ok(best)
}

/// Runs with a value slightly below `value` in `slot`, and stores the run in `best` if this lower
/// value suffices. Skips the run if the lower value is at most `few`, which is known not to
/// suffice. Returns the largest value that is known not to suffice.
fn below(
    search: &Search<'_>,
    best: &mut Gain,
    slot: usize,
    [few, value]: [u64; 2],
    enough: Enough,
) -> Result<u64, TwinFailure> {
    let less = (value as f64 / PRECISE).ceil() as u64;
    if less >= value || less <= few {
        return Ok(few);
    }
    let mut changes = best.changes.clone();
    changes[slot].to = less.to_string();
    Ok(match sufficient(search, best, &changes, enough)? {
        Probe::Enough(gain) => {
            *best = *gain;
            few
        }
        Probe::Less(_) => less,
    })
}

/// Result of a run with one value.
enum Probe {
    /// The value suffices.
    Enough(Box<Gain>),
    /// The value does not suffice. Contains the goodput with this value, divided by the unchanged
    /// goodput; `None` if the value was not run.
    Less(Option<f64>),
}

/// Returns the result of runs with `changes`. Runs few seeds first; if their result is too close to
/// `enough` to decide, runs all seeds.
fn sufficient(
    search: &Search<'_>,
    best: &Gain,
    changes: &[Change],
    enough: Enough,
) -> Result<Probe, TwinFailure> {
    let twin = &search.twin;
    for seeds in [twin.few_seeds(), twin.seeds()] {
        let Some(gain) = search.gain(&best.places, changes, seeds)? else {
            return Ok(Probe::Less(None));
        };
        let distance = enough.distance(&gain);
        let is_sure = distance > CLEAR.max(2.0 * gain.error) || seeds == twin.seeds();
        if !is_sure && gain.ends == best.ends {
            continue;
        }
        return Ok(match enough.is_kept_by(&gain) && gain.ends == best.ends {
            true => Probe::Enough(Box::new(gain)),
            false => Probe::Less(Some(gain.ratio)),
        });
    }
    Ok(Probe::Less(None))
}

/// Returns the settings of `gain`, named as their hosts' systems name them.
pub fn settings(setup: &Setup, search: &Search<'_>, gain: &Gain) -> Vec<Advised> {
    let mut slot = 0;
    let mut parts: Vec<(&Lever, Vec<Change>)> = Vec::new();
    for place in &gain.places {
        let lever = &search.levers[*place];
        let changes = &gain.changes[slot..slot + lever.ample.len()];
        slot += lever.ample.len();
        match parts
            .iter_mut()
            .find(|(other, _)| are_of_one_buffer(other, lever))
        {
            Some((first, known)) => {
                known.retain(|old| changes.iter().all(|new| new.set != old.set));
                known.extend_from_slice(changes);
                *first = lever;
            }
            None => parts.push((lever, changes.to_vec())),
        }
    }
    let parts = parts.iter();
    let mut all: Vec<Advised> = parts
        .flat_map(|(lever, changes)| of_lever(setup, lever, changes))
        .collect();
    // Apply the whole advice before deriving the cautions: a large buffer needs no caution if the
    // advice also enlarges the packet memory.
    let after = changed(setup, &gain.changes);
    for advised in &mut all {
        let is_own = |host: &&HostPlan| host.name == advised.on;
        let hosts = after.iter().flat_map(|setup| &setup.hosts);
        let after = hosts.into_iter().find(is_own);
        let risks = after.and_then(|after| caution::large(after, &advised.knob));
        let host = setup.hosts.iter().find(is_own).zip(after);
        let cap = host.and_then(|(host, after)| caution::capped(host, after, &advised.knob));
        let cautions = risks.into_iter().chain(cap);
        advised.setting.cautions.splice(..0, cautions);
    }
    all
}

/// Returns true if one lever is the size of a buffer, and the other the size that the same buffer
/// may grow to.
fn are_of_one_buffer(one: &Lever, other: &Lever) -> bool {
    let root = |lever: &Lever| lever.field.trim_end_matches("_max");
    let is_one_host = matches!(&one.place, Place::Hosts(hosts) if hosts.len() == 1);
    is_one_host && one.place == other.place && root(one) == root(other)
}

/// Returns the settings of one lever, or of several levers of one buffer, as the hosts' systems
/// name them.
pub(crate) fn of_lever(setup: &Setup, lever: &Lever, changes: &[Change]) -> Vec<Advised> {
    match &lever.place {
        Place::Hosts(places) => {
            let each = changes.len() / places.len();
            let of_host = |(number, place): (usize, &usize)| {
                let own = &changes[number * each..][..each];
                on_host(&setup.hosts[*place], lever.field, own)
            };
            places.iter().enumerate().flat_map(of_host).collect()
        }
        Place::Flow => {
            let flow = setup.flow();
            let host = &setup.hosts[flow.from];
            let present = lever.present.as_deref().unwrap_or_default();
            let values = [present, changes[0].to.as_str()];
            let (setting, set) = names::of_flow(host, &flow.name, lever.field, values);
            let to = setting.wanted.clone();
            let change = Change { set, to };
            vec![Advised {
                change,
                setting,
                on: host.name.clone(),
                knob: lever.field.to_string(),
            }]
        }
        Place::Link(..) => Vec::new(),
    }
}

/// Returns the settings that make `changes` to `field` of `host`: one setting of the host's system
/// if that setting makes all changes, otherwise one knob of fullpipe for each change. Returns none
/// if the host already has the new values.
fn on_host(host: &HostPlan, field: &str, changes: &[Change]) -> Vec<Advised> {
    if !is_changed(host, changes) {
        return Vec::new();
    }
    let knob_of = |change: &Change| change.set[host.name.len() + 1..].to_string();
    let advised = |setting: NamedSetting, knob: &str| Advised {
        change: Change {
            set: format!("{}.{}", host.name, setting.name),
            to: setting.wanted.clone(),
        },
        knob: knob.to_string(),
        setting,
        on: host.name.clone(),
    };
    if is_set(host, field)
        && let Some((setting, after)) = left_unset(host, field)
    {
        let mut all = vec![advised(setting, field)];
        // Omit changes that autotuning makes unnecessary: the system may let the buffer grow beyond
        // the size that suffices.
        let is_new = |change: &Change| {
            let own = present_of(&after, &knob_of(change));
            let numbers = own.parse::<u64>().ok().zip(change.to.parse::<u64>().ok());
            numbers.map_or(own != change.to, |(own, wanted)| own < wanted)
        };
        let rest: Vec<Change> = changes.iter().filter(|at| is_new(at)).cloned().collect();
        match own_setting(&after, field, &rest) {
            Some(setting) => all.push(advised(setting, field)),
            None => all.extend(rest.iter().map(|change| {
                let knob = knob_of(change);
                advised(names::setting(&after, &knob, &change.to), &knob)
            })),
        }
        return all;
    }
    if let Some(setting) = own_setting(host, field, changes) {
        return vec![advised(setting, field)];
    }
    if let Some(own) = other_names(host.preset.name).find(|known| known.path == field) {
        let setting = NamedSetting {
            name: own.name.to_string(),
            present: present_of(host, field),
            wanted: changes[0].to.clone(),
            paste: own.set_by.paste(own.name, &changes[0].to),
            cautions: own.set_by.needs().map(str::to_string).into_iter().collect(),
        };
        return vec![advised(setting, field)];
    }
    // Omit knobs that already have the wanted value: a lever may also list knobs that it only
    // requires.
    let is_new = |change: &&Change| present_of(host, &knob_of(change)) != change.to;
    let each = changes.iter().filter(is_new).map(|change| {
        let knob = knob_of(change);
        let setting = NamedSetting {
            present: present_of(host, &knob),
            ..names::own(host, &knob, &change.to)
        };
        advised(setting, &knob)
    });
    each.collect()
}

/// Returns the setting of `host`'s system that makes exactly `changes`, if the system has one.
fn own_setting(host: &HostPlan, field: &str, changes: &[Change]) -> Option<NamedSetting> {
    let mut wanted = host.clone();
    for change in changes {
        wanted
            .set(&change.set[host.name.len() + 1..], &change.to)
            .ok()?;
    }
    changes.first()?;
    let value = &wanted.config.get(field)?;
    let mut all = alias::of_knob(host.preset.name, field).into_iter();
    all.find_map(|name| {
        let alias = alias::find(name)?;
        let own = alias.value_for(&wanted.config, value)?;
        let mut set = host.clone();
        set.set(name, &own).ok()?;
        // The system may round `wanted` up. The setting is right if it changes nothing but `field`.
        let mut same = wanted.clone();
        same.set(field, &set.config.get(field)?).ok()?;
        (set == same)
            .then(|| names::by_alias(host, alias, field, &own))
            .flatten()
    })
}

/// Returns the setting behind `field`, with its present value. If `field` is the maximum of a
/// buffer whose size an application has set, returns the size, because the buffer then does not
/// grow.
pub fn present_setting(host: &HostPlan, field: &str) -> NamedSetting {
    let field = match is_set(host, field) {
        true => field.trim_end_matches("_max"),
        false => field,
    };
    let present = present_of(host, field);
    if let Some(own) = other_names(host.preset.name).find(|known| known.path == field) {
        return NamedSetting {
            name: own.name.to_string(),
            wanted: present.clone(),
            paste: own.set_by.paste(own.name, &present),
            present,
            cautions: Vec::new(),
        };
    }
    let named = names::setting(host, field, &present);
    match named.name == field {
        true => NamedSetting { present, ..named },
        false => named,
    }
}

/// Returns true if `field` is the maximum of a buffer that does not grow, because an application
/// has set its size.
fn is_set(host: &HostPlan, field: &str) -> bool {
    field.ends_with("_buffer_max") && host.config.get(field).as_deref() == Some("0")
}

/// Returns the advice to leave the buffer of `field` unset, so that the buffer grows by itself, and
/// the host after that change.
fn left_unset(host: &HostPlan, field: &str) -> Option<(NamedSetting, HostPlan)> {
    let knob = field.trim_end_matches("_max");
    let own = names::setting(host, knob, &present_of(host, knob));
    let mut after = host.clone();
    after.set(&own.name, UNSET).ok()?;
    let setting = NamedSetting {
        paste: format!(
            "leave {} unset, so that the buffer grows by itself",
            own.name
        ),
        wanted: UNSET.to_string(),
        cautions: Vec::new(),
        ..own
    };
    Some((setting, after))
}

/// The present value of a knob or of a field of the device, as text.
pub fn present_of(host: &HostPlan, field: &str) -> String {
    match field {
        "device_queue" => host.device_queue.to_string(),
        "device.rx_descriptors" => host.device.rx_descriptors.to_string(),
        "device.super_segment" => host.device.super_segment.to_string(),
        "device.merge_quiet" => host.device.merge_quiet.to_string(),
        _ => host.get(field).unwrap_or_default(),
    }
}
