//! A network in virtual time.
#![forbid(unsafe_code)]

pub mod link;
