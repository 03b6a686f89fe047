//! Switches, and the topology of links.
//!
//! Rule: links, hosts and switches form trees, because frames would circulate for ever in a loop.
//! A host has one interface and therefore one link. A host without a flow is probably a mistake
//! and is refused.

use super::{
    super::{
        link::{LinkPlan, Place},
        setting::SettingError,
        setup::{HostPlan, Setup},
    },
    parts::check_name,
};
use crate::{
    document::{KeyValue, Section},
    mistake::Mistake,
};

/// Reads the names of the switches.
pub(super) fn switches(entry: &KeyValue<'_>, hosts: &[HostPlan]) -> Result<Vec<String>, Mistake> {
    let mut switches: Vec<String> = Vec::new();
    for entry in entry.list()? {
        let name = entry.string()?;
        check_name(&entry, name, "switch")?;
        if hosts.iter().any(|host| host.name == name) {
            return Err(entry.mistake(format!(
                "`{name}` is also the name of a host: rename the switch or the host"
            )));
        }
        if switches.iter().any(|switch| switch == name) {
            return Err(entry.mistake(format!("two switches are called `{name}`: rename one")));
        }
        switches.push(name.to_string());
    }
    Ok(switches)
}

/// Reads the hosts or switches at the two ends of a link.
pub(super) fn ends(
    between: &KeyValue<'_>,
    hosts: &[HostPlan],
    switches: &[String],
) -> Result<[Place; 2], Mistake> {
    let ends = between.list()?;
    let [first, second] = ends.as_slice() else {
        return Err(between.mistake(format!(
            "has {} ends: name exactly two hosts or switches",
            ends.len()
        )));
    };
    let places = [
        place(first, hosts, switches)?,
        place(second, hosts, switches)?,
    ];
    if places[0] == places[1] {
        return Err(second.mistake(format!(
            "both ends are {}: a link must join two different hosts or switches",
            name_of(places[0], hosts, switches)
        )));
    }
    Ok(places)
}

fn place(entry: &KeyValue<'_>, hosts: &[HostPlan], switches: &[String]) -> Result<Place, Mistake> {
    let name = entry.string()?;
    let host = hosts.iter().position(|host| host.name == name);
    let switch = switches.iter().position(|switch| switch == name);
    host.map(Place::Host)
        .or(switch.map(Place::Switch))
        .ok_or_else(|| {
            let of_hosts = hosts.iter().map(|host| host.name.as_str());
            let known = of_hosts.chain(switches.iter().map(String::as_str));
            let what = if switches.is_empty() {
                "host"
            } else {
                "host or switch"
            };
            entry.mistake(SettingError::unknown(what, name, known))
        })
}

fn name_of(place: Place, hosts: &[HostPlan], switches: &[String]) -> String {
    match place {
        Place::Host(host) => format!("host `{}`", hosts[host].name),
        Place::Switch(switch) => format!("switch `{}`", switches[switch]),
    }
}

/// Refuses a link that joins the same two places as an earlier link, gives a host a second link, or
/// closes a loop.
pub(super) fn check_link(
    between: &KeyValue<'_>,
    name: &str,
    ends: [Place; 2],
    links: &[LinkPlan],
    hosts: &[HostPlan],
) -> Result<(), Mistake> {
    let same = |other: &&LinkPlan| other.between == ends || other.between == [ends[1], ends[0]];
    if let Some(other) = links.iter().find(same) {
        return Err(between.mistake(format!(
            "link `{name}` has the same two ends as link `{}`: remove one of the two links",
            other.name
        )));
    }
    for end in ends {
        let Place::Host(host) = end else {
            continue;
        };
        if let Some(other) = links.iter().find(|other| other.between.contains(&end)) {
            return Err(between.mistake(format!(
                "host `{}` is already at an end of link `{}`, and a host has only one interface: \
                 add a switch, and give each host a link of its own to it",
                hosts[host].name, other.name
            )));
        }
    }
    if is_joined(ends[0], ends[1], links) {
        return Err(between.mistake(format!(
            "link `{name}` closes a loop, in which frames would circulate for ever: remove a link of the loop"
        )));
    }
    Ok(())
}

fn is_joined(from: Place, to: Place, links: &[LinkPlan]) -> bool {
    let mut reached = vec![from];
    let mut next = 0;
    while let Some(&here) = reached.get(next) {
        next += 1;
        for link in links.iter().filter(|link| link.between.contains(&here)) {
            for end in link.between {
                if !reached.contains(&end) {
                    reached.push(end);
                }
            }
        }
    }
    reached.contains(&to)
}

/// Refuses a host without a flow, a switch without a link, and a flow without a
/// route.
pub(super) fn check_flows(top: &Section<'_>, setup: &Setup) -> Result<(), Mistake> {
    let entry_of = |path: &[&str]| {
        let (last, tables) = path.split_last()?;
        let mut section = top.clone();
        for table in tables {
            section = section.optional(table)?.as_section()?;
        }
        section.optional(last)
    };
    for (place, host) in setup.hosts.iter().enumerate() {
        let takes_part =
            |flow: &super::super::flow::FlowPlan| [flow.from, flow.to].contains(&place);
        if !setup.flows.iter().any(takes_part) {
            let what = format!(
                "neither sends nor receives: remove the host, or name `{}` in a flow",
                host.name
            );
            return Err(entry_of(&["hosts", &host.name])
                .map_or_else(|| top.mistake(&what), |entry| entry.key_mistake(&what)));
        }
    }
    for (place, switch) in setup.switches.iter().enumerate() {
        let ends_there = |link: &LinkPlan| link.between.contains(&Place::Switch(place));
        if !setup.links.iter().any(ends_there) {
            let what = format!(
                "no link ends at switch `{switch}`: remove the switch, or name it \
                 in `between` of a link"
            );
            return Err(entry_of(&["switches"])
                .map_or_else(|| top.mistake(&what), |entry| entry.mistake(&what)));
        }
    }
    for flow in &setup.flows {
        if setup.route(flow.from, flow.to).is_empty() {
            let [from, to] = [flow.from, flow.to].map(|host| &setup.hosts[host].name);
            let what = format!(
                "no path of links leads from `{from}` to `{to}`: add a link, or links to \
                 a switch between them"
            );
            let entry = entry_of(&["flows", &flow.name, "to"]).or(entry_of(&["workload", "to"]));
            return Err(entry.map_or_else(|| top.mistake(&what), |entry| entry.mistake(&what)));
        }
    }
    Ok(())
}
