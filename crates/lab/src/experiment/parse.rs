//! Reading an experiment file.
//!
//! Rule: nothing is skipped and nothing is guessed. A key that no one knows, a
//! host that no link reaches, a row that contradicts itself: each is refused at
//! its own line. What names and values are legal is asked of `setup.rs`.

use fullpipe::presets;

use super::{
    Experiment, Published, Row,
    link::LinkPlan,
    setting::SettingError,
    setup::{self, HostPlan, Setup},
    workload::{WORKLOAD_FIELDS, Workload},
};
use crate::{
    document::{Entry, Section, Source},
    measured::Quantity,
    mistake::Mistake,
};

/// Reads the whole file.
pub(super) fn experiment(name: &str, source: Source<'_>) -> Result<Experiment, Mistake> {
    let document = source.parse()?;
    let top = Section::top(source, &document);
    top.allow_only(&[
        "title", "source", "hosts", "links", "workload", "subject", "rows",
    ])?;
    let title = text(&top.required("title", "say in a line what the experiment shows")?)?;
    let source = top
        .optional("source")
        .map(|entry| text(&entry))
        .transpose()?;

    let hosts = top.required("hosts", "give each host a table, such as [hosts.client]")?;
    let links = top.required("links", "give each link a table, such as [links.wire]")?;
    let hosts = read_hosts(&hosts.section()?)?;
    let links = read_links(&links.section()?, &hosts)?;
    let entry = top.required("workload", "say who sends to whom")?;
    let workload = read_workload(&entry.section()?, &hosts)?;
    let subject = match top.optional("subject") {
        Some(entry) => host_named(&entry, &hosts)?,
        None => workload.from,
    };
    check_connected(&top, &hosts, &links, &workload)?;
    let base = Setup {
        hosts,
        links,
        workload,
        subject,
    };
    base.validate().map_err(|error| top.mistake(error))?;

    let entry = top.required("rows", "give each line of the table a [[rows]]")?;
    let rows = entry.list()?;
    if rows.is_empty() {
        return Err(entry.mistake("`rows` is empty: nothing would run"));
    }
    let rows = read_rows(&rows, &base)?;
    Ok(Experiment {
        name: name.to_string(),
        title,
        source,
        rows,
    })
}

fn read_hosts(section: &Section<'_>) -> Result<Vec<HostPlan>, Mistake> {
    let mut hosts: Vec<HostPlan> = Vec::new();
    for entry in section.entries() {
        check_name(&entry, "host")?;
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

fn read_links(section: &Section<'_>, hosts: &[HostPlan]) -> Result<Vec<LinkPlan>, Mistake> {
    let mut links: Vec<LinkPlan> = Vec::new();
    for entry in section.entries() {
        check_name(&entry, "link")?;
        if hosts.iter().any(|host| host.name == entry.key) {
            return Err(entry.key_mistake(format!(
                "`{}` is the name of a host too: `--set {}.…` would mean both",
                entry.key, entry.key
            )));
        }
        let link = entry.section()?;
        let between = link.required("between", "name the two hosts at its ends")?;
        let ends = read_ends(&between, hosts)?;
        if let Some(other) = links.iter().find(|other| same_ends(other.between, ends)) {
            return Err(between.mistake(format!(
                "link `{}` joins the same two hosts as link `{}`",
                entry.key, other.name
            )));
        }
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

fn read_ends(between: &Entry<'_>, hosts: &[HostPlan]) -> Result<[usize; 2], Mistake> {
    let ends = between.list()?;
    let [first, second] = ends.as_slice() else {
        return Err(between.mistake(format!("a link has two ends, not {}", ends.len())));
    };
    let places = [host_named(first, hosts)?, host_named(second, hosts)?];
    if places[0] == places[1] {
        return Err(second.mistake(format!(
            "both ends are host `{}`: a link joins two hosts",
            hosts[places[0]].name
        )));
    }
    Ok(places)
}

fn read_workload(section: &Section<'_>, hosts: &[HostPlan]) -> Result<Workload, Mistake> {
    let fields = WORKLOAD_FIELDS.iter().map(|(name, _)| *name);
    section.allow_only(&["from", "to"].into_iter().chain(fields).collect::<Vec<_>>())?;
    let from = host_named(
        &section.required("from", "name the host that writes")?,
        hosts,
    )?;
    let to_entry = section.required("to", "name the host that reads")?;
    let to = host_named(&to_entry, hosts)?;
    if from == to {
        return Err(to_entry.mistake(format!("host `{}` cannot send to itself", hosts[to].name)));
    }
    let mut workload = Workload::new(from, to);
    match (section.optional("duration"), section.optional("bytes")) {
        (Some(_), Some(bytes)) => {
            return Err(bytes.key_mistake(
                "`workload.bytes` contradicts `workload.duration`: a transfer ends after a time \
                 or after an amount",
            ));
        }
        (None, None) => {
            return Err(section.mistake(
                "`workload` needs `duration`, such as \"30s\", or `bytes`, such as \"4M\"",
            ));
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
    for entry in section.entries() {
        if entry.key != "from" && entry.key != "to" {
            workload
                .set(entry.key, &entry.scalar()?)
                .map_err(|error| refused(&entry, error))?;
        }
    }
    Ok(workload)
}

fn read_rows(entries: &[Entry<'_>], base: &Setup) -> Result<Vec<Row>, Mistake> {
    let mut rows: Vec<Row> = Vec::new();
    for entry in entries {
        let section = entry.section()?;
        section.allow_only(&["label", "set", "published", "fitted", "baseline", "note"])?;
        let label = section.required("label", "say what the line is called")?;
        let label_text = text(&label)?;
        if rows.iter().any(|row| row.label == label_text) {
            return Err(label.mistake(format!("two rows are called `{label_text}`")));
        }
        let mut setup = base.clone();
        if let Some(set) = section.optional("set") {
            for leaf in set.section()?.leaves() {
                setup
                    .set(&leaf.path, &leaf.scalar()?)
                    .map_err(|error| refused(&leaf, error))?;
            }
        }
        setup
            .validate()
            .map_err(|error| label.mistake(format!("row `{label_text}`: {error}")))?;
        let published = section
            .optional("published")
            .map(|entry| read_published(&entry));
        let baseline = match section.optional("baseline") {
            Some(entry) => {
                let wanted = entry.boolean()?;
                if wanted && rows.iter().any(|row| row.baseline) {
                    return Err(entry.key_mistake("only one row can be the baseline"));
                }
                wanted
            }
            None => false,
        };
        let fitted = match section.optional("fitted") {
            Some(entry) => entry.list()?.iter().map(text).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        rows.push(Row {
            label: label_text,
            setup,
            published: published.transpose()?.unwrap_or_default(),
            fitted,
            baseline,
            note: section
                .optional("note")
                .map(|entry| text(&entry))
                .transpose()?,
        });
    }
    Ok(rows)
}

fn read_published(entry: &Entry<'_>) -> Result<Published, Mistake> {
    let mut published = Published::default();
    for figure in entry.section()?.entries() {
        if figure.key == "outcome" {
            published.outcome = Some(text(&figure)?);
            continue;
        }
        let quantity = Quantity::ALL
            .iter()
            .find(|quantity| quantity.name == figure.key);
        let Some(quantity) = quantity else {
            let known = Quantity::ALL
                .iter()
                .map(|quantity| quantity.name)
                .chain(["outcome"]);
            return Err(figure.unknown("figure", known));
        };
        published.figures.push((quantity.name, figure.number()?));
    }
    Ok(published)
}

/// Every host must take part: one that neither sends nor receives, or two that
/// talk without a link, is a slip.
fn check_connected(
    top: &Section<'_>,
    hosts: &[HostPlan],
    links: &[LinkPlan],
    workload: &Workload,
) -> Result<(), Mistake> {
    let entry_of = |table: &str, key: &str| {
        let table = top.optional(table).and_then(|entry| entry.as_section());
        table.and_then(|table| table.optional(key))
    };
    let ends = [workload.from, workload.to];
    for (place, host) in hosts.iter().enumerate() {
        if !ends.contains(&place) {
            let what = format!("host `{}` neither sends nor receives", host.name);
            return Err(entry_of("hosts", &host.name)
                .map_or_else(|| top.mistake(&what), |entry| entry.key_mistake(&what)));
        }
    }
    if !links.iter().any(|link| same_ends(link.between, ends)) {
        let what = format!(
            "no link joins `{}` and `{}`",
            hosts[ends[0]].name, hosts[ends[1]].name
        );
        return Err(entry_of("workload", "to")
            .map_or_else(|| top.mistake(&what), |entry| entry.mistake(&what)));
    }
    Ok(())
}

fn same_ends(a: [usize; 2], b: [usize; 2]) -> bool {
    a == b || a == [b[1], b[0]]
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
fn check_name(entry: &Entry<'_>, what: &str) -> Result<(), Mistake> {
    let name = entry.key;
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
