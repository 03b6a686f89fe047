//! One TCP connection: RFC 9293 and its successors.
//!
//! Rule: time, memory and random numbers are arguments. A [`Connection`] has
//! no address, no device and no clock. Its owner reports events (`on_…`), takes
//! the segments to send (`poll_segment`) and learns when to call again
//! (`next_timeout`).
//!
//! The folders follow the RFCs: `connection` composes `send` and `receive`, the two
//! directions, with `recovery`, `congestion` and `options`. `limit` defines the bounds
//! that can stop a sender, and the clocks that charge time to them.
//!
//! # Calls
//!
//! | purpose | call | effect |
//! | --- | --- | --- |
//! | report an event | [`Connection::on_segment`], [`Connection::on_timeout`], [`Connection::on_icmp`], the application's calls | changes state, sends nothing |
//! | take segments | [`Connection::poll_segment`], until it returns `None` | makes a segment; nothing else does |
//! | learn the next deadline | [`Connection::next_timeout`] | none |
//!
//! Everything else that a call needs is in its [`Env`]: the time, packet
//! memory, the knobs ([`TcpConfig`]), counters, the [`Trace`].
//!
//! # Limits
//!
//! Several bounds say how much may be sent. `poll_segment` calls [`limit::tightest`] to find the
//! tightest bound. The [`Limit`] is the name of that bound, and the [`LimitClock`] charges time to
//! exactly one limit at a time. [`Connection::info`] returns these times, which add up to the
//! connection's age, and the variables of the RFCs.
//!
//! # Lifetime
//!
//! [`Connection::connect`] opens a connection actively. A listener keeps a
//! [`HalfOpen`], which holds no packet memory, until the handshake is complete;
//! then [`Connection::from_half_open`] and [`Connection::accept`] make a
//! connection of it. After the end a [`TimeWait`] remains. The transitions are a
//! table, [`TcpState::next`].
//!
//! This crate does not contain addresses, ports and listeners (crate
//! `fullpipe`), or checksums and headers (crate `fullpipe-wire`).
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

pub use config::{EcnMode, MtuProbing, PushPolicy, SegmentSizing, TcpConfig};
pub use congestion::CongestionAlgorithm;
pub use connection::{
    ActiveOpen, Burst, Connection, Env, Events, HalfOpen, IcmpError, IllegalTransition, Info, Read,
    Ready, RecoveryState, SocketOption, TcpState, TimeWait, Trigger, Tuning, UsualNumbers,
};
pub use counters::{DiscardReason, Discards, TcpCounters};
pub use error::{CloseReason, ConnectionError, SettingError};
pub use limit::{Allowance, Limit, LimitClock, ReceiveClock, ReceiveLimit};
pub use options::{Agreed, DEFAULT_MSS};
pub use recovery::SentArena;
pub use segment::{Segment, SegmentOut};
pub use seq::SeqNum;
pub use trace::Trace;
