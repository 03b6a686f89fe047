//! The table of built-in congestion control algorithms: one row each.
//!
//! Rule: everything that must know all algorithms derives from this table: the
//! values of the knob `tcp.congestion`, their text forms and legal range, and
//! the construction and dispatch of an algorithm's state. A new algorithm needs its
//! file, its test, a `mod` line and a row here.
//!
//! The state is an enum and not a box, because a connection does not allocate.

pub mod bbr;
pub mod cubic;
pub mod hystart;
pub mod newreno;

use fullpipe_pool::knob_choice;

use super::control::{CongestionControl, CongestionStart};

/// Declares [`CongestionAlgorithm`] and [`BuiltIn`] from the table's rows.
macro_rules! algorithms {
    (
        $expected:literal;
        $( $(#[doc = $doc:literal])+ $algorithm:ident = $name:literal, $state:ty; )+
    ) => {
        knob_choice! {
            /// Built-in congestion control algorithm.
            pub enum CongestionAlgorithm ($expected) {
                $( $(#[doc = $doc])+ $algorithm = $name, )+
            }
        }

        /// State of a built-in algorithm of one connection.
        #[derive(Clone, Debug)]
        pub enum BuiltIn {
            $( $(#[doc = $doc])+ $algorithm($state), )+
        }

        impl BuiltIn {
            /// Starts `algorithm`.
            pub fn new(algorithm: CongestionAlgorithm, start: &CongestionStart) -> Self {
                match algorithm {
                    $( CongestionAlgorithm::$algorithm => {
                        Self::$algorithm(<$state>::new(start))
                    } )+
                }
            }

            /// Returns the algorithm for reading.
            pub fn get(&self) -> &dyn CongestionControl {
                match self {
                    $( Self::$algorithm(state) => state, )+
                }
            }

            /// Returns the algorithm for changes.
            pub fn get_mut(&mut self) -> &mut dyn CongestionControl {
                match self {
                    $( Self::$algorithm(state) => state, )+
                }
            }
        }
    };
}

algorithms! {
    "newreno, cubic or bbr";

    /// NewReno: RFC 5681 and RFC 6582.
    NewReno = "newreno", newreno::NewReno;
    /// CUBIC: RFC 9438.
    Cubic = "cubic", cubic::Cubic;
    /// BBR: draft-ietf-ccwg-bbr.
    Bbr = "bbr", bbr::Bbr;
}

impl CongestionAlgorithm {
    /// First row of the table.
    pub const FIRST: Self = Self::ALL[0];
    /// Last row of the table.
    pub const LAST: Self = Self::ALL[Self::ALL.len() - 1];
}
