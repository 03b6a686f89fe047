//! Arbitrary bytes into the parser of `fullpipe_wire::udp`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fullpipe_fuzz::wire::udp(bytes));
