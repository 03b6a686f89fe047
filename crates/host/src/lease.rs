//! The DHCP client of a runtime: its frames, and the address that it gives to the stack.
//!
//! Rule: the client decides what to do, and this file does it. This file works under the
//! driver's lock and makes no system call.

use std::{net::Ipv4Addr, task::Waker};

use fullpipe::{
    Instant, InterfaceId, RouteEntry, Stack, Subnet,
    device::{RxMeta, TxMeta},
};
use fullpipe_dhcp::{Client, Event, Lease};

use crate::frames::FrameBatch;

/// The default route, whatever its router.
const DEFAULT: RouteEntry =
    RouteEntry::default_through(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED));

/// A DHCP client, and what it has changed in the stack.
#[derive(Debug)]
pub(crate) struct LeaseHolder {
    client: Client,
    /// The lease whose address the stack has.
    lease: Option<Lease>,
    /// Wakers of tasks and threads that wait for a lease.
    waiting: Vec<Waker>,
}

impl LeaseHolder {
    pub(crate) const fn new(client: Client) -> Self {
        Self {
            client,
            lease: None,
            waiting: Vec::new(),
        }
    }

    /// Processes a received frame. Returns true if the stack need not see the frame.
    pub(crate) fn on_frame(&mut self, frame: &[u8], meta: RxMeta, now: Instant) -> bool {
        self.client.on_frame(frame, meta.checksum_verified, now)
    }

    /// Does what is due, writes the client's frames to `outgoing`, and changes the stack's address
    /// and default route as the client says.
    pub(crate) fn drive(
        &mut self,
        stack: &mut Stack,
        outgoing: &mut FrameBatch<TxMeta>,
        now: Instant,
    ) {
        self.client.on_timeout(now);
        while let Some(event) = self.client.poll_event() {
            self.apply(event, stack, now);
        }
        while let Some(frame) = self.client.poll_frame() {
            // A frame without room is lost, as on any wire: the client sends it again.
            if let Some(memory) = outgoing.lend(frame.len()) {
                memory.copy_from_slice(&frame);
                outgoing.push(frame.len(), TxMeta::default());
            }
        }
    }

    /// Asks for a longer lease.
    pub(crate) fn renew(&mut self, now: Instant) {
        self.client.renew(now);
    }

    /// Returns the address to its DHCP server and removes the address from the stack.
    pub(crate) fn release(&mut self, now: Instant) {
        self.client.release(now);
    }

    /// Returns the time at which [`drive`](Self::drive) is due.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.client.next_timeout()
    }

    /// Returns the lease whose address the stack has.
    pub(crate) const fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// Registers a waker that is called when there is a lease.
    pub(crate) fn wait(&mut self, waker: &Waker) {
        if !self.waiting.iter().any(|known| known.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }

    /// Removes the wakers if there is a lease, and adds them to `out`.
    pub(crate) fn take_ready(&mut self, out: &mut Vec<Waker>) {
        if self.lease.is_some() {
            self.take_all(out);
        }
    }

    /// Removes all wakers and adds them to `out`.
    pub(crate) fn take_all(&mut self, out: &mut Vec<Waker>) {
        out.append(&mut self.waiting);
    }

    fn apply(&mut self, event: Event, stack: &mut Stack, now: Instant) {
        match event {
            Event::Bound(lease) => {
                let subnet = Subnet {
                    address: lease.address.into(),
                    prefix_len: lease.prefix_len,
                };
                // The client has checked the address. Adding the address fails only if the program
                // has filled the table of addresses. The host then has no lease.
                if stack.add_address(InterfaceId::FIRST, subnet).is_ok() {
                    route(stack, &lease);
                    self.lease = Some(lease);
                }
            }
            Event::Renewed(lease) if self.lease.is_some() => {
                route(stack, &lease);
                self.lease = Some(lease);
            }
            Event::Renewed(_) => {}
            Event::Lost(_) => {
                if let Some(lease) = self.lease.take() {
                    stack.routes_mut().remove(&DEFAULT);
                    // If the program has removed the address already, there is nothing to remove.
                    let _ = stack.remove_address(lease.address.into(), now);
                }
            }
        }
    }
}

/// Sets the default route to the first router of the lease.
fn route(stack: &mut Stack, lease: &Lease) {
    match lease.routers.first() {
        // If the routing table is full, no default route is added, and the host reaches only its
        // own network.
        Some(router) => drop(stack.routes_mut().set_default((*router).into())),
        None => drop(stack.routes_mut().remove(&DEFAULT)),
    }
}
