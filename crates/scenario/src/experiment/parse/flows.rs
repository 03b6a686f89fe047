//! The flows: one in `[workload]`, or several in `[flows.NAME]`.
//!
//! Rule: if the file has `[flows]`, the fields in `[workload]` apply to every flow that does not
//! set them.

use super::{
    super::flow::{self, FLOW_FIELDS, FlowPlan},
    super::setup::WORKLOAD,
    parts::{Taken, apply, check_name, host_named},
};
use crate::{
    document::{KeyValue, Section},
    mistake::Mistake,
};

/// Key of the table of several flows.
pub(super) const FLOWS: &str = "flows";

/// Returns true if the file has a table of flows.
pub(super) fn are_there(top: &Section<'_>) -> bool {
    top.optional(FLOWS).or(top.optional(WORKLOAD)).is_some()
}

/// Reads all flows of the file, at least one; returns `None` if one was refused.
pub(super) fn read(top: &Section<'_>, taken: &Taken<'_>) -> Result<Option<Vec<FlowPlan>>, Mistake> {
    let flows = top
        .optional(FLOWS)
        .map(|entry| entry.section())
        .transpose()?;
    let Some(flows) = flows else {
        let entry = top.required(WORKLOAD, "add [workload] with the hosts `from` and `to`")?;
        let section = entry.section()?;
        let flow = top.keep(one(&section, None, WORKLOAD, taken));
        return Ok(flow.map(|flow| vec![flow]));
    };
    let common = top
        .optional(WORKLOAD)
        .map(|entry| entry.section())
        .transpose()?;
    let entries = flows.entries();
    if entries.is_empty() {
        return Err(flows.mistake("is empty: it needs at least one flow, such as `upload = {}`"));
    }
    let plans = entries.iter().map(|entry| {
        let plan = named(entry, common.as_ref(), taken);
        top.keep(plan)
    });
    // Read all flows before the check for refused ones, so that the mistakes of every flow are
    // reported.
    let plans: Vec<_> = plans.collect();
    let plans: Option<Vec<FlowPlan>> = plans.into_iter().collect();
    if let Some((place, why)) = plans.as_deref().and_then(flow::mixed_protocols) {
        return Err(entries[place].key_mistake(why));
    }
    Ok(plans)
}

fn named(
    entry: &KeyValue<'_>,
    common: Option<&Section<'_>>,
    taken: &Taken<'_>,
) -> Result<FlowPlan, Mistake> {
    check_name(entry, entry.key, "flow")?;
    check_free(entry, taken)?;
    one(&entry.section()?, common, entry.key, taken)
}

fn check_free(entry: &KeyValue<'_>, taken: &Taken<'_>) -> Result<(), Mistake> {
    let name = entry.key;
    let what = if taken.hosts.iter().any(|host| host.name == name) {
        "host"
    } else if taken.links.iter().any(|link| link.name == name) {
        "link"
    } else if taken.switches.iter().any(|switch| switch == name) {
        "switch"
    } else {
        return Ok(());
    };
    Err(entry.key_mistake(format!(
        "is also the name of a {what}, so `--set {name}.…` could mean either: rename one"
    )))
}

/// Reads the flow of `section`. Fields that `section` does not set come from `common`.
fn one(
    section: &Section<'_>,
    common: Option<&Section<'_>>,
    name: &str,
    taken: &Taken<'_>,
) -> Result<FlowPlan, Mistake> {
    let found = section.mistakes();
    let sections: Vec<_> = common.into_iter().chain([section]).collect();
    for section in &sections {
        allow_fields(section);
    }
    let end = |key, why| {
        let entry = sections
            .iter()
            .rev()
            .find_map(|section| section.optional(key));
        match entry {
            Some(entry) => Ok(entry),
            None => section.required(key, why),
        }
    };
    let from = host_named(&end("from", "name the host that writes")?, taken.hosts)?;
    let to_entry = end("to", "name the host that reads")?;
    let to = host_named(&to_entry, taken.hosts)?;
    if from == to {
        return Err(to_entry.mistake(format!(
            "host `{}` cannot send to itself: name another host",
            taken.hosts[to].name
        )));
    }
    let mut plan = FlowPlan::new(name, from, to);
    let mut ends = false;
    for section in sections {
        ends |= check_end(section)?;
        for leaf in section.leaves() {
            if leaf.path != "from" && leaf.path != "to" {
                section.keep(apply(&leaf, |text| plan.set(&leaf.path, text)));
            }
        }
    }
    // Report a missing `duration` or `bytes` only if the flow has no other mistake: the key may be
    // misspelled, and the misspelled key has been reported already.
    if !ends && section.mistakes() == found {
        let what = "needs `duration`, such as \"30s\", or `bytes`, such as \"4M\"";
        return Err(section.mistake(what));
    }
    if let Some(why) = plan.contradiction().filter(|_| section.mistakes() == found) {
        section.keep::<()>(Err(section.mistake(why)));
    }
    Ok(plan)
}

/// Refuses keys that are not fields of a flow.
fn allow_fields(section: &Section<'_>) {
    let firsts = FLOW_FIELDS.iter().map(|row| {
        let first = row.name.split('.').next();
        first.unwrap_or(row.name)
    });
    let mut known = vec!["from", "to"];
    known.extend(firsts);
    known.dedup();
    section.allow_only(&known);
}

/// Returns true if the section sets the flow's end: `duration` or `bytes`.
fn check_end(section: &Section<'_>) -> Result<bool, Mistake> {
    match (section.optional("duration"), section.optional("bytes")) {
        (Some(_), Some(bytes)) => Err(bytes.key_mistake(
            "contradicts `duration`: a transfer ends after a time or after an amount, so keep one",
        )),
        (duration, bytes) => Ok(duration.is_some() || bytes.is_some()),
    }
}
