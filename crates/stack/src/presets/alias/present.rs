//! The value of an alias under a configuration.
//!
//! Rule: this file reads a configuration and changes none. `alias` translates an alias's
//! value to knobs.

use alloc::{
    format,
    string::{String, ToString},
};

use super::row::{Alias, Meaning};
use crate::config::Config;

/// First number of `tcp_wmem` and `tcp_rmem` in bytes, unless the second is smaller.
const LEAST_BUFFER: u64 = 4_096;

impl Alias {
    /// Returns the alias's value under `config`; `None` if the alias cannot express the
    /// knobs' values.
    pub fn present(&self, config: &Config) -> Option<String> {
        let knob = match self.meaning {
            Meaning::Bounds(most) => most,
            _ => self.knob,
        };
        self.value_for(config, &config.get(knob)?)
    }

    /// Returns the alias's value with which its knob is `wanted`, rounded up to a value that the
    /// system can express; `None` if there is none. Other knobs are as in `config`. Of an alias
    /// with three values ([`Meaning::Bounds`]), the knob is that of the maximum.
    pub fn value_for(&self, config: &Config, wanted: &str) -> Option<String> {
        let number = || wanted.parse::<u64>().ok();
        let knob = |name| config.get(name)?.parse::<u64>().ok();
        match self.meaning {
            Meaning::Same => Some(wanted.to_string()),
            Meaning::Pieces(size) => Some(number()?.div_ceil(size).to_string()),
            Meaning::Time(unit) => {
                let time: fullpipe_pool::Duration = wanted.parse().ok()?;
                let each = if unit == "ms" { 1_000 } else { 1_000_000 };
                Some(time.as_micros().div_ceil(each).to_string())
            }
            Meaning::Switch { on, off } => Some(
                match wanted.parse::<bool>().ok()? {
                    true => on,
                    false => off,
                }
                .to_string(),
            ),
            Meaning::Words(words) => {
                let found = words.iter().find(|(_, knob)| *knob == wanted);
                found.map(|(own, _)| own.to_string())
            }
            Meaning::Doubled => Some(number()?.div_ceil(2).to_string()),
            // The alias cannot express an autotuned buffer, because setting the alias ends
            // autotuning.
            Meaning::DoubledForGood(tuned) => {
                (knob(tuned)? == 0).then_some(number()?.div_ceil(2).to_string())
            }
            Meaning::Bounds(tuned) => {
                let (default, most) = (knob(self.knob)?, number()?);
                let is_tuned = knob(tuned)? > default;
                let least = LEAST_BUFFER.min(default);
                is_tuned.then(|| format!("{least} {default} {}", most.max(default)))
            }
            Meaning::WindowScale | Meaning::Memory(_) => None,
        }
    }
}
