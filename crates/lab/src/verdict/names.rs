//! A knob and its value as the host's own system writes them.
//!
//! Rule: a preset's people know their names and not ours, so where there is an
//! alias it is what is said and what is set. What a name means is the alias
//! table's business.

use fullpipe::presets::alias::{self, Alias, Meaning};
use fullpipe_pool::Duration;

use crate::experiment::{HostPlan, other_names};

/// A setting in the words of its host's system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoken {
    /// The name, which `--set` takes.
    pub name: String,
    /// The value it has.
    pub present: String,
    /// The value it should have.
    pub wanted: String,
}

/// What `host` calls `knob`, with its present value and `wanted`, which is
/// rounded up to what the system can say.
pub fn number(host: &HostPlan, knob: &'static str, wanted: u64) -> Spoken {
    let present = present(host, knob);
    for name in alias::of_knob(host.preset.name, knob) {
        let spoken = alias::find(name).and_then(|alias| with_alias(host, alias, present, wanted));
        if let Some(spoken) = spoken {
            return spoken;
        }
    }
    Spoken {
        name: knob.to_string(),
        present: present.to_string(),
        wanted: wanted.to_string(),
    }
}

/// What `host` calls a knob that is a time, to be set to `wanted`.
pub fn time(host: &HostPlan, knob: &'static str, wanted: Duration) -> Spoken {
    let names = alias::of_knob(host.preset.name, knob).into_iter();
    let own = names
        .filter_map(alias::find)
        .find(|alias| alias.meaning == Meaning::Same);
    Spoken {
        name: own.map_or(knob, |alias| alias.name).to_string(),
        present: host.config.get(knob).unwrap_or_default(),
        wanted: wanted.to_string(),
    }
}

/// What `host` calls a field of its device, with its present value and `wanted`.
pub fn device(host: &HostPlan, field: &str, present: u64, wanted: u64) -> Spoken {
    let own = other_names(host.preset.name).find(|known| known.path == field);
    Spoken {
        name: own.map_or(field, |known| known.name).to_string(),
        present: present.to_string(),
        wanted: wanted.to_string(),
    }
}

/// What `host` calls a field of the flow that it sends, to be set from the first value
/// to the second, and the path that sets it: of the host's flows where its system has
/// a name, of the one flow where not.
pub fn of_flow(host: &HostPlan, flow: &str, field: &str, values: [&str; 2]) -> (Spoken, String) {
    let path = format!("workload.{field}");
    let own = other_names(host.preset.name).find(|known| known.path == path);
    let (name, set) = match own {
        Some(known) => (
            known.name.to_string(),
            format!("{}.{}", host.name, known.name),
        ),
        None => (format!("{flow}.{field}"), format!("{flow}.{field}")),
    };
    let [present, wanted] = values.map(str::to_string);
    let spoken = Spoken {
        name,
        present,
        wanted,
    };
    (spoken, set)
}

/// What `host` calls a knob that is on or off, to be set to `wanted`.
pub fn switch(host: &HostPlan, knob: &'static str, wanted: bool) -> Spoken {
    let inverted = alias::of_knob(host.preset.name, knob)
        .into_iter()
        .filter_map(alias::find)
        .find(|alias| alias.meaning == Meaning::Inverted);
    let (name, wanted) = match inverted {
        Some(alias) => (alias.name, !wanted),
        None => (knob, wanted),
    };
    Spoken {
        name: name.to_string(),
        present: (!wanted).to_string(),
        wanted: wanted.to_string(),
    }
}

fn with_alias(host: &HostPlan, alias: &Alias, present: u64, wanted: u64) -> Option<Spoken> {
    let (present, wanted) = match alias.meaning {
        Meaning::Same => (present.to_string(), wanted.to_string()),
        Meaning::Pieces(size) => (
            (present / size).to_string(),
            wanted.div_ceil(size).to_string(),
        ),
        // One that was set by an application stays as it was set.
        Meaning::DoubledForGood(tuned) if self::present(host, tuned) == 0 => {
            halves(present, wanted)
        }
        Meaning::Doubled => halves(present, wanted),
        Meaning::Bounds(tuned) if self::present(host, tuned) > self::present(host, alias.knob) => {
            let default = self::present(host, alias.knob);
            let least = 4_096.min(default);
            let most = self::present(host, tuned).max(default);
            (
                format!("{least} {default} {most}"),
                format!("{least} {default} {}", wanted.max(default)),
            )
        }
        Meaning::Bounds(_)
        | Meaning::DoubledForGood(_)
        | Meaning::Inverted
        | Meaning::WindowScale
        | Meaning::Memory(_) => return None,
    };
    Some(Spoken {
        name: alias.name.to_string(),
        present,
        wanted,
    })
}

fn halves(present: u64, wanted: u64) -> (String, String) {
    ((present / 2).to_string(), wanted.div_ceil(2).to_string())
}

/// The value that `host` has for a knob that is a number.
fn present(host: &HostPlan, knob: &str) -> u64 {
    let text = host.config.get(knob);
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}
