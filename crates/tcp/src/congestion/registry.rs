//! Congestion control algorithms that other crates add to a host.
//!
//! Rule: only registration allocates: it makes one instance for each connection that the host can
//! have. A connection takes an instance, starts it, and gives the instance back when the connection
//! is released.

use alloc::{boxed::Box, string::String, vec::Vec};
use core::fmt;

use fullpipe_pool::{
    record,
    record::{Record, RecordReader, RecordWriter},
};

use super::{algorithms::CongestionAlgorithm, control::CongestionControl};

/// An algorithm that was registered with one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisteredCongestion(u16);

record!(RegisteredCongestion(number));

/// The algorithm of a connection: a built-in or a registered one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionChoice {
    /// One of the built-in algorithms.
    BuiltIn(CongestionAlgorithm),
    /// An algorithm of another crate. Valid only for the host that registered it.
    Registered(RegisteredCongestion),
}

impl Record for CongestionChoice {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        match self {
            Self::BuiltIn(algorithm) => (true, *algorithm).pack(to),
            Self::Registered(algorithm) => (false, *algorithm).pack(to),
        }
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        match bool::unpack(from) {
            true => Self::BuiltIn(Record::unpack(from)),
            false => Self::Registered(Record::unpack(from)),
        }
    }
}

impl From<CongestionAlgorithm> for CongestionChoice {
    fn from(algorithm: CongestionAlgorithm) -> Self {
        Self::BuiltIn(algorithm)
    }
}

impl fmt::Display for RegisteredCongestion {
    /// Writes the number of the registration, because the name is in the host's registry.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "registered algorithm {}", self.0)
    }
}

impl fmt::Display for CongestionChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(algorithm) => algorithm.fmt(f),
            Self::Registered(algorithm) => algorithm.fmt(f),
        }
    }
}

/// Reason for which an algorithm was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterError {
    /// A built-in or a registered algorithm has this name.
    NameTaken,
    /// The host has 65,536 registered algorithms.
    TooMany,
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NameTaken => "a congestion control algorithm of this name exists",
            Self::TooMany => "too many congestion control algorithms are registered",
        })
    }
}

impl core::error::Error for RegisterError {}

/// One registered algorithm.
struct Registration {
    name: String,
    /// Instances that no connection uses.
    free: Vec<Instance>,
}

/// State of a registered algorithm of one connection.
pub type Instance = Box<dyn CongestionControl + Send>;

/// The algorithms that were registered with one host.
#[derive(Default)]
pub struct CongestionRegistry {
    algorithms: Vec<Registration>,
    default: Option<CongestionChoice>,
}

impl CongestionRegistry {
    /// Creates an empty registry. Does not allocate.
    pub const fn new() -> Self {
        Self {
            algorithms: Vec::new(),
            default: None,
        }
    }

    /// Sets the algorithm of new connections that choose none, in place of the
    /// knob `tcp.congestion`.
    pub const fn set_default(&mut self, choice: CongestionChoice) {
        self.default = Some(choice);
    }

    /// Returns the algorithm of a new connection: `chosen`, or else the host's
    /// default, or else `knob`.
    pub fn resolve(
        &self,
        chosen: Option<CongestionChoice>,
        knob: CongestionAlgorithm,
    ) -> CongestionChoice {
        chosen.or(self.default).unwrap_or(knob.into())
    }

    /// Adds an algorithm and makes `instances` instances of it. Allocates.
    ///
    /// # Errors
    /// Returns an error if the name is taken or there are too many algorithms.
    pub fn register<A: CongestionControl + Send + 'static>(
        &mut self,
        name: &str,
        instances: u32,
        mut make: impl FnMut() -> A,
    ) -> Result<CongestionChoice, RegisterError> {
        if self.find(name).is_some() {
            return Err(RegisterError::NameTaken);
        }
        let index = u16::try_from(self.algorithms.len()).map_err(|_| RegisterError::TooMany)?;
        self.algorithms.push(Registration {
            name: name.into(),
            free: (0..instances)
                .map(|_| Box::new(make()) as Instance)
                .collect(),
        });
        Ok(CongestionChoice::Registered(RegisteredCongestion(index)))
    }

    /// Returns the built-in or registered algorithm called `name`.
    pub fn find(&self, name: &str) -> Option<CongestionChoice> {
        let built_in = CongestionAlgorithm::ALL
            .iter()
            .find(|algorithm| algorithm.name() == name);
        if let Some(&algorithm) = built_in {
            return Some(algorithm.into());
        }
        let index = self
            .algorithms
            .iter()
            .position(|registration| registration.name == name)?;
        Some(CongestionChoice::Registered(RegisteredCongestion(
            index as u16,
        )))
    }

    /// Returns the name of `choice`, which must belong to this host; `None` if the host has no
    /// algorithm with its number.
    pub fn name(&self, choice: CongestionChoice) -> Option<&str> {
        match choice {
            CongestionChoice::BuiltIn(algorithm) => Some(algorithm.name()),
            CongestionChoice::Registered(RegisteredCongestion(index)) => {
                let registration = self.algorithms.get(usize::from(index))?;
                Some(&registration.name)
            }
        }
    }

    /// Takes an instance; `None` if all are in use or this host has no algorithm with
    /// this number.
    pub(super) fn take(&mut self, algorithm: RegisteredCongestion) -> Option<Instance> {
        self.algorithms
            .get_mut(usize::from(algorithm.0))?
            .free
            .pop()
    }

    /// Takes back an instance that [`take`](Self::take) returned.
    pub(super) fn give_back(&mut self, algorithm: RegisteredCongestion, instance: Instance) {
        if let Some(registration) = self.algorithms.get_mut(usize::from(algorithm.0)) {
            registration.free.push(instance);
        }
    }
}

impl fmt::Debug for CongestionRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.algorithms.iter().map(|algorithm| &algorithm.name);
        f.debug_list().entries(names).finish()
    }
}

#[cfg(test)]
mod tests;
