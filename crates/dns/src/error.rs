//! Errors of names and of lookups.
//!
//! Rule: each error says what to do about it, if the user can do something.

use std::fmt;

/// Reason for which a text is not a host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// The name or one of its labels is empty.
    Empty,
    /// A label has more than 63 bytes. RFC 1035 §2.3.4.
    LabelTooLong,
    /// The name has more than 253 characters, which are 255 bytes in a message. RFC 1035 §2.3.4.
    NameTooLong,
    /// The name has a character that host names must not have.
    Character(char),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the host name, or a label between two dots, is empty"),
            Self::LabelTooLong => f.write_str(
                "a label of the host name (the part between two dots) has over 63 characters",
            ),
            Self::NameTooLong => f.write_str("the host name has over 253 characters"),
            Self::Character(c) if c.is_ascii() => {
                write!(
                    f,
                    "host names may contain letters, digits, '-', '_' and '.', but not {c:?}"
                )
            }
            Self::Character(c) => {
                write!(f, "{c:?} is not ASCII: give the name in its form xn--…")
            }
        }
    }
}

impl std::error::Error for NameError {}

/// Reason for which a lookup has no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupError {
    /// No name server is configured.
    NoServer,
    /// The name does not exist (NXDOMAIN).
    NoSuchName,
    /// The name has no address of the family. RFC 2308 §2.2.
    NoAddress,
    /// No server answered.
    TimedOut,
    /// Every server failed or refused to answer.
    ServersFailed,
    /// The name leads to a chain of more than eight aliases.
    TooManyAliases,
    /// The number of lookups under way has reached the limit of the settings.
    TooManyLookups,
}

impl LookupError {
    /// Returns the error in words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::NoServer => "no name server is known: give one, or use DHCP or autoconfiguration",
            Self::NoSuchName => "the name does not exist: check its spelling",
            Self::NoAddress => "the name has no address that this host can use",
            Self::TimedOut => "no name server answers: check the servers and the route to them",
            Self::ServersFailed => "every name server failed or refused to answer: try another one",
            Self::TooManyAliases => "the name leads to a chain of more than eight aliases (CNAME)",
            Self::TooManyLookups => "too many lookups are under way: try again later",
        }
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

impl std::error::Error for LookupError {}
