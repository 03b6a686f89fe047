//! Tests that a stack with bursts sends the same frames as a stack that polls a connection for each
//! segment and receives frames one by one.
//!
//! Rule: each case runs with and without bursts (knob `stack.bursts`), and both runs must
//! have the same frames on the cable, the same bytes read and the same counters.

mod pair;

use fullpipe::{
    Config, Duration, Read,
    device::{Capabilities, Medium, TxMeta},
};
use fullpipe_wire::{TcpFlags, TcpHeader};
use pair::{Pair, Seen, Side, config, ethernet, frame, has};

use std::{cell::RefCell, rc::Rc};

/// Bytes that are sent in each case.
const BYTES: usize = 300_000;

/// The segments on the cable, with the metadata of their frames.
type Trace = Vec<(Side, TcpHeader, Vec<u8>, TxMeta)>;

/// Sends [`BYTES`] from A to B, and an answer every 20,000 bytes. The segments for which
/// `loses` returns true are lost. Returns the trace, and the counters of both hosts.
fn trace(
    config: &Config,
    capabilities: Capabilities,
    bursts: bool,
    loses: fn(usize) -> bool,
) -> (Trace, String) {
    let mut config = config.clone();
    config.stack.bursts = bursts;
    let mut pair = Pair::with(&config, &config, capabilities);
    let (client, server) = pair.connected();
    let seen = Rc::new(RefCell::new(Trace::new()));
    let log = seen.clone();
    pair.watch = Some(Box::new(move |segment: &Seen| {
        let mut log = log.borrow_mut();
        let payload = segment.payload.clone();
        log.push((segment.from, segment.header, payload, segment.meta));
        !loses(log.len())
    }));
    let bytes: Vec<u8> = (0..BYTES).map(|place| (place * 7 / 3) as u8).collect();
    let (mut written, mut read, mut answered) = (0, Vec::new(), 0);
    let mut out = vec![0; 70_000];
    pair.until("everything is read", |pair| {
        written += pair.write(Side::A, client, &bytes[written..]);
        while let Read::Data(len) = pair.read(Side::B, server, &mut out) {
            read.extend_from_slice(&out[..len]);
        }
        if read.len() >= answered + 20_000 {
            answered = read.len();
            pair.write(Side::B, server, b"so far so good");
        }
        pair.read(Side::A, client, &mut out);
        pair.verify();
        read.len() == BYTES
    });
    pair.pass(Duration::from_secs(5));
    assert_eq!(read, bytes);
    let counters = [&pair.a.stack, &pair.b.stack].map(|stack| {
        let (ip, tcp) = (stack.counters(), stack.tcp_counters());
        format!("{ip:?} {tcp:?} {:?}", stack.tcp_discards())
    });
    (seen.take(), counters.join("\n"))
}

/// Returns the knobs of the tests, with `changes` applied.
fn with(changes: &[(&str, &str)]) -> Config {
    let mut config = config();
    for (name, value) in changes {
        config.set(name, value).expect("a knob");
    }
    config
}

const fn none_lost(_: usize) -> bool {
    false
}

const fn some_lost(segment: usize) -> bool {
    segment % 37 == 5
}

#[test]
fn bursts_change_neither_frames_nor_counters() {
    let tun = Capabilities::plain(Medium::Ip, 1_400);
    let offloads = Capabilities {
        checksum_tx: true,
        ..ethernet()
    };
    let cuts = Capabilities {
        super_segment: 32_768,
        ..offloads
    };
    let ethernet = ethernet();
    let small = [("tcp.send_buffer", "9000"), ("tcp.receive_buffer", "7001")];
    for (name, capabilities, changes, loses) in [
        ("default", ethernet, &[][..], none_lost as fn(usize) -> bool),
        ("losses", ethernet, &[], some_lost),
        ("TUN", tun, &[], none_lost),
        ("checksums by the device", offloads, &[], some_lost),
        ("a device that cuts", cuts, &[], none_lost),
        (
            "no timestamps",
            ethernet,
            &[("tcp.timestamps", "false")],
            none_lost,
        ),
        ("no SACK", ethernet, &[("tcp.sack", "false")], some_lost),
        ("ECN", ethernet, &[("tcp.ecn", "on")], some_lost),
        ("BBR", ethernet, &[("tcp.congestion", "bbr")], some_lost),
        (
            "every segment pushed",
            ethernet,
            &[("tcp.push", "every")],
            none_lost,
        ),
        (
            "a short turn",
            ethernet,
            &[("stack.turn_budget", "3")],
            none_lost,
        ),
        ("small buffers", ethernet, &small, some_lost),
        (
            "little memory",
            ethernet,
            &[("pool.blocks", "24")],
            some_lost,
        ),
    ] {
        let config = with(changes);
        let run = |bursts| trace(&config, capabilities, bursts, loses);
        let (without, with) = (run(false), run(true));
        assert_eq!(with.0.len(), without.0.len(), "{name}: number of segments");
        for (place, (with, without)) in with.0.iter().zip(&without.0).enumerate() {
            assert_eq!(with, without, "{name}: segment {place}");
        }
        assert_eq!(with.1, without.1, "{name}: counters");
    }
}

/// IP packets of this length arrive in two fragments; the second fragment has eight bytes.
const FRAGMENTED: usize = 20 + 20 + 1_436;

/// Returns the frame, or two fragments of it if the packet has the length [`FRAGMENTED`].
fn fragments(frame: &[u8]) -> Vec<Vec<u8>> {
    if frame.len() != 14 + FRAGMENTED {
        return vec![frame.to_vec()];
    }
    let last = frame.len() - 8;
    let piece = |body: &[u8], offset: u16| {
        let mut piece = [&frame[..34], body].concat();
        let len = (piece.len() - 14) as u16;
        piece[16..18].copy_from_slice(&len.to_be_bytes());
        piece[18..20].copy_from_slice(&[1, 1]);
        piece[20..22].copy_from_slice(&offset.to_be_bytes());
        piece[24..26].fill(0);
        let sum = fullpipe_wire::Checksum::of(&piece[14..34]).finish();
        piece[24..26].copy_from_slice(&sum.to_be_bytes());
        piece
    };
    let more = 0x2000;
    let place = ((last - 34) / 8) as u16;
    vec![piece(&frame[34..last], more), piece(&frame[last..], place)]
}

/// B receives six frames in one turn. Each has `len` bytes of payload, and `change` has edited
/// each. Returns the bytes that B reads, and B's counters.
fn received(len: usize, change: fn(usize, &mut Vec<u8>)) -> (usize, String) {
    let mut config = config();
    config.tcp.timestamps = false;
    let mut pair = Pair::new(&config);
    let first = Rc::new(RefCell::new(None));
    let log = first.clone();
    pair.watch = Some(Box::new(move |segment: &Seen| {
        if segment.from == Side::A && !has(segment, TcpFlags::SYN) {
            log.borrow_mut().get_or_insert(segment.header);
        }
        true
    }));
    let (_, server) = pair.connected();
    let header = first.take().expect("the handshake ended with an ACK");
    for place in 0..6 {
        let header = TcpHeader {
            seq: header.seq.wrapping_add((place * len) as u32),
            ..header
        };
        let mut frame = frame(Side::A, &header, &vec![place as u8; len]);
        change(place, &mut frame);
        for piece in fragments(&frame) {
            pair.b.port.inject(&piece);
        }
    }
    pair.step();
    let mut out = vec![0; 20_000];
    let read = match pair.read(Side::B, server, &mut out) {
        Read::Data(len) => len,
        Read::Empty | Read::End => 0,
    };
    let counters = pair.b.stack.counters();
    (read, format!("{counters:?}"))
}

#[test]
fn a_bad_checksum_ends_a_run() {
    assert_eq!(received(1_460, |_, _| {}).0, 6 * 1_460);
    for byte in [18, 24, 38, 50, 60, 1_513] {
        CORRUPTED.set(byte);
        let (read, counters) = received(1_460, |place, frame| {
            if place == 3 {
                frame[CORRUPTED.get()] ^= 0x40;
            }
        });
        assert_eq!(read, 3 * 1_460, "byte {byte}: {counters}");
    }
}

thread_local! {
    /// Offset of the byte that a test changes in a frame.
    static CORRUPTED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[test]
fn padding_behind_a_packet_is_not_read() {
    let (read, _) = received(1_400, |place, frame| {
        if place % 2 == 1 {
            frame.extend([0xee; 4]);
        }
    });
    assert_eq!(read, 6 * 1_400);
}

/// A run is a series of segments with equal headers except for the sequence number and PSH. A
/// packet in fragments begins no run; here, the last fragment is even shorter than a TCP header.
#[test]
fn a_packet_in_fragments_begins_no_run() {
    let (read, counters) = received(FRAGMENTED - 40, |_, _| {});
    assert_eq!(read, 6 * (FRAGMENTED - 40), "{counters}");
}
