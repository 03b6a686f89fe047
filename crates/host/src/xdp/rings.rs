//! The memory of an `AF_XDP` socket: chunks that each hold a frame, and four rings by which
//! this process and the kernel pass chunks to each other.
//!
//! Rule: a chunk is used for one direction only, and belongs to this process or to the kernel,
//! never to both. Nothing here makes a system call after construction.

use std::{
    io, mem,
    os::fd::{AsFd as _, AsRawFd, OwnedFd},
    sync::atomic::Ordering,
};

use fullpipe::device::TxChecksum;

use crate::{errno::check, mapping::Mapping, packet::socket::set_at};

/// Number of chunks for received frames, a power of two.
const RECEIVED: usize = 2_048;
/// Number of chunks for frames to send, a power of two.
const SENT: usize = 1_024;
/// Bytes of a chunk that the kernel leaves free before a received frame.
const HEADROOM: usize = 256;
/// Length of the metadata before a frame to send, in bytes. The metadata tells the kernel what to
/// do with the frame (`struct xsk_tx_metadata`).
const METADATA: usize = 16;
/// Sizes that a chunk may have.
const CHUNKS: [usize; 2] = [2_048, 4_096];

/// Largest frame that a chunk holds, in bytes.
pub(super) const FRAME_MAX: usize = CHUNKS[1] - HEADROOM;

/// Returns the smallest chunk size for frames of `frame_max` bytes; `None` if the frames fit in no
/// chunk.
pub(super) fn chunk_for(frame_max: usize) -> Option<usize> {
    CHUNKS
        .into_iter()
        .find(|chunk| frame_max + HEADROOM <= *chunk)
}

/// A ring whose entries have `WORDS` words of four bytes.
#[derive(Debug)]
struct Ring<const WORDS: usize> {
    memory: Mapping,
    offsets: libc::xdp_ring_offset,
    len: u32,
    /// Number of the next entry that this process reads or writes.
    position: u32,
}

impl<const WORDS: usize> Ring<WORDS> {
    fn new(
        socket: &OwnedFd,
        (option, page): (libc::c_int, u64),
        len: usize,
        offsets: libc::xdp_ring_offset,
    ) -> io::Result<Self> {
        let size = offsets.desc as usize + len * 4 * WORDS;
        set_at(socket, libc::SOL_XDP, option, &(len as libc::c_int))?;
        Ok(Self {
            memory: Mapping::of_socket(socket.as_fd(), size, page as libc::off_t)?,
            offsets,
            len: len as u32,
            position: 0,
        })
    }

    fn entry(&self, position: u32) -> usize {
        self.offsets.desc as usize + (position & (self.len - 1)) as usize * 4 * WORDS
    }

    /// Number of entries that the kernel has produced and this process has not yet taken.
    fn waiting(&self) -> u32 {
        let produced = self.memory.word(self.offsets.producer as usize);
        produced.load(Ordering::Acquire).wrapping_sub(self.position)
    }

    /// Reads the next entry. The kernel may overwrite it after [`took`](Self::took).
    fn front(&self) -> [u32; WORDS] {
        let at = self.entry(self.position);
        let word = |number| self.memory.word(at + 4 * number).load(Ordering::Relaxed);
        std::array::from_fn(word)
    }

    fn took(&mut self) {
        self.position = self.position.wrapping_add(1);
        let consumed = self.memory.word(self.offsets.consumer as usize);
        consumed.store(self.position, Ordering::Release);
    }

    /// Number of entries that this process has produced and the kernel has not yet taken.
    fn unconsumed(&self) -> u32 {
        let consumed = self.memory.word(self.offsets.consumer as usize);
        self.position.wrapping_sub(consumed.load(Ordering::Acquire))
    }

    /// Gives the kernel an entry. The caller ensures that there is room.
    fn give(&mut self, entry: [u32; WORDS]) {
        let at = self.entry(self.position);
        for (number, word) in entry.into_iter().enumerate() {
            let slot = self.memory.word(at + 4 * number);
            slot.store(word, Ordering::Relaxed);
        }
        self.position = self.position.wrapping_add(1);
        let produced = self.memory.word(self.offsets.producer as usize);
        produced.store(self.position, Ordering::Release);
    }
}

/// Returns an offset in the chunks as the first two words of an entry.
const fn words(offset: usize) -> [u32; 2] {
    let offset = (offset as u64).to_ne_bytes();
    let [a, b, c, d, e, f, g, h] = offset;
    [
        u32::from_ne_bytes([a, b, c, d]),
        u32::from_ne_bytes([e, f, g, h]),
    ]
}

/// Returns the offset in the chunks that an entry's first two words contain.
const fn offset([first, second]: [u32; 2]) -> usize {
    let ([a, b, c, d], [e, f, g, h]) = (first.to_ne_bytes(), second.to_ne_bytes());
    u64::from_ne_bytes([a, b, c, d, e, f, g, h]) as usize
}

/// The rings and chunks of received frames.
#[derive(Debug)]
pub(super) struct Receiver {
    received: Ring<4>,
    fill: Ring<2>,
    chunks: Mapping,
}

impl Receiver {
    /// Copies the next frame to `buffer`. A frame that is longer than `buffer` is cut. Returns the
    /// number of bytes copied; `None` if no frame waits.
    pub(super) fn take(&mut self, buffer: &mut [u8]) -> Option<usize> {
        if self.received.waiting() == 0 {
            return None;
        }
        let [first, second, len, _] = self.received.front();
        let at = [first, second];
        let len = (len as usize).min(buffer.len());
        self.chunks.read(offset(at), &mut buffer[..len]);
        self.received.took();
        // There is room: the ring has an entry for each chunk of this direction.
        self.fill.give(at);
        Some(len)
    }
}

/// The rings and chunks of frames to send.
#[derive(Debug)]
pub(super) struct Sender {
    sent: Ring<4>,
    completed: Ring<2>,
    chunks: Mapping,
    chunk: usize,
    /// Offset of the first chunk of this direction.
    first: usize,
    /// Offsets of chunks without a frame.
    free: Vec<usize>,
    /// True if the kernel reads metadata before a frame.
    has_metadata: bool,
}

impl Sender {
    /// Takes a copy of `frame` to send. Returns false if no chunk is free. `checksum` is
    /// complete unless the kernel [completes checksums](Self::completes_checksums).
    pub(super) fn put(&mut self, frame: &[u8], checksum: TxChecksum) -> bool {
        while self.completed.waiting() > 0 {
            let at = offset(self.completed.front());
            self.free.push(at - at % self.chunk);
            self.completed.took();
        }
        let Some(at) = self.free.pop() else {
            return false;
        };
        // The kernel needs room for metadata before each frame, even if the frame has no metadata.
        let at = if self.has_metadata { at + METADATA } else { at };
        let options = match checksum {
            TxChecksum::Partial { start, offset } if self.has_metadata => {
                let metadata = metadata(start, offset);
                self.chunks.write(at - METADATA - self.first, &metadata);
                libc::XDP_TX_METADATA
            }
            TxChecksum::Partial { .. } | TxChecksum::Complete => 0,
        };
        let len = frame.len().min(self.chunk - METADATA);
        self.chunks.write(at - self.first, &frame[..len]);
        let [first, second] = words(at);
        // There is room: the ring has an entry for each chunk of this direction.
        self.sent.give([first, second, len as u32, options]);
        true
    }

    /// Returns true if the kernel completes checksums.
    pub(super) fn completes_checksums(&self) -> bool {
        self.has_metadata
    }

    /// Frames that the kernel has not taken.
    pub(super) fn waiting(&self) -> u32 {
        self.sent.unconsumed()
    }
}

/// Returns metadata that asks the kernel to sum the frame from `start` on and to write the sum
/// `offset` bytes later.
fn metadata(start: u16, offset: u16) -> [u8; METADATA] {
    let mut metadata = [0; METADATA];
    metadata[..8].copy_from_slice(&u64::from(libc::XDP_TXMD_FLAGS_CHECKSUM).to_ne_bytes());
    metadata[8..10].copy_from_slice(&start.to_ne_bytes());
    metadata[10..12].copy_from_slice(&offset.to_ne_bytes());
    metadata
}

/// Registers `chunks` as the memory of `socket`. Returns true if the kernel reads metadata, which
/// Linux does since 6.11.
fn register(socket: &OwnedFd, chunks: &Mapping, chunk: usize) -> io::Result<bool> {
    let mut wanted = libc::xdp_umem_reg {
        addr: chunks.address(),
        len: ((RECEIVED + SENT) * chunk) as u64,
        chunk_size: chunk as u32,
        headroom: 0,
        flags: libc::XDP_UMEM_TX_METADATA_LEN,
        tx_metadata_len: METADATA as u32,
    };
    match set_at(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &wanted) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
        done => return done.map(|()| true),
    }
    (wanted.flags, wanted.tx_metadata_len) = (0, 0);
    set_at(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &wanted).map(|()| false)
}

/// Gives `socket` its memory, in chunks of `chunk` bytes. `outlet` is the socket that sends.
pub(super) fn set_up(
    socket: &OwnedFd,
    outlet: &OwnedFd,
    chunk: usize,
) -> io::Result<(Receiver, Sender)> {
    let chunks = Mapping::anonymous((RECEIVED + SENT) * chunk)?;
    let has_metadata = register(socket, &chunks, chunk)?;
    let offsets = offsets(socket)?;
    let fill = (libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_PGOFF_FILL_RING);
    let completion = (
        libc::XDP_UMEM_COMPLETION_RING,
        libc::XDP_UMEM_PGOFF_COMPLETION_RING,
    );
    let receive = (libc::XDP_RX_RING, libc::XDP_PGOFF_RX_RING as u64);
    let send = (libc::XDP_TX_RING, libc::XDP_PGOFF_TX_RING as u64);
    let first = RECEIVED * chunk;
    let (incoming, outgoing) = chunks.split(first);
    let mut receiver = Receiver {
        fill: Ring::new(socket, fill, RECEIVED, offsets.fr)?,
        received: Ring::new(socket, receive, RECEIVED, offsets.rx)?,
        chunks: incoming,
    };
    for number in 0..RECEIVED {
        receiver.fill.give(words(number * chunk));
    }
    let sender = Sender {
        completed: Ring::new(socket, completion, SENT, offsets.cr)?,
        sent: Ring::new(outlet, send, SENT, offsets.tx)?,
        chunks: outgoing,
        chunk,
        first,
        has_metadata,
        free: (RECEIVED..RECEIVED + SENT)
            .map(|number| number * chunk)
            .collect(),
    };
    Ok((receiver, sender))
}

/// The kernel's offsets in the memory of each ring.
fn offsets(socket: &OwnedFd) -> io::Result<libc::xdp_mmap_offsets> {
    // SAFETY: the structure consists of integers, for which zero is a value.
    let mut offsets: libc::xdp_mmap_offsets = unsafe { mem::zeroed() };
    let mut len = size_of_val(&offsets) as libc::socklen_t;
    let (at, len_at) = ((&raw mut offsets).cast(), &raw mut len);
    let (fd, option) = (socket.as_raw_fd(), libc::XDP_MMAP_OFFSETS);
    // SAFETY: the kernel writes at most `len` bytes, the size of `offsets`, which outlives
    // the call.
    check(unsafe { libc::getsockopt(fd, libc::SOL_XDP, option, at, len_at) })?;
    Ok(offsets)
}
