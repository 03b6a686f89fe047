//! Tests of SipHash: the vector of its authors, and another implementation.

use siphasher::sip::{SipHasher13, SipHasher24};

use super::*;

/// Appendix A of the paper: the key is 00 01 .. 0f, the input 00 01 .. 0e.
#[test]
fn the_example_of_the_authors_has_their_hash() {
    let key = core::array::from_fn(|at| at as u8);
    let input: [u8; 15] = core::array::from_fn(|at| at as u8);
    let hash = sip_hash(&key, &input, Rounds { word: 2, last: 4 });
    assert_eq!(hash, 0xa129_ca61_49be_45e5);
}

#[test]
fn every_length_has_the_hash_of_the_crate_siphasher() {
    for len in 0..=70_usize {
        let key = core::array::from_fn(|at| (at * 7 + len) as u8);
        let input: alloc::vec::Vec<u8> = (0..len).map(|at| (at * 31 + 5) as u8).collect();
        assert_eq!(
            sip_hash(&key, &input, Rounds { word: 2, last: 4 }),
            SipHasher24::new_with_key(&key).hash(&input),
            "SipHash-2-4 of {len} bytes"
        );
        assert_eq!(
            sip_hash(&key, &input, Rounds { word: 1, last: 3 }),
            SipHasher13::new_with_key(&key).hash(&input),
            "SipHash-1-3 of {len} bytes"
        );
    }
}
