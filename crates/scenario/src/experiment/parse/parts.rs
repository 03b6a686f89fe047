//! Functions that the readers of hosts, flows and rows (scenarios) share: for names, texts, seeds,
//! and tables of settings.

use super::super::{
    link::LinkPlan,
    model::Row,
    published::Published,
    setting::SettingError,
    setup::{self, HostPlan, Setup},
};
use crate::{
    document::{KeyValue, hint},
    measured::Quantity,
    mistake::Mistake,
};

/// Names that the file already uses.
pub(super) struct Taken<'a> {
    pub hosts: &'a [HostPlan],
    pub switches: &'a [String],
    pub links: &'a [LinkPlan],
}

/// Returns the quantity called `name`; a mistake is reported at `entry`.
pub(super) fn quantity(entry: &KeyValue<'_>, name: &str) -> Result<&'static str, Mistake> {
    let known = Quantity::ALL.iter().map(|quantity| quantity.name);
    known
        .clone()
        .find(|known| *known == name)
        .ok_or_else(|| entry.mistake(format!("unknown quantity `{name}`; {}", hint(name, known))))
}

/// Returns a row without published figures, a note or other data of a source.
pub(super) fn plain_row(label: String, setup: Setup, seeds: u32) -> Row {
    Row {
        label,
        point: Vec::new(),
        setup,
        own: Vec::new(),
        overridden: Vec::new(),
        changed_by_set: false,
        seeds,
        published: Published::default(),
        peers: Vec::new(),
        fitted: Vec::new(),
        baseline: false,
        note: None,
    }
}

/// Makes the settings in `entry`, a table called `set`, and adds them to `own`.
pub(super) fn apply_set(
    setup: &mut Setup,
    own: &mut Vec<(String, String)>,
    entry: &KeyValue<'_>,
) -> Result<(), Mistake> {
    let section = entry.section()?;
    for leaf in section.leaves() {
        section.keep(apply(&leaf, |text| {
            own.push((leaf.path.clone(), text.to_string()));
            setup.set(&leaf.path, text)
        }));
    }
    Ok(())
}

/// Reads a number of seeds.
pub(super) fn seeds(entry: &KeyValue<'_>) -> Result<u32, Mistake> {
    let seeds = entry.number()?;
    if (1.0..=1_000.0).contains(&seeds) && seeds.fract() == 0.0 {
        return Ok(seeds as u32);
    }
    Err(entry.mistake("must be a number of seeds, 1 to 1000"))
}

pub(super) fn host_named(entry: &KeyValue<'_>, hosts: &[HostPlan]) -> Result<usize, Mistake> {
    let name = entry.string()?;
    hosts
        .iter()
        .position(|host| host.name == name)
        .ok_or_else(|| {
            let known = hosts.iter().map(|host| host.name.as_str());
            entry.mistake(SettingError::unknown("host", name, known))
        })
}

/// Refuses a name of a host or a link that cannot be the first part of a path: a name with a dot,
/// or a name with which paths of other settings begin (`link`, `workload`, a group of knobs).
pub(super) fn check_name(entry: &KeyValue<'_>, name: &str, what: &str) -> Result<(), Mistake> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(entry.key_mistake(format!(
            "`{name}` cannot be the name of a {what}: use letters, digits, `-` and `_`"
        )));
    }
    if [setup::LINK, setup::WORKLOAD, setup::DEVICE_QUEUE].contains(&name)
        || setup::is_knob_group(name)
    {
        return Err(entry.key_mistake(format!(
            "a {what} cannot be called `{name}`, because other settings begin with that name: \
             choose another name"
        )));
    }
    Ok(())
}

/// Reads a non-empty string of one line.
pub(super) fn text(entry: &KeyValue<'_>) -> Result<String, Mistake> {
    let text = entry.string()?.trim();
    if text.is_empty() || text.contains('\n') {
        return Err(entry.mistake("must be one line of text"));
    }
    Ok(text.to_string())
}

/// Calls `set` with the text of `entry`.
pub(super) fn apply(
    entry: &KeyValue<'_>,
    set: impl FnOnce(&str) -> Result<(), SettingError>,
) -> Result<(), Mistake> {
    set(&entry.scalar()?).map_err(|error| refused(entry, error))
}

/// Returns the mistake for a refused setting: at its key if the name is wrong, otherwise at its
/// value.
pub(super) fn refused(entry: &KeyValue<'_>, error: SettingError) -> Mistake {
    if error.is_about_the_name() {
        entry.key_mistake(error.what())
    } else {
        entry.mistake(error.what())
    }
}
