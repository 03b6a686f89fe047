//! The name of an interface.
//!
//! Rule: a stack numbers its interfaces in the order in which they are added, and removes none.

/// Largest number of an interface.
const MOST_INDEX: usize = u8::MAX as usize - 1;

/// Names an interface of one stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub(crate) u8);

impl InterfaceId {
    /// The interface given to [`Stack::new`](crate::Stack::new).
    pub const FIRST: Self = Self(0);

    /// Returns the interface with this number; `None` above 254.
    pub const fn from_index(index: usize) -> Option<Self> {
        match index {
            0..=MOST_INDEX => Some(Self(index as u8)),
            _ => None,
        }
    }

    /// Returns the number of the interface. Interfaces are numbered in the order in which they were
    /// added, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
