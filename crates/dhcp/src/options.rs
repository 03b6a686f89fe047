//! The options of a message. RFC 2132.
//!
//! Rule: if one option does not fit into the message, all options are refused. An option of a wrong
//! length counts as missing. If an option occurs twice, the first one counts.

use std::net::Ipv4Addr;

/// Options that this client knows, by code.
pub(crate) mod code {
    pub(crate) const SUBNET_MASK: u8 = 1;
    pub(crate) const ROUTERS: u8 = 3;
    pub(crate) const DNS_SERVERS: u8 = 6;
    pub(crate) const HOST_NAME: u8 = 12;
    pub(crate) const DOMAIN: u8 = 15;
    pub(crate) const MTU: u8 = 26;
    pub(crate) const WANTED_ADDRESS: u8 = 50;
    pub(crate) const LEASE_TIME: u8 = 51;
    pub(crate) const MESSAGE_TYPE: u8 = 53;
    pub(crate) const SERVER: u8 = 54;
    pub(crate) const REQUESTED_OPTIONS: u8 = 55;
    pub(crate) const LARGEST_MESSAGE: u8 = 57;
    pub(crate) const T1: u8 = 58;
    pub(crate) const T2: u8 = 59;
    pub(crate) const CLIENT_ID: u8 = 61;
}

/// Fills the space between options.
const PAD: u8 = 0;
/// Follows the last option.
const END: u8 = 255;

/// Code and value of an option, and the bytes that follow it.
type SplitOption<'a> = (u8, &'a [u8], &'a [u8]);

/// The options of a received message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a>(&'a [u8]);

impl<'a> Options<'a> {
    /// Returns the options in `bytes`; `None` if one of them does not fit.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let options = Self(bytes);
        let mut rest = bytes;
        while let Some(next) = Self::split(rest)? {
            rest = next.2;
        }
        Some(options)
    }

    /// Returns the value of the option `code`.
    fn value(&self, code: u8) -> Option<&'a [u8]> {
        let mut rest = self.0;
        while let Some((found, value, after)) = Self::split(rest)? {
            if found == code {
                return Some(value);
            }
            rest = after;
        }
        None
    }

    /// Returns the first option of `bytes` and the bytes that follow it; `Some(None)` after the last
    /// option, `None` if the option does not fit.
    fn split(mut bytes: &[u8]) -> Option<Option<SplitOption<'_>>> {
        while let [PAD, rest @ ..] = bytes {
            bytes = rest;
        }
        match bytes {
            [] | [END, ..] => Some(None),
            [code, len, rest @ ..] => {
                let (value, after) = rest.split_at_checked(usize::from(*len))?;
                Some(Some((*code, value, after)))
            }
            [_] => None,
        }
    }

    /// Returns a value of one byte.
    pub(crate) fn byte(&self, code: u8) -> Option<u8> {
        match self.value(code)? {
            [byte] => Some(*byte),
            _ => None,
        }
    }

    /// Returns a value of 16 bits.
    pub(crate) fn u16(&self, code: u8) -> Option<u16> {
        self.value(code)?.try_into().ok().map(u16::from_be_bytes)
    }

    /// Returns a value of 32 bits.
    pub(crate) fn u32(&self, code: u8) -> Option<u32> {
        self.value(code)?.try_into().ok().map(u32::from_be_bytes)
    }

    /// Returns an address.
    pub(crate) fn address(&self, code: u8) -> Option<Ipv4Addr> {
        self.u32(code).map(Ipv4Addr::from_bits)
    }

    /// Returns a list of addresses; empty if the option is missing or ends in an incomplete
    /// address.
    pub(crate) fn addresses(&self, code: u8) -> impl Iterator<Item = Ipv4Addr> + use<'a> {
        let (addresses, rest) = self.value(code).unwrap_or_default().as_chunks();
        let usable = if rest.is_empty() { addresses } else { &[] };
        usable
            .iter()
            .map(|octets: &[u8; 4]| Ipv4Addr::from(*octets))
    }

    /// Returns text, without the zero bytes that some servers add.
    pub(crate) fn text(&self, code: u8) -> Option<&'a str> {
        let text = str::from_utf8(self.value(code)?).ok()?;
        Some(text.trim_end_matches('\0'))
    }
}

/// Options of a message to send.
#[derive(Debug)]
pub(crate) struct OptionWriter<'a>(pub(crate) &'a mut Vec<u8>);

impl OptionWriter<'_> {
    /// Adds an option. A value is cut after 255 bytes.
    pub(crate) fn add(&mut self, code: u8, value: &[u8]) {
        let value = &value[..value.len().min(255)];
        self.0.extend([code, value.len() as u8]);
        self.0.extend(value);
    }

    /// Ends the options.
    pub(crate) fn end(self) {
        self.0.push(END);
    }
}
