//! Fuzzes the parser of `fullpipe_wire::ethernet` with arbitrary bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fullpipe_fuzz::wire::ethernet(bytes));
