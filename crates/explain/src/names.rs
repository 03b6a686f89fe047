//! The names of settings in the operating system of a host, such as `SO_SNDBUF` in Linux.
//!
//! Rule: if the host's preset has an alias for the knob, verdicts, `--set` and the text to paste
//! use the alias; otherwise they use fullpipe's own name. Names, units and the text to paste are
//! columns of the alias table.

use std::ops::RangeInclusive;

use fullpipe::presets::alias::{self, Alias, Meaning};
use fullpipe_scenario::experiment::{HostPlan, other_names};

use crate::caution;

/// The values of `tcp_adv_win_scale`.
const WINDOW_SCALES: RangeInclusive<i32> = -6..=6;

/// A setting under its name in the host's operating system, with values.
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
    /// Cautions, one sentence each: risks of the setting, and privileges that the change needs,
    /// such as root.
    pub cautions: Vec<String>,
}

/// Names `knob` of `host` and the value `wanted`. Uses an alias of the host's system if the alias
/// can express the value or a slightly larger one; otherwise uses fullpipe's name.
pub fn setting(host: &HostPlan, knob: &str, wanted: &str) -> NamedSetting {
    let aliases = alias::of_knob(host.preset.name, knob).into_iter();
    let mut known = aliases.filter_map(|name| {
        let alias = alias::find(name)?;
        let own = alias.value_for(&host.config, wanted)?;
        by_alias(host, alias, knob, &own)
    });
    known.next().unwrap_or_else(|| own(host, knob, wanted))
}

/// Returns the setting `alias` with the value `own`; `None` if the host has no present value for
/// the alias.
pub fn by_alias(host: &HostPlan, alias: &Alias, knob: &str, own: &str) -> Option<NamedSetting> {
    let needs = alias.set_by.needs().map(str::to_string);
    let mut set = host.clone();
    set.set(alias.name, own).ok()?;
    let value = set.config.get(knob).unwrap_or_default();
    let present = alias.present(&host.config).or_else(|| {
        // Print "unset" for a buffer that the system sizes itself, because it has no value before
        // an application sets it.
        let is_of_buffer = matches!(alias.meaning, Meaning::DoubledForGood(_));
        is_of_buffer.then(|| "unset".to_string())
    });
    Some(NamedSetting {
        name: alias.name.to_string(),
        present: present?,
        wanted: own.to_string(),
        paste: alias.paste(own),
        cautions: caution::of(host, knob, &value)
            .into_iter()
            .chain(needs)
            .collect(),
    })
}

/// Names `knob` by fullpipe's own name.
pub fn own(host: &HostPlan, knob: &str, wanted: &str) -> NamedSetting {
    NamedSetting {
        name: knob.to_string(),
        present: host.get(knob).unwrap_or_default(),
        wanted: wanted.to_string(),
        paste: format!("--set {}.{knob}={wanted}", host.name),
        cautions: caution::of(host, knob, wanted)
            .into_iter()
            .chain(no_name(host, knob, wanted))
            .collect(),
    }
}

/// Names `field` of `flow`, which `host` sends; `values` are the present and the wanted value. Also
/// returns the name for `--set`. If the host's system has a setting for the field, that setting is
/// named, although it changes all flows of the host.
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

/// Returns the caution that `knob` with the value `wanted` is named by fullpipe's name: the host's
/// system has no known setting for the knob, or its setting cannot make exactly this change. `None`
/// for a host with the default preset, which is fullpipe's own.
fn no_name(host: &HostPlan, knob: &str, wanted: &str) -> Option<String> {
    let system = host.preset.name;
    if system == "default" {
        return None;
    }
    let names = alias::of_knob(system, knob);
    let Some(alias) = names.first().and_then(|name| alias::find(name)) else {
        return Some(format!(
            "{system} has no known equivalent of this fullpipe setting."
        ));
    };
    let name = alias.name;
    Some(match (alias.meaning, value_of(host, alias, wanted)) {
        (Meaning::Memory(_) | Meaning::Bounds(_) | Meaning::DoubledForGood(_), _) => {
            format!("{system} sets this with `{name}`, together with other settings.")
        }
        (_, Some(own)) => format!("{system} sets this with `{}`.", alias.paste(&own)),
        (_, None) => format!("{system} sets this with `{name}`, which cannot express this value."),
    })
}

/// Returns the value of `alias` that gives its knob the value `wanted`; `None` if there is none. For
/// `tcp_adv_win_scale`, tries every value.
fn value_of(host: &HostPlan, alias: &Alias, wanted: &str) -> Option<String> {
    if alias.meaning != Meaning::WindowScale {
        return alias.value_for(&host.config, wanted);
    }
    let makes = |own: &String| alias.values(own).is_ok_and(|values| values == [wanted]);
    WINDOW_SCALES.map(|scale| scale.to_string()).find(makes)
}

#[cfg(test)]
mod tests;
