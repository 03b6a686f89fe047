//! The account of a connection (time and bytes by limit), inferred from the segments of a capture
//! at one point, the tap.
//!
//! [`ConnectionObserver`] takes the segments of one connection, in the order of the capture, and
//! returns [`ObservedConnection`]: the position of the capture, retransmissions by kind, episodes,
//! the path, and the sender's time divided among its limits.
//!
//! ```
//! use fullpipe_diagnose::{capture::{End, Segment}, observe::ConnectionObserver};
//! use fullpipe_wire::TcpFlags;
//!
//! let mut connection = ConnectionObserver::new();
//! let syn = Segment { flags: TcpFlags::SYN, ..Segment::EMPTY };
//! connection.on_segment(&syn);
//! let observed = connection.finish(1_000_000);
//! assert_eq!(observed.client, Some(End::A));
//! assert_eq!(observed.lifetime_ns, 1_000_000);
//! ```
//!
//! # Method
//!
//! | step | file |
//! | --- | --- |
//! | handshake: options, round trips on both sides of the tap | `handshake` |
//! | a capture without SYN: the same values from its first segments | `opening` |
//! | ranges in flight, retransmissions, reordering, losses before and after the tap | `scoreboard` |
//! | time at which the sender sent a segment and received an ACK | `sender_view` |
//! | the limit of each wait between two sends | `waits` |
//! | small writes that Nagle's algorithm joins | `joined` |
//! | the ends of writes that are longer than a segment | `write_ends` |
//! | the limits "send buffer" and "congestion window", distinguished by the bytes in flight | `rounds` |
//! | zero windows and window probes | `probes` |
//! | times, bytes and bands | `ledger` |
//! | a capture of one direction | `one_sided` |
//! | requests and answers | `turns` |
//!
//! Rule: memory is bounded for each connection. The rule of each file gives the largest size of its
//! tables and says what happens to further entries. A limit that the segments do not show is
//! `Unknown`.

mod connection;
mod direction;
mod end_name;
mod episodes;
mod failure;
mod handshake;
mod joined;
mod ledger;
mod log;
mod observed;
mod one_sided;
mod opening;
mod path;
mod pieces;
mod probes;
mod pushes;
mod round;
mod rounds;
mod scoreboard;
mod seen_limit;
mod sender_events;
mod sender_view;
mod sentences;
mod spacing;
mod turns;
mod waits;
mod write_ends;

#[cfg(test)]
mod tests;

pub use connection::ConnectionObserver;
pub use failure::ConnectionFailure;
pub use log::{Followed, Follower, Noted, NotedSack, SegmentLog};
pub use observed::{
    Band, DirectionSeen, EpisodeKind, Exchange, ObservedConnection, PathSeen, Retransmissions,
    RttSeen, SeenEpisode, Side, SmallWrites, Vantage, WindowScale, ZeroWindows,
};
pub use seen_limit::SeenLimit;
