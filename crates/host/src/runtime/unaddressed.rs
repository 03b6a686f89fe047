//! A stack that begins without an address, because DHCP gives it one.
//!
//! Rule: no frame is sent from the dummy address with which the stack is created.

use std::{io, net::Ipv4Addr};

use fullpipe::{Config, Instant, Interface, Rng, Stack, device::Medium};
use fullpipe_dhcp::{Client, Settings};

use super::error::StartError;
use crate::{entropy, lease::LeaseHolder};

/// Address with which the stack is created, because a stack cannot be created without one: the IPv4
/// dummy address, which no other host has (RFC 7600 §4.8). It is removed before the first frame.
const PLACEHOLDER: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// Creates a stack without an address on `interface`, and a client that obtains one.
///
/// # Errors
/// Fails if the device carries no Ethernet frames, a knob (a setting of the stack) is invalid, or
/// there is no entropy.
pub(super) fn start(
    config: &Config,
    interface: Interface,
    secret: [u8; 16],
    (host_name, previous): (Option<String>, Option<Ipv4Addr>),
) -> Result<(Stack, LeaseHolder), StartError> {
    if interface.capabilities.medium != Medium::Ethernet {
        return Err(StartError::Device(io::Error::new(
            io::ErrorKind::Unsupported,
            "DHCP needs a device that carries Ethernet frames, such as tap:NAME or packet:NIC",
        )));
    }
    let placed = Interface {
        address: PLACEHOLDER.into(),
        prefix_len: 32,
        gateway: None,
        ..interface
    };
    let mut stack = Stack::new(config, placed, secret).map_err(StartError::Config)?;
    let now = Instant::from_nanos(1);
    let removed = stack.remove_address(PLACEHOLDER.into(), now);
    removed.expect("the only address of a new stack");
    let seed = entropy::secret().map_err(StartError::System)?;
    let (seed, _) = seed.split_first_chunk().expect("16 bytes");
    let settings = Settings {
        host_name,
        previous,
        ..Settings::new(interface.mac)
    };
    let client = Client::new(settings, Rng::seeded(u64::from_ne_bytes(*seed)), now);
    Ok((stack, LeaseHolder::new(client)))
}
