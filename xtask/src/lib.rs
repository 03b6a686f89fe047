//! The tasks that need only a few small crates: `cargo xtask test` and `bench`.
//!
//! Rule: nothing here depends on a crate of this repository, so that tests begin within seconds
//! after a checkout. The tasks that run fullpipe itself are the program `tasks`.

pub mod bench;
mod gvisor;
mod lwip;
pub mod repository;
pub mod test;
