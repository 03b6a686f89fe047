//! SipHash, a keyed hash of short inputs.
//!
//! Rule: the numbers of rounds are arguments, so that a program for a small machine contains the
//! function once. Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).

#[cfg(test)]
mod tests;

/// The numbers of rounds of a variant of SipHash.
#[derive(Clone, Copy)]
pub(crate) struct Rounds {
    /// Rounds after each word of the input.
    pub(crate) word: u8,
    /// Rounds after the last word.
    pub(crate) last: u8,
}

/// Returns the hash of `bytes` under `key`.
#[cfg_attr(target_pointer_width = "64", inline)]
#[cfg_attr(target_pointer_width = "32", inline(never))]
pub(crate) fn sip_hash(key: &[u8; 16], bytes: &[u8], rounds: Rounds) -> u64 {
    let key = u128::from_le_bytes(*key);
    let (low, high) = (key as u64, (key >> 64) as u64);
    let mut state = [
        low ^ u64::from_be_bytes(*b"somepseu"),
        high ^ u64::from_be_bytes(*b"dorandom"),
        low ^ u64::from_be_bytes(*b"lygenera"),
        high ^ u64::from_be_bytes(*b"tedbytes"),
    ];
    let (words, rest) = bytes.as_chunks();
    for word in words {
        absorb(&mut state, u64::from_le_bytes(*word), rounds);
    }
    // The last word has the bytes that are left, and the length of the input.
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = bytes.len() as u8;
    absorb(&mut state, u64::from_le_bytes(last), rounds);
    state[2] ^= 0xff;
    (0..rounds.last).for_each(|_| round(&mut state));
    state.into_iter().fold(0, |sum, word| sum ^ word)
}

/// Adds a word of the input to the state.
#[cfg_attr(target_pointer_width = "64", inline)]
fn absorb(state: &mut [u64; 4], word: u64, rounds: Rounds) {
    state[3] ^= word;
    (0..rounds.word).for_each(|_| round(state));
    state[0] ^= word;
}

/// One SipRound.
#[cfg_attr(target_pointer_width = "64", inline)]
#[cfg_attr(target_pointer_width = "32", inline(never))]
const fn round(state: &mut [u64; 4]) {
    let [mut a, mut b, mut c, mut d] = *state;
    a = a.wrapping_add(b);
    b = b.rotate_left(13) ^ a;
    a = a.rotate_left(32);
    c = c.wrapping_add(d);
    d = d.rotate_left(16) ^ c;
    a = a.wrapping_add(d);
    d = d.rotate_left(21) ^ a;
    c = c.wrapping_add(b);
    b = b.rotate_left(17) ^ c;
    c = c.rotate_left(32);
    *state = [a, b, c, d];
}
