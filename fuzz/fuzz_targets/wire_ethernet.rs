//! Arbitrary bytes into the parser of `fullpipe_wire::ethernet`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fullpipe_fuzz::wire::ethernet(bytes));
