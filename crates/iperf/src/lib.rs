//! iperf 2 for programs without threads: the wire format, and testers that are polled.
//!
//! Rule: no call blocks, allocates or reads a clock. [`header`] and [`tally`] are the wire format
//! and the counts, which `fullpipe-perf` uses too. A [`Tester`] is one client or one server over a
//! [`Stack`]: the program calls [`Tester::poll`] after each turn of its loop over stack and device,
//! and prints the [`Report`] of each test that ends.
//!
//! ```
//! use fullpipe::{Instant, Stack};
//! use fullpipe_iperf::{Event, TcpServer, Tester};
//!
//! fn after_each_turn(server: &mut TcpServer, stack: &mut Stack, now: Instant) {
//!     while let Event::Ended(report) = server.poll(stack, now) {
//!         println!("{report}");
//!     }
//! }
//! ```
//!
//! The testers implement neither dual tests nor reversed UDP tests. `fullpipe-perf` has reversed
//! UDP tests.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod amount;
mod failure;
pub mod header;
mod report;
pub mod tally;
mod tcp;
mod tester;
mod udp;

#[cfg(test)]
mod tests;

pub use amount::{Amount, DEFAULT_PORT, Rate, UDP_LENGTH, UDP_RATE};
pub use failure::Failure;
pub use report::{Limits, Report, TestKind};
pub use tcp::{TcpClient, TcpServer};
pub use tester::{Event, TestPlan, Tester};
pub use udp::{UdpClient, UdpServer};

#[cfg(doc)]
use fullpipe::Stack;
