//! The headers of iperf 2.1.8: of a TCP stream, of a datagram, of a UDP report.
//!
//! Rule: all fields are big-endian. A client without options sends no header; its first bytes are
//! then payload. The layouts follow captures of iperf 2.1.8. Fields of options that are not
//! implemented are written as 0 and ignored when read.

use core::time::Duration;

use crate::{
    amount::{Amount, Rate},
    tally::{DatagramLoss, Span},
};

/// Bytes of a client's header at the start of a TCP stream.
pub const CLIENT_LEN: usize = 60;
/// Bytes of a datagram's own header, before the client's header.
pub const DATAGRAM_LEN: usize = 16;
/// Length of the server's acknowledgement, in bytes.
pub const ACK_LEN: usize = 28;
/// Bytes of the datagram with the server's report.
pub const REPORT_LEN: usize = 128;

/// Flag: the client asks the server to connect back (`-d`, `-r`).
const VERSION1: u32 = 0x8000_0000;
/// Flag: an extension follows the first six words.
const EXTEND: u32 = 0x4000_0000;
/// Flag: datagram numbers have 64 bits.
const SEQNO_64: u32 = 0x0800_0000;
/// Flag: the client uses an option that only newer servers know, for example `-R`.
const VERSION2: u32 = 0x0400_0000;
/// Flag: the client waits for the server's acknowledgement (`-X`).
const PEER_DETECT: u32 = 0x0200_0000;
/// Flag: bits 1 to 8 of the flags are the header's length.
const LENGTH_GIVEN: u32 = 0x0001_0000;
/// Flag of the extension: the rate is in packets per second.
const RATE_IN_PACKETS: u16 = 0x0080;
/// Flag of the extension: the server sends.
const REVERSE: u16 = 0x0400;
/// The two version fields of iperf 2.1.8.
const VERSION: [u32; 2] = [0x0002_0001, 0x0008_0003];
/// Type field of an acknowledgement.
const TYPE_ACK: u32 = 2;
/// Flag of a datagram that is a report.
const REPORT: u32 = 0x8000_0000;

/// The options that a client sends to the server at the start of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientHeader {
    /// Parallel streams.
    pub streams: u32,
    /// The server's port.
    pub port: u16,
    /// Bytes of a write; 0 means the default.
    pub length: u32,
    /// Bytes of socket buffer requested; 0 means the default.
    pub window: u32,
    /// Length of the test in time or bytes.
    pub amount: Amount,
    /// Rate limit of the sender.
    pub rate: Option<Rate>,
    /// True if the server sends.
    pub reverse: bool,
    /// True if the client waits for the server's acknowledgement.
    pub wants_ack: bool,
    /// True if the client requests a dual test, which is not implemented.
    pub wants_dual_test: bool,
}

fn word(bytes: &[u8], index: usize) -> Option<u32> {
    let at = index * 4;
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn put(bytes: &mut [u8], words: &[u32]) {
    for (slot, word) in bytes.chunks_exact_mut(4).zip(words) {
        slot.copy_from_slice(&word.to_be_bytes());
    }
}

impl ClientHeader {
    /// Writes the header of a TCP stream.
    pub fn write_tcp(&self, buffer: &mut [u8; CLIENT_LEN]) {
        let length = CLIENT_LEN as u32;
        let version2 = if self.reverse { VERSION2 } else { 0 };
        self.write(buffer, EXTEND | LENGTH_GIVEN | version2 | (length << 1));
    }

    /// Writes the client's header of a datagram; it follows the datagram's own header.
    pub fn write_udp(&self, buffer: &mut [u8; CLIENT_LEN]) {
        let length = (DATAGRAM_LEN + CLIENT_LEN) as u32;
        let version2 = if self.reverse { VERSION2 } else { 0 };
        self.write(
            buffer,
            EXTEND | SEQNO_64 | LENGTH_GIVEN | version2 | (length << 1),
        );
    }

    fn write(&self, buffer: &mut [u8; CLIENT_LEN], flags: u32) {
        let (rate, rate_flag) = match self.rate {
            None => (0, 0),
            Some(Rate::Bits(bits)) => (bits, 0),
            Some(Rate::Packets(packets)) => (packets, RATE_IN_PACKETS),
        };
        let upper = rate_flag | if self.reverse { REVERSE } else { 0 };
        put(
            buffer,
            &[
                flags,
                self.streams,
                u32::from(self.port),
                self.length,
                self.window,
                amount_on_wire(self.amount),
                0,
                0,
                u32::from(upper) << 16,
                VERSION[0],
                VERSION[1],
                0,
                rate as u32,
                (rate >> 32) as u32,
                0,
            ],
        );
    }

    /// Returns the number of bytes of the stream that [`parse`](Self::parse) needs, if the stream
    /// begins with `head`: 4, or [`CLIENT_LEN`] if `head` contains flags that announce a header.
    pub fn bytes_needed(head: &[u8]) -> usize {
        match word(head, 0) {
            None => 4,
            Some(flags) if is_extended(flags) => CLIENT_LEN,
            Some(_) => 4,
        }
    }

    /// Parses a client's header; `None` when `bytes` do not begin with one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let flags = word(bytes, 0)?;
        if !is_header(bytes) {
            return None;
        }
        let upper = (word(bytes, 8)? >> 16) as u16;
        let rate = u64::from(word(bytes, 12)?) | u64::from(word(bytes, 13)?) << 32;
        Some(Self {
            streams: word(bytes, 1)?,
            port: word(bytes, 2)? as u16,
            length: word(bytes, 3)?,
            window: word(bytes, 4)?,
            amount: amount_from_wire(word(bytes, 5)?),
            rate: match rate {
                0 => None,
                packets if upper & RATE_IN_PACKETS != 0 => Some(Rate::Packets(packets)),
                bits => Some(Rate::Bits(bits)),
            },
            reverse: upper & REVERSE != 0,
            wants_ack: flags & PEER_DETECT != 0,
            wants_dual_test: flags & VERSION1 != 0,
        })
    }
}

/// Returns true if `flags` announce an extended header. Clients of iperf 2.1 always give the
/// header's length, so a first word without the length flag is payload.
fn is_extended(flags: u32) -> bool {
    let length = (flags & 0x1fe) >> 1;
    flags & EXTEND != 0 && flags & LENGTH_GIVEN != 0 && length as usize >= CLIENT_LEN
}

/// Returns true if `bytes` are long enough for a header, have flags that announce one, and have the
/// major version of iperf 2.1.8. Payload rarely meets all these conditions.
fn is_header(bytes: &[u8]) -> bool {
    bytes.len() >= CLIENT_LEN
        && word(bytes, 0).is_some_and(is_extended)
        && word(bytes, 9).is_some_and(|version| version >> 16 == VERSION[0] >> 16)
}

/// Encodes an amount: bytes as a positive number, a time as a negative number of
/// hundredths of a second.
fn amount_on_wire(amount: Amount) -> u32 {
    match amount {
        Amount::Bytes(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX) as u32,
        Amount::Time(time) => {
            let hundredths = i32::try_from(time.as_millis() / 10).unwrap_or(i32::MAX);
            hundredths.max(1).wrapping_neg() as u32
        }
    }
}

fn amount_from_wire(word: u32) -> Amount {
    let amount = word as i32;
    if amount < 0 {
        Amount::Time(Duration::from_millis(u64::from(amount.unsigned_abs()) * 10))
    } else if amount == i32::MAX {
        // The field's largest value means "this many bytes or more", so the amount is unknown.
        Amount::Bytes(u64::MAX)
    } else {
        Amount::Bytes(u64::from(amount.unsigned_abs()))
    }
}

/// Returns the answer to a client that [waits for it](ClientHeader::wants_ack).
pub fn acknowledgement() -> [u8; ACK_LEN] {
    let mut bytes = [0; ACK_LEN];
    put(
        &mut bytes,
        &[TYPE_ACK, ACK_LEN as u32, 0, VERSION[0], VERSION[1], 0, 0],
    );
    bytes
}

/// The header of every datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramHeader {
    /// Sequence number, counted from 1; negative in the last datagram.
    pub id: i64,
    /// Send time on the sender's clock, since the Unix epoch.
    pub sent: Duration,
}

impl DatagramHeader {
    /// Writes the header at the start of a datagram.
    pub fn write(&self, buffer: &mut [u8; DATAGRAM_LEN]) {
        let id = self.id as u64;
        put(
            buffer,
            &[
                id as u32,
                self.sent.as_secs() as u32,
                self.sent.subsec_micros(),
                (id >> 32) as u32,
            ],
        );
    }

    /// Parses the header; `None` when the datagram is too short for one.
    ///
    /// Sequence numbers have 64 bits only if the flags of a client's header announce that.
    /// Reversed streams and older peers have no such flags, and the upper half of the field may
    /// have any value. Only the lower 32 bits of these numbers are used.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let low = word(bytes, 0)?;
        let seconds = word(bytes, 1)?;
        let microseconds = word(bytes, 2)?;
        let client_header = bytes.get(DATAGRAM_LEN..).filter(|rest| is_header(rest));
        let wide = client_header
            .and_then(|header| word(header, 0))
            .is_some_and(|flags| flags & SEQNO_64 != 0);
        let id = match word(bytes, 3).filter(|_| wide) {
            Some(high) => (u64::from(high) << 32 | u64::from(low)) as i64,
            None => i64::from(low as i32),
        };
        Some(Self {
            id,
            sent: Duration::new(u64::from(seconds), microseconds.min(999_999) * 1_000),
        })
    }
}

/// Parses the client's header of `datagram`; `None` when the datagram has no such header.
pub fn client_header_of_datagram(datagram: &[u8]) -> Option<ClientHeader> {
    ClientHeader::parse(datagram.get(DATAGRAM_LEN..)?)
}

/// Encodes the server's report, which answers the last datagram.
pub fn report_bytes(whole: &Span) -> [u8; REPORT_LEN] {
    let mut bytes = [0; REPORT_LEN];
    let loss = &whole.loss;
    let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    put(
        &mut bytes[DATAGRAM_LEN..],
        &[
            REPORT,
            (whole.bytes >> 32) as u32,
            whole.bytes as u32,
            whole.end.as_secs() as u32,
            whole.end.subsec_micros(),
            small(loss.lost),
            small(loss.out_of_order),
            small(loss.total),
            loss.jitter.as_secs() as u32,
            loss.jitter.subsec_micros(),
        ],
    );
    bytes
}

/// Parses a server's report; `None` when the datagram is not a report.
pub fn parse_report(datagram: &[u8]) -> Option<Span> {
    let report = datagram.get(DATAGRAM_LEN..)?;
    if word(report, 0)? & REPORT == 0 {
        return None;
    }
    let time = |index| {
        let (seconds, microseconds) = (word(report, index)?, word(report, index + 1)?);
        Some(Duration::new(
            u64::from(seconds),
            microseconds.min(999_999) * 1_000,
        ))
    };
    Some(Span {
        start: Duration::ZERO,
        end: time(3)?,
        bytes: u64::from(word(report, 1)?) << 32 | u64::from(word(report, 2)?),
        loss: DatagramLoss {
            lost: u64::from(word(report, 5)?),
            total: u64::from(word(report, 7)?),
            out_of_order: u64::from(word(report, 6)?),
            jitter: time(8)?,
        },
    })
}

#[cfg(test)]
mod tests;
