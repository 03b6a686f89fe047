//! Errors of adding and removing addresses.
//!
//! Rule: an error names the knob or the address that caused it.

use core::fmt;

/// The reason that an address was not added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// The table is full (knob `ip.addresses`).
    Full,
    /// This host already has the address.
    Exists,
    /// This host does not have the address.
    NotOurs,
    /// No host can have the address; the text says why.
    Unusable(&'static str),
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the table of addresses is full (knob ip.addresses)",
            Self::Exists => "this host already has the address",
            Self::NotOurs => "this host does not have the address",
            Self::Unusable(why) => why,
        })
    }
}

impl core::error::Error for AddressError {}
