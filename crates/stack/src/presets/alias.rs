//! Names that other systems give to a knob.
//!
//! Rule: an alias is another way to write rows of the knob table, so everything that it sets can be
//! seen and undone knob by knob. A name belongs to one system and means the same with every preset.
//! The table of aliases is in `alias/table`; the commands that set an alias in its system are in
//! `alias/set_by`.

mod present;
mod row;
mod set_by;
mod table;
#[cfg(test)]
mod tests;

use alloc::{
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use fullpipe_pool::knobs::{KnobError, parse_count};

use super::table as presets;

pub use row::{Alias, Meaning, NotExpressible};
pub use set_by::SetBy;
pub use table::{ALIASES, NOT_EXPRESSIBLE};

/// The alias's value if no application has set the buffer.
const UNSET: &str = "unset";
/// Bytes of a page: Linux counts `tcp_mem` in pages.
const PAGE: u64 = 4_096;
/// Bytes of a block in a pool that is sized through `tcp_mem`.
const BLOCK: u64 = 2_048;

/// Returns the alias called `name`.
pub fn find(name: &str) -> Option<&'static Alias> {
    ALIASES.iter().find(|alias| alias.name == name)
}

/// Returns the setting called `name` that no knob expresses.
pub fn find_not_expressible(name: &str) -> Option<&'static NotExpressible> {
    NOT_EXPRESSIBLE.iter().find(|known| known.name == name)
}

/// Returns the aliases of the knob called `knob` in the system of `preset`.
pub fn of_knob(preset: &str, knob: &str) -> Vec<&'static str> {
    ALIASES
        .iter()
        .filter(|alias| alias.preset == preset && alias.knobs().any(|own| own == knob))
        .map(|alias| alias.name)
        .collect()
}

impl NotExpressible {
    /// Returns the error for an attempt to set this name.
    pub fn refusal(&self) -> KnobError {
        KnobError::Unavailable {
            why: format!(
                "{}: no knob corresponds to this setting. {}",
                self.name, self.instead
            ),
        }
    }
}

impl Meaning {
    /// Describes the value for a table of aliases.
    pub fn doc(&self) -> String {
        match self {
            Self::Same => "the same value".to_string(),
            Self::Pieces(size) => format!("a number of buffers of {size} bytes"),
            Self::Time(unit) => format!("a whole number of {unit}"),
            Self::Switch { on, off } => format!("`{on}` is on, `{off}` is off"),
            Self::Words(words) => {
                let pairs = words.iter().map(|(own, knob)| format!("`{own}` is {knob}"));
                pairs.collect::<Vec<_>>().join(", ")
            }
            Self::Bounds(_) => {
                "three sizes in bytes: minimum, default and maximum; no buffer shrinks below its \
                 default, so the minimum has no effect"
                    .to_string()
            }
            Self::Doubled => "bytes; the knob becomes twice the value".to_string(),
            Self::DoubledForGood(_) => {
                "bytes; the buffer becomes twice the value, without autotuning. `unset`: the preset's \
                 size, with autotuning"
                    .to_string()
            }
            Self::WindowScale => "1: half of the buffer may be window; 2: three quarters".to_string(),
            Self::Memory(_) => "three numbers of pages: low, pressure and high".to_string(),
        }
    }
}

impl Alias {
    /// Returns the knobs that the alias sets.
    pub fn knobs(&self) -> impl Iterator<Item = &'static str> {
        let others = match &self.meaning {
            Meaning::Same
            | Meaning::Pieces(_)
            | Meaning::Time(_)
            | Meaning::Switch { .. }
            | Meaning::Words(_)
            | Meaning::Doubled
            | Meaning::WindowScale => &[],
            Meaning::Bounds(most) | Meaning::DoubledForGood(most) => core::slice::from_ref(most),
            Meaning::Memory(others) => others,
        };
        core::iter::once(self.knob).chain(others.iter().copied())
    }

    /// Returns the command or line that sets the alias to `value`, ready to paste.
    pub fn paste(&self, value: &str) -> String {
        self.set_by.paste(self.name, value)
    }

    /// Reads `text` as the alias's value and returns the knobs' values, one for each
    /// of [`knobs`](Self::knobs). The value is not compared with the knob's range: setting the
    /// knob does that.
    ///
    /// # Errors
    /// Returns [`KnobError::NotAValue`] with the alias's own name if the text is no value.
    pub fn values(&self, text: &str) -> Result<Vec<String>, KnobError> {
        let refused = |expected| KnobError::NotAValue {
            name: self.name.to_string(),
            given: text.to_string(),
            expected,
        };
        match self.meaning {
            Meaning::Same => Ok(vec![text.to_string()]),
            Meaning::Pieces(size) => parse_count(text)
                .and_then(|pieces| pieces.checked_mul(size))
                .map(|bytes| vec![bytes.to_string()])
                .ok_or_else(|| refused("a number of buffers such as 20")),
            Meaning::Time(unit) => whole_number(text)
                .map(|number| vec![format!("{number}{unit}")])
                .ok_or_else(|| {
                    refused(match unit {
                        "ms" => "a whole number of milliseconds such as 5000",
                        _ => "a whole number of seconds such as 60",
                    })
                }),
            Meaning::Switch { on, off } => switched(text, on, off)
                .map(|is_on| vec![is_on.to_string()])
                .ok_or_else(|| {
                    refused(match on {
                        "1" => "1 or 0",
                        "y" => "y or n",
                        _ => "true or false",
                    })
                }),
            Meaning::Words(words) => words
                .iter()
                .find(|(own, _)| *own == text.trim())
                .map(|(_, knob)| vec![knob.to_string()])
                .ok_or_else(|| refused(self.words_expected())),
            Meaning::Bounds(_) => {
                bounds(text).ok_or_else(|| refused("three numbers of bytes in ascending order"))
            }
            Meaning::Doubled => doubled(text)
                .map(|bytes| vec![bytes])
                .ok_or_else(|| refused("a number of bytes such as 65536")),
            Meaning::DoubledForGood(_) if text.trim() == UNSET => Ok(self.preset_values()),
            Meaning::DoubledForGood(_) => doubled(text)
                .map(|bytes| vec![bytes, "0".to_string()])
                .ok_or_else(|| refused("a number of bytes such as 65536, or unset")),
            Meaning::WindowScale => window_share(text)
                .map(|share| vec![share.to_string()])
                .ok_or_else(|| refused("a whole number from -6 to 6")),
            Meaning::Memory(_) => {
                memory(text).ok_or_else(|| refused("three numbers of pages in ascending order"))
            }
        }
    }

    /// Returns the values that the rows of the alias's preset give to its knobs.
    fn preset_values(&self) -> Vec<String> {
        let rows = presets::find(self.preset).map_or(&[][..], |preset| preset.rows);
        let value = |knob| rows.iter().find(|(own, _)| *own == knob);
        let values = self.knobs().filter_map(value);
        values.map(|(_, value)| value.to_string()).collect()
    }

    fn words_expected(&self) -> &'static str {
        match self.knob {
            "tcp.congestion" => "reno, cubic or bbr",
            "tcp.tail_loss_probe" => "0 or 3",
            "tcp.ack_every" => "0 or 1",
            _ => "0, 1 or 2",
        }
    }
}

/// Reads a whole number without a unit.
fn whole_number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// Reads a switch as its system writes it, or as a knob is written.
fn switched(text: &str, on: &str, off: &str) -> Option<bool> {
    let text = text.trim();
    if text == on {
        return Some(true);
    }
    if text == off {
        return Some(false);
    }
    let is_inverted = on == "false" || on == "0";
    match text {
        "true" | "1" => Some(!is_inverted),
        "false" | "0" => Some(is_inverted),
        _ => None,
    }
}

fn doubled(text: &str) -> Option<String> {
    Some(parse_count(text)?.checked_mul(2)?.to_string())
}

/// Returns the share of a buffer, in percent, that becomes window.
fn window_share(text: &str) -> Option<u32> {
    match text.trim().parse::<i32>().ok()? {
        scale @ 1..=6 => Some(100 - (100 >> scale)),
        scale @ -6..=0 => Some(100 >> -scale),
        _ => None,
    }
}

/// Reads three numbers in ascending order; neighbours may be equal.
fn three(text: &str) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = text.split_whitespace().map(parse_count).collect();
    let three: [u64; 3] = numbers?.try_into().ok()?;
    three.is_sorted().then_some(three)
}

/// Reads the default and the maximum of the three numbers "min default max" (Linux: `tcp_wmem`,
/// `tcp_rmem`). The maximum of a buffer that cannot grow becomes 0, which a build without growing
/// buffers accepts, too.
fn bounds(text: &str) -> Option<Vec<String>> {
    let [_, default, most] = three(text)?;
    let most = if most > default { most } else { 0 };
    Some(vec![default.to_string(), most.to_string()])
}

/// Reads the three numbers "low pressure high", in pages. Returns the number of blocks, the size of
/// a block, and the three numbers as percentages of the memory.
fn memory(text: &str) -> Option<Vec<String>> {
    let [low, pressure, high] = three(text)?;
    let blocks = high
        .checked_mul(PAGE / BLOCK)
        .filter(|blocks| *blocks > 0)?;
    let percent = |pages: u64| Some((pages.checked_mul(100)? / high).max(1));
    let values = [blocks, BLOCK, percent(low)?, percent(pressure)?, 100];
    Some(values.iter().map(ToString::to_string).collect())
}
