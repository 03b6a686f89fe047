//! The C interface of fullpipe: `fullpipe.h`, `libfullpipe.a` and `libfullpipe.so`.
//!
//! Rule: no argument of a caller causes undefined behaviour that this crate could detect. Every
//! function checks its pointers for null and alignment, its handles against a table with
//! generations, its lengths, and that no other call on the same stack is in progress; it returns
//! a negative error number otherwise.
//!
//! The functions translate between C and the crate `fullpipe` and decide nothing about packets. All
//! memory of a stack lies in the arena that the caller passes to `fp_init` (`heap`, `allocator`).
#![cfg_attr(not(feature = "std"), no_std)]
// The safety conditions of each function are in fullpipe.h, for its readers in C.
#![allow(
    clippy::missing_safety_doc,
    reason = "the sections of fullpipe.h on arguments and threads hold for each function"
)]

extern crate alloc;

mod address;
mod allocator;
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
