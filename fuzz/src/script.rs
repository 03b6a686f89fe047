//! The fuzzer's bytes, read as a script.
//!
//! The one rule: every byte sequence is a script; where it ends early, the
//! script ends.
//!
//! What the numbers mean is decided by who reads them.

/// The bytes not read yet.
pub struct Script<'a> {
    rest: &'a [u8],
}

impl<'a> Script<'a> {
    /// A script from its beginning.
    pub fn new(bytes: &'a [u8]) -> Script<'a> {
        Script { rest: bytes }
    }

    /// The next byte; `None` at the end.
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// The next two bytes as a number.
    pub fn number(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    /// Up to `len` bytes: fewer where the script ends before.
    pub fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        taken
    }
}
