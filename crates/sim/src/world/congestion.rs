//! Registers congestion control algorithms with hosts, and chooses the algorithm of a host.
//!
//! Rule: algorithms are registered and chosen before connections open, as on a stack outside the
//! simulator. An algorithm is built into the stack or comes from the caller.

use fullpipe::congestion::{CongestionChoice, CongestionControl, RegisterError};

use super::network::World;
use crate::ids::HostId;

impl World {
    /// Adds a congestion control algorithm to a host's stack under `name`, as
    /// [`Stack::register_congestion`](fullpipe::Stack::register_congestion) does.
    ///
    /// Calls `make` once for each connection that the stack can have. The algorithm must
    /// read no clock and draw random numbers only from a generator of fixed seed, otherwise two
    /// runs with the same seed differ.
    ///
    /// Returns the value by which
    /// [`set_default_congestion`](Self::set_default_congestion) chooses the
    /// algorithm. The value is valid for this host only.
    ///
    /// ```
    /// use fullpipe::{Config, congestion::CongestionControl};
    /// use fullpipe_sim::{HostId, World};
    ///
    /// /// Uses `A` for all connections of `host`.
    /// fn use_at<A>(world: &mut World, host: HostId)
    /// where
    ///     A: CongestionControl + Send + Default + 'static,
    /// {
    ///     let choice = world.register_congestion(host, "mine", A::default).unwrap();
    ///     world.set_default_congestion(host, choice);
    /// }
    /// ```
    ///
    /// Returns an error if a built-in algorithm, or one that the host registered, has that name.
    pub fn register_congestion<A: CongestionControl + Send + 'static>(
        &mut self,
        host: HostId,
        name: &str,
        make: impl FnMut() -> A,
    ) -> Result<CongestionChoice, RegisterError> {
        self.stack_mut(host).register_congestion(name, make)
    }

    /// Sets the algorithm of the connections that a host opens or accepts from now on, in place of
    /// the algorithm that the host's setting `tcp.congestion` names. Open connections keep their
    /// algorithm.
    ///
    /// `choice` is a [`CongestionAlgorithm`](fullpipe::config::CongestionAlgorithm) or the value
    /// that [`register_congestion`](Self::register_congestion) returned for the same host.
    pub fn set_default_congestion(&mut self, host: HostId, choice: impl Into<CongestionChoice>) {
        self.stack_mut(host).set_default_congestion(choice.into());
    }
}
