//! One socket at one moment, from an answer of the kernel's `sock_diag`.
//!
//! Rule: this file names the values and does not interpret them. An attribute that is shorter than
//! expected counts as absent. An unknown attribute is skipped, so answers of all kernels can be
//! read. Reading allocates nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::tcp_info::{TcpInfo, read};

/// Bytes of `struct inet_diag_msg`.
const MESSAGE_LEN: usize = 72;
/// Bytes of the header of an attribute.
const ATTRIBUTE_HEADER_LEN: usize = 4;

/// Numbers of the netlink attributes (`INET_DIAG_…`).
mod attribute {
    pub const INFO: u16 = 2;
    pub const VEGAS: u16 = 3;
    pub const CONGESTION: u16 = 4;
    pub const MEMORY: u16 = 7;
    pub const SHUTDOWN: u16 = 8;
    pub const DCTCP: u16 = 9;
    pub const BBR: u16 = 16;
    pub const CGROUP: u16 = 21;
}

/// State of the connection, with the kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SocketState {
    /// The connection is open.
    Established = 1,
    /// The SYN was sent.
    SynSent = 2,
    /// A SYN was received.
    SynReceived = 3,
    /// This end closed, and its FIN is not acknowledged yet.
    FinWait1 = 4,
    /// This end closed, and its FIN is acknowledged.
    FinWait2 = 5,
    /// Both ends closed, and this end waits for late segments.
    TimeWait = 6,
    /// There is no connection.
    Closed = 7,
    /// The peer closed.
    CloseWait = 8,
    /// The peer closed first, then this end.
    LastAck = 9,
    /// The socket waits for connections.
    Listen = 10,
    /// Both ends closed at the same time.
    Closing = 11,
}

impl SocketState {
    /// The state with the kernel's number `number`.
    pub fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Established,
            2 => Self::SynSent,
            // State 12 is a connection request that does not have a socket yet.
            3 | 12 => Self::SynReceived,
            4 => Self::FinWait1,
            5 => Self::FinWait2,
            6 => Self::TimeWait,
            7 => Self::Closed,
            8 => Self::CloseWait,
            9 => Self::LastAck,
            10 => Self::Listen,
            11 => Self::Closing,
            _ => return None,
        })
    }

    /// The name that `ss` prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Established => "ESTAB",
            Self::SynSent => "SYN-SENT",
            Self::SynReceived => "SYN-RECV",
            Self::FinWait1 => "FIN-WAIT-1",
            Self::FinWait2 => "FIN-WAIT-2",
            Self::TimeWait => "TIME-WAIT",
            Self::Closed => "UNCONN",
            Self::CloseWait => "CLOSE-WAIT",
            Self::LastAck => "LAST-ACK",
            Self::Listen => "LISTEN",
            Self::Closing => "CLOSING",
        }
    }
}

/// Address family of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagFamily {
    /// IPv4.
    V4 = 2,
    /// IPv6.
    V6 = 10,
}

impl DiagFamily {
    /// The family with the kernel's number `number`.
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            2 => Some(Self::V4),
            10 => Some(Self::V6),
            _ => None,
        }
    }
}

/// Identity of a socket. The cookie alone is unique until the next boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SocketId {
    /// The socket's own address.
    pub local: SocketAddr,
    /// The peer's address.
    pub peer: SocketAddr,
    /// The kernel's number of the socket; `ss -e` prints it in hexadecimal after `sk:`.
    pub cookie: u64,
}

/// Memory of a socket in bytes, as in `skmem:(…)` of `ss`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketMemory {
    /// Memory of data that was received and not read, with overhead.
    pub rmem: u32,
    /// Receive buffer.
    pub rcvbuf: u32,
    /// Memory of data that was passed to the device's transmit queue.
    pub wmem: u32,
    /// Send buffer.
    pub sndbuf: u32,
    /// Memory that is reserved and not used.
    pub forward: u32,
    /// Memory of data that was written and not acknowledged, with overhead.
    pub queued: u32,
    /// Memory of options.
    pub options: u32,
    /// Memory of segments in the backlog. The kernel puts arriving segments there while a system
    /// call has the socket locked.
    pub backlog: u32,
    /// Number of segments dropped.
    pub drops: u32,
}

impl SocketMemory {
    /// Names in a recording, in the order of [`values`](Self::values).
    pub const NAMES: [&'static str; 9] = ["r", "rb", "t", "tb", "f", "w", "o", "bl", "d"];

    /// The fields as numbers.
    pub fn values(&self) -> [u32; 9] {
        [
            self.rmem,
            self.rcvbuf,
            self.wmem,
            self.sndbuf,
            self.forward,
            self.queued,
            self.options,
            self.backlog,
            self.drops,
        ]
    }

    /// Creates the memory from the output of [`values`](Self::values).
    pub fn from_values(values: [u32; 9]) -> Self {
        let [
            rmem,
            rcvbuf,
            wmem,
            sndbuf,
            forward,
            queued,
            options,
            backlog,
            drops,
        ] = values;
        Self {
            rmem,
            rcvbuf,
            wmem,
            sndbuf,
            forward,
            queued,
            options,
            backlog,
            drops,
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        // The last value may be missing: `drops` came with Linux 4.7.
        let mut values = [0; 9];
        for (place, value) in values.iter_mut().enumerate() {
            match read!(u32, bytes, 4 * place) {
                Some(read) => *value = read,
                None if place == 8 => {}
                None => return None,
            }
        }
        Some(Self::from_values(values))
    }
}

/// Name of a congestion control: at most 15 bytes, as in the kernel.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct CongestionName([u8; 16]);

impl CongestionName {
    /// Creates a name, cut to 15 bytes.
    pub fn new(name: &str) -> Self {
        let mut bytes = [0; 16];
        for (slot, byte) in bytes.iter_mut().take(15).zip(name.bytes()) {
            *slot = byte;
        }
        Self(bytes)
    }

    /// The name; empty if the kernel did not report it.
    pub fn as_str(&self) -> &str {
        let len = self.0.iter().position(|&byte| byte == 0);
        std::str::from_utf8(&self.0[..len.unwrap_or(self.0.len())]).unwrap_or("")
    }
}

impl std::fmt::Debug for CongestionName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// State of a congestion control, reported in addition to `tcp_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionModel {
    /// BBR.
    Bbr {
        /// Estimate of the path's rate in bytes per second.
        rate: u64,
        /// Estimate of the path's round-trip time in microseconds.
        min_rtt: u32,
        /// Gain of the pacing rate, times 256.
        pacing_gain: u32,
        /// Gain of the congestion window, times 256.
        cwnd_gain: u32,
    },
    /// Vegas, and algorithms with the same report (Illinois, Westwood, YeAH).
    Vegas {
        /// False while the algorithm does no measurements.
        enabled: bool,
        /// Number of round trips measured.
        rtt_count: u32,
        /// Round-trip time in microseconds.
        rtt: u32,
        /// Smallest round-trip time in microseconds.
        min_rtt: u32,
    },
    /// DCTCP.
    Dctcp {
        /// True if DCTCP itself is in use, and not its fallback.
        enabled: bool,
        /// True if the last packet had a congestion mark.
        ce_state: bool,
        /// Share of marked payload, times 1024.
        alpha: u32,
        /// Payload acknowledged with an ECN echo.
        ab_ecn: u32,
        /// Payload acknowledged.
        ab_total: u32,
    },
}

impl CongestionModel {
    fn bbr(bytes: &[u8]) -> Option<Self> {
        let word = |place: usize| read!(u32, bytes, 4 * place);
        Some(Self::Bbr {
            rate: u64::from(word(0)?) | u64::from(word(1)?) << 32,
            min_rtt: word(2)?,
            pacing_gain: word(3)?,
            cwnd_gain: word(4)?,
        })
    }

    fn vegas(bytes: &[u8]) -> Option<Self> {
        let word = |place: usize| read!(u32, bytes, 4 * place);
        Some(Self::Vegas {
            enabled: word(0)? != 0,
            rtt_count: word(1)?,
            rtt: word(2)?,
            min_rtt: word(3)?,
        })
    }

    fn dctcp(bytes: &[u8]) -> Option<Self> {
        Some(Self::Dctcp {
            enabled: read!(u16, bytes, 0)? != 0,
            ce_state: read!(u16, bytes, 2)? != 0,
            alpha: read!(u32, bytes, 4)?,
            ab_ecn: read!(u32, bytes, 8)?,
            ab_total: read!(u32, bytes, 12)?,
        })
    }
}

/// Timer of a socket, with the kernel's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SocketTimer {
    /// No timer.
    #[default]
    Off = 0,
    /// Timer for retransmissions, tail loss probes or reordering.
    Retransmission = 1,
    /// Timer for keep-alive, or a timer without a number of its own.
    KeepAlive = 2,
    /// The end of TIME-WAIT.
    TimeWait = 3,
    /// A probe of a zero window.
    ZeroWindowProbe = 4,
}

impl SocketTimer {
    /// The timer with the kernel's number `number`; `Off` for an unknown number.
    pub fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Retransmission,
            2 => Self::KeepAlive,
            3 => Self::TimeWait,
            4 => Self::ZeroWindowProbe,
            _ => Self::Off,
        }
    }
}

/// A socket at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketObservation {
    /// Identity of the socket.
    pub id: SocketId,
    /// Address family of the socket. A socket of the IPv6 family may have IPv4 addresses.
    pub family: DiagFamily,
    /// State of the socket.
    pub state: SocketState,
    /// Timer of the socket.
    pub timer: SocketTimer,
    /// Milliseconds until the timer expires.
    pub expires: u32,
    /// Bytes received and not read (`Recv-Q`).
    pub receive_queue: u32,
    /// Bytes written and not acknowledged (`Send-Q`).
    pub send_queue: u32,
    /// User ID of the owner.
    pub uid: u32,
    /// Inode, by which the socket's processes can be found; 0 once no process has the socket open.
    pub inode: u32,
    /// Number of the interface to which the socket is bound; 0 if it is bound to none.
    pub interface: u32,
    /// Directions that were shut down, as bits: 1 receiving, 2 sending.
    pub shutdown: u8,
    /// Number of the socket's cgroup.
    pub cgroup: Option<u64>,
    /// `tcp_info`; absent if there is no connection.
    pub info: Option<TcpInfo>,
    /// Memory of the socket.
    pub memory: Option<SocketMemory>,
    /// Name of the socket's congestion control.
    pub congestion: CongestionName,
    /// State of the socket's congestion control.
    pub model: Option<CongestionModel>,
}

impl SocketObservation {
    /// Reads the payload of one netlink message: `struct inet_diag_msg` and attributes.
    ///
    /// Returns `None` if the payload is too short, or has an unknown address family or state.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let header = payload.get(..MESSAGE_LEN)?;
        let word = |at: usize| read!(u32, header, at);
        let end = |port: usize, address: usize| {
            let port = u16::from_be_bytes(header[port..port + 2].try_into().ok()?);
            let octets: [u8; 16] = header[address..address + 16].try_into().ok()?;
            Some(SocketAddr::new(ip_address(header[0], octets)?, port))
        };
        let mut socket = Self {
            family: DiagFamily::from_number(header[0])?,
            id: SocketId {
                local: end(4, 8)?,
                peer: end(6, 24)?,
                cookie: u64::from(word(44)?) | u64::from(word(48)?) << 32,
            },
            state: SocketState::from_number(header[1])?,
            timer: SocketTimer::from_number(header[2]),
            expires: word(52)?,
            receive_queue: word(56)?,
            send_queue: word(60)?,
            uid: word(64)?,
            inode: word(68)?,
            interface: word(40)?,
            shutdown: 0,
            cgroup: None,
            info: None,
            memory: None,
            congestion: CongestionName::default(),
            model: None,
        };
        for (kind, value) in Attributes(&payload[MESSAGE_LEN..]) {
            socket.set(kind, value);
        }
        Some(socket)
    }

    fn set(&mut self, kind: u16, value: &[u8]) {
        match kind {
            attribute::INFO => self.info = TcpInfo::parse(value),
            attribute::MEMORY => self.memory = SocketMemory::parse(value),
            attribute::CONGESTION => {
                let len = value.iter().position(|&byte| byte == 0);
                let name = &value[..len.unwrap_or(value.len())];
                self.congestion = CongestionName::new(std::str::from_utf8(name).unwrap_or(""));
            }
            attribute::SHUTDOWN => self.shutdown = value.first().copied().unwrap_or(0),
            attribute::BBR => self.model = CongestionModel::bbr(value),
            attribute::VEGAS => self.model = CongestionModel::vegas(value),
            attribute::DCTCP => self.model = CongestionModel::dctcp(value),
            attribute::CGROUP => self.cgroup = read!(u64, value, 0),
            _ => {}
        }
    }

    /// Bytes written and not sent. Kernels before 4.6 do not report this number; for them it is
    /// computed from the segments in flight.
    pub fn unsent(&self) -> u32 {
        match &self.info {
            Some(info) => info.notsent_bytes.unwrap_or_else(|| {
                self.send_queue
                    .saturating_sub(info.unacked.saturating_mul(info.snd_mss))
            }),
            None => 0,
        }
    }

    /// Bytes sent and not acknowledged.
    pub fn in_flight(&self) -> u32 {
        self.send_queue.saturating_sub(self.unsent())
    }
}

/// Attributes of a netlink message: pairs of number and value.
struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let len = usize::from(read!(u16, self.0, 0)?);
        let kind = read!(u16, self.0, 2)?;
        let value = self.0.get(ATTRIBUTE_HEADER_LEN..len)?;
        let padded = len.next_multiple_of(4).min(self.0.len());
        self.0 = &self.0[padded..];
        // Remove the two highest bits, which mark nested values and values in network byte order.
        Some((kind & 0x3fff, value))
    }
}

/// The address in `octets`. An IPv4 address in an IPv6 socket becomes an IPv4 address.
fn ip_address(family: u8, octets: [u8; 16]) -> Option<IpAddr> {
    match family {
        2 => {
            let [a, b, c, d, ..] = octets;
            Some(Ipv4Addr::new(a, b, c, d).into())
        }
        10 => Some(Ipv6Addr::from(octets).to_canonical()),
        _ => None,
    }
}
