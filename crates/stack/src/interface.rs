//! An interface: the settings that attach a stack to one network, and the state of that network.
//!
//! Rule: all state that belongs to one device or one link is here, so interfaces do not wait for
//! each other. Addresses and routes are in `ip::routes`, connections in `tcp`.

use core::net::IpAddr;

use fullpipe_pool::Instant;
use fullpipe_wire::MacAddress;

use crate::{
    config::Config,
    device::{Capabilities, Medium},
    device_backlog::DeviceBacklog,
    error::ConfigError,
    icmp::{Echo, ErrorQueue},
    ip::{Addresses, Autoconfiguration, IpSender, Subnet},
    link::{LinkLayer, Neighbours},
    secret::Secret,
};

/// The attachment of a stack to a network: addresses and device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// MAC address; unused on [`Medium::Ip`].
    pub mac: MacAddress,
    /// First IP address of this host on this interface;
    /// [`Stack::add_address`](crate::Stack::add_address) adds more.
    pub address: IpAddr,
    /// Length of the network prefix in bits.
    pub prefix_len: u8,
    /// Next hop of packets to other networks. If it is `None`, other networks are unreachable
    /// through this interface.
    pub gateway: Option<IpAddr>,
    /// Capabilities of the device.
    pub capabilities: Capabilities,
}

/// Smallest pool, in bytes, with which a stack allocates the tables that only save time.
const SMALL_POOL: u64 = 64 << 10;

/// Refusal of a gateway.
pub(crate) const TWO_FAMILIES: &str =
    "the gateway and the interface's address must both be IPv4 or both IPv6";

/// The state of one interface.
#[derive(Debug)]
pub(crate) struct InterfaceState {
    pub(crate) settings: Interface,
    pub(crate) link: LinkLayer,
    pub(crate) neighbours: Neighbours,
    pub(crate) autoconfiguration: Autoconfiguration,
    pub(crate) sender: IpSender,
    pub(crate) echo: Echo,
    pub(crate) errors: ErrorQueue,
    /// True if the device lent no memory when the stack last asked for memory.
    pub(crate) device_full: bool,
    pub(crate) device_backlog: DeviceBacklog,
}

impl InterfaceState {
    /// Allocates the tables of an interface, whose settings the caller has checked. Returns them
    /// with the interface's addresses.
    #[inline(never)]
    pub(crate) fn new(config: &Config, settings: Interface, secret: &Secret) -> (Self, Addresses) {
        let Interface {
            mac,
            address,
            prefix_len,
            gateway: _,
            capabilities,
        } = settings;
        let rng = |purpose: &[u8]| fullpipe_pool::Rng::seeded(secret.prf(purpose));
        let subnet = Subnet {
            address,
            prefix_len,
        };
        let mut addresses = Addresses::new(subnet, config.ip.addresses, config.ip.accept_any);
        if capabilities.mtu < V6_MIN_MTU {
            addresses.refuse_any_v6();
        }
        #[cfg(feature = "slaac")]
        let autoconfiguration =
            Autoconfiguration::new(&config.ip, &capabilities, mac, secret, &mut addresses);
        #[cfg(not(feature = "slaac"))]
        let autoconfiguration = Autoconfiguration;
        let has_link_local = address.is_ipv6() && capabilities.medium == Medium::Ethernet;
        if has_link_local && !autoconfiguration.is_on() {
            addresses.add_link_local(mac);
        }
        let state = Self {
            settings,
            link: LinkLayer {
                medium: capabilities.medium,
                mac,
            },
            neighbours: Neighbours::new(mac, &config.arp, rng(b"neighbours")),
            autoconfiguration,
            sender: IpSender::new(
                &capabilities,
                &config.ip,
                rng(b"identifications"),
                config.pool.bytes() >= SMALL_POOL,
            ),
            echo: Echo::new(&config.icmp),
            errors: ErrorQueue::new(&config.icmp, &secret.derive(b"error sources")),
            device_full: false,
            device_backlog: DeviceBacklog::new(capabilities.reports_sent),
        };
        (state, addresses)
    }

    /// Returns the next time at which ARP or autoconfiguration has something to do.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        // A request that waits for a full device is not due, although its time has come.
        let neighbours = match self.device_full {
            true => self.neighbours.next_deadline(),
            false => self.neighbours.next_timeout(),
        };
        let own = self.autoconfiguration.next_timeout(self.device_full);
        earlier(neighbours, own)
    }

    /// Returns the length of the largest frame on the wire, in bytes.
    pub(crate) fn frame_len(&self) -> usize {
        self.link.header_len() + self.settings.capabilities.mtu
    }
}

/// Returns the earlier of two times; `None` is a time that never comes.
pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Smallest MTU that an IPv4 link may have. RFC 791 §3.2.
const MIN_MTU: usize = 68;
/// Smallest MTU that an IPv6 link may have. RFC 8200 §5.
pub(crate) const V6_MIN_MTU: usize = 1280;

impl Interface {
    /// Checks that `address` can be the address of a host in its network of `prefix_len` bits.
    /// Otherwise returns [`ConfigError::Interface`] with the reason. An address is refused if it is
    /// the network address or broadcast address of an IPv4 network, reserved (0.0.0.0/8,
    /// 240.0.0.0/4), a multicast or loopback address, or an IPv4 address in the form of an IPv6
    /// address. A prefix of more than 32 bits (IPv6: 128) is refused, and an IPv6 address in a
    /// build without the feature `ipv6`.
    pub fn check_address(address: IpAddr, prefix_len: u8) -> Result<(), ConfigError> {
        let refused = |why| Err(ConfigError::Interface(why));
        match address {
            IpAddr::V4(_) if prefix_len > 32 => {
                return refused("an IPv4 prefix has at most 32 bits");
            }
            IpAddr::V4(_) => {}
            IpAddr::V6(_) if !cfg!(feature = "ipv6") => {
                return refused("IPv6 needs the feature `ipv6` of the crate fullpipe");
            }
            IpAddr::V6(_) if prefix_len > 128 => {
                return refused("an IPv6 prefix has at most 128 bits");
            }
            IpAddr::V6(_) => {}
        }
        if address.is_unspecified() || address.is_multicast() || address.is_loopback() {
            return refused(
                "the interface needs the address of one host, not 0.0.0.0, ::, a multicast or a loopback address",
            );
        }
        let subnet = Subnet {
            address,
            prefix_len,
        };
        if subnet.can_be_host(address) {
            return Ok(());
        }
        refused(match address {
            IpAddr::V4(ip) if matches!(ip.octets()[0], 0 | 240..) => {
                "0.0.0.0/8 and 240.0.0.0/4 are reserved: no host has such an address"
            }
            IpAddr::V4(_) => {
                "the interface needs the address of one host, not the network's own (all \
                 host bits 0) nor its broadcast address (all ones)"
            }
            IpAddr::V6(_) => {
                "an IPv4-mapped IPv6 address is no address of an interface: give the IPv4 address"
            }
        })
    }
}

/// Checks that packets from `address` fit a device with this MTU.
pub(crate) fn check_mtu(address: IpAddr, mtu: usize) -> Result<(), &'static str> {
    match address.is_ipv6() && mtu < V6_MIN_MTU {
        true => Err("IPv6 needs a device with an MTU of at least 1280 bytes"),
        false => Ok(()),
    }
}

pub(crate) fn check(interface: &Interface) -> Result<(), ConfigError> {
    let Interface {
        mac,
        address,
        prefix_len,
        gateway,
        capabilities,
    } = interface;
    let refused = |why| Err(ConfigError::Interface(why));
    Interface::check_address(*address, *prefix_len)?;
    if capabilities.medium == Medium::Ethernet && !mac.is_unicast() {
        return refused("the interface's MAC address must be a unicast address");
    }
    if !(MIN_MTU..=usize::from(u16::MAX)).contains(&capabilities.mtu) {
        return refused("the device's MTU must be 68 to 65535 bytes");
    }
    check_mtu(*address, capabilities.mtu).map_err(ConfigError::Interface)?;
    if gateway.is_some_and(|gateway| gateway.is_ipv4() != address.is_ipv4()) {
        return refused(TWO_FAMILIES);
    }
    if capabilities.super_segment > 0 && !capabilities.checksum_tx {
        return refused(
            "a device with segmentation offload (super_segment) must also offer checksum_tx",
        );
    }
    Ok(())
}
