//! Arbitrary bytes into the parser of `fullpipe_wire::icmpv4`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fullpipe_fuzz::wire::icmpv4(bytes));
