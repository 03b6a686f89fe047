//! fullpipe stack.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod config;
pub mod counters;
pub mod device;
pub mod icmp;
pub mod ip;
pub mod link;
pub mod presets;
pub mod rate_limit;
mod ready;
mod slab;
pub mod udp;
