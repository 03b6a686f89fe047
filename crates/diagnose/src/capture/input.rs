//! Bytes of a capture: plain, gzip or zstd, recognised by their first bytes.
//!
//! Rule: memory does not depend on lengths in the data. The buffer has one size, and the window
//! of a zstd frame is at most [`ZSTD_WINDOW_MAX`].

use std::{
    io::{self, BufReader, Cursor, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{
    BlockDecodingStrategy::UptoBlocks,
    FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

/// Bytes of the buffer.
const BUFFER: usize = 2 << 20;
/// Largest number of bytes that [`Input::need`] can make ready at once.
pub(super) const NEED_MAX: usize = BUFFER / 2;
/// Largest number of bytes of a single read. The bytes of a read should stay in the processor's
/// cache until they are parsed.
const READ_MAX: usize = 256 << 10;
/// Largest window of a zstd frame, as in the program `zstd` without `--long`.
const ZSTD_WINDOW_MAX: u64 = 128 << 20;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Bytes of the longest magic number.
const MAGIC: usize = 4;

/// Number of bytes read from a file so far; another thread may read it.
#[derive(Clone, Debug, Default)]
pub struct BytesRead(Arc<AtomicU64>);

impl BytesRead {
    /// Bytes read so far. For a compressed file, these are compressed bytes.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A source that counts its bytes.
struct Counted<R> {
    source: R,
    count: BytesRead,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.count.0.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The decompressed bytes of a capture, in one buffer.
pub(super) struct Input {
    source: Box<dyn Read + Send>,
    buffer: Box<[u8]>,
    /// Begin of the bytes in `buffer` that are read and not yet consumed.
    start: usize,
    /// End of the bytes in `buffer` that are read and not yet consumed.
    end: usize,
    /// Decompressed bytes consumed so far.
    offset: u64,
    /// True if the source has no more bytes.
    is_drained: bool,
}

impl Input {
    /// Wraps `source`, and decompresses it if its first bytes are those of gzip or zstd.
    pub(super) fn new(source: impl Read + Send + 'static, count: BytesRead) -> io::Result<Self> {
        let mut source = Counted { source, count };
        let mut magic = Vec::with_capacity(MAGIC);
        source.by_ref().take(MAGIC as u64).read_to_end(&mut magic)?;
        let is_gzip = magic.starts_with(&GZIP);
        let is_zstd = magic.starts_with(&ZSTD);
        let whole = Cursor::new(magic).chain(source);
        let source: Box<dyn Read + Send> = if is_gzip {
            let compressed = BufReader::with_capacity(READ_MAX, whole);
            Box::new(MultiGzDecoder::new(compressed))
        } else if is_zstd {
            Box::new(Zstd::new(BufReader::with_capacity(READ_MAX, whole)))
        } else {
            Box::new(whole)
        };
        Ok(Self {
            source,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
            offset: 0,
            is_drained: false,
        })
    }

    /// Decompressed bytes consumed so far.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes that are in the buffer and not yet consumed.
    pub(super) fn ready(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Makes `len` bytes ready, or all bytes that remain. Returns true if `len` bytes are
    /// ready.
    ///
    /// # Panics
    /// Panics if `len` exceeds [`NEED_MAX`].
    pub(super) fn need(&mut self, len: usize) -> io::Result<bool> {
        assert!(len <= NEED_MAX, "the caller has checked the length");
        if self.end - self.start >= len {
            return Ok(true);
        }
        self.fill(len)
    }

    #[cold]
    fn fill(&mut self, len: usize) -> io::Result<bool> {
        // Move the unread bytes to the front. They fill less than half of the buffer (`NEED_MAX`),
        // so every read has room for many frames.
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end - self.start < len && !self.is_drained {
            let room_end = self.buffer.len().min(self.end + READ_MAX);
            match self.source.read(&mut self.buffer[self.end..room_end]) {
                Ok(0) => self.is_drained = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_drained = true;
                    return Err(error);
                }
            }
        }
        Ok(self.end - self.start >= len)
    }

    /// Consumes `len` of the bytes that are ready.
    ///
    /// # Panics
    /// Panics if fewer than `len` bytes are ready.
    pub(super) fn consume(&mut self, len: usize) {
        assert!(
            len <= self.end - self.start,
            "only ready bytes are consumed"
        );
        self.start += len;
        self.offset += len as u64;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Consumes `len` bytes, which need not all be in the buffer at one time. Returns true if the
    /// source had `len` bytes.
    pub(super) fn skip(&mut self, mut len: u64) -> io::Result<bool> {
        while len > 0 {
            if self.start == self.end && !self.need(1)? {
                return Ok(false);
            }
            let some = len.min((self.end - self.start) as u64);
            self.consume(some as usize);
            len -= some;
        }
        Ok(true)
    }
}

/// The frames of a zstd file, one after another.
struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    is_inside: bool,
    /// The decoding error, which is returned after all bytes that were decoded before the error.
    failed: Option<io::Error>,
}

impl<R: io::BufRead> Zstd<R> {
    fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(ZSTD_WINDOW_MAX);
        Self {
            source,
            decoder,
            is_inside: false,
            failed: None,
        }
    }

    /// Begins the next frame. Returns false at the end of the source.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.is_inside = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.source.by_ref().take(length.into());
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(self.failure(error)),
            }
        }
    }

    /// Decodes until there are bytes to return or the frame has ended.
    fn decode(&mut self) {
        // An empty last block, followed by room for a checksum.
        const LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            let decoded = self.decoder.decode_blocks(&mut self.source, UptoBlocks(1));
            if let Err(error) = decoded {
                self.failed = Some(self.failure(error));
                // End the frame with an empty last block, because the decoder returns its last
                // window of bytes only at the end of a frame.
                if self
                    .decoder
                    .decode_blocks(&LAST_BLOCK[..], UptoBlocks(1))
                    .is_err()
                {
                    return;
                }
            }
        }
    }

    /// Returns `UnexpectedEof` if the whole source was read (the file is cut), otherwise
    /// `InvalidData` (the file is damaged).
    fn failure(&mut self, error: FrameDecoderError) -> io::Error {
        let is_at_end = self.source.fill_buf().is_ok_and(<[u8]>::is_empty);
        let kind = match is_at_end {
            true => io::ErrorKind::UnexpectedEof,
            false => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}

impl<R: io::BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_inside && !self.begin()? {
                return Ok(0);
            }
            self.decode();
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if let Some(failed) = self.failed.take() {
                return Err(failed);
            }
            self.is_inside = !self.decoder.is_finished();
        }
    }
}
