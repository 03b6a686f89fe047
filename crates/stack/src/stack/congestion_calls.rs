//! The application's calls about congestion control algorithms.
//!
//! Rule: register algorithms before connections are opened: registration allocates one
//! instance for each connection, and no later call allocates. An algorithm cannot be
//! unregistered. Connections choose a registered algorithm like a built-in one.

use fullpipe_tcp::congestion::{CongestionChoice, CongestionControl, RegisterError};

use super::Stack;

impl Stack {
    /// Adds a congestion control algorithm under `name`.
    ///
    /// Calls `make` once for each connection that the stack can have (knob `stack.connections`). A
    /// connection that chooses the algorithm takes one of these instances, calls its
    /// [`start`](CongestionControl::start), and gives the instance back when the connection ends.
    /// Opening a connection therefore allocates nothing.
    ///
    /// Returns the value by which [`set_default_congestion`],
    /// [`Tuning::congestion`](crate::Tuning::congestion) and
    /// [`SocketOption::Congestion`](crate::SocketOption::Congestion) choose the algorithm. The
    /// value is valid for this stack only.
    ///
    /// [`set_default_congestion`]: Self::set_default_congestion
    ///
    /// Returns an error if a built-in or a registered algorithm already has the name.
    pub fn register_congestion<A: CongestionControl + Send + 'static>(
        &mut self,
        name: &str,
        make: impl FnMut() -> A,
    ) -> Result<CongestionChoice, RegisterError> {
        let instances = self.tcp.slots.capacity();
        self.tcp
            .host_state
            .congestion
            .register(name, instances, make)
    }

    /// Returns the built-in or registered algorithm called `name`; the names are those of
    /// Linux's `tcp_congestion_control`, for instance `cubic`.
    pub fn congestion(&self, name: &str) -> Option<CongestionChoice> {
        self.tcp.host_state.congestion.find(name)
    }

    /// Returns the name of `choice`; `None` if another stack registered it.
    pub fn congestion_name(&self, choice: CongestionChoice) -> Option<&str> {
        self.tcp.host_state.congestion.name(choice)
    }

    /// Sets the algorithm of new connections that choose none, in place of the
    /// knob `tcp.congestion`. Open connections keep their algorithm.
    pub const fn set_default_congestion(&mut self, choice: CongestionChoice) {
        self.tcp.host_state.congestion.set_default(choice);
    }
}
