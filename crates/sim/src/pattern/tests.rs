//! Tests that compare the pattern with its definition, at every alignment.

use super::*;

#[test]
fn pieces_of_any_size_make_the_same_stream() {
    let pattern = Pattern::new(77);
    let mut whole = [0; 200];
    pattern.fill(0, &mut whole);
    for start in 0..40 {
        for len in 0..60 {
            let mut piece = vec![0; len];
            pattern.fill(start as u64, &mut piece);
            assert_eq!(piece, &whole[start..start + len]);
            assert_eq!(pattern.first_difference(start as u64, &piece), None);
        }
    }
}

#[test]
fn a_wrong_byte_is_found_where_it_is() {
    let pattern = Pattern::new(1);
    for wrong in 0..70 {
        let mut bytes = [0; 70];
        pattern.fill(1_003, &mut bytes);
        bytes[wrong] ^= 0x10;
        assert_eq!(pattern.first_difference(1_003, &bytes), Some(wrong));
    }
}

#[test]
fn a_shifted_or_repeated_stream_is_noticed() {
    let pattern = Pattern::new(5);
    let mut bytes = [0; 64];
    pattern.fill(100, &mut bytes);
    for shift in 1..5_000 {
        assert!(
            pattern.first_difference(100 + shift, &bytes).is_some(),
            "shift {shift}"
        );
    }
    assert!(Pattern::new(6).first_difference(100, &bytes).is_some());
}
