//! fullpipe on a Cortex-M3: start-up code, board, Ethernet driver, allocator and turn loop.
//!
//! Rule: one thread runs with interrupts masked; waiting is one instruction, and a pending
//! interrupt ends it. Each file is one part of a port, and `docs/porting.md` says which parts a
//! port to another board must replace: `start`, `board`, and the driver.
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
