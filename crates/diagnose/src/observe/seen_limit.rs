//! The limits that a capture shows: those of the stack's own clock, and `unknown`.
//!
//! Rule: a limit has the same name here as in the stack.

use fullpipe_tcp::{Limit, limit::Reason};
use serde::{Serialize, Serializer};

/// A limit that was inferred from segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SeenLimit {
    /// A limit of the stack's vocabulary.
    Known(Limit),
    /// The segments do not show the limit.
    Unknown,
}

impl SeenLimit {
    /// Number of values of [`SeenLimit`].
    pub const COUNT: usize = Limit::COUNT + 1;

    /// Every value, `Unknown` last.
    pub const ALL: &'static [Self] = &{
        let mut all = [Self::Unknown; Self::COUNT];
        let mut place = 0;
        while place < Limit::COUNT {
            all[place] = Self::Known(Limit::ALL[place]);
            place += 1;
        }
        all
    };

    /// Name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Known(limit) => limit.name(),
            Self::Unknown => "unknown",
        }
    }
}

impl From<Limit> for SeenLimit {
    fn from(limit: Limit) -> Self {
        Self::Known(limit)
    }
}

impl Reason for SeenLimit {
    fn index(self) -> usize {
        match self {
            Self::Known(limit) => limit as usize,
            Self::Unknown => Limit::COUNT,
        }
    }

    fn all() -> &'static [Self] {
        Self::ALL
    }

    fn name(self) -> &'static str {
        Self::name(self)
    }
}

impl Serialize for SeenLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
