//! Memory that this process and the kernel both read and write: rings of frames.
//!
//! Rule: each access is checked against the length. The two sides pass frames to
//! each other with words that are read and written atomically. This file does not depend on the
//! layout of a ring.

use std::{
    io, mem,
    os::fd::{AsRawFd, BorrowedFd},
    ptr::{self, NonNull},
    sync::atomic::AtomicU32,
};

/// A range of memory, unmapped when it is dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: in this process only this value refers to the memory, and the memory is not bound to a
// thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `len` bytes of the memory that `socket` offers at `offset`.
    pub(crate) fn of_socket(
        socket: BorrowedFd<'_>,
        len: usize,
        offset: libc::off_t,
    ) -> io::Result<Self> {
        let kind = libc::MAP_SHARED | libc::MAP_POPULATE;
        Self::map(len, kind, socket.as_raw_fd(), offset)
    }

    /// Maps `len` bytes of new memory, which are zero.
    pub(crate) fn anonymous(len: usize) -> io::Result<Self> {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        Self::map(len, kind, -1, 0)
    }

    fn map(
        len: usize,
        kind: libc::c_int,
        fd: libc::c_int,
        offset: libc::off_t,
    ) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the address, so no memory in use is replaced.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, access, kind, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, len })
    }

    /// Divides the memory at `offset`, a multiple of the page size.
    pub(crate) fn split(self, offset: usize) -> (Self, Self) {
        let middle = NonNull::new(self.at(offset, 0)).expect("mapped memory is not at zero");
        let (start, len) = (self.start, self.len);
        mem::forget(self); // each part unmaps its own pages
        let first = Self { start, len: offset };
        let second = Self {
            start: middle,
            len: len - offset,
        };
        (first, second)
    }

    /// Address of the first byte, for the kernel.
    pub(crate) fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// Pointer to `len` bytes at `offset`.
    ///
    /// # Panics
    /// Panics if these bytes are not all inside the memory.
    fn at(&self, offset: usize, len: usize) -> *mut u8 {
        let end = offset.checked_add(len);
        assert!(end.is_some_and(|end| end <= self.len), "outside the memory");
        // SAFETY: the offset has just been checked.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// The word at `offset`, which is a multiple of 4.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4), "a word is aligned");
        // SAFETY: the range is inside, aligned, and mapped while `self` lives; both sides
        // access the word atomically.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }
    }

    /// Copies the bytes at `offset` to `target`. The other side must not write them during this
    /// call.
    pub(crate) fn read(&self, offset: usize, target: &mut [u8]) {
        let source = self.at(offset, target.len());
        // SAFETY: both ranges have the length of `target`. They do not overlap, because this
        // process has no slice of the mapping.
        unsafe { ptr::copy_nonoverlapping(source, target.as_mut_ptr(), target.len()) };
    }

    /// Copies `source` to `offset`. The other side must not access these bytes during this call.
    pub(crate) fn write(&mut self, offset: usize, source: &[u8]) {
        let target = self.at(offset, source.len());
        // SAFETY: both ranges have the length of `source`. They do not overlap, because this
        // process has no slice of the mapping.
        unsafe { ptr::copy_nonoverlapping(source.as_ptr(), target, source.len()) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `map`, and no reference into it is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
