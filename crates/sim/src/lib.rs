//! A network in virtual time.
#![forbid(unsafe_code)]

pub mod agenda;
pub mod app;
pub mod check;
pub mod link;
pub mod packet;
pub mod pattern;
pub mod pcapng;
pub mod rule;
