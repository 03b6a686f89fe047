//! Tests of the chunks in which records are stored.

use alloc::vec;

use super::{CHUNK, CHUNKS_EACH, LONGEST, Records};

#[test]
fn records_of_any_length_come_back_and_their_chunks_are_used_again() {
    let mut records = Records::new(8);
    let mut bytes = [0; LONGEST];
    for round in 0..20u8 {
        let lengths = [1, CHUNK, CHUNK + 1, 3 * CHUNK - 1];
        let numbers = lengths.map(|length| {
            let record = vec![round ^ length as u8; length];
            (records.add(&record).expect("free chunks"), record)
        });
        for (number, record) in numbers {
            records.read(number, &mut bytes);
            assert_eq!(bytes[..record.len()], record);
            records.remove(number);
        }
        assert_eq!(records.free, 8 * CHUNKS_EACH);
    }
}

#[test]
fn a_record_for_which_too_few_chunks_are_free_is_refused() {
    let mut records = Records::new(1);
    let most = (CHUNKS_EACH - 1) as usize;
    let first = records.add(&vec![1; most * CHUNK]).expect("free chunks");
    assert_eq!(records.add(&[2; CHUNK + 1]), None);
    assert!(records.add(&[3; CHUNK]).is_some());
    records.remove(first);
    assert!(records.add(&[4; 2 * CHUNK]).is_some());
}
