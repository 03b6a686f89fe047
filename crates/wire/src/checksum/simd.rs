//! The same sums with 256-bit vectors, when the processor has them.
//!
//! The one rule: what [`super::portable`] promises, faster. The processor is
//! asked at run time; short slices and processors without AVX2 take the
//! portable way.

use pulp::x86::V3;
use pulp::{cast, u64x4};

use super::portable::{self, fold_once, sum_tail};

/// Bytes taken per step: four vectors.
const STEP: usize = 128;
const VECTORS: usize = STEP / 32;

/// Shorter slices cost less than the call into vector code.
const WORTH_IT: usize = STEP;

/// Whole words and their upper halves apart, as in the portable lanes.
struct Lanes {
    whole: [u64x4; VECTORS],
    high: [u64x4; VECTORS],
}

impl Lanes {
    const ZERO: Self = Self {
        whole: [u64x4(0, 0, 0, 0); VECTORS],
        high: [u64x4(0, 0, 0, 0); VECTORS],
    };

    #[inline(always)]
    fn add(&mut self, v3: V3, vectors: &[u64x4; VECTORS]) {
        for (lane, &vector) in vectors.iter().enumerate() {
            let upper = v3.shr_const_u64x4::<32>(vector);
            self.whole[lane] = v3.wrapping_add_u64x4(self.whole[lane], vector);
            self.high[lane] = v3.wrapping_add_u64x4(self.high[lane], upper);
        }
    }

    #[inline(always)]
    fn total(&self) -> u64 {
        let mut total = 0;
        for (&whole, &high) in self.whole.iter().zip(&self.high) {
            let (whole, high): ([u64; 4], [u64; 4]) = (cast(whole), cast(high));
            for (whole, high) in whole.iter().zip(high) {
                total += fold_once(whole.wrapping_sub(high << 32)) + fold_once(high);
            }
        }
        total
    }
}

/// As [`portable::sum_words`].
pub fn sum_words(bytes: &[u8]) -> u64 {
    if bytes.len() < WORTH_IT {
        return portable::sum_words(bytes);
    }
    match V3::try_new() {
        Some(v3) => v3.vectorize(Sum { v3, bytes }),
        None => portable::sum_words(bytes),
    }
}

/// As [`portable::copy_words`].
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
        let (steps, tail) = self.bytes.as_chunks::<STEP>();
        let mut lanes = Lanes::ZERO;
        for &step in steps {
            lanes.add(self.v3, &cast(step));
        }
        lanes.total() + sum_tail(tail)
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
        let (src_steps, src_tail) = self.src.as_chunks::<STEP>();
        let (dst_steps, dst_tail) = self.dst.as_chunks_mut::<STEP>();
        let mut lanes = Lanes::ZERO;
        for (dst, &src) in dst_steps.iter_mut().zip(src_steps) {
            let vectors = cast(src);
            lanes.add(self.v3, &vectors);
            *dst = cast(vectors);
        }
        dst_tail.copy_from_slice(src_tail);
        lanes.total() + sum_tail(src_tail)
    }
}
