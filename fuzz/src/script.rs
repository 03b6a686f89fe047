//! A script: the fuzzer's bytes, read as a sequence of decisions.
//!
//! The one rule: every byte sequence is a valid script. The script ends with its last byte.
//!
//! The reader of a number determines its meaning.

/// The bytes that are not read yet.
pub struct Script<'a> {
    rest: &'a [u8],
}

impl<'a> Script<'a> {
    /// Creates a script of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Script<'a> {
        Script { rest: bytes }
    }

    /// Reads the next byte; `None` at the end.
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// Reads the next two bytes as a number; `None` at the end.
    pub fn number(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    /// Reads `len` bytes, or fewer if the script ends.
    pub fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        taken
    }
}
