//! Compares accounts (time by limit) inferred from captures with the account that the sender's own
//! limit clock keeps.
//!
//! A case is a transfer that is constructed so that its limit is known. A case runs once in the
//! simulator. Its captures are taken at the sender's interface, at the receiver's, and at a tap on the
//! path. `fullpipe_diagnose::observe` infers an account from each capture.
//!
//! Rule: the truth is the limit with the longest time on the sender's own clock. A number always
//! draws the same case. Cases for kernel hosts are drawn and judged here, and run by
//! `fullpipe-kernels`.

mod draw;
mod judged;
mod tally;
mod truth;
mod twin_tally;
mod twins;
mod view;

#[cfg(test)]
mod tests;

pub use draw::{Case, Family, KernelCase};
pub use fullpipe_fit::frames::{Captured, TapPlace};
pub use judged::{JudgedCapture, judge_case, judge_kernel};
pub use tally::CaptureTally;
pub use truth::{LimitGroup, TrueAccount};
pub use twin_tally::TwinTally;
pub use twins::{JudgedAdvice, JudgedTwin, judge_twins};
pub use view::View;
