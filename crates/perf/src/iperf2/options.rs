//! The options of an iperf test, and the parser of their quantities.
//!
//! Rule: suffixes mean the same as in stock iperf: `k m g` are powers of 1000,
//! `K M G` are powers of 1024, for rates too (`-b 810M` is 849 Mbit/s). The flags
//! themselves are parsed by the command line of `fullpipe-cli`.

use std::{net::SocketAddr, time::Duration};

pub use fullpipe_iperf::{Amount, DEFAULT_PORT, Rate, UDP_LENGTH, UDP_RATE};

/// Bytes of one TCP write or read without `-l`.
pub const TCP_LENGTH: usize = 128 * 1024;
/// After the planned end of a TCP test, the longest silence of the peer before the test is aborted.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(10);

/// Options of a test that a client runs.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Address and port of the server.
    pub remote: SocketAddr,
    /// Name or address of the server as the user wrote it.
    pub host: String,
    /// True for UDP (`-u`), false for TCP.
    pub udp: bool,
    /// Length of the test.
    pub amount: Amount,
    /// Time between reports (`-i`).
    pub interval: Option<Duration>,
    /// Bytes of a write or a datagram (`-l`).
    pub length: Option<usize>,
    /// Rate limit of each stream (`-b`).
    pub rate: Option<Rate>,
    /// Bytes of socket buffer (`-w`).
    pub window: Option<u32>,
    /// Parallel streams (`-P`).
    pub parallel: u32,
    /// The server sends, the client receives (`-R`).
    pub reverse: bool,
    /// Disables the Nagle algorithm (`-N`).
    pub no_delay: bool,
    /// After the planned end of a TCP test, the longest silence of the server before the test is
    /// aborted.
    pub silence_timeout: Duration,
}

impl ClientOptions {
    /// Returns the test of `iperf -c`: TCP, ten seconds, one stream.
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
            silence_timeout: SILENCE_TIMEOUT,
        }
    }

    /// Returns the bytes of a write or a datagram: `length`, or the default.
    pub fn write_length(&self) -> usize {
        self.length
            .unwrap_or(if self.udp { UDP_LENGTH } else { TCP_LENGTH })
    }
}

/// Options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address and port to listen on.
    pub local: SocketAddr,
    /// True for UDP (`-u`), false for TCP.
    pub udp: bool,
    /// Time between reports (`-i`).
    pub interval: Option<Duration>,
    /// Time after which the server ends (`-t`); with `None`, it serves until it is stopped.
    pub time: Option<Duration>,
    /// Bytes of a TCP read (`-l`). Also the bytes of a write or datagram of a reversed test whose
    /// client names no length. Received datagrams are counted completely at any size.
    pub length: Option<usize>,
    /// Bytes of socket buffer (`-w`).
    pub window: Option<u32>,
    /// Number of connections or UDP tests after which the server ends (`-P`).
    pub connections: Option<u32>,
    /// After the planned end of a TCP test, the longest silence of the client before the test is
    /// aborted.
    pub silence_timeout: Duration,
}

impl ServerOptions {
    /// Returns the server of `iperf -s`: TCP on `local`, until somebody stops the server.
    pub fn new(local: SocketAddr) -> Self {
        Self {
            local,
            udp: false,
            interval: None,
            time: None,
            length: None,
            window: None,
            connections: None,
            silence_timeout: SILENCE_TIMEOUT,
        }
    }
}

/// Returns the factor of a suffix.
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

/// Parses a number of bytes: `64000`, `16K`, `1.5M`.
///
/// # Errors
/// Returns a message of one line if `text` is not a size.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    quantity(text).ok_or_else(|| {
        format!("'{text}' is not a size: write a number, with K, M or G (1024) or k, m or g (1000)")
    })
}

/// Parses a rate: `810M` in bit/s, `2000pps` in packets per second.
///
/// # Errors
/// Returns a message of one line if `text` is not a rate, or is zero.
pub fn parse_rate(text: &str) -> Result<Rate, String> {
    let rate = match text.strip_suffix("pps") {
        Some(packets) => quantity(packets.trim_end()).map(Rate::Packets),
        None => quantity(text).map(Rate::Bits),
    };
    match rate {
        Some(Rate::Bits(0) | Rate::Packets(0)) => Err("a rate of 0 would never send".into()),
        Some(rate) => Ok(rate),
        None => Err(format!(
            "'{text}' is not a rate: write bits per second, with K, M or G (1024) or k, m or g (1000), or a number followed by pps"
        )),
    }
}

/// Parses a time in seconds: `10`, `0.5`.
///
/// # Errors
/// Returns a message of one line if `text` is not a time above zero.
pub fn parse_seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("'{text}' is not a time: write seconds, above 0"))
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
    // Refuse larger values: from 2^53 on, an f64 cannot represent every number of bytes.
    (value < 9e15).then_some(value as u64)
}

#[cfg(test)]
mod tests;
