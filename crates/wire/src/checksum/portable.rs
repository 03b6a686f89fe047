//! Sums of 32-bit words in plain integer arithmetic. A lane is a partial sum: each lane sums one of
//! the words of each step, so the compiler can use vector instructions.
//!
//! The one rule: the result is congruent, modulo 0xffff, to the sum of the 16-bit words
//! in native order, and 0 only when every byte is 0. The parent module folds the result
//! to 16 bits and handles slices that start at an odd offset.

/// Bytes taken per step.
const STEP: usize = 64;
/// Lanes of 64 bits in a step.
const LANES: usize = STEP / 8;

/// Shortest slice, in bytes, that is added in lanes.
const WORTH_IT: usize = 4 * STEP;

/// Two sums for each lane: its 64-bit words modulo 2⁶⁴ (`whole`), and the upper halves of
/// these words (`high`).
///
/// `whole − 2³²·high` is then the exact sum of the lower halves. A word thus costs one shift and
/// two additions, without a carry. The sums are exact for up to 2³² words per lane.
struct Lanes {
    whole: [u64; LANES],
    high: [u64; LANES],
}

impl Lanes {
    const ZERO: Self = Self {
        whole: [0; LANES],
        high: [0; LANES],
    };

    #[cfg_attr(target_pointer_width = "64", inline(always))]
    fn add(&mut self, bytes: &[u8; STEP]) {
        let (words, _none) = bytes.as_chunks::<8>();
        for (lane, &word) in words.iter().enumerate() {
            let word = u64::from_ne_bytes(word);
            self.whole[lane] = self.whole[lane].wrapping_add(word);
            self.high[lane] += word >> 32;
        }
    }

    fn total(&self) -> u64 {
        let lanes = self.whole.iter().zip(&self.high);
        lanes
            .map(|(whole, high)| fold_once(whole.wrapping_sub(high << 32)) + fold_once(*high))
            .sum()
    }
}

/// Returns the sum of `bytes`. If their number is odd, a 0 completes the last word.
pub fn sum_words(bytes: &[u8]) -> u64 {
    if bytes.len() < WORTH_IT {
        return sum_short(bytes);
    }
    let (steps, tail) = bytes.as_chunks::<STEP>();
    let mut lanes = Lanes::ZERO;
    for step in steps {
        lanes.add(step);
    }
    lanes.total() + sum_short(tail)
}

/// Copies `src` to `dst`, which has the same length, and returns the sum.
pub fn copy_words(dst: &mut [u8], src: &[u8]) -> u64 {
    if src.len() < WORTH_IT {
        dst.copy_from_slice(src);
        return sum_short(src);
    }
    let (src_steps, src_tail) = src.as_chunks::<STEP>();
    let (dst_steps, dst_tail) = dst.as_chunks_mut::<STEP>();
    dst_tail.copy_from_slice(src_tail);
    let mut lanes = Lanes::ZERO;
    for (dst, src) in dst_steps.iter_mut().zip(src_steps) {
        lanes.add(src);
        *dst = *src;
    }
    lanes.total() + sum_short(src_tail)
}

/// Returns the sum of a short slice: lanes would cost more to add up than they save.
///
/// Reads pieces of 32, 16, 8, 4, 2 and 1 bytes by value. A loop over few words would cost more to
/// set up than it saves. A copy into a padded buffer would not help: the loads would wait for the
/// stores of the copy.
#[cfg_attr(target_pointer_width = "64", inline(always))]
#[cfg_attr(target_pointer_width = "32", inline(never))]
pub fn sum_short(bytes: &[u8]) -> u64 {
    let (mut sum, mut rest) = (0, bytes);
    while let Some((piece, after)) = rest.split_first_chunk::<32>() {
        sum += sum_piece(piece);
        rest = after;
    }
    if let Some((piece, after)) = rest.split_first_chunk::<16>() {
        sum += sum_piece(piece);
        rest = after;
    }
    if let Some((piece, after)) = rest.split_first_chunk::<8>() {
        sum += sum_piece(piece);
        rest = after;
    }
    if let Some((&word, after)) = rest.split_first_chunk::<4>() {
        sum += u128::from(u32::from_ne_bytes(word));
        rest = after;
    }
    if let Some((&word, after)) = rest.split_first_chunk::<2>() {
        sum += u128::from(u16::from_ne_bytes(word));
        rest = after;
    }
    if let Some(&byte) = rest.first() {
        sum += u128::from(u16::from_ne_bytes([byte, 0]));
    }
    // 2⁶⁴ is 1 modulo 0xffff, so the upper half of the sum is added to the lower one.
    fold_once(sum as u64) + (sum >> 64) as u64
}

/// Returns the sum of the 64-bit words of `piece`, which cannot overflow.
#[cfg_attr(target_pointer_width = "64", inline(always))]
fn sum_piece<const N: usize>(piece: &[u8; N]) -> u128 {
    let (words, _none) = piece.as_chunks::<8>();
    words
        .iter()
        .map(|&word| u128::from(u64::from_ne_bytes(word)))
        .sum()
}

/// Adds the two 32-bit halves of `sum`, so that many results can be added without
/// overflow.
#[cfg_attr(target_pointer_width = "64", inline(always))]
pub const fn fold_once(sum: u64) -> u64 {
    (sum & 0xffff_ffff) + (sum >> 32)
}
