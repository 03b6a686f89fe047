//! Peers that know the connections of a whole stack, and lie about them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fullpipe_fuzz::stateful::live(bytes));
