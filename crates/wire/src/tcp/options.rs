//! TCP options: MSS, window scale, SACK-permitted, SACK, timestamps. RFC 9293 §3.2,
//! RFC 7323, RFC 2018.
//!
//! The one rule: parsing never rejects a segment. Unknown options are skipped. An option
//! whose length does not fit its kind is dropped, a length that runs past the header ends
//! the parsing, and both are reported. Written options are aligned and never exceed 40
//! bytes. Upper layers decide whether an option may appear in a segment and whether its
//! value makes sense.

use core::fmt;

use crate::error::WireError;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

const MSS_LEN: usize = 4;
const WINDOW_SCALE_LEN: usize = 3;
const SACK_PERMITTED_LEN: usize = 2;
const TIMESTAMPS_LEN: usize = 10;
/// First four bytes of options that consist of timestamps alone, aligned as in RFC 7323 appendix A.
const ALIGNED_TIMESTAMPS: [u8; 4] = [NO_OPERATION, NO_OPERATION, TIMESTAMPS, TIMESTAMPS_LEN as u8];
const ALIGNED_TIMESTAMPS_LEN: usize = ALIGNED_TIMESTAMPS.len() + 8;
/// Kind and length of a SACK option, before its blocks.
const SACK_HEAD_LEN: usize = 2;
/// Length of a SACK block.
const SACK_BLOCK_LEN: usize = 8;

/// A timestamps option: the sender's clock, and the value of the peer's clock that the
/// sender echoes. RFC 7323 §3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the peer's TSval that this segment echoes; 0 in a first SYN.
    pub echo: u32,
}

/// A contiguous range of sequence numbers received beyond the cumulative acknowledgment. RFC 2018
/// §3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// Sequence number of the first byte of the range.
    pub left: u32,
    /// Sequence number just past its last byte.
    pub right: u32,
}

/// At most four [`SackBlock`]s in the order they are sent, newest first.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    // Unused places stay at their default, so that the derived equality ignores them.
    blocks: [SackBlock; Self::CAPACITY],
    count: u8,
}

impl SackBlocks {
    /// Number of blocks that the option space of one segment can carry.
    pub const CAPACITY: usize = 4;
    /// No block.
    pub const NONE: Self = Self {
        blocks: [SackBlock { left: 0, right: 0 }; Self::CAPACITY],
        count: 0,
    };

    /// Adds a block at the end. Returns false if there are four blocks already.
    pub const fn push(&mut self, block: SackBlock) -> bool {
        if self.count as usize == Self::CAPACITY {
            return false;
        }
        self.blocks[self.count as usize] = block;
        self.count += 1;
        true
    }

    /// The blocks, in order.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..self.len()]
    }

    /// The blocks, in order.
    pub fn iter(&self) -> core::slice::Iter<'_, SackBlock> {
        self.as_slice().iter()
    }

    /// Number of blocks, 0 to 4.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns true if there is no block.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<'a> IntoIterator for &'a SackBlocks {
    type Item = &'a SackBlock;
    type IntoIter = core::slice::Iter<'a, SackBlock>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// The options of one segment that this crate reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// Largest payload, in bytes, that the sender of this option accepts in a segment.
    pub mss: Option<u16>,
    /// Left shift of the windows that the sender of this option advertises. The value is
    /// as sent and may exceed 14.
    pub window_scale: Option<u8>,
    /// The sender understands SACK.
    pub sack_permitted: bool,
    /// The sender's clock, and the peer's clock that the sender echoes.
    pub timestamps: Option<Timestamps>,
    /// Ranges received out of order.
    pub sack: SackBlocks,
}

impl TcpOptions {
    /// Bytes of option space in a header.
    pub const MAX_LEN: usize = 40;

    /// No option.
    pub const NONE: Self = Self {
        mss: None,
        window_scale: None,
        sack_permitted: false,
        timestamps: None,
        sack: SackBlocks::NONE,
    };

    /// Reads the option bytes of a header, as far as they are valid.
    ///
    /// If an option occurs twice, the last one is kept. The second result is
    /// `Err(BadOption)` if a length is impossible: a length beyond the header ends the
    /// parsing, and an option whose length does not fit its kind is dropped.
    pub fn parse(bytes: &[u8]) -> (Self, Result<(), WireError>) {
        let Some(timestamps) = parse_aligned(bytes) else {
            return Self::parse_each(bytes);
        };
        let parsed = Self {
            timestamps: Some(timestamps),
            ..Self::NONE
        };
        debug_assert_eq!(Self::parse_each(bytes), (parsed, Ok(())));
        (parsed, Ok(()))
    }

    /// Reads the options one by one.
    fn parse_each(bytes: &[u8]) -> (Self, Result<(), WireError>) {
        let mut options = Self::NONE;
        let mut problem = Ok(());
        let mut rest = bytes;
        while let Some((&kind, after_kind)) = rest.split_first() {
            match kind {
                END => break,
                NO_OPERATION => {
                    rest = after_kind;
                    continue;
                }
                _has_length => {}
            }
            let framed = after_kind.first().and_then(|&len| {
                let (option, after) = rest.split_at_checked(len.into())?;
                Some((option.get(2..)?, after))
            });
            let Some((value, after)) = framed else {
                return (options, Err(WireError::BadOption));
            };
            if options.read_one(kind, value).is_none() {
                problem = Err(WireError::BadOption);
            }
            rest = after;
        }
        (options, problem)
    }

    /// Reads one option's value; `None` when its length does not fit its kind.
    fn read_one(&mut self, kind: u8, value: &[u8]) -> Option<()> {
        match kind {
            MSS => self.mss = Some(u16::from_be_bytes(value.try_into().ok()?)),
            WINDOW_SCALE => {
                let [shift] = value.try_into().ok()?;
                self.window_scale = Some(shift);
            }
            SACK_PERMITTED => {
                let [] = value.try_into().ok()?;
                self.sack_permitted = true;
            }
            TIMESTAMPS => {
                let (value, echo) = two_words(value.try_into().ok()?);
                self.timestamps = Some(Timestamps { value, echo });
            }
            SACK => {
                let (blocks, []) = value.as_chunks::<SACK_BLOCK_LEN>() else {
                    return None;
                };
                let mut sack = SackBlocks::NONE;
                for &block in blocks {
                    let (left, right) = two_words(block);
                    sack.push(SackBlock { left, right });
                }
                if sack.is_empty() {
                    return None;
                }
                self.sack = sack;
            }
            _unknown => {}
        }
        Some(())
    }

    /// Returns the timestamps if there is no other option, as in most segments.
    const fn timestamps_alone(&self) -> Option<Timestamps> {
        match self {
            Self {
                mss: None,
                window_scale: None,
                sack_permitted: false,
                timestamps,
                sack,
            } if sack.is_empty() => *timestamps,
            _ => None,
        }
    }

    /// Number of bytes that [`TcpOptions::write`] fills: 0 to 40, a multiple of 4.
    pub const fn encoded_len(&self) -> usize {
        if self.timestamps_alone().is_some() {
            return ALIGNED_TIMESTAMPS_LEN;
        }
        let blocks = self.sack_blocks_that_fit();
        if blocks == 0 {
            return self.len_before_sack();
        }
        self.len_before_sack() + 4 + blocks * SACK_BLOCK_LEN
    }

    /// Number of SACK blocks for which the other options leave room. Further blocks,
    /// which are the oldest, are not written.
    pub const fn sack_blocks_that_fit(&self) -> usize {
        let room = Self::sack_blocks_in(Self::MAX_LEN - self.len_before_sack());
        if self.sack.len() < room {
            self.sack.len()
        } else {
            room
        }
    }

    /// Number of SACK blocks that `room` bytes of option space can carry, 0 to 4.
    pub const fn sack_blocks_in(room: usize) -> usize {
        let fitting = room.saturating_sub(4) / SACK_BLOCK_LEN;
        if fitting < SackBlocks::CAPACITY {
            fitting
        } else {
            SackBlocks::CAPACITY
        }
    }

    /// Length of all options except SACK, padded to a multiple of 4 bytes.
    const fn len_before_sack(&self) -> usize {
        let mss = if self.mss.is_some() { 4 } else { 0 };
        // SACK-permitted fills the two bytes that align the timestamps.
        let sack_permitted_and_timestamps = match (self.sack_permitted, self.timestamps) {
            (_, Some(_)) => 12,
            (true, None) => 4,
            (false, None) => 0,
        };
        let window_scale = if self.window_scale.is_some() { 4 } else { 0 };
        mss + sack_permitted_and_timestamps + window_scale
    }

    /// Writes the options to the first [`TcpOptions::encoded_len`] bytes of `bytes`
    /// and returns that length. No-operation options align the value of every option.
    ///
    /// # Panics
    /// Panics if `bytes` is shorter than [`TcpOptions::encoded_len`].
    pub fn write(&self, bytes: &mut [u8]) -> usize {
        if let Some(timestamps) = self.timestamps_alone() {
            bytes[..ALIGNED_TIMESTAMPS_LEN].copy_from_slice(&aligned(timestamps));
            return ALIGNED_TIMESTAMPS_LEN;
        }
        let len = self.encoded_len();
        let mut rest = &mut bytes[..len];
        if let Some(mss) = self.mss {
            let [a, b] = mss.to_be_bytes();
            put(&mut rest, [MSS, MSS_LEN as u8, a, b]);
        }
        match (self.sack_permitted, self.timestamps.is_some()) {
            (true, true) => put(&mut rest, [SACK_PERMITTED, SACK_PERMITTED_LEN as u8]),
            (true, false) => {
                put(
                    &mut rest,
                    [
                        NO_OPERATION,
                        NO_OPERATION,
                        SACK_PERMITTED,
                        SACK_PERMITTED_LEN as u8,
                    ],
                );
            }
            (false, true) => put(&mut rest, [NO_OPERATION; 2]),
            (false, false) => {}
        }
        if let Some(Timestamps { value, echo }) = self.timestamps {
            put(&mut rest, [TIMESTAMPS, TIMESTAMPS_LEN as u8]);
            put(&mut rest, value.to_be_bytes());
            put(&mut rest, echo.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            put(
                &mut rest,
                [NO_OPERATION, WINDOW_SCALE, WINDOW_SCALE_LEN as u8, shift],
            );
        }
        let blocks = self.sack_blocks_that_fit();
        if blocks > 0 {
            let sack_len = SACK_HEAD_LEN + blocks * SACK_BLOCK_LEN;
            put(
                &mut rest,
                [NO_OPERATION, NO_OPERATION, SACK, sack_len as u8],
            );
            for block in &self.sack.as_slice()[..blocks] {
                put(&mut rest, block.left.to_be_bytes());
                put(&mut rest, block.right.to_be_bytes());
            }
        }
        debug_assert!(rest.is_empty(), "encoded_len and write disagree");
        len
    }
}

/// Returns timestamps as they are written, after two no-operation options that align them.
fn aligned(timestamps: Timestamps) -> [u8; ALIGNED_TIMESTAMPS_LEN] {
    let [a, b, c, d] = timestamps.value.to_be_bytes();
    let [e, f, g, h] = timestamps.echo.to_be_bytes();
    let [x, y, kind, len] = ALIGNED_TIMESTAMPS;
    [x, y, kind, len, a, b, c, d, e, f, g, h]
}

/// Returns the timestamps if `bytes` are what [`aligned`] writes.
fn parse_aligned(bytes: &[u8]) -> Option<Timestamps> {
    let (start, words) = bytes.split_first_chunk::<4>()?;
    let (value, echo) = two_words(words.try_into().ok()?);
    (*start == ALIGNED_TIMESTAMPS).then_some(Timestamps { value, echo })
}

/// Writes `piece` to the start of `rest` and steps past it.
fn put<const N: usize>(rest: &mut &mut [u8], piece: [u8; N]) {
    let (place, after) = core::mem::take(rest).split_at_mut(N);
    place.copy_from_slice(&piece);
    *rest = after;
}

fn two_words(bytes: [u8; 8]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = bytes;
    (
        u32::from_be_bytes([a, b, c, d]),
        u32::from_be_bytes([e, f, g, h]),
    )
}
