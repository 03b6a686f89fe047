//! The identification field, which fragments of one datagram share.
//!
//! Rule: between the same two hosts the value repeats as late as 16 bits allow (RFC 6864
//! §4.1), and it does not show a host how much this host sends to others: each pair of
//! addresses counts in a slot chosen by a secret.

use core::net::Ipv4Addr;

use fullpipe_pool::Rng;

/// Slots; pairs of hosts in one slot share its counter.
const SLOTS: usize = 64;

/// The counters of identifications.
#[derive(Clone, Debug)]
pub(crate) struct Identifications {
    secret: u64,
    next: [u16; SLOTS],
}

impl Identifications {
    /// Returns counters with random first values.
    pub(crate) fn new(mut rng: Rng) -> Self {
        Self {
            secret: rng.next_u64() | 1,
            next: core::array::from_fn(|_| rng.next_u64() as u16),
        }
    }

    /// Returns the identification of the next datagram from `src` to `dst`.
    pub(crate) fn take(&mut self, src: Ipv4Addr, dst: Ipv4Addr) -> u16 {
        let pair = u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits());
        let mixed = (pair ^ self.secret.rotate_left(32)).wrapping_mul(self.secret);
        let slot = &mut self.next[(mixed >> 58) as usize];
        *slot = slot.wrapping_add(1);
        *slot
    }
}
