//! Segments of peers: with the expected sequence numbers, with numbers near these, or with any
//! numbers.
//!
//! The one rule: every number that the stack compares is drawn relative to the number with which
//! the stack compares it: near that number, a window away, 2^31 away, or anywhere.

use fullpipe::Info;
use fullpipe_wire::{SackBlock, TcpFlags, TcpHeader, TcpOptions, Timestamps};

use super::flows::Flow;
use super::tuple::{Tuple, byte_of};
use crate::script::Script;

/// Values of the MSS option of peers.
const SIZES: [u16; 8] = [0, 1, 47, 48, 536, 1460, 8960, 65_535];
/// Windows of peers, before scaling.
const WINDOWS: [u16; 8] = [0, 1, 100, 536, 4_096, 16_384, 65_534, 65_535];

/// Draws a number relative to `base`, the first number of a window of length `window`.
pub fn near(script: &mut Script<'_>, base: u32, window: u32) -> Option<u32> {
    let kind = script.byte()?;
    let small = i32::from(script.byte()? as i8);
    let by = |offset: u32| base.wrapping_add(offset).wrapping_add_signed(small);
    Some(match kind % 8 {
        0 => by(0),
        1 => by(window),
        2 => by(window.wrapping_neg()),
        3 => by(1 << 31),
        4 => by((1_u32 << 31).wrapping_add(window)),
        5 => by((1_u32 << 31).wrapping_sub(window)),
        6 => by(1 << 30),
        7.. => by(u32::from(script.number()?) << 16 | u32::from(script.number()?)),
    })
}

/// Draws a SYN from `tuple`.
pub fn syn(script: &mut Script<'_>, tuple: Tuple, now_ms: u32) -> Option<(TcpHeader, Vec<u8>)> {
    let seq = u32::from(script.number()?) << 16 | u32::from(script.number()?);
    let choice = script.byte()?;
    let options = TcpOptions {
        mss: Some(SIZES[usize::from(choice % 8)]),
        window_scale: (choice & 8 != 0).then_some(script.byte()? % 18),
        sack_permitted: choice & 16 != 0,
        timestamps: (choice & 32 != 0).then_some(Timestamps {
            value: now_ms,
            echo: 0,
        }),
        ..TcpOptions::default()
    };
    let flags = match choice >> 6 {
        0 | 1 => TcpFlags::SYN,
        2 => TcpFlags::SYN | TcpFlags::ECE | TcpFlags::CWR,
        _ => TcpFlags::SYN | TcpFlags::URG,
    };
    let header = TcpHeader {
        seq,
        flags,
        window: WINDOWS[usize::from(script.byte()? % 8)],
        options,
        ..between(tuple)
    };
    Some((header, Vec::new()))
}

fn between(tuple: Tuple) -> TcpHeader {
    TcpHeader {
        src_port: tuple.peer_port,
        dst_port: tuple.port,
        ..TcpHeader::default()
    }
}

/// Draws a segment of an open connection. `info` is the stack's information about the connection,
/// if the application has it open.
pub fn of_flow(
    script: &mut Script<'_>,
    flow: &Flow,
    info: Option<&Info>,
    now_ms: u32,
) -> Option<(TcpHeader, Vec<u8>)> {
    let how = script.byte()?;
    let expected = info.map_or(flow.expected(), |info| info.rcv_nxt);
    let edge = flow.edge.unwrap_or(expected);
    let window = edge.wrapping_sub(expected).min(1 << 30);
    let seq = match how & 7 {
        0..=3 => expected,
        4 => edge.wrapping_sub(u32::from(script.byte()?)),
        5 => expected.wrapping_add(u32::from(script.byte()?) * 64),
        _ => near(script, expected, window)?,
    };
    let oldest = info.map_or(flow.iss, |info| info.snd_una);
    let in_flight = flow.sent_end.wrapping_sub(oldest);
    let ack = match how >> 3 & 7 {
        0..=3 => flow.sent_end,
        4 => oldest,
        5 => oldest.wrapping_add(in_flight.min(u32::from(script.byte()?) * 32)),
        _ => near(
            script,
            flow.sent_end,
            info.map_or(in_flight, |info| info.max_snd_wnd),
        )?,
    };
    let flags = flags(script)?;
    let payload = payload(script, flow, seq)?;
    let header = TcpHeader {
        seq,
        ack,
        flags,
        window: WINDOWS[usize::from(script.byte()? % 8)],
        urgent: u16::from(script.byte()?) << 4,
        options: options(script, how >> 6, flow, (oldest, in_flight), now_ms)?,
        ..between(flow.tuple)
    };
    Some((header, payload))
}

/// Draws control bits: mostly ACK, sometimes FIN or RST, rarely any others.
fn flags(script: &mut Script<'_>) -> Option<TcpFlags> {
    let ack = TcpFlags::ACK;
    Some(match script.byte()? {
        0..=139 => ack,
        140..=169 => ack | TcpFlags::PSH,
        170..=185 => ack | TcpFlags::FIN,
        186..=193 => TcpFlags::RST,
        194..=199 => TcpFlags::RST | ack,
        200..=207 => TcpFlags::SYN,
        208..=219 => TcpFlags::SYN | ack,
        220..=231 => ack | TcpFlags::URG,
        232..=239 => ack | TcpFlags::ECE,
        240..=247 => ack | TcpFlags::CWR,
        248.. => TcpFlags::from_bits(script.number()?),
    })
}

/// Draws payload from `seq` on: none, the bytes of a true peer (one that follows the protocol), or
/// other bytes.
fn payload(script: &mut Script<'_>, flow: &Flow, seq: u32) -> Option<Vec<u8>> {
    let len = usize::from(script.byte()?);
    let len = match len {
        0..=99 => 0,
        100..=179 => len - 99,
        180..=249 => (len - 179) * 20,
        250.. => (len - 249) * 3_000,
    };
    let is_forged = script.byte()? % 4 == 0;
    let irs = flow.irs.unwrap_or(seq.wrapping_sub(1));
    let byte = |at: usize| {
        let byte = byte_of(flow.tuple, irs, seq.wrapping_add(at as u32), true);
        if is_forged { !byte } else { byte }
    };
    Some((0..len).map(byte).collect())
}

fn options(
    script: &mut Script<'_>,
    stamps: u8,
    flow: &Flow,
    (oldest, in_flight): (u32, u32),
    now_ms: u32,
) -> Option<TcpOptions> {
    let echo = flow.timestamp.unwrap_or(0);
    let timestamps = match stamps {
        0 | 1 => flow.timestamp.map(|echo| Timestamps {
            value: now_ms,
            echo,
        }),
        2 => None,
        _ => Some(Timestamps {
            value: near(script, now_ms, 1 << 16)?,
            echo: near(script, echo, 1 << 16)?,
        }),
    };
    let mut options = TcpOptions {
        timestamps,
        ..TcpOptions::default()
    };
    let blocks = script.byte()?;
    if blocks >= 160 {
        for _ in 0..blocks % 5 {
            let reach = in_flight.max(1);
            let left = match blocks % 16 {
                0 => near(script, oldest, in_flight)?,
                _ => oldest.wrapping_add(u32::from(script.number()?) % reach),
            };
            let len = u32::from(script.byte()?) * 16;
            let right = left.wrapping_add(len);
            options.sack.push(SackBlock { left, right });
        }
    }
    if blocks == 159 {
        options.mss = Some(SIZES[usize::from(script.byte()? % 8)]);
        options.window_scale = Some(script.byte()?);
    }
    Some(options)
}
