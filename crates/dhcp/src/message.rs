//! DHCP messages: the requests of a client, and the answers that concern it.
//!
//! Rule: a message that is no answer, or that answers another client, is refused here. No byte
//! sequence makes a parser panic. RFC 2131 §2, §4.3 and §4.4.

use std::{net::Ipv4Addr, ops::Range};

use fullpipe::MacAddress;

use crate::options::{OptionWriter, Options, code};

/// Operation of a client's message.
const REQUEST: u8 = 1;
/// Operation of a server's message.
const REPLY: u8 = 2;
/// Hardware type of Ethernet.
const ETHERNET: u8 = 1;
/// Length of a MAC address.
const MAC_LEN: u8 = 6;
/// Magic cookie in front of the options.
const MAGIC: [u8; 4] = [99, 130, 83, 99];

/// Places of the fields in a message.
mod at {
    use std::ops::Range;

    pub(super) const XID: Range<usize> = 4..8;
    pub(super) const SECS: Range<usize> = 8..10;
    pub(super) const CURRENT: Range<usize> = 12..16;
    pub(super) const GRANTED: Range<usize> = 16..20;
    pub(super) const MAC: Range<usize> = 28..34;
    pub(super) const MAGIC: Range<usize> = 236..240;
    pub(super) const OPTIONS: usize = 240;
}

/// Smallest length of a message in bytes. Old relays and servers drop shorter messages.
const LEN_MIN: usize = 300;
/// Length in bytes of the longest message that this client accepts, without the headers of IP and
/// UDP.
const LEN_MAX: u16 = 1_472;
/// Options that the client asks for.
const REQUESTED: [u8; 8] = [
    code::SUBNET_MASK,
    code::ROUTERS,
    code::DNS_SERVERS,
    code::DOMAIN,
    code::MTU,
    code::LEASE_TIME,
    code::T1,
    code::T2,
];

/// The kinds of messages, with their numbers. RFC 2132 §9.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Discover = 1,
    Request = 3,
    Decline = 4,
    Release = 7,
}

/// The kinds of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// DHCPOFFER.
    Offer,
    /// DHCPACK.
    Ack,
    /// DHCPNAK.
    Nak,
}

/// A server's answer to a request of this client.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    /// The kind.
    pub(crate) kind: AnswerKind,
    /// Transaction id.
    pub(crate) xid: u32,
    /// The offered or granted address.
    pub(crate) address: Ipv4Addr,
    /// The options.
    pub(crate) options: Options<'a>,
}

impl<'a> Answer<'a> {
    /// Returns the answer in `bytes`; `None` if it is malformed, or not for the client `own`.
    pub(crate) fn parse(bytes: &'a [u8], own: MacAddress) -> Option<Self> {
        let is_ours = bytes.get(at::MAGIC)? == MAGIC
            && bytes[..3] == [REPLY, ETHERNET, MAC_LEN]
            && bytes[at::MAC] == own.0;
        if !is_ours {
            return None;
        }
        let options = Options::parse(&bytes[at::OPTIONS..])?;
        let kind = match options.byte(code::MESSAGE_TYPE)? {
            2 => AnswerKind::Offer,
            5 => AnswerKind::Ack,
            6 => AnswerKind::Nak,
            _ => return None,
        };
        let number = |field: Range<usize>| bytes[field].try_into().ok().map(u32::from_be_bytes);
        Some(Self {
            kind,
            xid: number(at::XID)?,
            address: number(at::GRANTED).map(Ipv4Addr::from_bits)?,
            options,
        })
    }
}

/// A message of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// The kind.
    pub(crate) kind: RequestKind,
    /// Transaction id.
    pub(crate) xid: u32,
    /// Seconds since the client began to ask for an address.
    pub(crate) secs: u16,
    /// MAC address of this host.
    pub(crate) mac: MacAddress,
    /// The address that this host has; unspecified if it has none.
    pub(crate) current: Ipv4Addr,
    /// The address that this host asks for or declines.
    pub(crate) wanted: Option<Ipv4Addr>,
    /// The server that the message is for.
    pub(crate) server: Option<Ipv4Addr>,
    /// Name of this host.
    pub(crate) host_name: Option<&'a str>,
}

impl Request<'_> {
    /// Returns the message as bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; at::OPTIONS];
        bytes[..3].copy_from_slice(&[REQUEST, ETHERNET, MAC_LEN]);
        bytes[at::XID].copy_from_slice(&self.xid.to_be_bytes());
        bytes[at::SECS].copy_from_slice(&self.secs.to_be_bytes());
        bytes[at::CURRENT].copy_from_slice(&self.current.octets());
        bytes[at::MAC].copy_from_slice(&self.mac.0);
        bytes[at::MAGIC].copy_from_slice(&MAGIC);
        self.write_options(OptionWriter(&mut bytes));
        bytes.resize(bytes.len().max(LEN_MIN), 0);
        bytes
    }

    fn write_options(&self, mut options: OptionWriter<'_>) {
        options.add(code::MESSAGE_TYPE, &[self.kind as u8]);
        let mut id = [ETHERNET; 1 + MAC_LEN as usize];
        id[1..].copy_from_slice(&self.mac.0);
        options.add(code::CLIENT_ID, &id);
        if let Some(wanted) = self.wanted {
            options.add(code::WANTED_ADDRESS, &wanted.octets());
        }
        if let Some(server) = self.server {
            options.add(code::SERVER, &server.octets());
        }
        if matches!(self.kind, RequestKind::Discover | RequestKind::Request) {
            options.add(code::LARGEST_MESSAGE, &LEN_MAX.to_be_bytes());
            options.add(code::REQUESTED_OPTIONS, &REQUESTED);
            if let Some(name) = self.host_name {
                options.add(code::HOST_NAME, name.as_bytes());
            }
        }
        options.end();
    }
}
