//! From what was observed of a transfer to facts about it.
//!
//! [`facts`] is the model that everything else is drawn from: a run, its rows,
//! their connections, and for each end of a connection its segments and series
//! in columns. [`facts::Assembly`] makes it from the trace of a stack.
//! [`vocabulary`] has the names of what facts give as numbers.
//!
//! Rule: facts are what was observed. Nothing is drawn, judged or rounded here,
//! and no fact knows where it will be shown.
#![forbid(unsafe_code)]

pub mod facts;

/// What the numbers in columns mean: the words that the stack has for limits,
/// discards and control bits, so that no table translates them.
pub mod vocabulary {
    pub use fullpipe_tcp::{DiscardReason, Limit, ReceiveLimit};
    pub use fullpipe_wire::TcpFlags;
}
