//! Arbitrary bytes into the parser of `fullpipe_wire::ipv4`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fullpipe_fuzz::wire::ipv4(bytes));
