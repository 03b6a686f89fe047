//! Tasks and threads that wait for a socket, by direction.
//!
//! Rule: a waker is registered under the lock, right after an attempt that had no result, and
//! removed when its direction is ready; room for writing wakes no reader. Wakers are called and
//! dropped without the lock, because a call or a drop of a waker may run an executor's code.

use std::task::Waker;

use fullpipe::{Instant, SocketEvent, Stack};

/// Index of a socket in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handle {
    /// A connection, by the index of its id.
    Tcp(u32),
    /// A listener.
    Listener(u32),
    /// A UDP socket.
    Udp(u32),
}

/// The call that a waiter will try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Read, accept or receive.
    Read,
    /// Write or send.
    Write,
    /// Continue after the handshake is complete, or has failed.
    Connect,
}

/// Identifies a waiter among those for the same direction of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaiterKey(u64);

impl WaiterKey {
    /// Key of the `poll_…` calls. They share one waker, the waker of the last call.
    pub(crate) const POLLED: Self = Self(0);
}

/// The waiters of one socket.
#[derive(Debug, Default)]
struct SocketWakers([Vec<(WaiterKey, Waker)>; 3]);

/// The waiters of all sockets of one runtime.
#[derive(Debug, Default)]
pub(crate) struct WakerTable {
    /// Connections, listeners and UDP sockets, each by slot.
    sockets: [Vec<SocketWakers>; 3],
    last_key: u64,
}

impl WakerTable {
    /// A key that no other waiter has.
    pub(crate) fn new_key(&mut self) -> WaiterKey {
        self.last_key += 1;
        WaiterKey(self.last_key)
    }

    /// Registers `waker` under `key`. Returns the waker that it replaces.
    pub(crate) fn register(
        &mut self,
        handle: Handle,
        interest: Interest,
        key: WaiterKey,
        waker: &Waker,
    ) -> Option<Waker> {
        let waiters = self.waiters(handle, interest);
        match waiters.iter_mut().find(|(held, _)| *held == key) {
            Some((_, held)) if held.will_wake(waker) => None,
            Some((_, held)) => Some(std::mem::replace(held, waker.clone())),
            None => {
                waiters.push((key, waker.clone()));
                None
            }
        }
    }

    /// Removes and returns the waiter `key`.
    pub(crate) fn remove(
        &mut self,
        handle: Handle,
        interest: Interest,
        key: WaiterKey,
    ) -> Option<Waker> {
        let waiters = self.waiters(handle, interest);
        let at = waiters.iter().position(|(held, _)| *held == key)?;
        Some(waiters.swap_remove(at).1)
    }

    /// Removes the waiters of `interest` and adds them to `out`.
    pub(crate) fn take(&mut self, handle: Handle, interest: Interest, out: &mut Vec<Waker>) {
        let waiters = self.waiters(handle, interest).drain(..);
        out.extend(waiters.map(|(_, waker)| waker));
    }

    /// Removes the waiters of every socket and adds them to `out`.
    pub(crate) fn take_all(&mut self, out: &mut Vec<Waker>) {
        for socket in self.sockets.iter_mut().flatten() {
            for waiters in &mut socket.0 {
                out.extend(waiters.drain(..).map(|(_, waker)| waker));
            }
        }
    }

    /// Adds to `out`, and removes, the waiters for each direction of a socket that became ready.
    pub(crate) fn take_ready(&mut self, stack: &mut Stack, now: Instant, out: &mut Vec<Waker>) {
        while let Some(event) = stack.next_event() {
            let (handle, [read, write, connect]) = match event {
                SocketEvent::Tcp(id) => {
                    let handle = Handle::Tcp(id.index());
                    if !self.has_waiters(handle) {
                        continue;
                    }
                    let ready = stack.tcp_ready(id, now).map(|ready| {
                        let closed = ready.closed.is_some();
                        [
                            ready.readable || closed,
                            ready.writable || closed,
                            ready.connected || closed,
                        ]
                    });
                    (handle, ready.unwrap_or([true; 3]))
                }
                SocketEvent::Accept(id) => (Handle::Listener(id.index()), [true; 3]),
                SocketEvent::Udp(id) => {
                    let ready = stack.udp_ready(id);
                    let ready = ready.map(|ready| [ready.readable, ready.writable, true]);
                    (Handle::Udp(id.index()), ready.unwrap_or([true; 3]))
                }
            };
            for (interest, is_ready) in [
                (Interest::Read, read),
                (Interest::Write, write),
                (Interest::Connect, connect),
            ] {
                if is_ready {
                    self.take(handle, interest, out);
                }
            }
        }
    }

    /// The number of registered wakers.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        let sockets = self.sockets.iter().flatten();
        sockets.flat_map(|socket| &socket.0).map(Vec::len).sum()
    }

    fn place(handle: Handle) -> (usize, usize) {
        match handle {
            Handle::Tcp(index) => (0, index as usize),
            Handle::Listener(index) => (1, index as usize),
            Handle::Udp(index) => (2, index as usize),
        }
    }

    fn has_waiters(&self, handle: Handle) -> bool {
        let (kind, index) = Self::place(handle);
        self.sockets[kind]
            .get(index)
            .is_some_and(|socket| socket.0.iter().any(|waiters| !waiters.is_empty()))
    }

    fn waiters(&mut self, handle: Handle, interest: Interest) -> &mut Vec<(WaiterKey, Waker)> {
        let (kind, index) = Self::place(handle);
        let sockets = &mut self.sockets[kind];
        if sockets.len() <= index {
            sockets.resize_with(index + 1, SocketWakers::default);
        }
        let place = match interest {
            Interest::Read => 0,
            Interest::Write => 1,
            Interest::Connect => 2,
        };
        &mut sockets[index].0[place]
    }
}
