//! A host: a stack, a device, and the connections of applications.
//!
//! Rule: a host depends on no other host and on no event; `serve.rs` runs it.

use std::net::{IpAddr, SocketAddr};

use fullpipe::{
    AddressError, Config, ConnectionId, InterfaceId, ListenOptions, ListenerId, Stack, Subnet,
    device::Device,
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
    /// The second device and its link, if the host has two interfaces.
    pub second: Option<Box<SecondPort>>,
    /// The ends whose connections are on this host. Never iterated, because the order is arbitrary.
    pub ends: FxHashMap<ConnectionId, EndId>,
    /// The listeners for IPv4 and for IPv6, and the listener at the address of the second
    /// interface.
    listeners: [Option<ListenerId>; 3],
    /// The host has lost its address of IPv4 or of IPv6; the value says whether it listened there.
    pub lost: [Option<bool>; 2],
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
            second: None,
            ends: FxHashMap::default(),
            listeners: [None; 3],
            lost: [None; 2],
            spoke_other: None,
            receiver: None,
            idle_wakes: 0,
            verify_in: 0,
        }
    }
}

/// The second device of a host.
#[derive(Debug)]
pub(super) struct SecondPort {
    pub device: SimDevice,
    pub link: LinkId,
    /// Direction of the host's frames on the link.
    pub direction: Direction,
    /// The wake-up for merged segments that the device must hand over.
    pub interrupt: Wakeup,
}

impl Host {
    /// Returns the numbers of the host's ports: 0 is its first device.
    pub fn ports(&self) -> std::ops::Range<usize> {
        0..1 + usize::from(self.second.is_some())
    }

    /// Returns the devices of the host, by port.
    pub fn devices(&self) -> impl Iterator<Item = &SimDevice> {
        let second = self.second.iter().map(|second| &second.device);
        std::iter::once(&self.device).chain(second)
    }

    /// Returns the device at `port`.
    #[inline]
    pub fn device_at(&mut self, port: usize) -> &mut SimDevice {
        self.stack_and_device(port).1
    }

    /// Returns the stack and the device at `port`.
    #[inline]
    pub fn stack_and_device(&mut self, port: usize) -> (&mut Stack, &mut SimDevice) {
        match &mut self.second {
            Some(second) if port > 0 => (&mut self.stack, &mut second.device),
            Some(_) | None => (&mut self.stack, &mut self.device),
        }
    }

    /// Returns the link at `port`, and the direction of the host's frames on it.
    #[inline]
    pub fn wire_at(&self, port: usize) -> (LinkId, Direction) {
        match &self.second {
            Some(second) if port > 0 => (second.link, second.direction),
            Some(_) | None => (self.link, self.direction),
        }
    }

    /// Returns the wake-up of the device at `port`.
    pub fn interrupt_at(&mut self, port: usize) -> &mut Wakeup {
        match &mut self.second {
            Some(second) if port > 0 => &mut second.interrupt,
            Some(_) | None => &mut self.interrupt,
        }
    }

    /// Returns true if the stack waited for a device and can now continue.
    pub fn is_relieved(&self) -> bool {
        let mut devices = self.devices();
        devices.any(|device| {
            let has_room = device.was_refused() && device.has_room();
            has_room
                || (device.has_unreported_bytes()
                    && self.stack.waits_for_device(device.interface()))
        })
    }

    /// Returns true if the host has sent SYN cookies.
    pub fn made_cookies(&self) -> bool {
        self.stack.counters().mib.tcp_syncookies_sent > 0
    }

    /// Listens at `own`, once for all flows of its IP version, or at the address of the second
    /// interface. If the host has lost the address, it listens when it has the address again.
    pub fn listen(&mut self, own: SocketAddr) {
        let place = match self.stack.interface_ids().nth(1) {
            Some(second) if self.stack.interface(second).address == own.ip() => 2,
            Some(_) | None => Family::of(own.ip()).index(),
        };
        if let Some(Some(listened)) = self.lost.get_mut(place) {
            *listened = true;
            return;
        }
        let listener = &mut self.listeners[place];
        if listener.is_none() {
            match self.stack.tcp_listen(own, ListenOptions::default()) {
                Ok(opened) => *listener = Some(opened),
                Err(error) => panic!("{own}: {error}"),
            }
        }
    }

    /// Takes the listener for `family`, which the host no longer has.
    pub const fn take_listener(&mut self, family: Family) -> Option<ListenerId> {
        self.listeners[family.index()].take()
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
