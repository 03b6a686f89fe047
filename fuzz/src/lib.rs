//! The checks that the fuzz targets run.
//!
//! The one rule: each check is a function of bytes alone. A failure that a fuzzer found is
//! therefore repeated by a call with the same bytes.
//!
//! Run one target with `cargo fuzz run wire_tcp`, and all targets with `cargo xtask soak`.

#![forbid(unsafe_code)]

#[cfg(feature = "fuzzer")]
pub mod capture;
mod device;
mod frames;
mod script;
pub mod stack;
pub mod stateful;
pub mod wire;
