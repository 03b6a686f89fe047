//! The places of connections: a busy connection is a [`Connection`], a resting one a short record.
//!
//! Rule: a connection rests only when another one needs its place, and becomes busy again before
//! the next call, so callers see no difference. The search for a connection that can rest is
//! bounded; if it finds none, the table of busy connections grows. After construction only that growth
//! and the growth of the table of records allocate, and only if the knob `stack.busy_connections` is
//! lower than `stack.connections`.

use alloc::{boxed::Box, vec::Vec};
use core::mem::MaybeUninit;

use fullpipe_tcp::{Connection, TcpConfig, UsualNumbers};

use super::{
    place::Place,
    records::{LONGEST, Records},
    slot::ConnectionSlot,
};
use crate::slab::Slab;

/// Busy connections that are asked before the table grows.
const SEARCH: usize = 16;

/// Memory for one busy connection.
#[derive(Debug)]
enum Memory {
    /// No connection was here yet.
    Fresh(Box<MaybeUninit<Connection>>),
    /// Memory of a connection that ended or rests; its content is meaningless.
    Used(Box<Connection>),
}

impl Memory {
    /// Moves `connection` into the memory.
    fn hold(self, connection: Connection) -> Box<Connection> {
        match self {
            Self::Fresh(memory) => Box::write(memory, connection),
            Self::Used(mut memory) => {
                *memory = connection;
                memory
            }
        }
    }
}

/// Memory for the connections of a host.
#[derive(Debug)]
pub(crate) struct Residence {
    /// Memory for further busy connections.
    spare: Vec<Memory>,
    /// The slots of busy connections.
    owners: Vec<u32>,
    records: Records,
    usual: UsualNumbers,
    /// Position in `owners` of the connection that is asked next.
    hand: u32,
}

impl Residence {
    /// Allocates memory for `connections` connections, of which `busy` can be busy before more is
    /// allocated.
    pub(crate) fn new(connections: u32, busy: u32, config: &TcpConfig) -> Self {
        let usual = UsualNumbers::new(config);
        Self {
            spare: (0..busy)
                .map(|_| Memory::Fresh(Box::new_uninit()))
                .collect(),
            owners: Vec::with_capacity(busy as usize),
            records: Records::new(connections - busy),
            usual,
            hand: 0,
        }
    }

    /// Returns the heap memory of busy connections and of records, in bytes.
    pub(crate) fn heap_bytes(&self) -> [usize; 2] {
        let busy = (self.spare.len() + self.owners.len()) * size_of::<Connection>();
        let lists =
            self.spare.capacity() * size_of::<Memory>() + self.owners.capacity() * size_of::<u32>();
        [busy + lists, self.records.heap_bytes()]
    }

    /// Adds the connection of slot `owner`, and returns its place. Another connection may begin to
    /// rest.
    pub(crate) fn add(
        &mut self,
        owner: u32,
        connection: Connection,
        slots: &mut Slab<ConnectionSlot>,
    ) -> Place {
        if self.spare.is_empty() {
            self.rest_one(slots);
        }
        let memory = self.spare.pop();
        self.owners.push(owner);
        let connection = match memory {
            Some(memory) => memory.hold(connection),
            None => {
                // All busy connections may end: then `spare` has the memory of each.
                self.spare.reserve(self.owners.len());
                Box::new(connection)
            }
        };
        Place {
            connection: Some(connection),
            number: self.owners.len() as u32 - 1,
        }
    }

    /// Forgets the connection of slot `index`, which is busy and which the caller has released.
    pub(crate) fn remove(&mut self, index: u32, slots: &mut Slab<ConnectionSlot>) {
        let place = &mut slots[index].place;
        let position = place.number;
        self.spare.extend(place.connection.take().map(Memory::Used));
        self.owners.swap_remove(position as usize);
        if let Some(&moved) = self.owners.get(position as usize) {
            slots[moved].place.number = position;
        }
    }

    /// Returns the connection of slot `index`, which becomes busy if it rests.
    ///
    /// # Panics
    /// Panics if the slot is free.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn awake<'a>(
        &mut self,
        index: u32,
        slots: &'a mut Slab<ConnectionSlot>,
    ) -> &'a mut Connection {
        if slots[index].place.connection.is_none() {
            return self.wake(index, slots);
        }
        slots[index].place.busy_mut().expect("it is busy")
    }

    /// Calls `look` with the connection at `place`, which may rest.
    pub(crate) fn look<R>(&self, place: &Place, look: impl FnOnce(&Connection) -> R) -> R {
        match place.busy() {
            Some(connection) => look(connection),
            None => self.look_at_record(place.number, look),
        }
    }

    /// Makes the connection of slot `index` busy. Not inlined, because a connection in a frame of the
    /// caller would make every turn need that much more stack.
    #[cold]
    #[inline(never)]
    fn wake<'a>(&mut self, index: u32, slots: &'a mut Slab<ConnectionSlot>) -> &'a mut Connection {
        let record = slots[index].place.number;
        let connection = self.read(record);
        self.records.remove(record);
        slots[index].place = self.add(index, connection, slots);
        slots[index].place.busy_mut().expect("it was added")
    }

    #[cold]
    #[inline(never)]
    fn look_at_record<R>(&self, record: u32, look: impl FnOnce(&Connection) -> R) -> R {
        look(&self.read(record))
    }

    /// Reads the connection of a record.
    fn read(&self, record: u32) -> Connection {
        let mut bytes = [0; LONGEST];
        self.records.read(record, &mut bytes);
        Connection::from_record(&bytes, &self.usual)
    }

    /// Lets one busy connection rest, unless the first few that are asked have work to do.
    #[cold]
    #[inline(never)]
    fn rest_one(&mut self, slots: &mut Slab<ConnectionSlot>) {
        let mut bytes = [0; LONGEST];
        for _ in 0..self.owners.len().min(SEARCH) {
            self.hand = (self.hand + 1) % self.owners.len() as u32;
            let owner = self.owners[self.hand as usize];
            let busy = slots[owner].place.busy();
            let len = busy.and_then(|connection| connection.to_record(&mut bytes, &self.usual));
            if let Some(len) = len {
                let record = self.records.add(&bytes[..len]);
                self.remove(owner, slots);
                slots[owner].place.number = record;
                return;
            }
        }
    }
}
