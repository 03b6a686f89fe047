//! Fuzzes a whole stack with arbitrary frames, times and calls.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fullpipe_fuzz::stack::live(bytes));
