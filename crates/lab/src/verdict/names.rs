//! A setting by the names of its host's system.
//!
//! Rule: if the host's preset has an alias, the alias is printed, set and pasted;
//! otherwise fullpipe's own knob. Names, units and paste-ready forms are rows of the
//! alias table.

use fullpipe::presets::alias::{self, Meaning};
use fullpipe_pool::Duration;
use fullpipe_scenario::{
    experiment::{HostPlan, other_names},
    units::grouped,
};

use super::caution;

/// A setting by the names of its host's system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSetting {
    /// The name, as `--set` takes it.
    pub name: String,
    /// Present value.
    pub present: String,
    /// Value to set.
    pub wanted: String,
    /// The setting with that value, ready to paste.
    pub paste: String,
    /// Risks, and who can make the setting, one sentence each.
    pub cautions: Vec<String>,
}

/// Names `knob` of `host` and the number `wanted`, rounded up to a value that the system
/// can express.
pub fn number(host: &HostPlan, knob: &'static str, wanted: u64) -> NamedSetting {
    setting(host, knob, &wanted.to_string())
}

/// Names a knob that is a time, and the value `wanted`.
pub fn time(host: &HostPlan, knob: &'static str, wanted: Duration) -> NamedSetting {
    setting(host, knob, &wanted.to_string())
}

/// Names a knob that is on or off, and the value `wanted`.
pub fn switch(host: &HostPlan, knob: &'static str, wanted: bool) -> NamedSetting {
    setting(host, knob, &wanted.to_string())
}

/// Names `knob` of `host` and the value `wanted`, in the knob's form.
pub fn setting(host: &HostPlan, knob: &'static str, wanted: &str) -> NamedSetting {
    let cautions = caution::of(host, knob, wanted);
    for name in alias::of_knob(host.preset.name, knob) {
        let known = alias::find(name).and_then(|alias| {
            let present = alias.present(&host.config)?;
            let wanted = alias.value_for(&host.config, wanted)?;
            Some((alias, present, wanted))
        });
        if let Some((alias, present, wanted)) = known {
            let needs = alias.set_by.needs().map(str::to_string);
            return NamedSetting {
                name: alias.name.to_string(),
                paste: alias.paste(&wanted),
                present,
                wanted,
                cautions: cautions.into_iter().chain(needs).collect(),
            };
        }
    }
    NamedSetting {
        name: knob.to_string(),
        present: host.config.get(knob).unwrap_or_default(),
        wanted: wanted.to_string(),
        paste: own_paste(host, knob, wanted),
        cautions: cautions.into_iter().chain(no_name(host)).collect(),
    }
}

/// Names a field of the host's device, with its present value and `wanted`.
pub fn device(host: &HostPlan, field: &str, present: u64, wanted: u64) -> NamedSetting {
    let wanted = wanted.to_string();
    let own = other_names(host.preset.name).find(|known| known.path == field);
    let (name, paste) = match own {
        Some(known) => (known.name, known.set_by.paste(known.name, &wanted)),
        None => (field, own_paste(host, field, &wanted)),
    };
    let needs = own.and_then(|known| known.set_by.needs());
    NamedSetting {
        name: name.to_string(),
        present: present.to_string(),
        wanted,
        paste,
        cautions: needs.map(str::to_string).into_iter().collect(),
    }
}

/// Names a field of the flow that `host` sends, with its present and its wanted value.
/// Also returns the path that sets it: for all flows of the host if its system has a name
/// for the field, otherwise for this flow.
pub fn of_flow(
    host: &HostPlan,
    flow: &str,
    field: &str,
    values: [&str; 2],
) -> (NamedSetting, String) {
    let path = format!("workload.{field}");
    let [present, wanted] = values;
    let own = other_names(host.preset.name).find(|known| known.path == path);
    let (name, set, paste) = match own {
        Some(known) => (
            known.name.to_string(),
            format!("{}.{}", host.name, known.name),
            known.set_by.paste(known.name, wanted),
        ),
        None => {
            let name = format!("{flow}.{field}");
            let paste = format!("--set {name}={wanted}");
            (name.clone(), name, paste)
        }
    };
    let setting = NamedSetting {
        name,
        present: present.to_string(),
        wanted: wanted.to_string(),
        paste,
        cautions: Vec::new(),
    };
    (setting, set)
}

/// The size of a buffer of `size` bytes that `setting` sets, and the part of it that
/// payload may use; `None` if the setting's number is that part.
pub fn size_words(setting: &NamedSetting, size: u64, payload: u64) -> Option<String> {
    let NamedSetting { name, present, .. } = setting;
    if present.parse() == Ok(payload) {
        return None;
    }
    let present = match unit_of(name) {
        Unit::Same if present.parse() == Ok(size) => name.clone(),
        Unit::Same => format!("{name} lets the buffer grow to {} bytes", grouped(size)),
        Unit::Doubled => format!(
            "Linux doubles {name} to a buffer of {} bytes",
            grouped(size)
        ),
        Unit::Pieces(each) => format!(
            "{name} counts buffers of {} bytes: {} bytes in all",
            grouped(each),
            grouped(size)
        ),
    };
    let part = grouped(payload);
    Some(match (payload == size, present == *name) {
        (true, _) => format!("{present}."),
        (false, true) => format!("Payload may use {part} bytes of {name}."),
        (false, false) => format!("{present}; payload may use {part} of them."),
    })
}

/// The unit of a setting that needs one: `SO_SNDBUF` and a number of buffers do.
pub fn unit_words(setting: &NamedSetting) -> Option<String> {
    let NamedSetting { name, wanted, .. } = setting;
    match unit_of(name) {
        Unit::Same => None,
        Unit::Doubled => Some(format!("Linux doubles {name}, so {wanted} is set")),
        Unit::Pieces(each) => Some(format!("A buffer has {} bytes", grouped(each))),
    }
}

/// Relation between a setting's number and bytes.
enum Unit {
    Same,
    Doubled,
    Pieces(u64),
}

fn unit_of(name: &str) -> Unit {
    match alias::find(name).map(|alias| alias.meaning) {
        Some(Meaning::Doubled | Meaning::DoubledForGood(_)) => Unit::Doubled,
        Some(Meaning::Pieces(each)) => Unit::Pieces(each),
        Some(
            Meaning::Same
            | Meaning::Time(_)
            | Meaning::Switch { .. }
            | Meaning::Words(_)
            | Meaning::Bounds(_)
            | Meaning::WindowScale
            | Meaning::Memory(_),
        )
        | None => Unit::Same,
    }
}

/// Returns the option of `fullpipe` itself.
fn own_paste(host: &HostPlan, knob: &str, wanted: &str) -> String {
    format!("--set {}.{knob}={wanted}", host.name)
}

/// Returns the sentence about a knob for which the host's system has no name.
fn no_name(host: &HostPlan) -> Option<String> {
    let system = host.preset.name;
    (system != "default")
        .then(|| format!("This is a knob of fullpipe; {system} has no known setting for it."))
}
