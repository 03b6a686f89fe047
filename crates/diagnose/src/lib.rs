//! Facts about transfers, for pages, tables and files.
//!
//! [`facts`] is the model: a run, its rows (scenarios), their hosts, links and connections, and for
//! each end of a connection its segments and series in columns. [`facts::Assembly`] builds the
//! model from the traces of stacks. [`vocabulary`] has the names of the numbers in the columns.
//! [`inferred`] computes losses, delays and rate of a path from the frames that its two ends sent
//! and received. [`capture`] reads the segments of a capture, and [`observe`] infers a connection's
//! [`account`] (time and bytes by limit) from these segments. [`socket`] follows live sockets of a
//! kernel. [`merge`] joins two captures of one connection.
//!
//! Rule: the series are observations, neither interpreted nor rounded. This crate judges and draws
//! no rows; the lab writes the verdict of a row (the explanation of its limit), and this crate only
//! stores the verdict.
#![forbid(unsafe_code)]

pub mod account;
pub mod capture;
pub mod facts;
pub mod inferred;
pub mod merge;
pub mod observe;
pub mod socket;

/// Names of limits, discards and control bits. The columns store them as the numbers of the stack.
pub mod vocabulary {
    pub use fullpipe_tcp::{DiscardReason, Limit, ReceiveLimit};
    pub use fullpipe_wire::TcpFlags;
}
