//! Reasons for refusing a header.
//!
//! The one rule: each variant is a reason, and each reason is a counter in the crates
//! that use this one. A reason does not name the layer, because the caller knows which header it
//! parsed.

use core::fmt;

/// The reason why a header was refused. The peer or the path caused it, never this
/// host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WireError {
    /// The bytes end before the header ends, or before the length that the header claims.
    Truncated,
    /// The one's-complement sum over the covered bytes is wrong.
    BadChecksum,
    /// The IP version field differs from the version of the parsed header.
    BadVersion,
    /// The header-length field is below the minimum or, in TCP, beyond the segment.
    BadHeaderLength,
    /// The IPv4 total length is below the header length, the UDP length is below eight or
    /// beyond the packet, or a fragment would end past the largest datagram.
    BadLength,
    /// An IPv4 or TCP option has an impossible length. RFC 791 §3.1; RFC 9293 §3.1, MUST-7.
    BadOption,
    /// ARP for something other than IPv4 over Ethernet. RFC 826.
    BadAddressFormat,
    /// An ARP operation other than request and reply. RFC 826.
    BadOperation,
}

impl WireError {
    /// Number of reasons.
    pub const COUNT: usize = Self::ALL.len();

    /// Every reason, in the order of [`WireError::index`].
    pub const ALL: [Self; 8] = [
        Self::Truncated,
        Self::BadChecksum,
        Self::BadVersion,
        Self::BadHeaderLength,
        Self::BadLength,
        Self::BadOption,
        Self::BadAddressFormat,
        Self::BadOperation,
    ];

    /// Index of this reason in [`WireError::ALL`], for arrays of counters.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The reason in `snake_case`, as counters and JSON name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::BadChecksum => "bad_checksum",
            Self::BadVersion => "bad_version",
            Self::BadHeaderLength => "bad_header_length",
            Self::BadLength => "bad_length",
            Self::BadOption => "bad_option",
            Self::BadAddressFormat => "bad_address_format",
            Self::BadOperation => "bad_operation",
        }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => {
                "the bytes end within the header, or before the length that the header states"
            }
            Self::BadChecksum => "the checksum does not match the bytes",
            Self::BadVersion => "the IP version is not the expected one",
            Self::BadHeaderLength => "the header length is below the minimum or beyond the packet",
            Self::BadLength => "the length field contradicts the packet",
            Self::BadOption => "an IPv4 or TCP option has an impossible length",
            Self::BadAddressFormat => "ARP for something other than IPv4 over Ethernet",
            Self::BadOperation => "an ARP operation other than request and reply",
        })
    }
}

impl core::error::Error for WireError {}

#[cfg(test)]
mod tests;
