//! Tests of sizes within their bounds, with and without free memory.

use super::*;

#[test]
fn a_size_follows_the_need_within_its_bounds_while_memory_is_plentiful() {
    let mut size = TunedSize::new(64, 1_000);
    assert!(size.is_tuned());
    for (wanted, expected) in [(10, 64), (500, 500), (5_000, 1_000), (300, 300)] {
        size.follow(wanted, Pressure::Low, 0);
        assert_eq!(size.get(), expected, "{wanted}");
    }
}

#[test]
fn under_pressure_no_size_grows_and_sizes_above_their_share_shrink() {
    let (mut large, mut small) = (TunedSize::new(64, 1_000), TunedSize::new(64, 1_000));
    large.follow(800, Pressure::Low, 0);
    small.follow(100, Pressure::Low, 0);
    for size in [&mut large, &mut small] {
        size.follow(1_000, Pressure::Pressure, 300);
    }
    assert_eq!((large.get(), small.get()), (300, 100));
    large.follow(1_000, Pressure::Pressure, 10);
    assert_eq!(large.get(), 64, "what was set stays");
    large.follow(1_000, Pressure::Low, 10);
    large.follow(1_000, Pressure::High, 1_000);
    assert_eq!(large.get(), 64);
}

#[test]
fn a_size_that_is_set_stays() {
    for most in [0, 63, 64] {
        let mut size = TunedSize::new(64, most);
        size.follow(5_000, Pressure::Low, 5_000);
        assert_eq!((size.get(), size.most(), size.is_tuned()), (64, 64, false));
    }
}

#[test]
fn payload_has_its_share_of_the_buffer() {
    for (set, max, limit, share, size, most) in [
        (32_768, 0, 1 << 30, 100, 32_768, 32_768),
        // SO_SNDBUF of 256K and wmem_max of 130K, both doubled; half of the buffer is for packet
        // descriptors.
        (524_288, 0, 266_240, 50, 133_120, 133_120),
        // A buffer that grows is bounded by its own maximum alone.
        (16_384, 4 << 20, 8_192, 75, 12_288, 3 << 20),
        (16_384, 16_385, 8_192, 100, 16_384, 16_385),
        // A buffer whose maximum is no larger than its size does not grow.
        (16_384, 16_384, 8_192, 100, 8_192, 8_192),
        (16_384, 10_000, 8_192, 100, 8_192, 8_192),
        (16_384, 16_384, 20_000, 100, 16_384, 16_384),
        // Some payload always fits.
        (300, 0, 1 << 30, 25, 128, 128),
        (100, 0, 1 << 30, 25, 100, 100),
    ] {
        let tuned = TunedSize::for_payload(set, max, limit, share);
        assert_eq!((tuned.get(), tuned.most()), (size, most), "{set} {share} %");
    }
}
