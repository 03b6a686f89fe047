//! The stacks under test, one file each.
//!
//! Rule: nothing outside this folder knows a stack by its type; [`Run::on`] chooses it.

mod fullpipe;
mod null;
#[cfg(feature = "peers")]
mod smoltcp;

use clap::ValueEnum;

use crate::{cases::Case, stack::Stack};

/// A stack under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StackName {
    /// No protocol: copy, sum, verify, copy, and one ACK for two segments
    Null,
    /// smoltcp of crates.io
    #[cfg(feature = "peers")]
    Smoltcp,
    /// The stack of this repository
    Fullpipe,
}

impl StackName {
    /// Name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            #[cfg(feature = "peers")]
            Self::Smoltcp => "smoltcp",
            Self::Fullpipe => "fullpipe",
        }
    }

    /// Returns true if the stack can run `case`: `null` has no connections to open.
    pub fn runs(self, case: Case) -> bool {
        self != Self::Null || !matches!(case, Case::Crr)
    }
}

/// Work that is the same for every stack.
pub trait Run {
    /// Result of the work.
    type Outcome;

    /// Does the work with one stack.
    fn with<S: Stack>(self) -> Self::Outcome;

    /// Does the work with the stack called `name`.
    fn on(self, name: StackName) -> Self::Outcome
    where
        Self: Sized,
    {
        match name {
            StackName::Null => self.with::<null::Null>(),
            #[cfg(feature = "peers")]
            StackName::Smoltcp => self.with::<smoltcp::Smoltcp>(),
            StackName::Fullpipe => self.with::<fullpipe::Fullpipe>(),
        }
    }
}
