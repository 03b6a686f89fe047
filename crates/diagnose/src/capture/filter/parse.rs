//! The grammar of filters.
//!
//! Rule: an unknown word is refused, with advice on what to write instead; names of hosts and
//! services are not looked up.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr},
};

use super::rule::{Rule, Which};

/// Deepest nesting of parentheses.
const DEPTH_MAX: usize = 64;

/// Reason for which a filter was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError(String);

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FilterError {}

fn refused<T>(why: impl Into<String>) -> Result<T, FilterError> {
    Err(FilterError(why.into()))
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Host,
    Net,
    Port,
    PortRange,
}

/// The keywords before a value.
#[derive(Clone, Debug)]
struct Qualifiers {
    protocol: Option<Rule>,
    which: Option<Which>,
    kind: Option<Kind>,
}

/// The rule of a protocol's name.
fn protocol(word: &str) -> Option<Rule> {
    match word {
        "tcp" => Some(Rule::Constant(true)),
        "ip" => Some(Rule::IsIpv6(false)),
        "ip6" => Some(Rule::IsIpv6(true)),
        "udp" | "sctp" | "icmp" | "icmp6" | "arp" | "rarp" => Some(Rule::Constant(false)),
        _ => None,
    }
}

/// Reads a whole filter.
pub(super) fn rule(text: &str) -> Result<Rule, FilterError> {
    let tokens = tokens(text);
    let mut parser = Parser {
        rest: &tokens,
        previous: None,
        depth: 0,
    };
    if parser.rest.is_empty() {
        return refused("the filter is empty");
    }
    let rule = parser.expression()?;
    match parser.rest.first() {
        None => Ok(rule),
        Some(&")") => refused("the filter has a `)` without `(`"),
        Some(word) => refused(format!("expected `and` or `or` before `{word}`")),
    }
}

/// Splits a filter into words; parentheses and signs are words of their own.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '(' | ')' | '!' => 1,
            '&' | '|' => rest.len() - rest.trim_start_matches(first).len(),
            _ => rest
                .find(|c: char| c.is_whitespace() || "()!&|".contains(c))
                .unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(len);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

struct Parser<'a> {
    rest: &'a [&'a str],
    previous: Option<Qualifiers>,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    fn accept(&mut self, words: &[&str]) -> bool {
        let is_next = self.rest.first().is_some_and(|word| words.contains(word));
        if is_next {
            self.next();
        }
        is_next
    }

    fn expression(&mut self) -> Result<Rule, FilterError> {
        let mut rule = self.term()?;
        loop {
            if self.accept(&["and", "&&"]) {
                rule = Rule::Both(Box::new(rule), Box::new(self.term()?));
            } else if self.accept(&["or", "||"]) {
                rule = Rule::Either(Box::new(rule), Box::new(self.term()?));
            } else {
                return Ok(rule);
            }
        }
    }

    fn term(&mut self) -> Result<Rule, FilterError> {
        if self.depth == DEPTH_MAX {
            return refused("the filter is nested too deeply");
        }
        self.depth += 1;
        let rule = if self.accept(&["not", "!"]) {
            Rule::Not(Box::new(self.term()?))
        } else if self.accept(&["("]) {
            let rule = self.expression()?;
            if !self.accept(&[")"]) {
                return refused("the filter has a `(` without `)`");
            }
            rule
        } else {
            self.primitive()?
        };
        self.depth -= 1;
        Ok(rule)
    }

    fn primitive(&mut self) -> Result<Rule, FilterError> {
        let mut words = self.qualifiers()?;
        let has_words = words.protocol.is_some() || words.which.is_some() || words.kind.is_some();
        let ends = [
            None,
            Some("and"),
            Some("or"),
            Some("&&"),
            Some("||"),
            Some(")"),
        ];
        if ends.contains(&self.rest.first().copied()) {
            return match words {
                Qualifiers {
                    protocol: Some(rule),
                    which: None,
                    kind: None,
                } => Ok(rule),
                _ => refused("the filter ends where a value is expected, such as `host 10.0.0.1`"),
            };
        }
        if !has_words && let Some(previous) = &self.previous {
            words = previous.clone();
        }
        self.previous = Some(words.clone());
        let value = self.next().unwrap_or_default();
        let rule = self.value(value, &words)?;
        Ok(match words.protocol {
            Some(protocol) => Rule::Both(Box::new(protocol), Box::new(rule)),
            None => rule,
        })
    }

    /// Reads the keywords before a value: protocol, direction and kind, each at most once.
    fn qualifiers(&mut self) -> Result<Qualifiers, FilterError> {
        let protocol = self.rest.first().and_then(|word| protocol(word));
        if protocol.is_some() {
            self.next();
        }
        let which = match self.rest {
            ["src", "or", "dst", ..] | ["dst", "or", "src", ..] => Some((Which::Any, 3)),
            ["src", "and", "dst", ..] | ["dst", "and", "src", ..] => Some((Which::Each, 3)),
            ["src", ..] => Some((Which::Source, 1)),
            ["dst", ..] => Some((Which::Destination, 1)),
            _ => None,
        };
        if let Some((_, words)) = which {
            self.rest = &self.rest[words..];
        }
        let kind = match self.rest.first() {
            Some(&"host") => Some(Kind::Host),
            Some(&"net") => Some(Kind::Net),
            Some(&"port") => Some(Kind::Port),
            Some(&"portrange") => Some(Kind::PortRange),
            _ => None,
        };
        if kind.is_some() {
            self.next();
        }
        Ok(Qualifiers {
            protocol,
            which: which.map(|(which, _)| which),
            kind,
        })
    }

    fn value(&mut self, value: &str, words: &Qualifiers) -> Result<Rule, FilterError> {
        let which = words.which.unwrap_or(Which::Any);
        match words.kind {
            Some(Kind::Host) => host(value, which),
            Some(Kind::Net) => self.net(value, which),
            Some(Kind::Port) => port(value).map(|port| Rule::Ports(which, port, port)),
            Some(Kind::PortRange) => match value.split_once('-') {
                Some((first, last)) => Ok(Rule::Ports(which, port(first)?, port(last)?)),
                None => refused(format!("expected a range such as 8000-8080, not `{value}`")),
            },
            None if value.parse::<IpAddr>().is_ok() => host(value, which),
            None => refused(format!(
                "a filter cannot have the word `{value}` here; it can have host, net, port, portrange, src, dst, tcp, ip, ip6, and, or, not, ( and )"
            )),
        }
    }

    /// A network: `10.0.0.0/8`, `10.0`, or `10.0.0.0 mask 255.0.0.0`.
    fn net(&mut self, value: &str, which: Which) -> Result<Rule, FilterError> {
        let wrong = || {
            FilterError(format!(
                "expected a network such as 10.0.0.0/8, not `{value}`"
            ))
        };
        if let Some((address, bits)) = value.split_once('/') {
            let address = partial(address).ok_or_else(wrong)?.0;
            let bits: u8 = bits.parse().map_err(|_| wrong())?;
            if bits > bits_of(address) {
                return Err(wrong());
            }
            return Ok(Rule::Net(which, address, bits));
        }
        let (address, bits) = partial(value).ok_or_else(wrong)?;
        if self.accept(&["mask"]) {
            let mask = self.next().and_then(|mask| mask.parse::<Ipv4Addr>().ok());
            let mask = mask.filter(|_| address.is_ipv4()).ok_or_else(wrong)?;
            let bits = mask.to_bits().leading_ones();
            if mask.to_bits().count_ones() != bits {
                return Err(wrong());
            }
            return Ok(Rule::Net(which, address, bits as u8));
        }
        Ok(Rule::Net(which, address, bits))
    }
}

fn host(value: &str, which: Which) -> Result<Rule, FilterError> {
    match value.parse::<IpAddr>() {
        Ok(address) => Ok(Rule::Net(which, address, bits_of(address))),
        Err(_) => refused(format!(
            "expected an address such as 10.0.0.1, not `{value}`: host names are not looked up"
        )),
    }
}

fn port(value: &str) -> Result<u16, FilterError> {
    let wrong = |_| {
        FilterError(format!(
            "expected a port from 0 to 65535, not `{value}`: service names are not looked up"
        ))
    };
    value.parse().map_err(wrong)
}

const fn bits_of(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// Reads an address, or only the first one to three numbers of an IPv4 address. Also returns the
/// number of bits that are given.
fn partial(text: &str) -> Option<(IpAddr, u8)> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some((address, bits_of(address)));
    }
    let mut octets = [0; 4];
    let mut count = 0;
    for part in text.split('.') {
        *octets.get_mut(count)? = part.parse().ok()?;
        count += 1;
    }
    Some((IpAddr::V4(Ipv4Addr::from(octets)), count as u8 * 8))
}
