//! The table of built-in congestion control algorithms: one row each.
//!
//! Rule: everything that must know all algorithms derives from this table: the
//! values of the knob `tcp.congestion`, their text forms and legal range, and
//! the construction and dispatch of an algorithm's state. A new algorithm needs its
//! file, its test, a `mod` line and a row here.
//!
//! The state is an enum and not a box, because a connection does not allocate.

#[cfg(feature = "bbr")]
pub mod bbr;
#[cfg(feature = "cubic")]
pub mod cubic;
#[cfg(feature = "cubic")]
pub mod hystart;
pub mod newreno;

use fullpipe_pool::{
    knob_choice,
    knobs::KnobType,
    record::{Record, RecordReader, RecordWriter},
};

use super::control::{CongestionControl, CongestionStart};

/// Declares [`CongestionAlgorithm`] and [`BuiltIn`] from the table's rows.
macro_rules! algorithms {
    (
        $expected:expr;
        $(
            $(#[doc = $doc:literal])+
            $(#[cfg($condition:meta)])?
            $algorithm:ident = $name:literal, $state:ty;
        )+
    ) => {
        knob_choice! {
            /// Built-in congestion control algorithm.
            pub enum CongestionAlgorithm ($expected) {
                $( $(#[doc = $doc])+ $(#[cfg($condition)])? $algorithm = $name, )+
            }
        }

        /// State of a built-in algorithm of one connection.
        #[derive(Clone, Debug)]
        pub enum BuiltIn {
            $( $(#[doc = $doc])+ $(#[cfg($condition)])? $algorithm($state), )+
        }

        impl Record for BuiltIn {
            fn pack(&self, to: &mut RecordWriter<'_>) {
                match self {
                    $( $(#[cfg($condition)])? Self::$algorithm(state) => {
                        CongestionAlgorithm::$algorithm.pack(to);
                        state.pack(to);
                    } )+
                }
            }

            fn unpack(from: &mut RecordReader<'_>) -> Self {
                match CongestionAlgorithm::unpack(from) {
                    $( $(#[cfg($condition)])? CongestionAlgorithm::$algorithm => {
                        Self::$algorithm(Record::unpack(from))
                    } )+
                }
            }
        }

        impl BuiltIn {
            /// Starts `algorithm`.
            pub fn new(algorithm: CongestionAlgorithm, start: &CongestionStart) -> Self {
                match algorithm {
                    $( $(#[cfg($condition)])? CongestionAlgorithm::$algorithm => {
                        Self::$algorithm(<$state>::new(start))
                    } )+
                }
            }

            /// Returns the algorithm for reading.
            pub fn get(&self) -> &dyn CongestionControl {
                match self {
                    $( $(#[cfg($condition)])? Self::$algorithm(state) => state, )+
                }
            }

            /// Returns the algorithm for changes.
            pub fn get_mut(&mut self) -> &mut dyn CongestionControl {
                match self {
                    $( $(#[cfg($condition)])? Self::$algorithm(state) => state, )+
                }
            }
        }
    };
}

/// Names of the algorithms, and of the features that this build leaves out.
const EXPECTED: &str = match (cfg!(feature = "cubic"), cfg!(feature = "bbr")) {
    (true, true) => "newreno, cubic or bbr",
    (true, false) => "newreno or cubic (bbr needs the feature `bbr`)",
    (false, true) => "newreno or bbr (cubic needs the feature `cubic`)",
    (false, false) => "newreno (cubic and bbr need features of these names)",
};

algorithms! {
    EXPECTED;

    /// NewReno: RFC 5681 and RFC 6582.
    NewReno = "newreno", newreno::NewReno;
    /// CUBIC: RFC 9438.
    #[cfg(feature = "cubic")]
    Cubic = "cubic", cubic::Cubic;
    /// BBR: draft-ietf-ccwg-bbr.
    #[cfg(feature = "bbr")]
    Bbr = "bbr", bbr::Bbr;
}

impl Record for CongestionAlgorithm {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        to.number(self.to_number());
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        Self::from_number(from.number()).expect("a row of the table")
    }
}

impl CongestionAlgorithm {
    /// First row of the table.
    pub const FIRST: Self = Self::ALL[0];
    /// The algorithm of connections that choose none: CUBIC, or NewReno without the feature
    /// `cubic`.
    #[cfg(feature = "cubic")]
    pub(crate) const DEFAULT: Self = Self::Cubic;
    /// The algorithm of connections that choose none.
    #[cfg(not(feature = "cubic"))]
    pub(crate) const DEFAULT: Self = Self::NewReno;
    /// Last row of the table.
    pub const LAST: Self = Self::ALL[Self::ALL.len() - 1];
}
