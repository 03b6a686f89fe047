//! What an iperf test is asked to do, and how its quantities are written.
//!
//! Rule: a suffix means what it means to stock iperf: `k m g` are powers of
//! 1000, `K M G` are powers of 1024, for rates too (`-b 810M` is 849 Mbit/s).
//! Flags themselves are parsed elsewhere.

use std::{net::SocketAddr, time::Duration};

/// The port of iperf 2.
pub const DEFAULT_PORT: u16 = 5001;
/// Bytes of one TCP write or read when `-l` is absent.
pub const TCP_LENGTH: usize = 128 * 1024;
/// Bytes of one datagram when `-l` is absent.
pub const UDP_LENGTH: usize = 1470;
/// The rate of a UDP test when `-b` is absent, in bit/s.
pub const UDP_RATE: u64 = 1024 * 1024;
/// Silence after the end of a TCP test for which a peer is given up.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// When a test is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// After this long (`-t`).
    Time(Duration),
    /// After this many bytes (`-n`).
    Bytes(u64),
}

/// How fast to send (`-b`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Bits of payload in a second.
    Bits(u64),
    /// Writes or datagrams in a second.
    Packets(u64),
}

/// A client's test.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// The server.
    pub remote: SocketAddr,
    /// The server as the user wrote it.
    pub host: String,
    /// UDP instead of TCP (`-u`).
    pub udp: bool,
    /// When the test is over.
    pub amount: Amount,
    /// Time between reports (`-i`).
    pub interval: Option<Duration>,
    /// Bytes of a write or a datagram (`-l`).
    pub length: Option<usize>,
    /// How fast each stream sends (`-b`).
    pub rate: Option<Rate>,
    /// Bytes of socket buffer (`-w`).
    pub window: Option<u32>,
    /// Streams side by side (`-P`).
    pub parallel: u32,
    /// The server sends, the client receives (`-R`).
    pub reverse: bool,
    /// Send small segments at once (`-N`).
    pub no_delay: bool,
    /// Silence of the server after the end of a TCP test for which it is given up.
    pub patience: Duration,
}

impl ClientOptions {
    /// A TCP test of ten seconds with one stream, as `iperf -c` does it.
    pub fn new(remote: SocketAddr) -> Self {
        Self {
            remote,
            host: remote.ip().to_string(),
            udp: false,
            amount: Amount::Time(Duration::from_secs(10)),
            interval: None,
            length: None,
            rate: None,
            window: None,
            parallel: 1,
            reverse: false,
            no_delay: false,
            patience: PATIENCE,
        }
    }

    /// Bytes of a write or a datagram.
    pub fn write_length(&self) -> usize {
        self.length
            .unwrap_or(if self.udp { UDP_LENGTH } else { TCP_LENGTH })
    }
}

/// A server that waits for tests.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The address and port to wait on.
    pub local: SocketAddr,
    /// UDP instead of TCP (`-u`).
    pub udp: bool,
    /// Time between reports (`-i`).
    pub interval: Option<Duration>,
    /// How long to serve (`-t`); `None` until stopped.
    pub time: Option<Duration>,
    /// Bytes of a read (`-l`). Datagrams larger than that are counted whole.
    pub length: Option<usize>,
    /// Bytes of socket buffer (`-w`).
    pub window: Option<u32>,
    /// End after this many connections or UDP tests (`-P`).
    pub connections: Option<u32>,
    /// Silence of a client after the end of a TCP test for which it is given up.
    pub patience: Duration,
}

impl ServerOptions {
    /// A TCP server on `local` that serves until stopped, as `iperf -s` does.
    pub fn new(local: SocketAddr) -> Self {
        Self {
            local,
            udp: false,
            interval: None,
            time: None,
            length: None,
            window: None,
            connections: None,
            patience: PATIENCE,
        }
    }
}

/// The factor that a suffix stands for.
fn factor(suffix: u8) -> Option<f64> {
    Some(match suffix {
        b'k' => 1e3,
        b'm' => 1e6,
        b'g' => 1e9,
        b'K' => 1024.0,
        b'M' => 1_048_576.0,
        b'G' => 1_073_741_824.0,
        _ => return None,
    })
}

/// Reads a number of bytes: `64000`, `16K`, `1.5M`.
///
/// # Errors
/// One clear line when `text` is no such number.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    quantity(text).ok_or_else(|| {
        format!("'{text}' is no size: write a number, with K, M or G (1024) or k, m or g (1000)")
    })
}

/// Reads a rate: `810M` in bit/s, `2000pps` in packets a second.
///
/// # Errors
/// One clear line when `text` is no such rate, or is zero.
pub fn parse_rate(text: &str) -> Result<Rate, String> {
    let rate = match text.strip_suffix("pps") {
        Some(packets) => quantity(packets.trim_end()).map(Rate::Packets),
        None => quantity(text).map(Rate::Bits),
    };
    match rate {
        Some(Rate::Bits(0) | Rate::Packets(0)) => Err("a rate of 0 would never send".into()),
        Some(rate) => Ok(rate),
        None => Err(format!(
            "'{text}' is no rate: write bits a second, with K, M or G (1024) or k, m or g (1000), or a number followed by pps"
        )),
    }
}

/// Reads seconds: `10`, `0.5`.
///
/// # Errors
/// One clear line when `text` is no time, or is not above zero.
pub fn parse_seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("'{text}' is no time: write seconds, above 0"))
}

fn quantity(text: &str) -> Option<u64> {
    let (number, factor) = match text.as_bytes().last().and_then(|last| factor(*last)) {
        Some(factor) => (&text[..text.len() - 1], factor),
        None => (text, 1.0),
    };
    if !number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return None;
    }
    let value = number.parse::<f64>().ok()? * factor;
    // Beyond 2^53 a float no longer counts bytes one by one; no test is that long.
    (value < 9e15).then_some(value as u64)
}

#[cfg(test)]
mod tests;
