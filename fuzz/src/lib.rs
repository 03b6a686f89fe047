//! The checks of the fuzzers, apart from the fuzzer that drives them.
//!
//! The one rule: each property is a function of bytes alone, so that a crash
//! found by a fuzzer is replayed by handing the same bytes to the same function.
//!
//! Run one with `cargo fuzz run wire_tcp`, all of them with `cargo xtask soak`.

#![forbid(unsafe_code)]

#[cfg(feature = "fuzzer")]
pub mod capture;
mod device;
mod frames;
mod script;
pub mod stack;
pub mod stateful;
pub mod wire;
