//! Fuzzes the capture reader and the analysis of `fullpipe_diagnose` with arbitrary captures.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fullpipe_fuzz::capture::capture(bytes));
