//! Reads packet captures into a table of connections, in bounded memory. One connection can be
//! explained: its *twin* is a simulation whose path and hosts are fitted to the capture.
//!
//! Rule: for a file that is cut or damaged, the answer is partial and has a warning. Nothing here
//! prints, because both the command `fullpipe why` and the Python package use the results.
//!
//! | content | module |
//! | --- | --- |
//! | a capture read into a collection | `reading` |
//! | the collection, with the whole result of one connection | `connections` |
//! | the collection and one connection as tables | `tables` |
//! | a failed connection in words | `failures` |
//! | the twin of one connection, with its verdict | `twin` |
//! | one connection, presented on a page like the run of an experiment | `run_facts` |
#![forbid(unsafe_code)]

mod connections;
mod failures;
mod reading;
mod run_facts;
mod tables;
mod twin;

pub use connections::{Apart, ApartBy, Connections, Row};
pub use failures::{FailureWords, failure_words};
pub use reading::{Capture, Opened, read};
pub use run_facts::{limit_words, run_facts};
pub use tables::{accounts, connection_tables, connections, ending_name};
pub use twin::{TwinAnswer, twin};
