//! Types of values that arguments of several subcommands accept.

/// A setting from the command line, `NAME=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The setting's name.
    pub name: String,
    /// Value of the setting.
    pub value: String,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// A time above 0.
pub(super) fn interval(text: &str) -> Result<fullpipe_lab::units::Time, String> {
    let time = text.parse().ok();
    time.filter(|time| *time > fullpipe_lab::units::Time::ZERO)
        .ok_or_else(|| "expected a time such as 100ms, above 0".to_string())
}

pub(super) fn setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => Ok(Setting {
            name: name.trim().to_string(),
            value: value.trim().to_string(),
        }),
        Some(_) | None => Err("expected NAME=VALUE, such as pool.blocks=64".to_string()),
    }
}

/// A whole number from 0 to 2^64 - 1.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    let seed = text.trim().parse().ok();
    seed.ok_or_else(|| "expected a whole number such as 7".to_string())
}
