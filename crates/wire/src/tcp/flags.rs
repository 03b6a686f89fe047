//! The nine control bits of TCP. RFC 9293 §3.1, RFC 3168 §6.1, RFC 9768.
//!
//! The one rule: a set holds the nine bits and no other, so the reserved bits of a
//! segment never get past this crate. Upper layers judge combinations of bits.

use core::fmt;
use core::ops::{BitAnd, BitOr, BitOrAssign};

/// A set of TCP control bits, as they lie in the low nine bits of the field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TcpFlags(u16);

impl TcpFlags {
    /// No bit.
    pub const NONE: Self = Self(0);
    /// No more data from the sender.
    pub const FIN: Self = Self(0x001);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x002);
    /// Reset the connection.
    pub const RST: Self = Self(0x004);
    /// Push.
    pub const PSH: Self = Self(0x008);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x010);
    /// The urgent pointer is significant.
    pub const URG: Self = Self(0x020);
    /// ECN echo: the peer received a congestion mark. RFC 3168.
    pub const ECE: Self = Self(0x040);
    /// Congestion window reduced: the answer to an ECN echo. RFC 3168.
    pub const CWR: Self = Self(0x080);
    /// Accurate ECN (RFC 9768); formerly the nonce sum (RFC 3540).
    pub const AE: Self = Self(0x100);
    /// All nine bits.
    pub const ALL: Self = Self(0x1ff);

    /// Each bit with its RFC name, from the lowest.
    pub const NAMED: [(Self, &'static str); 9] = [
        (Self::FIN, "FIN"),
        (Self::SYN, "SYN"),
        (Self::RST, "RST"),
        (Self::PSH, "PSH"),
        (Self::ACK, "ACK"),
        (Self::URG, "URG"),
        (Self::ECE, "ECE"),
        (Self::CWR, "CWR"),
        (Self::AE, "AE"),
    ];

    /// Returns the set in the low nine bits of `bits`; the other bits are dropped.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// Returns a number whose low nine bits are this set.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Returns true if every bit of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if any bit of `other` is set.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns true if no bit is set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the bits of both sets. Constants use this method, because `|` is
    /// not `const`.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the bits that are not in `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for TcpFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl BitOrAssign for TcpFlags {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl BitAnd for TcpFlags {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Display for TcpFlags {
    /// Writes the names of the bits, such as `SYN|ACK`, or `none`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        let mut separator = "";
        for (flag, name) in Self::NAMED {
            if self.contains(flag) {
                write!(f, "{separator}{name}")?;
                separator = "|";
            }
        }
        Ok(())
    }
}

impl fmt::Debug for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
