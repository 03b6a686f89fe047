//! Captures: the TCP segments of a file, a stream or an interface, in the order of the capture.
//!
//! [`CaptureReader`] reads a file; [`Dissector`] reads the frames of any other source. Both return
//! [`Segment`]s. [`FlowTable`] sorts them into connections, each with its own [`Analysis`].
//!
//! Rule: nothing is inferred here. A value that the capture does not have is `None`, or a flag of
//! the segment says that it is missing.

mod clock;
mod dissector;
mod duplicates;
mod file;
mod filter;
mod flows;
mod frame;
mod icmp;
mod input;
mod ip;
mod link;
mod link_type;
mod packet;
mod reader;
mod resets;
mod segment;
mod tcp;
mod warnings;

pub use clock::TimeCounters;
pub use dissector::{CaptureCounters, Dissector};
pub use file::{CaptureError, Ending};
pub use filter::{FilterError, FlowFilter};
pub use flows::{EndedFlow, FlowEnding, FlowLimits, FlowTable};
pub use frame::Frame;
pub use icmp::{ReturnedSegment, Unreachable};
pub use input::BytesRead;
pub use link_type::LinkType;
pub use reader::CaptureReader;
pub(crate) use resets::Resets;
pub use segment::{Analysis, End, FlowKey, Passage, Segment};
pub use warnings::CaptureWarning;

#[cfg(test)]
mod tests;
