//! Our headers against those of strangers, over random values and bytes.
//!
//! The one rule: whatever one side writes the other reads to the same values,
//! and what is not a header at all is refused without a panic.

mod arbitrary;
mod etherparse;
mod smoltcp;
mod strategies;
