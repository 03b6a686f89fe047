//! Errors of a setting `name = value` of an experiment.
//!
//! Rule: the message contains the given text and the accepted values. The caller adds the line of
//! the file, or the flag.

use std::fmt;

use fullpipe_pool::knobs::KnobError;

use crate::document::hint;

/// Reason that a setting was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingError {
    /// No setting has this name.
    Unknown {
        /// Kind of name that was expected.
        what: &'static str,
        /// The name as given.
        name: String,
        /// The nearest name, or all names.
        hint: String,
    },
    /// The field does not take this text as a value.
    NotAValue {
        /// The field's full name.
        name: String,
        /// The text as given.
        given: String,
        /// Description of the values that the field takes.
        expected: &'static str,
    },
    /// The text is a number of 1 or more, but a probability of that size needs a `%`.
    Ambiguous {
        /// The field's full name.
        name: String,
        /// The message that says what to write.
        why: String,
    },
    /// A knob (a setting of the stack) refused the value.
    Knob(KnobError),
    /// The value is legal, but contradicts other settings.
    Contradiction(String),
}

impl SettingError {
    /// Returns the error for an unknown `name` of the kind `what`.
    pub fn unknown<'a>(
        what: &'static str,
        name: &str,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        Self::Unknown {
            what,
            name: name.to_string(),
            hint: hint(name, known),
        }
    }

    /// Returns true if the name is wrong, and false if the value is wrong.
    pub fn is_about_the_name(&self) -> bool {
        match self {
            Self::Unknown { .. } | Self::Knob(KnobError::Unknown { .. }) => true,
            Self::NotAValue { .. } | Self::Ambiguous { .. } | Self::Contradiction(_) => false,
            Self::Knob(
                KnobError::NotAValue { .. }
                | KnobError::Unavailable { .. }
                | KnobError::OutOfRange { .. }
                | KnobError::TooLarge { .. }
                | KnobError::Contradiction { .. },
            ) => false,
        }
    }
}

impl SettingError {
    /// Returns the message without the name, for a line that already shows the name.
    pub fn what(&self) -> String {
        match self {
            Self::Unknown { what, hint, .. } => format!("there is no such {what}; {hint}"),
            Self::Ambiguous { why, .. } => why.clone(),
            Self::NotAValue {
                given, expected, ..
            }
            | Self::Knob(KnobError::NotAValue {
                given, expected, ..
            }) => format!("`{given}` is not {expected}"),
            Self::Knob(KnobError::OutOfRange {
                given,
                legal: (low, high),
                unit,
                ..
            }) => {
                let gap = if unit.is_empty() { "" } else { " " };
                format!("{given} is outside {low} to {high}{gap}{unit}")
            }
            Self::Knob(KnobError::Unknown {
                nearest: Some(nearest),
                ..
            }) => format!("there is no such knob; did you mean `{nearest}`?"),
            Self::Knob(KnobError::Unknown { nearest: None, .. }) => {
                "there is no such knob; `fullpipe knobs` lists them".to_string()
            }
            Self::Knob(
                error @ (KnobError::Unavailable { .. }
                | KnobError::TooLarge { .. }
                | KnobError::Contradiction { .. }),
            ) => error.to_string(),
            Self::Contradiction(why) => why.clone(),
        }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { what, name, hint } => write!(f, "unknown {what} `{name}`; {hint}"),
            Self::NotAValue {
                name,
                given,
                expected,
            } => {
                write!(f, "{name} = {given}: expected {expected}")
            }
            Self::Ambiguous { name, why } => write!(f, "{name}: {why}"),
            Self::Knob(error) => error.fmt(f),
            Self::Contradiction(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for SettingError {}

impl From<KnobError> for SettingError {
    fn from(error: KnobError) -> Self {
        Self::Knob(error)
    }
}
