//! A host: a stack, a device, and the connections of applications.
//!
//! Rule: a host depends on no other host and on no event; `serve.rs` runs it.

use std::net::{IpAddr, SocketAddr};

use fullpipe::{
    AddressError, Config, ConnectionId, InterfaceId, ListenOptions, ListenerId, Stack, Subnet,
};
use fullpipe_pool::Instant;
use rustc_hash::FxHashMap;

use super::demand::ReceiverLoad;
use crate::cpu::Cpu;
use crate::device::SimDevice;
use crate::event_queue::Wakeup;
use crate::flow::EndId;
use crate::ids::{Family, LinkId};
use crate::link::Direction;
use crate::pcapng::TapId;

/// A host of the world (the simulated network).
#[derive(Debug)]
pub(super) struct Host {
    pub stack: Stack,
    pub device: SimDevice,
    /// The processor; `None` if work takes no time.
    pub cpu: Option<Cpu>,
    pub config: Config,
    pub link: LinkId,
    /// Direction of this host's frames on its link.
    pub direction: Direction,
    pub wakeup: Wakeup,
    /// The wake-up for merged segments that the device must hand over.
    pub interrupt: Wakeup,
    pub tap: Option<TapId>,
    /// The ends whose connections are on this host. Never iterated, because the order is arbitrary.
    pub ends: FxHashMap<ConnectionId, EndId>,
    /// The listeners for IPv4 and for IPv6.
    listeners: [Option<ListenerId>; 2],
    /// The later of two times: when the stack last made a frame without a TCP segment, and when
    /// such a frame last left the device. While checks are off, frames are not parsed when they are
    /// made, so each counts as a frame without a TCP segment.
    pub spoke_other: Option<Instant>,
    /// The load of the receive ring and the processor; `None` if the host receives no datagrams.
    pub receiver: Option<ReceiverLoad>,
    /// Wake-ups by the stack's timers since a frame last left or reached the host, or an
    /// application's timer last fired.
    pub idle_wakes: u32,
    /// Steps until the host's memory is checked again.
    pub verify_in: u32,
}

impl Host {
    pub fn new(
        stack: Stack,
        device: SimDevice,
        config: Config,
        link: LinkId,
        direction: Direction,
    ) -> Self {
        Self {
            stack,
            device,
            cpu: None,
            config,
            link,
            direction,
            wakeup: Wakeup::default(),
            interrupt: Wakeup::default(),
            tap: None,
            ends: FxHashMap::default(),
            listeners: [None; 2],
            spoke_other: None,
            receiver: None,
            idle_wakes: 0,
            verify_in: 0,
        }
    }
}

impl Host {
    /// Returns true if the stack waited for its device and can now continue.
    pub fn is_relieved(&self) -> bool {
        let device = &self.device;
        let has_room = device.was_refused() && device.has_room();
        has_room
            || (device.has_unreported_bytes() && self.stack.waits_for_device(InterfaceId::FIRST))
    }

    /// Returns true if the host has sent SYN cookies.
    pub fn made_cookies(&self) -> bool {
        self.stack.counters().mib.tcp_syncookies_sent > 0
    }

    /// Listens at `own`, once for all flows of its IP version.
    pub fn listen(&mut self, own: SocketAddr) {
        let listener = &mut self.listeners[Family::of(own.ip()).index()];
        if listener.is_none() {
            match self.stack.tcp_listen(own, ListenOptions::default()) {
                Ok(opened) => *listener = Some(opened),
                Err(error) => panic!("{own}: {error}"),
            }
        }
    }

    /// Adds `address`, an IPv6 address of a network of 64 bits, unless the host has it.
    ///
    /// # Panics
    /// Panics if the stack refuses the address.
    pub fn add_v6(&mut self, address: IpAddr) {
        let added = self.stack.add_address(
            InterfaceId::FIRST,
            Subnet {
                address,
                prefix_len: 64,
            },
        );
        match added {
            Ok(()) | Err(AddressError::Exists) => {}
            Err(error) => panic!("{address}: {error}"),
        }
    }
}
