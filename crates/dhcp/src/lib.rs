//! A DHCPv4 client without I/O. RFC 2131, with the check for address conflicts of RFC 5227.
//!
//! Rule: the client does no I/O. The program passes Ethernet frames and the time to it, sends the
//! frames that the client returns, and changes the host's addresses when an [`Event`] says so. The
//! randomness comes from a seed. The client reads and writes whole frames because a host that has
//! no address cannot use its own IP layer.
//!
//! A program repeats: [`Client::on_frame`] for each received frame, [`Client::on_timeout`],
//! [`Client::poll_frame`] until it returns `None`, [`Client::poll_event`] likewise, and then waits
//! until [`Client::next_timeout`].
//!
//! ```
//! use fullpipe::{Instant, MacAddress, Rng};
//! use fullpipe_dhcp::{Client, Settings};
//!
//! let settings = Settings::new(MacAddress([2, 0, 0, 0, 0, 1]));
//! // The seed must come from the system's generator: other hosts must not guess transaction ids.
//! let mut client = Client::new(settings, Rng::seeded(7), Instant::ZERO);
//! client.on_timeout(Instant::ZERO);
//! let discover = client.poll_frame().expect("the first DHCPDISCOVER");
//! assert!(discover.len() > 300);
//! ```
//!
//! The client does not support DHCPINFORM, options in other fields (option 52), long options (RFC
//! 3396) or authentication (RFC 3118).
#![forbid(unsafe_code)]

mod client;
mod frame;
mod lease;
mod message;
mod options;
mod retry;

pub use client::{Client, ClientCounters, Event, Loss, Settings};
pub use lease::Lease;

/// Compiles the examples of the package's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
