//! Reads an experiment file.
//!
//! Rule: nothing is skipped and nothing is guessed. An unknown key, a host that no link reaches and
//! a row (scenario) that contradicts itself are each refused at their own line. `setup` lists the
//! legal names and values.

use std::cell::RefCell;

use fullpipe::presets;

mod flows;
mod matrix;
mod origins;
mod parts;
mod rows;
mod topology;

pub use origins::{CHOSEN_KEYS, FITTED_KEYS, IMPLIED_KEYS};
pub use rows::ROW_KEYS;

use super::{
    kernel::{GSO_MAX_SEGS, STACK},
    link::LinkPlan,
    model::Experiment,
    setup::{self, HostPlan, Setup},
};
use crate::{
    document::{KeyValue, Section, Source},
    mistake::Mistake,
};
use parts::{Taken, apply, check_name, host_named, quantity, seeds, text};

impl Experiment {
    /// Reads an experiment from a file's text.
    ///
    /// `name` is the experiment's name; `file` is the file's name in mistakes.
    ///
    /// # Errors
    /// Returns the first mistake of the file, with its line and column.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Self, Mistake> {
        Self::check(name, file, text).map_err(|mut mistakes| mistakes.swap_remove(0))
    }

    /// Reads an experiment as [`parse`](Self::parse) does, and collects every
    /// mistake.
    ///
    /// # Errors
    /// Returns every mistake, at least one, in the order of the file; mistakes about the whole file
    /// come last. Parts that depend on a refused part are not checked.
    pub fn check(name: &str, file: &str, text: &str) -> Result<Self, Vec<Mistake>> {
        experiment(name, file, text)
    }
}

/// Reads the whole file. Continues after mistakes where possible.
fn experiment(name: &str, file: &str, text: &str) -> Result<Experiment, Vec<Mistake>> {
    let found = RefCell::new(Vec::new());
    let source = Source {
        name: file,
        text,
        found: &found,
    };
    let read = whole(name, source).map_err(|last| source.found(last));
    let mut mistakes = found.into_inner();
    drop_misspelled(&mut mistakes);
    // A missing key of the top table has no line in the file, so the mistake about the key comes
    // last.
    let lacks = |at: &Mistake| at.what.starts_with("is missing") && !at.key.contains('.');
    mistakes.sort_by_key(|mistake| (lacks(mistake), mistake.line, mistake.column));
    // Keep only the first of equal mistakes: a mistake in a matrix is found once for each of its
    // rows.
    mistakes.dedup_by(|b, a| (a.line, a.column, &a.key) == (b.line, b.column, &b.key));
    match read {
        Ok(Some(experiment)) if mistakes.is_empty() => Ok(experiment),
        Ok(_) | Err(()) => Err(mistakes),
    }
}

/// Removes "is missing" for a key that is present but misspelled.
fn drop_misspelled(mistakes: &mut Vec<Mistake>) {
    let parent = |key: &str| key.rsplit_once('.').map(|(parent, _)| parent.to_string());
    let misspelled: Vec<_> = mistakes
        .iter()
        .filter(|mistake| mistake.what.starts_with("there is no such key"))
        .map(|mistake| (parent(&mistake.key), mistake.what.clone()))
        .collect();
    mistakes.retain(|mistake| {
        let last = mistake.key.rsplit('.').next().unwrap_or_default();
        let meant = format!("did you mean `{last}`?");
        let explained = |(table, what): &(Option<String>, String)| {
            *table == parent(&mistake.key) && what.ends_with(&meant)
        };
        !(mistake.what.starts_with("is missing") && misspelled.iter().any(explained))
    });
}

/// Returns the experiment. Returns `None` if a part was refused and other parts depend on it.
fn whole(name: &str, source: Source<'_>) -> Result<Option<Experiment>, Mistake> {
    let document = source.parse()?;
    let top = Section::top(source, &document);
    top.allow_only(TOP_KEYS);
    let title = top.required("title", "say in a line what the experiment shows");
    let title = top.keep(title.and_then(|entry| text(&entry)));
    let optional = top.optional("source").map(|entry| text(&entry));
    let source = top.keep(optional.transpose()).flatten();
    let optional = top.optional("labels").map(|entry| text(&entry));
    let labels = top.keep(optional.transpose()).flatten();
    let columns = top.optional("columns").map(|entry| columns(&entry));
    let columns = top.keep(columns.transpose()).flatten().unwrap_or_default();
    let given = top.optional("seeds").map(|entry| seeds(&entry));
    let seeds = top.keep(given.transpose()).flatten().unwrap_or(1);
    let Some(base) = setup(&top)? else {
        return Ok(None);
    };
    let mut rows = rows::all(&top, &base, seeds)?;
    let origins = origins::read(&top, &mut rows)?;
    Ok(Some(Experiment {
        name: name.to_string(),
        title: title.unwrap_or_default(),
        source,
        labels,
        columns,
        origins,
        rows,
    }))
}

/// Returns the setup from which all rows start; `None` if a part of it is missing or was refused.
fn setup(top: &Section<'_>) -> Result<Option<Setup>, Mistake> {
    let hosts = top.required("hosts", "give each host a table, such as [hosts.client]");
    let hosts = top.keep(hosts.and_then(|entry| entry.section()));
    let links = top.required("links", "give each link a table, such as [links.wire]");
    let links = top.keep(links.and_then(|entry| entry.section()));
    if !flows::are_there(top) {
        let missing = top.required(
            setup::WORKLOAD,
            "add [workload] with the hosts `from` and `to`",
        );
        top.keep(missing);
    }
    let Some(hosts) = hosts.and_then(|section| read_hosts(&section)) else {
        return Ok(None);
    };
    let switches = match top.optional("switches") {
        Some(entry) => topology::switches(&entry, &hosts)?,
        None => Vec::new(),
    };
    let links = links.and_then(|section| read_links(&section, &hosts, &switches));
    let taken = Taken {
        hosts: &hosts,
        switches: &switches,
        links: links.as_deref().unwrap_or_default(),
    };
    let flows = flows::are_there(top).then(|| flows::read(top, &taken));
    let flows = flows.transpose()?.flatten();
    let subject = top
        .optional("subject")
        .map(|entry| host_named(&entry, &hosts));
    let subject = top.keep(subject.transpose()).flatten();
    let (Some(links), Some(flows)) = (links, flows) else {
        return Ok(None);
    };
    let base = Setup {
        subject: subject.unwrap_or(flows[0].from),
        hosts,
        switches,
        links,
        flows,
    };
    topology::check_flows(top, &base)?;
    if top.mistakes() == 0 {
        base.check_contradictions()
            .map_err(|error| top.mistake(error))?;
    }
    Ok(Some(base))
}

/// Keys at the top of a file.
pub const TOP_KEYS: &[&str] = &[
    "title", "source", "labels", "columns", "seeds", "stated", "hosts", "switches", "links",
    "workload", "flows", "subject", "fitted", "chosen", "implied", "peers", "matrix", "rows",
];

fn columns(entry: &KeyValue<'_>) -> Result<Vec<&'static str>, Mistake> {
    let list = entry.list()?;
    list.iter()
        .map(|name| quantity(name, name.string()?))
        .collect()
}

/// Reads the hosts; returns `None` if one was refused.
fn read_hosts(section: &Section<'_>) -> Option<Vec<HostPlan>> {
    let hosts = section.entries();
    let hosts = hosts.iter().map(|entry| section.keep(host(entry)));
    // Read all hosts before the check for refused ones, so that the mistakes of every host are
    // reported.
    let hosts: Vec<_> = hosts.collect();
    hosts.into_iter().collect()
}

fn host(entry: &KeyValue<'_>) -> Result<HostPlan, Mistake> {
    check_name(entry, entry.key, "host")?;
    let host = entry.section()?;
    let before = host.mistakes();
    host.allow_only(HOST_KEYS);
    let preset = host
        .optional("preset")
        .map(|preset| presets::find(preset.string()?).map_err(|error| preset.mistake(error)));
    let preset = host.keep(preset.transpose()).flatten();
    let mut plan = HostPlan::new(entry.key, preset.unwrap_or(&presets::PRESETS[0]));
    for key in [setup::DEVICE_QUEUE, setup::ACQUAINTED, STACK, GSO_MAX_SEGS] {
        if let Some(value) = host.optional(key) {
            host.keep(apply(&value, |text| plan.set(value.key, text)));
        }
    }
    for part in [setup::DEVICE, setup::CPU] {
        let Some(fields) = host.optional(part) else {
            continue;
        };
        for leaf in fields.section()?.leaves() {
            let path = format!("{part}.{}", leaf.path);
            host.keep(apply(&leaf, |text| plan.set(&path, text)));
        }
    }
    if let Some(set) = host.optional("set") {
        for leaf in set.section()?.leaves() {
            if leaf.path == setup::DEVICE_QUEUE {
                host.keep::<()>(Err(
                    leaf.key_mistake("write it in the host's table, not in `set`")
                ));
                continue;
            }
            host.keep(apply(&leaf, |text| plan.set(&leaf.path, text)));
        }
    }
    if host.mistakes() == before {
        plan.config
            .validate()
            .and_then(|()| plan.config.check_memory())
            .map_err(|error| entry.key_mistake(error))?;
    }
    Ok(plan)
}

/// Keys of a host's table.
pub const HOST_KEYS: &[&str] = &[
    "preset",
    setup::DEVICE_QUEUE,
    setup::DEVICE,
    setup::CPU,
    setup::ACQUAINTED,
    STACK,
    GSO_MAX_SEGS,
    "set",
];

/// Reads the links; returns `None` if one was refused.
fn read_links(
    section: &Section<'_>,
    hosts: &[HostPlan],
    switches: &[String],
) -> Option<Vec<LinkPlan>> {
    let mut links: Vec<LinkPlan> = Vec::new();
    let entries = section.entries();
    for entry in &entries {
        links.extend(section.keep(link(entry, hosts, switches, &links)));
    }
    (links.len() == entries.len()).then_some(links)
}

fn link(
    entry: &KeyValue<'_>,
    hosts: &[HostPlan],
    switches: &[String],
    links: &[LinkPlan],
) -> Result<LinkPlan, Mistake> {
    check_name(entry, entry.key, "link")?;
    if hosts.iter().any(|host| host.name == entry.key) {
        return Err(entry.key_mistake(format!(
            "is also the name of a host, so `--set {}.…` could mean either: rename one",
            entry.key
        )));
    }
    if switches.iter().any(|switch| switch == entry.key) {
        return Err(
            entry.key_mistake("is also the name of a switch: rename the link or the switch")
        );
    }
    let link = entry.section()?;
    let before = link.mistakes();
    let between = link.required(
        "between",
        "name the two hosts or switches at the link's ends",
    )?;
    let ends = topology::ends(&between, hosts, switches)?;
    topology::check_link(&between, entry.key, ends, links, hosts)?;
    let mut plan = LinkPlan::new(entry.key, ends);
    for leaf in link.leaves() {
        if leaf.path != "between" {
            link.keep(apply(&leaf, |text| plan.set(&leaf.path, text)));
        }
    }
    if let (Some(rtt), Some(_)) = (link.optional("rtt"), link.optional("delay")) {
        let what = "is the delay of both directions together: keep `rtt` or `delay`, not both";
        link.keep::<()>(Err(rtt.key_mistake(what)));
    }
    if let Some(why) = plan.contradiction().filter(|_| link.mistakes() == before) {
        // Report the contradiction, but return the link, because other parts of the file refer to
        // it.
        link.keep::<()>(Err(entry.key_mistake(why)));
    }
    Ok(plan)
}
