//! DNS messages: writes queries, and reads the answers to them.
//!
//! Rule: an answer is read only if its id and its question are those of the query. Of the answer's
//! records, only those of the question's name and of its aliases count. No byte sequence makes the
//! parser panic. RFC 1035 §4, RFC 6891.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use simple_dns::{
    CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, RCODE, ResourceRecord, TYPE,
    rdata::{OPT, RData},
};

use crate::{answer::Family, name::DnsName};

/// Length of a message's header.
const HEADER_LEN: usize = 12;
/// Largest answer over UDP that a query allows. A packet with this answer fits into 1,280 bytes,
/// the smallest MTU of IPv6, so it is not fragmented. DNS Flag Day 2020, RFC 9715.
const UDP_PAYLOAD_MAX: u16 = 1_232;
/// Largest number of aliases that are followed from a name.
pub(crate) const ALIASES_MAX: u32 = 8;
/// Largest number of addresses that are taken from an answer.
const ADDRESSES_MAX: usize = 16;
/// Longest time that an answer is kept, in seconds.
const TTL_MAX_S: u32 = 86_400;
/// Longest time that a negative answer is kept, in seconds. RFC 2308 §5 advises at most one to
/// three hours. This time is shorter, so that a record that has just been added or corrected is
/// found sooner.
const NEGATIVE_TTL_MAX_S: u32 = 900;

/// Reason for which a received message is no answer to a query. Each reason is a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The message is shorter than the header of a DNS message.
    Malformed,
    /// The id is not that of the query.
    WrongId,
    /// The message is a query, or its question is not that of the query.
    WrongQuestion,
}

/// The content of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Addresses, and the seconds for which they are valid.
    Addresses(Vec<IpAddr>, u32),
    /// The name does not exist. The value is the time, in seconds, for which this answer is valid.
    NoSuchName(u32),
    /// The name has no address of the family. The value is the time, in seconds, for which this
    /// answer is valid.
    NoAddress(u32),
    /// The answer has aliases and no address: the name at the end of the chain of aliases, the
    /// number of aliases so far, and the seconds for which the aliases are valid.
    Alias(DnsName, u32, u32),
    /// More aliases than are followed, or aliases in a circle.
    TooManyAliases,
    /// The answer did not fit into a datagram.
    Truncated,
    /// The server does not understand the query's EDNS option.
    WithoutEdns,
    /// The server cannot or will not answer.
    ServerFailed,
}

/// A query as bytes.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) bytes: Vec<u8>,
    question_len: usize,
    has_edns: bool,
}

impl Query {
    /// Creates the query for `name`.
    pub(crate) fn new(id: u16, name: &DnsName, family: Family, has_edns: bool) -> Self {
        let kind = match family {
            Family::V6 => TYPE::AAAA,
            Family::V4 => TYPE::A,
        };
        let mut packet = Packet::new_query(id);
        packet.set_flags(PacketFlag::RECURSION_DESIRED);
        let asked = Name::new(name.as_str()).expect("a DnsName fits into a message");
        let (kind, class) = (QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN));
        packet
            .questions
            .push(Question::new(asked, kind, class, false));
        let bare = packet.build_bytes_vec().expect("a query is short");
        let question_len = bare.len() - HEADER_LEN;
        let bytes = if has_edns {
            *packet.opt_mut() = Some(OPT {
                opt_codes: Vec::new(),
                udp_packet_size: UDP_PAYLOAD_MAX,
                version: 0,
            });
            packet.build_bytes_vec().expect("a query is short")
        } else {
            bare
        };
        Self {
            bytes,
            question_len,
            has_edns,
        }
    }

    /// Reads the answer in `bytes` to the question for `name`. The lookup has already followed
    /// `aliases` aliases to `name`.
    ///
    /// # Errors
    /// Returns a [`Rejection`] if the message does not answer this query.
    pub(crate) fn read_answer(
        &self,
        bytes: &[u8],
        (name, family): (&DnsName, Family),
        aliases: u32,
    ) -> Result<Reading, Rejection> {
        let header = bytes.get(..HEADER_LEN).ok_or(Rejection::Malformed)?;
        if header[..2] != self.bytes[..2] {
            return Err(Rejection::WrongId);
        }
        let flags = u16::from_be_bytes([header[2], header[3]]);
        let is_answer = flags & PacketFlag::RESPONSE.bits() != 0 && flags & 0x7800 == 0;
        let questions = u16::from_be_bytes([header[4], header[5]]);
        let is_format_error = flags & 0xf == 1;
        if is_answer && is_format_error && self.has_edns && questions == 0 {
            return Ok(Reading::WithoutEdns); // RFC 6891 §7: a server from before EDNS
        }
        let end = HEADER_LEN + self.question_len;
        let asked = &self.bytes[HEADER_LEN..end];
        let repeated = bytes.get(HEADER_LEN..end);
        let is_same = repeated.is_some_and(|question| question.eq_ignore_ascii_case(asked));
        if !is_answer || questions != 1 || !is_same {
            return Err(Rejection::WrongQuestion);
        }
        if flags & PacketFlag::TRUNCATION.bits() != 0 {
            return Ok(Reading::Truncated);
        }
        // The id and the question are right, so the message is from the server, and damaged.
        let Ok(packet) = Packet::parse(bytes) else {
            return Ok(Reading::ServerFailed);
        };
        Ok(match packet.rcode() {
            RCODE::NoError => read_records(&packet, (name, family), aliases),
            RCODE::NameError => match follow(&packet, name, family, aliases) {
                Some(chain) => Reading::NoSuchName(chain.negative_ttl_s(&packet)),
                None => Reading::TooManyAliases,
            },
            RCODE::FormatError | RCODE::NotImplemented if self.has_edns => Reading::WithoutEdns,
            _ => Reading::ServerFailed,
        })
    }
}

/// The end of a chain of aliases in one answer.
struct Chain {
    name: DnsName,
    aliases: u32,
    ttl_s: u32,
    addresses: Vec<IpAddr>,
}

impl Chain {
    /// Returns the time for which a negative answer is valid: 0 without a SOA record of a zone that
    /// contains the name. RFC 2308 §5.
    fn negative_ttl_s(&self, packet: &Packet<'_>) -> u32 {
        let of_soa = packet.name_servers.iter().find_map(|record| {
            let zone = record.name.to_string();
            match &record.rdata {
                RData::SOA(soa) if self.name.is_within(&zone) => {
                    Some(ttl_s(record.ttl).min(ttl_s(soa.minimum)))
                }
                _ => None,
            }
        });
        of_soa.unwrap_or(0).min(NEGATIVE_TTL_MAX_S).min(self.ttl_s)
    }

    fn has_soa(&self, packet: &Packet<'_>) -> bool {
        let mut records = packet.name_servers.iter();
        records.any(|record| matches!(record.rdata, RData::SOA(_)))
    }
}

/// Returns a time to live in seconds; a number whose highest bit is set counts as 0. RFC 2181 §8.
const fn ttl_s(ttl: u32) -> u32 {
    if ttl >> 31 != 0 {
        0
    } else if ttl > TTL_MAX_S {
        TTL_MAX_S
    } else {
        ttl
    }
}

/// Follows the aliases in an answer, beginning with `name`; `None` if there are too many.
fn follow(packet: &Packet<'_>, name: &DnsName, family: Family, aliases: u32) -> Option<Chain> {
    let mut chain = Chain {
        name: name.clone(),
        aliases,
        ttl_s: TTL_MAX_S,
        addresses: Vec::new(),
    };
    loop {
        let own = packet.answers.iter().filter(|record| {
            record.class == CLASS::IN
                && record
                    .name
                    .to_string()
                    .eq_ignore_ascii_case(chain.name.as_str())
        });
        let mut alias = None;
        for record in own {
            if let Some(address) = address(record, family) {
                if chain.addresses.len() < ADDRESSES_MAX && !chain.addresses.contains(&address) {
                    chain.addresses.push(address);
                    chain.ttl_s = chain.ttl_s.min(ttl_s(record.ttl));
                }
            } else if let RData::CNAME(target) = &record.rdata {
                alias = Some((target.0.to_string(), ttl_s(record.ttl)));
            }
        }
        let Some((target, ttl)) = alias.filter(|_| chain.addresses.is_empty()) else {
            return Some(chain);
        };
        if chain.aliases == ALIASES_MAX {
            return None;
        }
        // The alias leads to a name that is no host name, and thus to no address.
        let Ok(target) = target.parse() else {
            return Some(chain);
        };
        chain.name = target;
        chain.aliases += 1;
        chain.ttl_s = chain.ttl_s.min(ttl);
    }
}

fn read_records(packet: &Packet<'_>, (name, family): (&DnsName, Family), aliases: u32) -> Reading {
    let Some(chain) = follow(packet, name, family, aliases) else {
        return Reading::TooManyAliases;
    };
    if !chain.addresses.is_empty() {
        return Reading::Addresses(chain.addresses, chain.ttl_s);
    }
    if chain.aliases > aliases && !chain.has_soa(packet) {
        return Reading::Alias(chain.name, chain.aliases, chain.ttl_s);
    }
    let is_referral = !packet.name_servers.is_empty() && !chain.has_soa(packet);
    if is_referral {
        // The server does not recurse, so it does not know the answer. RFC 2308 §2.2.
        return Reading::ServerFailed;
    }
    Reading::NoAddress(chain.negative_ttl_s(packet))
}

/// Returns the address of a record, if the address is of the family.
fn address(record: &ResourceRecord<'_>, family: Family) -> Option<IpAddr> {
    match (&record.rdata, family) {
        (RData::A(a), Family::V4) => Some(Ipv4Addr::from_bits(a.address).into()),
        (RData::AAAA(aaaa), Family::V6) => Some(Ipv6Addr::from_bits(aaaa.address).into()),
        _ => None,
    }
}
