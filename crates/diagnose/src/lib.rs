//! From what was observed of a transfer to facts about it.
//!
//! [`facts`] is the model that everything else is drawn from: a run, its rows,
//! their connections, and for each end of a connection its segments and series
//! in columns. [`facts::Assembly`] makes it from the trace of a stack.
//!
//! Rule: facts are what was observed. Nothing is drawn, judged or rounded here,
//! and no fact knows where it will be shown.
#![forbid(unsafe_code)]

pub mod facts;
