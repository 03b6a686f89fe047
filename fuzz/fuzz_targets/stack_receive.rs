//! Arbitrary bytes as frames, time and calls into a whole stack.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fullpipe_fuzz::stack::live(bytes));
