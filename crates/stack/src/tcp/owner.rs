//! The owner of a four-tuple: a connection, a handshake or a TIME-WAIT entry.
//!
//! Rule: each owner has one number, which is its value in the tuple table and its index in the
//! timer wheel: connections come first, then handshakes, then TIME-WAIT entries. Only this file
//! encodes and decodes the number.

#[cfg(test)]
mod tests;

/// The owner of a four-tuple and of a timer, with its index in its own table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A connection in a slot.
    Connection(u32),
    /// A handshake in progress at a listener.
    Handshake(u32),
    /// A closed connection in TIME-WAIT that has left its slot.
    TimeWait(u32),
}

/// The numbering of owners, fixed by the sizes of their tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnerNumbers {
    connections: u32,
    handshakes: u32,
    time_waits: u32,
}

impl OwnerNumbers {
    /// Returns the numbering for tables of these sizes.
    pub(super) const fn new(connections: u32, handshakes: u32, time_waits: u32) -> Self {
        Self {
            connections,
            handshakes,
            time_waits,
        }
    }

    /// Returns the number of owners that there can be. Owners have the numbers below this one.
    pub(super) const fn count(self) -> u32 {
        self.connections + self.handshakes + self.time_waits
    }

    /// Returns the number of `owner`.
    pub(super) const fn encode(self, owner: Owner) -> u32 {
        match owner {
            Owner::Connection(index) => index,
            Owner::Handshake(index) => self.connections + index,
            Owner::TimeWait(index) => self.connections + self.handshakes + index,
        }
    }

    /// Returns the owner whose number is `number`.
    pub(super) const fn decode(self, number: u32) -> Owner {
        let handshakes_end = self.connections + self.handshakes;
        if number < self.connections {
            Owner::Connection(number)
        } else if number < handshakes_end {
            Owner::Handshake(number - self.connections)
        } else {
            Owner::TimeWait(number - handshakes_end)
        }
    }
}
