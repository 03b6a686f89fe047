//! Packet memory, time and random numbers, which every layer takes as arguments.
//!
//! The one rule: [`Pool::new`] allocates everything. From then on, bytes only move between a free
//! list and named holders (kinds of buffers), and the memory promised to peers never exceeds the
//! pool, unless `pool.overcommit_percent` allows more.
//!
//! This crate contains no protocol, reads no clock and draws no entropy.
//!
//! ```
//! use fullpipe_pool::{Holder, Pool, PoolConfig, Stream};
//!
//! let sizes = PoolConfig { blocks: 36, block_size: 196, ..PoolConfig::default() };
//! let mut pool = Pool::new(&sizes);
//! let mut receive = Stream::new(Holder::Receive);
//! let window_end = receive.reserve(&mut pool, 1_000); // what may be advertised
//! assert_eq!(window_end, 1_000);
//! receive.write_at(&mut pool, 500, b"second").unwrap(); // out of order, in its final place
//! receive.write_at(&mut pool, 494, b"first ").unwrap();
//! let mut bytes = [0; 12];
//! receive.read_at(&pool, 494, &mut bytes);
//! assert_eq!(&bytes, b"first second");
//! receive.release(&mut pool);
//! assert_eq!(pool.free_blocks(), 36);
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod counters;
mod index;
pub mod knobs;
mod pool;
mod ranges;
pub mod record;
mod rng;
pub mod splay;
mod stream;
mod time;

pub use config::PoolConfig;
pub use counters::Count;
pub use pool::{Holder, Pool, Pressure};
pub use ranges::{Inserted, RangeIter, Ranges, RangesFull};
pub use rng::Rng;
pub use stream::{NoBlock, Slices, Stream};
pub use time::{Duration, Instant, ParseDurationError};
