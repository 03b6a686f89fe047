//! Fuzzes a whole stack with peers that know the state of its connections and send false segments.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fullpipe_fuzz::stateful::live(bytes);
});
