//! Reading an experiment file.
//!
//! Rule: nothing is skipped and nothing is guessed. A key that no one knows, a
//! host that no link reaches, a row that contradicts itself: each is refused at
//! its own line. What names and values are legal is asked of `setup.rs`.

use fullpipe::presets;

mod flows;
mod matrix;
mod rows;
mod topology;

use super::{
    Experiment,
    link::LinkPlan,
    setting::SettingError,
    setup::{self, HostPlan, Setup},
};
use crate::{
    document::{Entry, Section, Source, hint},
    measured::Quantity,
    mistake::Mistake,
};

/// Reads the whole file.
pub(super) fn experiment(name: &str, source: Source<'_>) -> Result<Experiment, Mistake> {
    let document = source.parse()?;
    let top = Section::top(source, &document);
    top.allow_only(&[
        "title", "source", "columns", "seeds", "hosts", "switches", "links", "workload", "flows",
        "subject", "peers", "matrix", "rows",
    ])?;
    let title = text(&top.required("title", "say in a line what the experiment shows")?)?;
    let source = top
        .optional("source")
        .map(|entry| text(&entry))
        .transpose()?;

    let hosts = top.required("hosts", "give each host a table, such as [hosts.client]")?;
    let links = top.required("links", "give each link a table, such as [links.wire]")?;
    let hosts = read_hosts(&hosts.section()?)?;
    let switches = match top.optional("switches") {
        Some(entry) => topology::switches(&entry, &hosts)?,
        None => Vec::new(),
    };
    let links = read_links(&links.section()?, &hosts, &switches)?;
    let taken = Taken {
        hosts: &hosts,
        switches: &switches,
        links: &links,
    };
    let flows = flows::read(&top, &taken)?;
    let subject = match top.optional("subject") {
        Some(entry) => host_named(&entry, &hosts)?,
        None => flows[0].from,
    };
    let base = Setup {
        hosts,
        switches,
        links,
        flows,
        subject,
    };
    topology::check_flows(&top, &base)?;
    base.validate().map_err(|error| top.mistake(error))?;
    let columns = match top.optional("columns") {
        Some(entry) => columns(&entry)?,
        None => Vec::new(),
    };
    let seeds = match top.optional("seeds") {
        Some(entry) => rows::seeds(&entry)?,
        None => 1,
    };
    let rows = rows::all(&top, &base, seeds)?;
    Ok(Experiment {
        name: name.to_string(),
        title,
        source,
        columns,
        rows,
    })
}

/// Names that are given, and so cannot be given again.
struct Taken<'a> {
    hosts: &'a [HostPlan],
    switches: &'a [String],
    links: &'a [LinkPlan],
}

fn columns(entry: &Entry<'_>) -> Result<Vec<&'static str>, Mistake> {
    let list = entry.list()?;
    list.iter()
        .map(|name| quantity(name, name.string()?))
        .collect()
}

/// The quantity called `name`, which stands at `entry`.
fn quantity(entry: &Entry<'_>, name: &str) -> Result<&'static str, Mistake> {
    let known = Quantity::ALL.iter().map(|quantity| quantity.name);
    known
        .clone()
        .find(|known| *known == name)
        .ok_or_else(|| entry.mistake(format!("unknown quantity `{name}`; {}", hint(name, known))))
}

fn read_hosts(section: &Section<'_>) -> Result<Vec<HostPlan>, Mistake> {
    let mut hosts: Vec<HostPlan> = Vec::new();
    for entry in section.entries() {
        check_name(&entry, entry.key, "host")?;
        let host = entry.section()?;
        host.allow_only(&[
            "preset",
            setup::DEVICE_QUEUE,
            setup::DEVICE,
            setup::ACQUAINTED,
            "set",
        ])?;
        let preset = match host.optional("preset") {
            Some(preset) => {
                presets::find(preset.string()?).map_err(|error| preset.mistake(error))?
            }
            None => &presets::PRESETS[0],
        };
        let mut plan = HostPlan::new(entry.key, preset);
        for key in [setup::DEVICE_QUEUE, setup::ACQUAINTED] {
            if let Some(value) = host.optional(key) {
                plan.set(value.key, &value.scalar()?)
                    .map_err(|error| refused(&value, error))?;
            }
        }
        if let Some(device) = host.optional(setup::DEVICE) {
            for leaf in device.section()?.leaves() {
                plan.set(&format!("{}.{}", setup::DEVICE, leaf.path), &leaf.scalar()?)
                    .map_err(|error| refused(&leaf, error))?;
            }
        }
        if let Some(set) = host.optional("set") {
            for leaf in set.section()?.leaves() {
                if leaf.path == setup::DEVICE_QUEUE {
                    return Err(leaf.key_mistake("`device_queue` stands beside `set`, not in it"));
                }
                plan.set(&leaf.path, &leaf.scalar()?)
                    .map_err(|error| refused(&leaf, error))?;
            }
        }
        plan.config
            .validate()
            .map_err(|error| entry.key_mistake(format!("{}: {error}", entry.path)))?;
        hosts.push(plan);
    }
    Ok(hosts)
}

fn read_links(
    section: &Section<'_>,
    hosts: &[HostPlan],
    switches: &[String],
) -> Result<Vec<LinkPlan>, Mistake> {
    let mut links: Vec<LinkPlan> = Vec::new();
    for entry in section.entries() {
        check_name(&entry, entry.key, "link")?;
        if hosts.iter().any(|host| host.name == entry.key) {
            return Err(entry.key_mistake(format!(
                "`{}` is the name of a host too: `--set {}.…` would mean both",
                entry.key, entry.key
            )));
        }
        if switches.iter().any(|switch| switch == entry.key) {
            return Err(entry.key_mistake(format!("`{}` is the name of a switch too", entry.key)));
        }
        let link = entry.section()?;
        let between = link.required("between", "name the two hosts at its ends")?;
        let ends = topology::ends(&between, hosts, switches)?;
        topology::check_link(&between, entry.key, ends, &links, hosts)?;
        let mut plan = LinkPlan::new(entry.key, ends);
        for leaf in link.leaves() {
            if leaf.path != "between" {
                plan.set(&leaf.path, &leaf.scalar()?)
                    .map_err(|error| refused(&leaf, error))?;
            }
        }
        if let Some(why) = plan.contradiction() {
            return Err(entry.key_mistake(why));
        }
        links.push(plan);
    }
    Ok(links)
}

fn host_named(entry: &Entry<'_>, hosts: &[HostPlan]) -> Result<usize, Mistake> {
    let name = entry.string()?;
    hosts
        .iter()
        .position(|host| host.name == name)
        .ok_or_else(|| {
            let known = hosts.iter().map(|host| host.name.as_str());
            entry.mistake(SettingError::unknown("host", name, known))
        })
}

/// A host's or link's name is the first part of a path, so it must be free of
/// what paths are made of, and of the words that start other paths.
fn check_name(entry: &Entry<'_>, name: &str, what: &str) -> Result<(), Mistake> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(entry.key_mistake(format!(
            "`{name}` is no name for a {what}: use letters, digits, `-` and `_`"
        )));
    }
    if [setup::LINK, setup::WORKLOAD, setup::DEVICE_QUEUE].contains(&name)
        || setup::is_knob_group(name)
    {
        return Err(entry.key_mistake(format!(
            "a {what} cannot be called `{name}`: settings of that name mean something else"
        )));
    }
    Ok(())
}

/// A non-empty string of one line.
fn text(entry: &Entry<'_>) -> Result<String, Mistake> {
    let text = entry.string()?.trim();
    if text.is_empty() || text.contains('\n') {
        return Err(entry.mistake(format!("`{}` must be one line of text", entry.path)));
    }
    Ok(text.to_string())
}

/// A refused setting, at its key when the name is wrong, else at its value.
fn refused(entry: &Entry<'_>, error: SettingError) -> Mistake {
    if error.is_about_the_name() {
        entry.key_mistake(error)
    } else {
        entry.mistake(error)
    }
}
