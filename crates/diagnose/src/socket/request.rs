//! The netlink request for the kernel's sockets, with a filter that the kernel applies.
//!
//! Rule: the filter is compiled to the kernel's byte code, so the kernel sends answers only for
//! sockets that match. The filter uses only conditions that every kernel since 2.6 has. The request
//! asks for everything that [`SocketObservation`](super::SocketObservation) reads.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
};

use super::observation::{DiagFamily, SocketObservation, SocketState};

/// Bytes of the header of a netlink message.
const HEADER_LEN: usize = 16;
/// Bytes of `struct inet_diag_req_v2`.
const REQUEST_LEN: usize = 56;
/// Type `SOCK_DIAG_BY_FAMILY`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Type `TCPDIAG_GETSOCK`, the older type, which every kernel supports.
const TCPDIAG_GETSOCK: u16 = 18;
/// Flag `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// Flags `NLM_F_REQUEST` and `NLM_F_DUMP`.
const DUMP: u16 = 0x301;
/// Every state, as bits.
const ANY_STATE: u32 = u32::MAX;
/// Netlink attribute that contains the filter.
const BYTECODE: u16 = 1;
/// Extensions 2, 3, 4, 7 and 8: `tcp_info`, congestion control and its state, memory, and shutdown.
/// Extension n is bit n - 1.
const EXTENSIONS: u8 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 7;
const IPPROTO_TCP: u8 = 6;
const JUMP: u8 = 1;
const LOCAL_CONDITION: u8 = 7;
const PEER_CONDITION: u8 = 8;

/// A filter for one end of a connection: an address prefix and a port. Each part may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndFilter {
    /// The address, and the number of its leading bits that are compared.
    pub prefix: Option<(IpAddr, u8)>,
    /// The port.
    pub port: Option<u16>,
}

impl fmt::Display for EndFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_host = |address: &IpAddr, bits: u8| bits == if address.is_ipv4() { 32 } else { 128 };
        match self.prefix {
            Some((IpAddr::V6(address), 128)) if self.port.is_some() => write!(f, "[{address}]")?,
            Some((address, bits)) if is_host(&address, bits) => write!(f, "{address}")?,
            Some((address, bits)) => write!(f, "{address}/{bits}")?,
            None => {}
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl EndFilter {
    /// Returns true if `end` matches this filter.
    pub fn matches(&self, end: SocketAddr) -> bool {
        let is_inside = |(address, bits): (IpAddr, u8)| match (address, end.ip()) {
            (IpAddr::V4(wanted), IpAddr::V4(given)) => {
                let differs = u32::from(wanted) ^ u32::from(given);
                differs.checked_shr(32 - u32::from(bits)).unwrap_or(0) == 0
            }
            (IpAddr::V6(wanted), IpAddr::V6(given)) => {
                let differs = u128::from(wanted) ^ u128::from(given);
                differs.checked_shr(128 - u32::from(bits)).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        };
        self.port.is_none_or(|port| port == end.port()) && self.prefix.is_none_or(is_inside)
    }
}

impl std::str::FromStr for EndFilter {
    type Err = String;

    /// Reads `10.0.0.0/8`, `10.0.0.1:443`, `[2001:db8::1]:443` or `:443`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "expected an address or a port, for example 10.0.0.0/8, 10.0.0.1:443 or :443, not `{text}`"
            )
        };
        if let Some(port) = text.strip_prefix(':') {
            let port = port.parse().map_err(|_| wrong())?;
            return Ok(Self {
                prefix: None,
                port: Some(port),
            });
        }
        let whole = |address: IpAddr| (address, if address.is_ipv4() { 32 } else { 128 });
        if let Ok(end) = text.parse::<SocketAddr>() {
            return Ok(Self {
                prefix: Some(whole(end.ip().to_canonical())),
                port: Some(end.port()),
            });
        }
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let (address, most) = whole(address.parse().map_err(|_| wrong())?);
        let bits = match bits {
            Some(bits) => bits.parse().map_err(|_| wrong())?,
            None => most,
        };
        if bits > most {
            return Err(format!(
                "`{text}`: the prefix length of this address is at most {most}"
            ));
        }
        Ok(Self {
            prefix: Some((address, bits)),
            port: None,
        })
    }
}

/// The sockets to observe. A socket must match each of the three lists. An empty list matches every
/// socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketFilter {
    /// Ports. A socket matches if one of its two ends has one of these ports.
    pub ports: Vec<u16>,
    /// Addresses and ports of the peer.
    pub peers: Vec<EndFilter>,
    /// The socket's own addresses and ports.
    pub locals: Vec<EndFilter>,
}

impl SocketFilter {
    /// Returns true if the kernel's byte code accepts the socket.
    pub fn matches(&self, socket: &SocketObservation) -> bool {
        let (local, peer) = (socket.id.local, socket.id.peer);
        let has_port = |port: &u16| *port == local.port() || *port == peer.port();
        let among = |filters: &[EndFilter], end| {
            filters.is_empty() || filters.iter().any(|filter| filter.matches(end))
        };
        (self.ports.is_empty() || self.ports.iter().any(has_port))
            && among(&self.peers, peer)
            && among(&self.locals, local)
    }

    /// The kernel's byte code; empty if every socket passes.
    pub fn bytecode(&self) -> Vec<u8> {
        let port = |port: u16| EndFilter {
            prefix: None,
            port: Some(port),
        };
        let either_end = |code: u8| self.ports.iter().map(move |&it| condition(code, &port(it)));
        let clauses: [Vec<Vec<u8>>; 3] = [
            either_end(LOCAL_CONDITION)
                .chain(either_end(PEER_CONDITION))
                .collect(),
            self.peers
                .iter()
                .map(|filter| condition(PEER_CONDITION, filter))
                .collect(),
            self.locals
                .iter()
                .map(|filter| condition(LOCAL_CONDITION, filter))
                .collect(),
        ];
        // Build the code from its end, because a jump needs the length of everything after it.
        let mut code = Vec::new();
        for clause in clauses.iter().rev().filter(|clause| !clause.is_empty()) {
            code = all_of(any_of(clause), code);
        }
        code
    }

    /// Returns the request for all matching sockets of `family` in one of `states`.
    pub fn request(&self, family: DiagFamily, states: &[SocketState]) -> Vec<u8> {
        let mut body = vec![family as u8, IPPROTO_TCP, EXTENSIONS, 0];
        body.extend(bits_of(states).to_ne_bytes());
        body.extend([0; 48]); // an empty identity, so that every socket matches
        self.dump(SOCK_DIAG_BY_FAMILY, &body)
    }

    /// Returns the request for all families at once, for which the kernel walks its table of
    /// connections only once.
    pub fn request_all(&self, states: &[SocketState]) -> Vec<u8> {
        let mut body = vec![0, 0, 0, EXTENSIONS];
        body.extend([0; 48]);
        body.extend(bits_of(states).to_ne_bytes());
        body.extend([0; 4]);
        self.dump(TCPDIAG_GETSOCK, &body)
    }

    fn dump(&self, kind: u16, body: &[u8]) -> Vec<u8> {
        let code = self.bytecode();
        let attribute = if code.is_empty() { 0 } else { 4 + code.len() };
        let mut message = Vec::new();
        header(&mut message, kind, DUMP, body.len() + attribute, 1);
        message.extend(body);
        if !code.is_empty() {
            message.extend((attribute as u16).to_ne_bytes());
            message.extend(BYTECODE.to_ne_bytes());
            message.extend(code);
        }
        message
    }
}

/// Appends the request for one known socket. The answer contains `sequence`. The kernel finds the
/// socket without walking its table.
pub fn request_one(out: &mut Vec<u8>, socket: &SocketObservation, sequence: u32) {
    header(out, SOCK_DIAG_BY_FAMILY, REQUEST, REQUEST_LEN, sequence);
    out.extend([socket.family as u8, IPPROTO_TCP, EXTENSIONS, 0]);
    out.extend(ANY_STATE.to_ne_bytes());
    let (local, peer) = (socket.id.local, socket.id.peer);
    out.extend(local.port().to_be_bytes());
    out.extend(peer.port().to_be_bytes());
    for address in [local.ip(), peer.ip()] {
        out.extend(match (address, socket.family) {
            (IpAddr::V4(address), DiagFamily::V4) => {
                let mut octets = [0; 16];
                octets[..4].copy_from_slice(&address.octets());
                octets
            }
            (IpAddr::V4(address), DiagFamily::V6) => address.to_ipv6_mapped().octets(),
            (IpAddr::V6(address), _) => address.octets(),
        });
    }
    out.extend(socket.interface.to_ne_bytes());
    out.extend((socket.id.cookie as u32).to_ne_bytes());
    out.extend(((socket.id.cookie >> 32) as u32).to_ne_bytes());
}

/// Bytes of a message of [`request_one`].
pub const REQUEST_ONE_LEN: usize = HEADER_LEN + REQUEST_LEN;

/// Appends the header of a netlink message with `len` further bytes.
fn header(out: &mut Vec<u8>, kind: u16, flags: u16, len: usize, sequence: u32) {
    out.extend(((HEADER_LEN + len) as u32).to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend(flags.to_ne_bytes());
    out.extend(sequence.to_ne_bytes());
    out.extend(0u32.to_ne_bytes()); // port ID of the sender, which the kernel does not need
}

fn bits_of(states: &[SocketState]) -> u32 {
    states
        .iter()
        .fold(0, |bits, &state| bits | 1 << state as u8)
}

/// Returns one condition about an end: an operation, then `struct inet_diag_hostcond`. The caller
/// sets the jump that is taken for a socket that does not match.
fn condition(code: u8, filter: &EndFilter) -> Vec<u8> {
    let (family, octets, bits) = match filter.prefix {
        None => (0, Vec::new(), 0),
        Some((IpAddr::V4(address), bits)) => {
            (DiagFamily::V4 as u8, address.octets().to_vec(), bits)
        }
        Some((IpAddr::V6(address), bits)) => {
            (DiagFamily::V6 as u8, address.octets().to_vec(), bits)
        }
    };
    let len = 12 + octets.len();
    let mut condition = vec![code, len as u8, 0, 0, family, bits, 0, 0];
    let port = filter.port.map_or(-1, i32::from);
    condition.extend(port.to_ne_bytes());
    condition.extend(octets);
    condition
}

/// Returns code that continues at its end if at least one of `conditions` is true. Otherwise the
/// code jumps to 4 bytes beyond its end.
fn any_of(conditions: &[Vec<u8>]) -> Vec<u8> {
    let Some((last, before)) = conditions.split_last() else {
        return Vec::new();
    };
    let mut code = with_no(last, last.len() + 4);
    for condition in before.iter().rev() {
        // If the condition is true, jump to the end. If it is false, skip that jump and continue
        // with the next condition.
        let mut first = with_no(condition, condition.len() + 4);
        let to_end = (4 + code.len()) as u16;
        first.extend([JUMP, 4]);
        first.extend(to_end.to_ne_bytes());
        first.extend(code);
        code = first;
    }
    code
}

/// Returns code that accepts a socket if both `first` and `rest` accept the socket. Jumps of
/// `first` to 4 bytes beyond its own end are redirected to 4 bytes beyond the end of the whole
/// code.
fn all_of(mut first: Vec<u8>, rest: Vec<u8>) -> Vec<u8> {
    let len = first.len();
    let mut at = 0;
    while at < len {
        let no = usize::from(u16::from_ne_bytes([first[at + 2], first[at + 3]]));
        if at + no == len + 4 {
            let moved = ((no + rest.len()) as u16).to_ne_bytes();
            first[at + 2..at + 4].copy_from_slice(&moved);
        }
        at += usize::from(first[at + 1]);
    }
    first.extend(rest);
    first
}

fn with_no(condition: &[u8], no: usize) -> Vec<u8> {
    let mut condition = condition.to_vec();
    condition[2..4].copy_from_slice(&(no as u16).to_ne_bytes());
    condition
}
