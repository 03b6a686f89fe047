//! The C interface of fullpipe: `fullpipe.h`, `libfullpipe.a` and `libfullpipe.so`.
//!
//! Rule: a wrong argument that this crate can detect causes an error, not undefined behaviour. Every
//! function checks its pointers for null and alignment, its handles against a table, its lengths,
//! and that no other call on the same stack is in progress. If a check fails, the function returns a
//! negative error number.
//!
//! The functions translate between C and the crate `fullpipe`, and contain no rules of protocols.
//! All memory of a stack lies in the arena that the caller passes to `fp_init` (`heap`, `allocator`).
#![cfg_attr(not(feature = "std"), no_std)]
// The safety conditions of each function are in fullpipe.h, for its readers in C.
#![allow(
    clippy::missing_safety_doc,
    reason = "the sections of fullpipe.h on arguments and threads hold for each function"
)]

extern crate alloc;

mod address;
mod allocator;
mod arena;
mod config;
mod device;
mod enter;
mod errno;
mod heap;
mod host;
mod limits;
#[cfg(not(any(feature = "std", test)))]
mod panic;
mod sockets;
mod stack;
mod tcp_info;
mod text;
