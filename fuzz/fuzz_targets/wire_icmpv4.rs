//! Fuzzes the parser of `fullpipe_wire::icmpv4` with arbitrary bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fullpipe_fuzz::wire::icmpv4(bytes));
