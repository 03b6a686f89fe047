//! The applications of a connection.
//!
//! Rule: an application decides how many bytes are written and read and when, never their values.
//! The [`Socket`] writes bytes of a known pattern and verifies every byte read, so each application
//! checks delivery. An application runs after an event on its connection, and at the time that its
//! last run returned.

mod interface;
mod query;
mod reader;
mod request;
mod transfer;
mod writer;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;

pub use interface::{Application, NextRun, ReadOutcome, Socket};
pub use query::{QueryClient, QueryServer};
pub use reader::{ReadPlan, Reader};
pub use request::{Requester, Requests, Responder};
pub use transfer::{Ending, Transfer};
pub use writer::{Amount, WritePlan, WriteSize, Writer};
