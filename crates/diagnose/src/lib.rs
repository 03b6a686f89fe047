//! Facts about transfers, for pages, tables and files.
//!
//! [`facts`] is the model: a run, its rows, their hosts, links and connections, and for each end of
//! a connection its segments and series in columns. [`facts::Assembly`] builds it from the traces
//! of stacks. [`vocabulary`] has the names of the numbers in the columns.
//!
//! Rule: facts are observations. Nothing is drawn, judged or rounded here.
#![forbid(unsafe_code)]

pub mod facts;

/// Names of limits, discards and control bits, which columns have as numbers. They are the stack's
/// own, so no table translates them.
pub mod vocabulary {
    pub use fullpipe_tcp::{DiscardReason, Limit, ReceiveLimit};
    pub use fullpipe_wire::TcpFlags;
}
