//! The packages, features and profiles with which the steps build.
//!
//! The one rule: steps share a selection, so that cargo compiles each crate once.

/// Packages and features of the program `tasks` and of every step that builds tests with the
/// profile `dev`. They share one selection, because cargo compiles nearly every crate again for
/// another selection. The features are `tokio` (sockets for tokio) and `tasks` (this program's
/// other tasks).
pub const ALL: &str = "--workspace --features fullpipe-host/tokio,xtask/tasks";

/// Profile of the wheel and of the tests of the step `lab`. It optimises the crates in which they
/// compute, and the others less than `release`, with which users build.
pub const PROFILE: &str = "tested";
