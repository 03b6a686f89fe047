//! The table of sockets: handles with generations.
//!
//! Rule: a handle consists of a place in the table and the generation of this place. Closing a
//! socket changes the generation, so the closed socket's handle is no longer valid. The table is
//! allocated once. The operations on sockets are in other files.

use alloc::{boxed::Box, vec::Vec};
use core::{mem::size_of, net::SocketAddr};

use fullpipe::{Config, ConnectionId, Duration, ListenerId, Tuning, UdpId};

use crate::errno::{Errno, FP_EBADF, FP_ENFILE};

/// Handle of a socket of a stack, a positive number. The handle of a closed socket is refused, even
/// after another socket has taken its place in the table.
pub type FpSocket = i32;

/// The direction of a call that may wait. Each direction has its own longest wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Receive,
    Send,
}

/// State of a socket.
#[derive(Clone, Copy)]
pub(crate) enum Socket {
    /// The place is free.
    Free,
    /// A TCP socket that neither listens nor connects yet.
    NewTcp {
        local: Option<SocketAddr>,
        tuning: Tuning,
    },
    /// A listener.
    Listener(ListenerId),
    /// A connection, from the SYN on.
    Connection(ConnectionId),
    /// A UDP socket that has no port yet.
    NewUdp,
    /// A UDP socket.
    Udp {
        id: UdpId,
        /// The only peer, after `fp_connect`.
        peer: Option<SocketAddr>,
    },
}

/// A place in the table.
pub(crate) struct Slot {
    pub(crate) socket: Socket,
    generation: u32,
    /// Longest wait of a receiving call in milliseconds; 0 for no limit.
    pub(crate) receive_wait_ms: u32,
    /// Longest wait of a sending call in milliseconds; 0 for no limit.
    pub(crate) send_wait_ms: u32,
    /// True if no call on this socket waits.
    pub(crate) never_waits: bool,
    /// True if `fp_close` resets the connection.
    pub(crate) aborts: bool,
    /// True if `fp_connect` has returned -FP_EINPROGRESS, and no call has returned the result yet.
    pub(crate) connecting: bool,
}

impl Slot {
    const fn new(socket: Socket, generation: u32) -> Self {
        Self {
            socket,
            generation,
            receive_wait_ms: 0,
            send_wait_ms: 0,
            never_waits: false,
            aborts: false,
            connecting: false,
        }
    }
}

/// All sockets of a stack.
pub(crate) struct SocketTable {
    slots: Box<[Slot]>,
    /// Number of low bits of a handle. These bits hold the place, and the high bits hold the
    /// generation.
    place_bits: u32,
    /// Settings of new TCP sockets.
    pub(crate) tuning: Tuning,
}

impl SocketTable {
    /// Returns the largest number of sockets: of connections, listeners and UDP sockets together.
    fn count(config: &Config) -> u32 {
        config.stack.connections + config.stack.listeners + config.udp.sockets
    }

    /// Returns the bytes that a table needs.
    pub(crate) fn bytes(config: &Config) -> u64 {
        u64::from(Self::count(config)) * size_of::<Slot>() as u64
    }

    /// Allocates the table.
    pub(crate) fn new(config: &Config) -> Self {
        let count = Self::count(config);
        let mut slots = Vec::with_capacity(count as usize);
        slots.extend((0..count).map(|_| Slot::new(Socket::Free, 1)));
        Self {
            slots: slots.into_boxed_slice(),
            place_bits: count.next_power_of_two().ilog2(),
            tuning: Tuning::from_config(&config.tcp),
        }
    }

    /// Adds a socket and returns its handle.
    pub(crate) fn add(&mut self, socket: Socket) -> Result<FpSocket, Errno> {
        let free = |slot: &Slot| matches!(slot.socket, Socket::Free);
        let place = self.slots.iter().position(free).ok_or(Errno(FP_ENFILE))?;
        let generation = self.slots[place].generation;
        self.slots[place] = Slot::new(socket, generation);
        Ok((generation << self.place_bits | place as u32) as FpSocket)
    }

    /// Frees a place; its handle is refused from now on.
    pub(crate) fn remove(&mut self, handle: FpSocket) {
        let generations = (1 << (31 - self.place_bits)) - 1;
        if let Ok(slot) = self.get(handle) {
            let next = (slot.generation + 1) & generations;
            *slot = Slot::new(Socket::Free, next.max(1));
        }
    }

    /// Returns the slot of a handle; [`FP_EBADF`] if no open socket has the handle.
    pub(crate) fn get(&mut self, handle: FpSocket) -> Result<&mut Slot, Errno> {
        let handle = u32::try_from(handle).map_err(|_| Errno(FP_EBADF))?;
        let place = handle & ((1 << self.place_bits) - 1);
        let slot = self.slots.get_mut(place as usize);
        let open = slot.filter(|slot| {
            slot.generation == handle >> self.place_bits && !matches!(slot.socket, Socket::Free)
        });
        open.ok_or(Errno(FP_EBADF))
    }

    /// Returns the longest wait of a call on the socket, zero for no limit; `None` if no call on the
    /// socket waits.
    pub(crate) fn longest_wait(
        &mut self,
        handle: FpSocket,
        direction: Direction,
    ) -> Result<Option<Duration>, Errno> {
        let slot = self.get(handle)?;
        let wait_ms = match direction {
            Direction::Receive => slot.receive_wait_ms,
            Direction::Send => slot.send_wait_ms,
        };
        Ok((!slot.never_waits).then(|| Duration::from_millis(wait_ms.into())))
    }
}
