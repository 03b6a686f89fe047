//! The seeded generator: the only source of randomness in the core crates.
//!
//! The one rule: the same seed gives the same draws on every machine and in every
//! version, so no float enters an integer draw.
//!
//! xoshiro256++ 1.0 (Blackman and Vigna), its state filled by splitmix64. The generator is fast and
//! evenly distributed but predictable: never derive a secret from it.

#[cfg(test)]
mod tests;

/// A generator of reproducible random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng([u64; 4]);

/// One step of splitmix64: advances `state` and returns a mixed word.
#[cfg_attr(target_pointer_width = "32", inline(never))]
const fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl Rng {
    /// The generator that starts from `seed`.
    pub const fn seeded(seed: u64) -> Self {
        let mut state = seed;
        Self([
            splitmix64(&mut state),
            splitmix64(&mut state),
            splitmix64(&mut state),
            splitmix64(&mut state),
        ])
    }

    /// Any of the 2^64 words, with equal probability.
    pub const fn next_u64(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number in 0..n, each with equal probability.
    ///
    /// # Panics
    /// Panics if `n` is 0.
    pub const fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "no number is below 0");
        // The draw is the high half of the 128-bit product of a random word and n. Reject a word if
        // the low half of its product is below 2^64 mod n, because such words would favour some
        // draws.
        let uneven = n.wrapping_neg() % n;
        loop {
            let product = self.next_u64() as u128 * n as u128;
            if product as u64 >= uneven {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number in low..=high, each with equal probability.
    ///
    /// # Panics
    /// Panics if `low` exceeds `high`.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "the bounds are the wrong way round");
        match (high - low).checked_add(1) {
            Some(count) => low + self.below(count),
            None => self.next_u64(),
        }
    }

    /// Returns true with probability `p`: never for `p` ≤ 0, always for `p` ≥ 1.
    pub const fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// A number in 0.0..1.0, in steps of 2^-53.
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The generator for the part of the program that has the number `label`. Forking leaves this
    /// generator unchanged, so the number of draws in one part changes no draw of another part. The
    /// same label at the same state gives the same generator.
    pub const fn fork(&self, label: u64) -> Self {
        let mut state = label;
        let mut seed = 0;
        let mut i = 0;
        while i < self.0.len() {
            state ^= self.0[i];
            seed = splitmix64(&mut state);
            i += 1;
        }
        Self::seeded(seed)
    }

    /// The generator for the random property called `name`, such as an MTU:
    /// [`fork`](Self::fork) with the name's FNV-1a hash. Draw each property from its own
    /// generator, so that a new property changes no other draw.
    pub const fn fork_named(&self, name: &str) -> Self {
        let bytes = name.as_bytes();
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        let mut i = 0;
        while i < bytes.len() {
            hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0100_0000_01b3);
            i += 1;
        }
        self.fork(hash)
    }
}
