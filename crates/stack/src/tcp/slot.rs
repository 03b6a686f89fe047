//! A connection's slot: the connection, and what the host knows about it.
//!
//! Rule: the fields that the parts of `tcp` alone may change are visible to them alone.

use super::{four_tuple::FourTuple, place::Place};
use crate::interface_id::InterfaceId;

/// The user of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attachment {
    /// The application, which has the connection's id.
    Application,
    /// A listener's backlog, until the connection is accepted.
    Backlog,
    /// Nobody: the application has closed the connection, which finishes by itself.
    Orphan,
}

/// A connection and the host's data about it.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    /// The connection's addresses and ports.
    pub(crate) tuple: FourTuple,
    /// The tuple's hash.
    pub(super) hash: u32,
    /// The connection's user.
    pub(crate) attachment: Attachment,
    /// The interface by which the connection sends.
    pub(crate) interface: InterfaceId,
    /// Bytes handed to the device and not yet completed, for a device that
    /// reports completions.
    pub(crate) in_device: u32,
    /// The tuple table leads to this connection, which has not ended.
    pub(super) in_demux: bool,
    /// The place of the connection.
    pub(crate) place: Place,
}
