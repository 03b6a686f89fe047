//! The stacks under test, one file each.
//!
//! Rule: code outside this folder does not depend on the type of a stack; [`start`] selects it by name.

mod fullpipe;
#[cfg(feature = "lwip")]
mod lwip;
mod null;
#[cfg(feature = "peers")]
mod smoltcp;

use clap::ValueEnum;

use crate::{
    cases::{Bench, Case, Work},
    many::{Active, Idle},
};

/// A stack under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StackName {
    /// No protocol, as a lower bound: copies, sums and verifies payload, and returns one ACK for two
    /// segments
    Null,
    /// smoltcp of crates.io
    #[cfg(feature = "peers")]
    Smoltcp,
    /// lwIP of Debian's source package
    #[cfg(feature = "lwip")]
    Lwip,
    /// The stack of this repository
    Fullpipe,
}

impl StackName {
    /// The stack with which the others are compared.
    #[cfg(feature = "peers")]
    pub const BASELINE: Self = Self::Smoltcp;
    #[cfg(not(feature = "peers"))]
    pub const BASELINE: Self = Self::Fullpipe;

    /// Name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            #[cfg(feature = "peers")]
            Self::Smoltcp => "smoltcp",
            #[cfg(feature = "lwip")]
            Self::Lwip => "lwip",
            Self::Fullpipe => "fullpipe",
        }
    }

    /// Returns true if the stack can have many connections at the same time.
    pub fn has_many_connections(self) -> bool {
        match self {
            Self::Null => false,
            #[cfg(feature = "peers")]
            Self::Smoltcp => true,
            #[cfg(feature = "lwip")]
            Self::Lwip => false,
            Self::Fullpipe => true,
        }
    }

    /// Returns true if the stack can run `case`. `null` cannot run a case that opens connections.
    pub fn runs(self, case: Case) -> bool {
        self != Self::Null || !matches!(case, Case::Crr)
    }
}

/// Creates `$bench::<S>` for the stack `S` with the name `$name`.
macro_rules! with_stack {
    ($name:expr, $bench:ident, $argument:expr) => {
        match $name {
            StackName::Null => Box::new($bench::<null::Null>::new($argument)),
            #[cfg(feature = "peers")]
            StackName::Smoltcp => Box::new($bench::<smoltcp::Smoltcp>::new($argument)),
            #[cfg(feature = "lwip")]
            StackName::Lwip => Box::new($bench::<lwip::Lwip>::new($argument)),
            StackName::Fullpipe => Box::new($bench::<fullpipe::Fullpipe>::new($argument)),
        }
    };
}

/// Starts `case` on the stack called `name`.
pub fn start(name: StackName, case: Case) -> Box<dyn Work> {
    with_stack!(name, Bench, case)
}

/// Opens `count` connections that all carry payload.
pub fn active(name: StackName, count: u32) -> Box<dyn Work> {
    with_stack!(name, Active, count)
}

/// Opens `count` connections, one of which carries transactions.
pub fn idle(name: StackName, count: u32) -> Box<dyn Work> {
    with_stack!(name, Idle, count)
}
