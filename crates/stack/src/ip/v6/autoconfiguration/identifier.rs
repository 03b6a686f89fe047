//! Interface identifiers: the last 64 bits of the addresses that this host forms. RFC 7217.
//!
//! Rule: an identifier follows from a key, the MAC address, the prefix and the number of the try.
//! An identifier reveals nothing about the MAC address, and differs from prefix to prefix. On the
//! same network, the same key and device form the same address again.

use core::net::Ipv6Addr;

use fullpipe_wire::MacAddress;

use crate::secret::{HashInput, Secret};

/// Largest number of addresses that are formed for one prefix, after duplicates. RFC 7217 §7
/// (IDGEN_RETRIES).
pub(super) const MOST_TRIES: u32 = 3;

/// The source of this host's identifiers.
#[derive(Debug)]
pub(super) struct Identifiers {
    pub(super) secret: Secret,
    pub(super) mac: MacAddress,
}

impl Identifiers {
    /// Returns the address with the first 64 bits of `prefix`, after `tries` duplicates.
    pub(super) fn address(&self, prefix: Ipv6Addr, tries: u32) -> Ipv6Addr {
        let prefix = prefix.to_bits() >> 64 << 64;
        let mut number = u64::from(tries) << 32;
        loop {
            let mut input = HashInput::new();
            input.push(&prefix.to_be_bytes()[..8]);
            input.push(&self.mac.0);
            input.push(&number.to_be_bytes());
            let identifier = self.secret.prf(input.as_slice());
            if !is_reserved(identifier) {
                return Ipv6Addr::from_bits(prefix | u128::from(identifier));
            }
            number += 1;
        }
    }
}

/// Returns true if no host may have `identifier`. RFC 5453, RFC 4291 §2.6.1.
pub(super) const fn is_reserved(identifier: u64) -> bool {
    let is_anycast = matches!(
        identifier,
        0 | 0xfdff_ffff_ffff_ff80..=0xfdff_ffff_ffff_ffff
    );
    let is_iana = identifier >> 32 == 0x0200_5eff;
    is_anycast || is_iana
}
