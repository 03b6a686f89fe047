//! The place of a connection: its own memory while it is busy, a record while it rests.
//!
//! Rule: `residence` moves a connection from one place to another. In a build without the feature
//! `resting`, a connection always is in its slot.

#[cfg(feature = "resting")]
use alloc::boxed::Box;

use fullpipe_tcp::Connection;

/// The place of a connection.
#[cfg(feature = "resting")]
#[derive(Debug)]
pub(crate) struct Place {
    /// The connection, if it is busy.
    pub(super) connection: Option<Box<Connection>>,
    /// The position in the list of busy connections or, of a connection at rest, the record.
    pub(super) number: u32,
}

#[cfg(feature = "resting")]
impl Place {
    /// Returns the connection, unless it rests.
    pub(crate) fn busy(&self) -> Option<&Connection> {
        self.connection.as_deref()
    }

    /// Returns the connection, unless it rests.
    pub(crate) fn busy_mut(&mut self) -> Option<&mut Connection> {
        self.connection.as_deref_mut()
    }
}

/// The place of a connection.
#[cfg(not(feature = "resting"))]
#[derive(Debug)]
pub(crate) struct Place(pub(super) Connection);

#[cfg(not(feature = "resting"))]
impl Place {
    /// Returns the connection.
    pub(crate) const fn busy(&self) -> Option<&Connection> {
        Some(&self.0)
    }

    /// Returns the connection.
    pub(crate) const fn busy_mut(&mut self) -> Option<&mut Connection> {
        Some(&mut self.0)
    }
}
