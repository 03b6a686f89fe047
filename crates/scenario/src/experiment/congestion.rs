//! Congestion controls from other crates, for hosts of an experiment.
//!
//! Rule: an algorithm that is registered for a host has a name. The host's setting `tcp.congestion`
//! accepts that name as it accepts the name of a built-in algorithm. An experiment file cannot
//! register an algorithm.

use std::{
    fmt,
    panic::{RefUnwindSafe, UnwindSafe},
    sync::Arc,
};

use fullpipe::{
    config::CongestionAlgorithm,
    congestion::{CongestionControl, RegisterError},
};
use fullpipe_sim::{HostId, World};

/// The setting that names a congestion control.
pub(super) const CONGESTION: &str = "tcp.congestion";

type Choose = dyn Fn(&mut World, HostId, &str) -> Result<(), RegisterError>
    + Send
    + Sync
    + UnwindSafe
    + RefUnwindSafe;

/// A congestion control from another crate.
#[derive(Clone)]
pub struct OutsideCongestion {
    /// The algorithm's name, as `tcp.congestion` takes it.
    pub name: String,
    /// Registers the algorithm with a host, and makes it the host's default.
    choose: Arc<Choose>,
}

impl OutsideCongestion {
    /// Creates an entry for an algorithm whose instances `make` creates.
    ///
    /// # Panics
    /// Panics if a built-in algorithm has that name.
    pub fn new<A: CongestionControl + Send + 'static>(
        name: &str,
        make: impl Fn() -> A + Send + Sync + UnwindSafe + RefUnwindSafe + 'static,
    ) -> Self {
        let mut built_in = CongestionAlgorithm::ALL.iter();
        assert!(
            !built_in.any(|known| known.to_string() == name),
            "{name} is the name of a built-in algorithm: choose another name"
        );
        let choose = move |world: &mut World, host, name: &str| {
            let choice = world.register_congestion(host, name, &make)?;
            world.set_default_congestion(host, choice);
            Ok(())
        };
        Self {
            name: name.to_string(),
            choose: Arc::new(choose),
        }
    }

    /// Registers the algorithm with `host`, and makes it the default of `host`.
    pub(crate) fn choose(&self, world: &mut World, host: HostId) {
        let chosen = (self.choose)(world, host, &self.name);
        chosen.expect("no algorithm of that name is registered with a host of a new world");
    }
}

/// Two algorithms with the same name are equal.
impl PartialEq for OutsideCongestion {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for OutsideCongestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OutsideCongestion({})", self.name)
    }
}
