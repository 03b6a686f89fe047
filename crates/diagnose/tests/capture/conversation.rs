//! A transfer between a client and a server, with one segment in each Ethernet frame.

use fullpipe_wire::{SackBlock, TcpFlags, TcpHeader, TcpOptions, Timestamps};

use super::written::{CLIENT, Captured, SERVER, ethernet, ipv4, segment};

/// Time of the first frame, in nanoseconds since the Unix epoch.
pub const BEGAN_NS: u64 = 1_700_000_000_000_000_000;
/// Payload of a full segment, in bytes.
pub const MSS: usize = 1_448;

/// A segment: its header, true if the client sends it, and its payload in bytes.
pub type Sent = (TcpHeader, bool, usize);

fn header(from_client: bool, seq: u32, ack: u32, flags: TcpFlags) -> TcpHeader {
    let timestamps = Timestamps {
        value: seq,
        echo: ack,
    };
    TcpHeader {
        src_port: if from_client { 40_000 } else { 80 },
        dst_port: if from_client { 80 } else { 40_000 },
        seq,
        ack,
        flags,
        window: 500,
        options: TcpOptions {
            timestamps: Some(timestamps),
            ..TcpOptions::NONE
        },
        ..TcpHeader::default()
    }
}

fn opening(mut header: TcpHeader) -> TcpHeader {
    header.options.mss = Some(1_460);
    header.options.window_scale = Some(7);
    header.options.sack_permitted = true;
    header
}

/// A transfer of `count` segments from the client (port 40000) to the server (port 80): handshake,
/// one ACK for each segment, and close. Sequence numbers wrap.
pub fn headers(count: u32) -> Vec<Sent> {
    const SYN: TcpFlags = TcpFlags::SYN;
    const ACK: TcpFlags = TcpFlags::ACK;
    let (client_isn, server_isn) = (u32::MAX - 5_000, 77);
    let (mut seq, answer_seq) = (client_isn.wrapping_add(1), server_isn + 1);
    let mut all = vec![
        (opening(header(true, client_isn, 0, SYN)), true, 0),
        (opening(header(false, server_isn, seq, SYN | ACK)), false, 0),
        (header(true, seq, answer_seq, ACK), true, 0),
    ];
    for place in 0..count {
        all.push((
            header(true, seq, answer_seq, ACK | TcpFlags::PSH),
            true,
            MSS,
        ));
        let right = seq.wrapping_add(MSS as u32);
        let mut answer = header(false, answer_seq, seq, ACK);
        if place % 10 == 5 {
            answer.options.sack.push(SackBlock { left: seq, right });
        } else {
            answer.ack = right;
        }
        seq = right;
        all.push((answer, false, 0));
    }
    let fin = ACK | TcpFlags::FIN;
    all.push((header(true, seq, answer_seq, fin), true, 0));
    all.push((
        header(false, answer_seq, seq.wrapping_add(1), fin),
        false,
        0,
    ));
    all.push((
        header(true, seq.wrapping_add(1), answer_seq + 1, ACK),
        true,
        0,
    ));
    all
}

/// IPv4 packets of [`headers`], one per millisecond.
pub fn packets(count: u32) -> Vec<Captured> {
    let frames = headers(count).into_iter().enumerate();
    let frame = |(place, (header, from_client, payload)): (usize, Sent)| {
        let ends = match from_client {
            true => (CLIENT.into(), SERVER.into()),
            false => (SERVER.into(), CLIENT.into()),
        };
        let body = segment(&header, payload, ends);
        let at_ns = BEGAN_NS + place as u64 * 1_000_000 + 123_456;
        Captured::whole(at_ns, ipv4(place as u16 + 1, from_client, &body))
    };
    frames.map(frame).collect()
}

/// The packets in Ethernet frames.
pub fn frames(count: u32) -> Vec<Captured> {
    packets(count)
        .into_iter()
        .map(|packet| framed(packet, |bytes| ethernet(0x0800, bytes)))
        .collect()
}

/// Puts a link header before the packet.
pub fn framed(packet: Captured, link: impl Fn(&[u8]) -> Vec<u8>) -> Captured {
    Captured::whole(packet.at_ns, link(&packet.bytes))
}
