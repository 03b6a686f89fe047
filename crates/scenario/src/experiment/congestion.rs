//! Congestion controls from other crates, for hosts of an experiment.
//!
//! Rule: what is registered for a host has a name like a built-in algorithm, and
//! `tcp.congestion` of that host takes both. A file cannot register anything.

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
    /// Its name, as `tcp.congestion` takes it.
    pub name: String,
    /// Registers it with a host, and makes it the host's default.
    choose: Arc<Choose>,
}

impl OutsideCongestion {
    /// An algorithm of which `make` makes the instances.
    ///
    /// # Panics
    /// If a built-in algorithm has that name.
    pub fn new<A: CongestionControl + Send + 'static>(
        name: &str,
        make: impl Fn() -> A + Send + Sync + UnwindSafe + RefUnwindSafe + 'static,
    ) -> Self {
        let mut built_in = CongestionAlgorithm::ALL.iter();
        assert!(
            !built_in.any(|known| known.to_string() == name),
            "{name} is a built-in algorithm"
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

    /// Makes it the algorithm of `host`.
    pub(crate) fn choose(&self, world: &mut World, host: HostId) {
        let chosen = (self.choose)(world, host, &self.name);
        chosen.expect("the host of a new world has registered no other of that name");
    }
}

/// Algorithms of one name are the same.
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
