//! The places of connections in a build without the feature `resting`: each is in its slot.

use fullpipe_tcp::{Connection, TcpConfig};

use super::{place::Place, slot::ConnectionSlot};
use crate::slab::Slab;

/// Nothing, because slots have the memory of their connections.
#[derive(Debug)]
pub(crate) struct Residence;

impl Residence {
    /// Allocates nothing.
    pub(crate) const fn new(_connections: u32, _busy: u32, _config: &TcpConfig) -> Self {
        Self
    }

    /// Returns zeros.
    pub(crate) const fn heap_bytes(&self) -> [usize; 2] {
        [0, 0]
    }

    /// Returns the place of a connection, which the caller puts into its slot.
    pub(crate) const fn add(
        &mut self,
        _owner: u32,
        connection: Connection,
        _slots: &mut Slab<ConnectionSlot>,
    ) -> Place {
        Place(connection)
    }

    /// Does nothing: the connection is removed with its slot.
    pub(crate) const fn remove(&mut self, _index: u32, _slots: &mut Slab<ConnectionSlot>) {}

    /// Returns the connection of slot `index`.
    ///
    /// # Panics
    /// Panics if the slot is free.
    pub(crate) fn awake<'a>(
        &mut self,
        index: u32,
        slots: &'a mut Slab<ConnectionSlot>,
    ) -> &'a mut Connection {
        &mut slots[index].place.0
    }

    /// Calls `look` with the connection at `place`.
    pub(crate) fn look<R>(&self, place: &Place, look: impl FnOnce(&Connection) -> R) -> R {
        look(&place.0)
    }
}
