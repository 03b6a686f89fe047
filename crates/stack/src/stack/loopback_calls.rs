//! The loopback interface of a stack.
//!
//! Rule: the interface exists only with the knob `ip.loopback`. Routes choose it like any other
//! interface; no packet leaves the host by it, and no packet from a network reaches its addresses.

use fullpipe_pool::Instant;
use fullpipe_wire::MacAddress;

use super::Stack;
use crate::{
    config::Config,
    device::{Device, Received},
    interface::{Interface, InterfaceState},
    interface_id::InterfaceId,
    ip::Addresses,
    loopback::Loopback,
    secret::Secret,
};

impl Stack {
    /// Adds the loopback interface if `config` asks for it. Its packets are as long as those of the
    /// first interface.
    pub(crate) fn add_loopback(&mut self, config: &Config, secret: &Secret) {
        let Some(interface) = InterfaceId::from_index(self.interfaces.len()) else {
            return;
        };
        if !config.ip.loopback {
            return;
        }
        let mtu = self.interfaces[0].settings.capabilities.mtu;
        let device = Loopback::new(interface, mtu);
        let settings = Interface {
            mac: MacAddress::UNSPECIFIED,
            address: core::net::Ipv4Addr::LOCALHOST.into(),
            prefix_len: 8,
            gateway: None,
            capabilities: device.capabilities(),
        };
        // There are no neighbours to resolve.
        let mut config = config.clone();
        config.ip.addresses = 1;
        config.ip.accept_any = false;
        config.ip.autoconfiguration = false;
        (config.arp.entries, config.arp.replies) = (1, 1);
        // This host sends no echo requests, and trusts itself with errors.
        config.icmp.echo_replies = 0;
        config.icmp.errors = config.icmp.errors.min(16);
        config.icmp.errors_per_source = config.icmp.errors_per_second;
        let (state, _) = InterfaceState::new(&config, settings, secret);
        self.attach(state, Addresses::loopback());
        self.loopback = Some(device);
    }

    /// Returns the loopback interface, if this host has one (knob `ip.loopback`).
    pub fn loopback(&self) -> Option<InterfaceId> {
        self.loopback.as_ref().map(Device::interface)
    }

    /// Sends and receives at most `budget` packets to this host itself. [`transmit`](Self::transmit)
    /// does the same; a program calls this while its devices have no room.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub fn loop_back(&mut self, now: Instant, budget: usize) {
        if self.loopback.is_some() {
            self.loop_packets_back(now, budget);
        }
    }

    fn loop_packets_back(&mut self, now: Instant, budget: usize) {
        let Some(mut device) = self.loopback.take() else {
            return;
        };
        for _ in 0..budget {
            if !self.has_output(device.interface()) {
                break;
            }
            let mut last = device.last_source;
            self.send_single(&mut device, &mut last, now);
            device.last_source = last;
            if let Some(Received { frame, meta }) = device.receive() {
                self.receive(frame, meta, now);
            }
        }
        self.loopback = Some(device);
    }
}
