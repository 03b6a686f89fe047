//! fullpipe on a Cortex-M3: start-up code, board, Ethernet driver, allocator and turn loop.
//!
//! Rule: one thread runs with interrupts masked. It waits with one instruction, which a pending
//! interrupt ends. Each file is one part of a port. A port to another board must replace `start`,
//! `board` and the driver (`docs/porting.md`).
#![no_std]

extern crate alloc;

pub mod arena;
pub mod board;
pub mod command_line;
pub mod host;
pub mod http;
pub mod lan9118;
pub mod semihosting;
pub mod start;
