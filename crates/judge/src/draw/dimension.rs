//! A dimension of random worlds (random transfers): one property, as a row of a table.
//!
//! Rule: a dimension only adds settings to a world; `draw` decides which worlds have it.

use fullpipe_pool::Rng;

use super::plan::Plan;

/// The protocol of the worlds in which a dimension may occur.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Any,
    Tcp,
    Udp,
}

/// A property that a world may have.
pub struct Dimension {
    /// Name of the dimension. Its random generator is forked by this name.
    pub name: &'static str,
    /// Protocol of the worlds that may have this dimension.
    pub protocol: Protocol,
    /// Share of the worlds that have this dimension.
    pub chance: f64,
    /// Adds the dimension's settings to the plan.
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

/// Returns a dimension that only worlds with streams may have; see [`dimension`].
pub const fn tcp(name: &'static str, chance: f64, add: fn(&mut Plan, Rng)) -> Dimension {
    Dimension {
        protocol: Protocol::Tcp,
        ..dimension(name, chance, add)
    }
}

/// Returns a dimension that only worlds with datagrams may have; see [`dimension`].
pub const fn udp(name: &'static str, chance: f64, add: fn(&mut Plan, Rng)) -> Dimension {
    Dimension {
        protocol: Protocol::Udp,
        ..dimension(name, chance, add)
    }
}
