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
            (records.add(&record), record)
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
fn the_table_grows_if_too_few_chunks_are_free() {
    let mut records = Records::new(8);
    let most = records.heap_bytes();
    let numbers = [(); 4].map(|()| records.add(&[1; 8 * CHUNK]));
    assert_eq!((records.free, records.heap_bytes()), (0, most));
    let (one, two) = (records.add(&[2; CHUNK]), records.add(&[3; CHUNK + 1]));
    assert!(records.heap_bytes() > most && records.heap_bytes() < most * 5 / 4);
    let mut bytes = [0; LONGEST];
    for (number, content) in numbers.into_iter().zip([1; 4]).chain([(one, 2), (two, 3)]) {
        records.read(number, &mut bytes);
        assert_eq!(bytes[..CHUNK], [content; CHUNK]);
        records.remove(number);
    }
    assert_eq!(records.free as usize, records.chunks.len());
}
