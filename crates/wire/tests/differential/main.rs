//! Tests that compare fullpipe's headers with those of other crates, over random values and bytes.
//!
//! The one rule: each side reads the values that the other wrote, and bytes that
//! are not a header are refused without a panic.

mod arbitrary;
mod etherparse;
mod smoltcp;
mod strategies;
