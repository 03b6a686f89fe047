//! One TCP connection: RFC 9293, and what has become part of it since.
//!
//! The one rule: time, memory and chance are arguments. A [`Connection`] knows
//! no address, no device and no clock; it is told what happened (`on_…`), asked
//! what should leave (`poll_segment`) and when to wake it (`next_timeout`).
//!
//! The folder is the table of contents: `connection` composes the two halves
//! `send` and `receive` with `recovery`, `congestion` and `options`; `limit`
//! says what holds the connection back.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod config;
pub mod congestion;
mod connection;
mod counters;
mod error;
pub mod limit;
pub mod options;
mod receive;
mod recovery;
mod segment;
mod send;
mod seq;
pub mod trace;

pub use config::{CongestionAlgorithm, TcpConfig};
pub use connection::{
    ActiveOpen, Connection, Env, Events, HalfOpen, IcmpError, IllegalTransition, Info, Read, Ready,
    SocketOption, State, TimeWait, Trigger, Tuning,
};
pub use counters::{DiscardReason, Discards, TcpCounters};
pub use error::{CloseReason, TcpError};
pub use limit::{Allowance, Limit, LimitClock, ReceiveClock, ReceiveLimit};
pub use recovery::Phase as RecoveryPhase;
pub use segment::{Segment, SegmentOut};
pub use seq::SeqNum;
pub use trace::Trace;
