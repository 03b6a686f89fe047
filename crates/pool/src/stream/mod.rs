//! A window of a byte stream, stored in blocks on a fixed grid.
//!
//! The one rule: a block of the grid begins at each multiple of `block_size`, and the chain has
//! exactly the blocks that `start..end` touches. An empty stream has none. Each byte therefore has
//! one place in any order of arrival, and reassembly moves nothing.
//!
//! A stream does not know which bytes have arrived: a [`Ranges`](crate::Ranges) records that. A
//! stream does not release itself when dropped, because the pool is an argument: call
//! [`Stream::release`].

mod append;
mod cell;
mod chain;
mod cursor;
mod reserve;
mod slices;
#[cfg(test)]
mod tests;
mod window;

pub use reserve::NoBlock;
pub use slices::Slices;
pub use window::Stream;
