//! Fuzzes the parser of `fullpipe_wire::icmpv6` with arbitrary bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fullpipe_fuzz::wire::icmpv6(bytes));
