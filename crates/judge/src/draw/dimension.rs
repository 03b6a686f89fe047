//! A dimension of random worlds: a row of a table.
//!
//! Rule: a dimension only adds settings to a plan; `draw` decides whether a world has it.

use fullpipe_pool::Rng;

use super::plan::Plan;

/// The protocol of the worlds that a dimension belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Any,
    Tcp,
    Udp,
}

/// One property that a world may have.
pub struct Dimension {
    /// Its name, by which its generator is forked.
    pub name: &'static str,
    pub protocol: Protocol,
    /// Share of the worlds that have it.
    pub chance: f64,
    /// Adds it to the plan.
    pub add: fn(&mut Plan, Rng),
}

pub const fn dimension(name: &'static str, chance: f64, add: fn(&mut Plan, Rng)) -> Dimension {
    Dimension {
        name,
        protocol: Protocol::Any,
        chance,
        add,
    }
}

/// As [`dimension`], for streams only.
pub const fn tcp(name: &'static str, chance: f64, add: fn(&mut Plan, Rng)) -> Dimension {
    Dimension {
        protocol: Protocol::Tcp,
        ..dimension(name, chance, add)
    }
}

/// As [`dimension`], for datagrams only.
pub const fn udp(name: &'static str, chance: f64, add: fn(&mut Plan, Rng)) -> Dimension {
    Dimension {
        protocol: Protocol::Udp,
        ..dimension(name, chance, add)
    }
}
