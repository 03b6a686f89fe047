//! Tests of answers of several kernels, of the limits that follow from them, of accounts (time by
//! limit), and of recordings.

mod accounts;
mod answers;
mod limits;
mod replays;

use super::*;

/// Answers of Linux 6.18, one per line: name and bytes. The answers are from two connections over
/// the loopback device, each with an answer of the sender and one of the receiver. In one
/// connection the reader had stopped; in the other, payload was unread.
const ANSWERS: &str = include_str!("linux-6.18.hex");
/// Bytes of an answer before its attributes.
const HEADER_LEN: usize = 72;

/// The answer called `name`.
fn answer(name: &str) -> Vec<u8> {
    let line = ANSWERS.lines().find(|line| line.starts_with(name));
    let (_, hex) = line.unwrap().split_once(' ').unwrap();
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

fn observation(name: &str) -> SocketObservation {
    SocketObservation::parse(&answer(name)).unwrap()
}

/// An established sender with nothing to send, over a path with an RTT of 20 ms. Each test changes
/// the values that matter to it.
fn idle() -> SocketObservation {
    SocketObservation {
        state: SocketState::Established,
        timer: SocketTimer::Off,
        expires: 0,
        send_queue: 0,
        memory: Some(SocketMemory {
            sndbuf: 46_080,
            rcvbuf: 131_072,
            ..SocketMemory::default()
        }),
        congestion: CongestionName::new("cubic"),
        model: None,
        info: Some(TcpInfo {
            ca_state: 0,
            retransmits: 0,
            probes: 0,
            backoff: 0,
            rto: 220_000,
            snd_mss: 1_448,
            rtt: 20_000,
            rttvar: 1_000,
            min_rtt: Some(19_900),
            snd_cwnd: 30,
            snd_ssthresh: INFINITE_SSTHRESH,
            snd_wnd: Some(1 << 20),
            notsent_bytes: Some(0),
            busy_time: Some(0),
            rwnd_limited: Some(0),
            sndbuf_limited: Some(0),
            bytes_acked: Some(0),
            bytes_received: Some(0),
            flags: 0,
            unacked: 0,
            ..observation("zero-window-sender").info.unwrap()
        }),
        ..observation("zero-window-sender")
    }
}

/// [`idle`] with `segments` segments in flight and `unsent` further bytes that were written and
/// not sent.
fn sending(segments: u32, unsent: u32) -> SocketObservation {
    let mut socket = idle();
    socket.send_queue = segments * 1_448 + unsent;
    let info = socket.info.as_mut().unwrap();
    info.unacked = segments;
    info.notsent_bytes = Some(unsent);
    info.last_ack_recv = 1;
    info.last_data_sent = 1;
    socket
}

fn with_info(
    mut socket: SocketObservation,
    change: impl FnOnce(&mut TcpInfo),
) -> SocketObservation {
    change(socket.info.as_mut().unwrap());
    socket
}

fn with_memory(
    mut socket: SocketObservation,
    change: impl FnOnce(&mut SocketMemory),
) -> SocketObservation {
    change(socket.memory.as_mut().unwrap());
    socket
}
