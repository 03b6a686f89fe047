//! Named sets of knob values.
//!
//! Rule: a preset is a list of knobs with values that replace the defaults, in the form that
//! `--set` takes. A preset sets nothing else, so everything that a preset does can be seen and
//! undone knob by knob.

pub mod alias;
mod table;
#[cfg(test)]
mod tests;

use crate::config::{Config, features};

pub use table::{PRESETS, Preset, UnknownPreset, find};

impl Preset {
    /// Returns the defaults with this preset's rows applied, except rows of features that the build
    /// leaves out.
    ///
    /// # Panics
    /// Panics if a row is not legal, which is a mistake in the table.
    pub fn config(&self) -> Config {
        let mut config = Config::default();
        let has_feature = |name: &str| features::missing(name).is_none();
        for (name, value) in self.rows.iter().filter(|(name, _)| has_feature(name)) {
            if let Err(error) = config.set(name, value) {
                panic!("preset {}: {error}", self.name);
            }
        }
        config
    }
}
