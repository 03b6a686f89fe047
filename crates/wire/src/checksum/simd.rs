//! The sums of [`super::portable`] with 256-bit vectors, where the processor has
//! them.
//!
//! The one rule: the results equal those of the portable code. Short slices, and processors that
//! lack AVX2 when the program runs, use the portable code.

use pulp::x86::V3;
use pulp::{cast, u64x4};

use super::portable::{self, sum_short};

/// Bytes of a vector.
const VECTOR: usize = 32;
/// Vectors taken per step, each with sums of its own.
const LANES: usize = 4;

/// Shortest slice, in bytes, that the vector code adds faster than the portable code.
const WORTH_IT: usize = VECTOR * LANES;

/// Sums of whole words and of their upper halves, as in the portable lanes.
struct Lanes {
    whole: [u64x4; LANES],
    high: [u64x4; LANES],
}

impl Lanes {
    const ZERO: Self = Self {
        whole: [u64x4(0, 0, 0, 0); LANES],
        high: [u64x4(0, 0, 0, 0); LANES],
    };

    /// Adds one vector to its lane.
    #[inline(always)]
    fn add(&mut self, v3: V3, lane: usize, bytes: [u8; VECTOR]) {
        let vector: u64x4 = cast(bytes);
        let upper = v3.shr_const_u64x4::<32>(vector);
        self.whole[lane] = v3.wrapping_add_u64x4(self.whole[lane], vector);
        self.high[lane] = v3.wrapping_add_u64x4(self.high[lane], upper);
    }

    #[inline(always)]
    fn total(&self, v3: V3) -> u64 {
        let fold_once = |sum| {
            let lower = v3.shr_const_u64x4::<32>(v3.shl_const_u64x4::<32>(sum));
            v3.wrapping_add_u64x4(lower, v3.shr_const_u64x4::<32>(sum))
        };
        let mut total = u64x4(0, 0, 0, 0);
        for (&whole, &high) in self.whole.iter().zip(&self.high) {
            let low = v3.wrapping_sub_u64x4(whole, v3.shl_const_u64x4::<32>(high));
            total = v3.wrapping_add_u64x4(total, fold_once(low));
            total = v3.wrapping_add_u64x4(total, fold_once(high));
        }
        total.0 + total.1 + total.2 + total.3
    }
}

/// Returns true if this processor uses the vector code.
#[cfg(test)]
pub fn is_available() -> bool {
    V3::is_available()
}

/// Returns the same sum as [`portable::sum_words`].
pub fn sum_words(bytes: &[u8]) -> u64 {
    if bytes.len() < WORTH_IT {
        return portable::sum_words(bytes);
    }
    match V3::try_new() {
        Some(v3) => v3.vectorize(Sum { v3, bytes }),
        None => portable::sum_words(bytes),
    }
}

/// Copies `src` to `dst`, and returns the same sum as [`portable::copy_words`].
pub fn copy_words(dst: &mut [u8], src: &[u8]) -> u64 {
    if src.len() < WORTH_IT {
        return portable::copy_words(dst, src);
    }
    match V3::try_new() {
        Some(v3) => v3.vectorize(Copy { v3, dst, src }),
        None => portable::copy_words(dst, src),
    }
}

struct Sum<'a> {
    v3: V3,
    bytes: &'a [u8],
}

impl pulp::NullaryFnOnce for Sum<'_> {
    type Output = u64;

    #[inline(always)]
    fn call(self) -> u64 {
        let (vectors, tail) = self.bytes.as_chunks::<VECTOR>();
        let (steps, vectors) = vectors.as_chunks::<LANES>();
        let mut lanes = Lanes::ZERO;
        for step in steps {
            for (lane, &vector) in step.iter().enumerate() {
                lanes.add(self.v3, lane, vector);
            }
        }
        for &vector in vectors {
            lanes.add(self.v3, 0, vector);
        }
        lanes.total(self.v3) + sum_short(tail)
    }
}

struct Copy<'a> {
    v3: V3,
    dst: &'a mut [u8],
    src: &'a [u8],
}

impl pulp::NullaryFnOnce for Copy<'_> {
    type Output = u64;

    #[inline(always)]
    fn call(self) -> u64 {
        let (src_vectors, src_tail) = self.src.as_chunks::<VECTOR>();
        let (dst_vectors, dst_tail) = self.dst.as_chunks_mut::<VECTOR>();
        let (src_steps, src_vectors) = src_vectors.as_chunks::<LANES>();
        let (dst_steps, dst_vectors) = dst_vectors.as_chunks_mut::<LANES>();
        // Copy the tail before the sum begins: the copy is a function call, and a function call
        // while the lanes are in use would move them from registers to memory.
        dst_tail.copy_from_slice(src_tail);
        let mut lanes = Lanes::ZERO;
        for (dst_step, src_step) in dst_steps.iter_mut().zip(src_steps) {
            for (lane, (dst, &src)) in dst_step.iter_mut().zip(src_step).enumerate() {
                lanes.add(self.v3, lane, src);
                *dst = src;
            }
        }
        for (dst, &src) in dst_vectors.iter_mut().zip(src_vectors) {
            lanes.add(self.v3, 0, src);
            *dst = src;
        }
        lanes.total(self.v3) + sum_short(src_tail)
    }
}
