//! The identification field, which is the same in all fragments of a datagram.
//!
//! Rule: identifications do not reveal how many packets this host sends to others. Each value is
//! used once in 65,536 datagrams, in an order that a secret permutes anew after each 65,536
//! datagrams. Neither a value nor the difference of two values therefore reveals how many datagrams
//! were sent in between (CVE-2020-36516). Datagrams that cannot be fragmented carry 0 instead (RFC
//! 6864 §4.1) and use up no value.

use alloc::{boxed::Box, vec};

use fullpipe_pool::Rng;

use crate::secret::Secret;

/// Rounds of the Feistel network, which is a permutation for any round function.
const ROUNDS: usize = 4;

/// The identifications of datagrams that may be fragmented.
#[derive(Clone, Debug)]
pub(crate) struct Identifications {
    secret: Secret,
    /// Number of datagrams so far. The low 16 bits are the position in a permutation, the other
    /// bits the number of the permutation.
    taken: u64,
    /// Number of fragmented IPv6 packets so far.
    taken_long: u64,
    /// Round functions of the present permutation, with the values computed so far; empty if no
    /// value is stored.
    functions: Box<[RoundFunction]>,
}

/// The function of a round: a keyed hash of its argument. The value for an argument is computed
/// when it is first needed.
#[derive(Clone, Copy, Debug)]
struct RoundFunction {
    values: [u8; 256],
    /// Bit mask of the arguments whose values are known.
    known: [u64; 4],
}

impl RoundFunction {
    const UNKNOWN: Self = Self {
        values: [0; 256],
        known: [0; 4],
    };

    /// Returns the value of `argument`. Calls `compute` if the value is not known yet.
    fn value(&mut self, argument: u8, compute: impl FnOnce() -> u8) -> u8 {
        let value = &mut self.values[usize::from(argument)];
        let known = &mut self.known[usize::from(argument / 64)];
        let bit = 1 << (argument % 64);
        if *known & bit == 0 {
            *known |= bit;
            *value = compute();
        }
        *value
    }
}

impl Identifications {
    /// Returns identifications whose order `rng` decides. With `cached`, 1,152 bytes of memory make
    /// the computation of most identifications faster.
    pub(crate) fn new(mut rng: Rng, cached: bool) -> Self {
        let mut key = [0; 16];
        for half in key.chunks_exact_mut(8) {
            half.copy_from_slice(&rng.next_u64().to_be_bytes());
        }
        Self {
            secret: Secret(key),
            taken: 0,
            taken_long: 0,
            functions: vec![RoundFunction::UNKNOWN; if cached { ROUNDS } else { 0 }].into(),
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.functions)
    }

    /// Returns the identification of the next IPv6 packet, which has 32 bits: a number that nobody
    /// can predict. RFC 7739 §5.
    pub(crate) fn take_long(&mut self) -> u32 {
        self.taken_long = self.taken_long.wrapping_add(1);
        // The first byte makes the input differ from every input of `take`.
        let [.., a, b, c, d, e, f, g] = self.taken_long.to_be_bytes();
        self.secret.prf(&[6, a, b, c, d, e, f, g, 6]) as u32
    }

    /// Returns the identification of the next datagram.
    pub(crate) fn take(&mut self) -> u16 {
        let [.., mut left, mut right] = self.taken.to_be_bytes();
        let permutation = self.taken >> 16;
        if self.taken as u16 == 0 {
            self.functions.fill(RoundFunction::UNKNOWN);
        }
        self.taken = self.taken.wrapping_add(1);
        for round in 0..ROUNDS {
            let compute = || {
                let input = permutation << 16 | (round as u64) << 8 | u64::from(right);
                self.secret.prf(&input.to_be_bytes()) as u8
            };
            let mixed = match self.functions.get_mut(round) {
                Some(function) => function.value(right, compute),
                None => compute(),
            };
            (left, right) = (right, left ^ mixed);
        }
        u16::from_be_bytes([left, right])
    }
}
