//! The identification field, which fragments of one datagram share.
//!
//! Rule: identifications do not reveal how many packets this host sends to others. Each value is
//! used once in 65,536 datagrams, in an order that a secret permutes anew each time. Neither a
//! value nor the difference of two values therefore reveals how many datagrams were sent in
//! between (CVE-2020-36516). Datagrams that cannot be fragmented carry 0 instead (RFC 6864 §4.1)
//! and use up no value.

use fullpipe_pool::Rng;

use crate::secret::Secret;

/// Rounds of the Feistel network, which is a permutation for any round function.
const ROUNDS: u8 = 4;

/// The identifications of datagrams that may be fragmented.
#[derive(Clone, Debug)]
pub(crate) struct Identifications {
    secret: Secret,
    /// Number of datagrams so far. The low 16 bits are the position in a permutation, the other
    /// bits the number of the permutation.
    taken: u64,
}

impl Identifications {
    /// Returns identifications whose order `rng` decides.
    pub(crate) fn new(mut rng: Rng) -> Self {
        let mut key = [0; 16];
        for half in key.chunks_exact_mut(8) {
            half.copy_from_slice(&rng.next_u64().to_be_bytes());
        }
        Self {
            secret: Secret(key),
            taken: 0,
        }
    }

    /// Returns the identification of the next datagram.
    pub(crate) fn take(&mut self) -> u16 {
        let [.., left, right] = self.taken.to_be_bytes();
        let permutation = self.taken >> 16;
        self.taken = self.taken.wrapping_add(1);
        let (mut left, mut right) = (left, right);
        for round in 0..ROUNDS {
            let input = permutation << 16 | u64::from(round) << 8 | u64::from(right);
            let mixed = self.secret.prf(&input.to_be_bytes()) as u8;
            (left, right) = (right, left ^ mixed);
        }
        u16::from_be_bytes([left, right])
    }
}
