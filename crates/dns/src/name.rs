//! Host names.
//!
//! Rule: a `DnsName` fits into a DNS message and is in small letters, so two names are equal if
//! their bytes are equal. RFC 1035 §2.3.

use std::{fmt, str::FromStr};

use crate::error::NameError;

/// Largest number of characters of a name without its last dot.
const NAME_MAX: usize = 253;
/// Largest number of characters of a label.
const LABEL_MAX: usize = 63;

/// A host name: labels of ASCII letters, digits, `-` and `_`, without the last dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DnsName(Box<str>);

impl DnsName {
    /// Returns the name in small letters, without a dot at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if the name is `zone` or below it. The root, an empty text, contains all names.
    pub(crate) fn is_within(&self, zone: &str) -> bool {
        let Some(at) = self.0.len().checked_sub(zone.len()) else {
            return false;
        };
        let (above, end) = self.0.as_bytes().split_at(at);
        end.eq_ignore_ascii_case(zone.as_bytes())
            && (zone.is_empty() || above.is_empty() || above.ends_with(b"."))
    }

    /// Returns true for the name of this host itself. RFC 6761 §6.3.
    pub(crate) fn is_localhost(&self) -> bool {
        self.is_within("localhost")
    }
}

impl FromStr for DnsName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let is_legal = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if let Some(other) = text.chars().find(|c| !is_legal(c)) {
            return Err(NameError::Character(other));
        }
        if text.len() > NAME_MAX {
            return Err(NameError::NameTooLong);
        }
        for label in text.split('.') {
            match label.len() {
                0 => return Err(NameError::Empty),
                1..=LABEL_MAX => {}
                _ => return Err(NameError::LabelTooLong),
            }
        }
        Ok(Self(text.to_ascii_lowercase().into()))
    }
}

impl fmt::Display for DnsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
