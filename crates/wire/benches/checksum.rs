//! Measures how many bytes per second are summed, and how many are copied and summed in one pass.
//!
//! The one rule: each length that a stack meets (a header, a block of 196 bytes, a frame, a
//! super-segment that a device would cut) is measured next to a plain copy of that length. A copy
//! with a sum cannot be faster than the plain copy. With `--no-default-features`, the benchmark
//! measures the portable code.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use fullpipe_wire::Checksum;

const LENGTHS: [usize; 6] = [20, 196, 1460, 4096, 16384, 65536];

fn main() {
    divan::main();
}

fn source(len: usize) -> Vec<u8> {
    (0..len).map(|place| (place * 7 + 3) as u8).collect()
}

#[divan::bench(args = LENGTHS, sample_size = 1000)]
fn sum(bencher: Bencher, len: usize) {
    let src = source(len);
    bencher
        .counter(BytesCount::new(len))
        .bench_local(|| Checksum::of(black_box(&src)).finish());
}

#[divan::bench(args = LENGTHS, sample_size = 1000)]
fn copy_and_sum(bencher: Bencher, len: usize) {
    let (src, mut dst) = (source(len), vec![0; len]);
    bencher.counter(BytesCount::new(len)).bench_local(|| {
        let mut checksum = Checksum::new();
        checksum.copy(black_box(&mut dst), black_box(&src));
        checksum.finish()
    });
}

#[divan::bench(args = LENGTHS, sample_size = 1000)]
fn copy_only(bencher: Bencher, len: usize) {
    let (src, mut dst) = (source(len), vec![0; len]);
    bencher
        .counter(BytesCount::new(len))
        .bench_local(|| black_box(&mut dst).copy_from_slice(black_box(&src)));
}
