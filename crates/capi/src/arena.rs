//! The memory of a stack: the sizes of its parts.
//!
//! Rule: the sizes follow from the configuration, so a caller can reserve an arena before there is a
//! stack.

use fullpipe::Config;

use crate::{enter::FpStack, heap::UNIT, sockets::table::SocketTable};

/// Alignment of an arena in bytes.
pub const FP_ARENA_ALIGN: usize = 16;

const _: () = assert!(align_of::<FpStack>() <= FP_ARENA_ALIGN && UNIT <= FP_ARENA_ALIGN);

/// Bytes at the start of an arena for the stack itself.
pub(crate) const HEAD: usize = size_of::<FpStack>().next_multiple_of(FP_ARENA_ALIGN);

/// Spare bytes: sizes of allocations are rounded up, and short texts are allocated while a stack is
/// built.
pub(crate) const SPARE: u64 = 4 * 1024;

/// Returns the bytes that an arena needs.
pub(crate) fn needed(config: &Config) -> u64 {
    let sockets = SocketTable::bytes(config);
    HEAD as u64 + config.memory_needed() + sockets + SPARE
}
