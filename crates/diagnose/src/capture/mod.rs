//! Captures: the TCP segments of a file, a stream or an interface, in the order of the capture.
//!
//! [`Segment`] is what an analysis receives. [`Analysis`] is what a connection's segments are
//! given to.
//!
//! Rule: nothing is inferred here. A value that the capture does not have is `None`, or
//! a flag of the segment says that it is missing.

mod segment;

pub use segment::{Analysis, End, FlowKey, Passage, Segment};

#[cfg(test)]
mod tests;
