//! Tests that each type is read back from a record as it was written.

use super::{Record, RecordReader, RecordWriter};
use crate::{Duration, Instant, Rng};

fn round_trip<T: Record>(value: &T) -> (T, usize) {
    let mut bytes = [0xff; 256];
    let mut writer = RecordWriter::new(&mut bytes, &[]);
    value.pack(&mut writer);
    let len = writer.finish().unwrap();
    (T::unpack(&mut RecordReader::new(&bytes[..len], &[])), len)
}

#[test]
fn numbers_of_any_length_come_back() {
    let mut rng = Rng::seeded(1);
    for bits in 0..64 {
        let numbers = [1 << bits, (1 << bits) - 1, rng.next_u64() >> bits, u64::MAX];
        assert_eq!(round_trip(&numbers).0, numbers, "{bits} bits");
        let small = numbers.map(|number| number as u32);
        assert_eq!(round_trip(&small).0, small, "{bits} bits");
    }
}

#[test]
fn times_and_options_come_back() {
    let at = |nanos| Instant::from_nanos(nanos);
    let times = [at(0), at(7), at(u64::MAX), at(0), at(3), at(u64::MAX / 2)];
    assert_eq!(round_trip(&times).0, times);
    let mixed = (
        Some(Duration::from_nanos(u64::MAX)),
        None::<u8>,
        (true, 3u16..9),
    );
    assert_eq!(round_trip(&mixed).0, mixed);
}

#[test]
fn sequence_numbers_of_two_directions_come_back() {
    let mut rng = Rng::seeded(2);
    for _ in 0..1_000 {
        let (one, other) = (rng.next_u64() as u32, rng.next_u64() as u32);
        let numbers = [one, other, one.wrapping_add(9), 0, other.wrapping_sub(1), 1];
        let mut bytes = [0; 64];
        let mut writer = RecordWriter::new(&mut bytes, &[]);
        for number in numbers {
            writer.sequence(number);
        }
        let len = writer.finish().unwrap();
        let mut reader = RecordReader::new(&bytes[..len], &[]);
        assert_eq!(numbers.map(|_| reader.sequence()), numbers);
    }
}

#[test]
fn a_zero_takes_one_bit_and_a_near_time_few() {
    assert_eq!(round_trip(&[0u64; 16]).1, 2);
    let (long_ago, just_now) = (Instant::from_secs(1 << 20), Duration::from_micros(3));
    let one = round_trip(&long_ago).1;
    assert!(round_trip(&[long_ago, long_ago + just_now]).1 <= one + 3);
}

#[test]
fn a_record_that_does_not_fit_is_refused() {
    let mut bytes = [0; 4];
    let mut writer = RecordWriter::new(&mut bytes, &[]);
    u64::MAX.pack(&mut writer);
    assert_eq!(writer.finish(), None);
}

#[test]
fn a_usual_number_takes_one_bit_and_another_one_comes_back() {
    let usual = [4_000_000, 7, u32::MAX];
    for (numbers, most) in [(usual, 1), ([4_000_000, 9, 0], 8), ([0, 0, 1], 12)] {
        let mut bytes = [0; 64];
        let mut writer = RecordWriter::new(&mut bytes, &usual);
        for number in numbers {
            writer.usual(number);
        }
        let len = writer.finish().unwrap();
        assert!(len <= most, "{numbers:?}: {len} bytes");
        let mut reader = RecordReader::new(&bytes[..len], &usual);
        assert_eq!(numbers.map(|_| reader.usual()), numbers);
    }
}

#[test]
fn a_size_that_occurs_again_takes_seven_bits() {
    let sizes = [
        1_460u64,
        1_460,
        3,
        1 << 40,
        1_460,
        127,
        128,
        1_460,
        128,
        65_535,
        65_536,
        65_535,
    ];
    assert_eq!(round_trip(&sizes).0, sizes);
    assert_eq!(round_trip(&[1_460u16; 9]).1, (17 + 8 * 7usize).div_ceil(8));
}
