//! One TCP connection: RFC 9293, and what has become part of it since.
//!
//! The one rule: time, memory and chance are arguments. A [`Connection`] knows
//! no address, no device and no clock; it is told what happened (`on_…`), asked
//! what should leave (`poll_segment`) and when to wake it (`next_timeout`).
//!
//! The folder is the table of contents: `connection` composes the two halves
//! `send` and `receive` with `recovery`, `congestion` and `options`; `limit`
//! says what holds the connection back.
//!
//! # The three verbs
//!
//! | verb | call | what it may do |
//! | --- | --- | --- |
//! | something happened | [`Connection::on_segment`], [`Connection::on_timeout`], [`Connection::on_icmp`], the application's calls | change state, never reply |
//! | what should leave | [`Connection::poll_segment`], until it says `None` | make a segment: the only place that does |
//! | when to wake | [`Connection::next_timeout`] | nothing |
//!
//! Everything else a call needs is in its [`Env`]: the time, packet memory, the
//! knobs ([`TcpConfig`]), counters, the [`Trace`].
//!
//! # What holds it back
//!
//! Inside `poll_segment` the bounds on what may be sent are weighed by
//! [`limit::tightest`]; the name of the one that won is the [`Limit`], and the
//! [`LimitClock`] is always in exactly one. [`Connection::info`] has the times,
//! which add up to the connection's age, beside every variable of the RFCs.
//!
//! # A life
//!
//! [`Connection::connect`] opens one; a listener keeps a [`HalfOpen`], which
//! holds no memory, until the handshake is complete and [`Connection::accepted`]
//! makes one of it. What is left at the end is a [`TimeWait`]. The transitions
//! are a table, [`TcpState::next`].
//!
//! What is not here: addresses, ports, listeners, checksums and headers, which
//! are `fullpipe`'s and `fullpipe-wire`'s.
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
mod fit;
pub mod limit;
pub mod options;
mod receive;
mod recovery;
mod segment;
mod send;
mod seq;
pub mod trace;
mod tuned;

pub use config::{EcnMode, MtuProbing, SegmentSizing, TcpConfig};
pub use congestion::CongestionAlgorithm;
pub use connection::{
    ActiveOpen, Connection, Env, Events, HalfOpen, IcmpError, IllegalTransition, Info, Read, Ready,
    SocketOption, TcpState, TimeWait, Trigger, Tuning,
};
pub use counters::{DiscardReason, Discards, TcpCounters};
pub use error::{CloseReason, ConnectionError};
pub use limit::{Allowance, Limit, LimitClock, ReceiveClock, ReceiveLimit};
pub use options::{Agreed, DEFAULT_MSS};
pub use recovery::{RecoveryPhase, SentArena};
pub use segment::{Segment, SegmentOut};
pub use seq::SeqNum;
pub use trace::Trace;
