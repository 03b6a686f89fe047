//! Names: a DNS stub resolver and Happy Eyeballs, without I/O. RFC 1035, RFC 2308, RFC 8305.
//!
//! Rule: nothing here does I/O or reads a clock. The program sends what [`Resolver`] returns, passes
//! answers and the time to it, and opens and aborts the connections that [`Connector`] names. The
//! unpredictable ids of queries derive from a secret, which is an argument.
//!
//! A program repeats: [`Resolver::on_datagram`] for each answer, [`Resolver::on_timeout`],
//! [`Resolver::poll_transmit`] until it returns `None`, [`Resolver::poll_answer`] likewise, closes
//! the sockets for which [`Resolver::is_open`] is false, and then waits until
//! [`Resolver::next_timeout`].
//!
//! ```
//! use fullpipe::Instant;
//! use fullpipe_dns::{Family, Resolver, Settings};
//!
//! // The secret must come from the system's generator: other hosts must not guess the ids of queries.
//! let mut resolver = Resolver::new(Settings::default(), [7; 16]);
//! resolver.set_servers(["192.0.2.53:53".parse()?]);
//! resolver.query(&"www.example.com".parse()?, Family::V6, Instant::ZERO)?;
//! let query = resolver.poll_transmit().expect("a query for the server");
//! assert_eq!(query.server, "192.0.2.53:53".parse()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Names`] does all this over the sockets of a [`Stack`](fullpipe::Stack): lookups, and connections
//! to names.
//!
//! The resolver asks recursive servers. It does not validate DNSSEC, has no search domains, reads no
//! hosts file, and does not encrypt its queries.
#![forbid(unsafe_code)]

mod answer;
mod cache;
mod connector;
mod error;
mod message;
mod name;
mod names;
mod order;
mod resolver;
mod sockets;

pub use answer::{Answer, Family};
pub use connector::{Action, Connector};
pub use error::{LookupError, NameError};
pub use message::Rejection;
pub use name::DnsName;
pub use names::{Finish, Names, RaceError, RaceId};
pub use order::by_preference;
pub use resolver::{AttemptId, QueryId, Resolver, ResolverCounters, Settings, Transmit, Transport};

/// Compiles the examples of the package's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
