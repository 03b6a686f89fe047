//! Tests of transfers in both directions: with small pools, offloads and full devices.

mod pair;

use std::{cell::RefCell, rc::Rc};

use fullpipe::{
    Config, ConnectionId, Duration, Holder, Read,
    device::{Capabilities, Medium, TxChecksum},
};
use fullpipe_wire::Checksum;
use pair::{Pair, Side, config, ethernet};

/// Returns byte `place` of the payload of every test.
fn pattern(place: usize) -> u8 {
    (place * 31 + place / 251) as u8
}

/// Transfers `len` bytes from `from` to the other side, in writes of `write` bytes.
fn transfer(
    pair: &mut Pair,
    from: (Side, ConnectionId),
    to: (Side, ConnectionId),
    len: usize,
    write: usize,
) {
    let payload: Vec<u8> = (0..len).map(pattern).collect();
    let (mut written, mut read) = (0, 0);
    let mut out = [0; 3_000];
    pair.until("everything arrived", |pair| {
        while written < len {
            let end = len.min(written + write);
            let taken = pair.write(from.0, from.1, &payload[written..end]);
            if taken == 0 {
                break;
            }
            written += taken;
        }
        while let Read::Data(count) = pair.read(to.0, to.1, &mut out) {
            assert_eq!(
                out[..count],
                payload[read..read + count],
                "from byte {read} on"
            );
            read += count;
        }
        pair.verify();
        read == len
    });
}

fn small() -> Config {
    let mut config = config();
    for (name, value) in [("pool.blocks", "36"), ("pool.block_size", "196")] {
        config.set(name, value).unwrap();
    }
    config
}

#[test]
fn payload_arrives_in_order_in_both_directions() {
    for (name, config, len) in [
        ("roomy", config(), 1_000_000),
        ("36 blocks of 196 bytes", small(), 60_000),
    ] {
        for write in [1_460, 100, 16_384] {
            let mut pair = Pair::new(&config);
            let (client, server) = pair.connected();
            let (a, b) = ((Side::A, client), (Side::B, server));
            transfer(&mut pair, a, b, len, write);
            transfer(&mut pair, b, a, len, write);
            let resent = pair.a.stack.tcp_counters().retrans_segs;
            assert_eq!(resent, 0, "{name}, writes of {write}");
        }
    }
}

#[test]
fn lost_segments_are_retransmitted() {
    let mut pair = Pair::new(&config());
    let (client, server) = pair.connected();
    let mut count = 0;
    pair.watch = Some(Box::new(move |_| {
        count += 1;
        count % 17 != 0
    }));
    transfer(
        &mut pair,
        (Side::A, client),
        (Side::B, server),
        300_000,
        4_096,
    );
    assert!(pair.a.stack.tcp_counters().retrans_segs > 0);
}

#[test]
fn payload_is_written_and_read_in_place() {
    let mut pair = Pair::new(&config());
    let (client, server) = pair.connected();
    let now = pair.now;
    let mut left = 5_000;
    let mut fill = |slice: &mut [u8]| {
        let count = slice.len().min(left);
        slice[..count].fill(7);
        left -= count;
        count
    };
    let written = pair.a.stack.tcp_write_with(client, &mut fill, now).unwrap();
    assert_eq!(written, 5_000);
    pair.settle();
    let mut seen = 0;
    let mut take = |slice: &[u8]| {
        assert!(slice.iter().all(|byte| *byte == 7));
        seen += slice.len();
        slice.len()
    };
    let read = pair
        .b
        .stack
        .tcp_read_with(server, &mut take, pair.now)
        .unwrap();
    assert_eq!(read, Read::Data(5_000));
    assert_eq!(seen, 5_000);
}

#[test]
fn a_device_that_completes_checksums_gets_the_pseudo_header_sum() {
    let offload = Capabilities {
        checksum_tx: true,
        ..ethernet()
    };
    let mut pair = Pair::with(&config(), &config(), offload);
    let (client, server) = pair.connected();
    let partial = Rc::new(RefCell::new(0));
    let count = partial.clone();
    pair.watch = Some(Box::new(move |seen| {
        if let TxChecksum::Partial { start, offset } = seen.meta.checksum {
            assert_eq!((start, offset), (34, 16));
            *count.borrow_mut() += 1;
        }
        true
    }));
    transfer(
        &mut pair,
        (Side::A, client),
        (Side::B, server),
        20_000,
        4_096,
    );
    assert!(*partial.borrow() > 10);
}

#[test]
fn a_segmenting_device_gets_segment_size_and_header_length() {
    let cutter = Capabilities {
        checksum_tx: true,
        super_segment: 16_000,
        ..ethernet()
    };
    let mut pair = Pair::with(&config(), &config(), cutter);
    let (client, server) = pair.connected();
    let large = Rc::new(RefCell::new(0));
    let count = large.clone();
    pair.watch = Some(Box::new(move |seen| {
        let one = 1_500 - 20 - seen.header.header_len();
        if seen.payload.len() > one {
            assert_eq!(usize::from(seen.meta.segment_size), one);
            let headers = 14 + 20 + seen.header.header_len();
            assert_eq!(usize::from(seen.meta.header_len), headers);
            assert!(seen.payload.len() <= 16_000);
            *count.borrow_mut() += 1;
        }
        true
    }));
    let (a, b) = ((Side::A, client), (Side::B, server));
    transfer(&mut pair, a, b, 1_000_000, 65_536);
    assert!(*large.borrow() > 10, "{} large frames", large.borrow());
}

#[test]
fn the_partial_checksum_completes_to_the_full_one() {
    // Two stacks with the same secret write the same segment. The device of one stack fills in the
    // checksums.
    let offload = Capabilities {
        checksum_tx: true,
        ..Capabilities::plain(Medium::Ip, 1_500)
    };
    let syn_of = |capabilities| {
        let mut pair = Pair::with(&config(), &config(), capabilities);
        let (client, server) = pair.connected();
        pair.write(Side::A, client, b"some odd text");
        let now = pair.now;
        fullpipe::turn(&mut pair.a.stack, &mut pair.a.port, now);
        let _ = server;
        pair.a.port.last_sent()
    };
    let (whole, _) = syn_of(Capabilities::plain(Medium::Ip, 1_500));
    let (mut partial, meta) = syn_of(offload);
    let TxChecksum::Partial { start, offset } = meta.checksum else {
        panic!("the device offered to complete the checksum");
    };
    let field = usize::from(start + offset);
    assert_ne!(whole, partial);
    let sum = Checksum::of(&partial[usize::from(start)..]).finish();
    partial[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(whole, partial);
}

#[test]
fn a_full_device_delays_payload_and_loses_none() {
    let mut pair = Pair::new(&config());
    let (client, server) = pair.connected();
    assert_eq!(pair.write(Side::A, client, &[5; 20_000]), 20_000);
    let mut received = 0;
    let mut out = [0; 4_096];
    for round in 0..100 {
        pair.a.port.lends = 1;
        let now = pair.now;
        let turned = fullpipe::turn(&mut pair.a.stack, &mut pair.a.port, now);
        if received < 10_000 {
            assert!(turned.device_full || turned.sent < 2, "round {round}");
        }
        pair.a.port.lends = 0;
        pair.step();
        while let Read::Data(count) = pair.read(Side::B, server, &mut out) {
            received += count;
        }
    }
    assert_eq!(received, 20_000);
    let info = pair.a.stack.tcp_info(client, pair.now).unwrap();
    assert_eq!(info.bytes_retransmitted, 0);
}

#[test]
fn connections_send_in_turn() {
    let mut pair = Pair::new(&config());
    let listener = pair.listen(Side::B, Default::default());
    let to = std::net::SocketAddr::from((pair::B, pair::PORT));
    let clients: Vec<_> = (0..4).map(|_| pair.connect(Side::A, to)).collect();
    pair.settle();
    while pair
        .b
        .stack
        .tcp_accept(listener, pair.now)
        .unwrap()
        .is_some()
    {}
    for client in &clients {
        pair.write(Side::A, *client, &[1; 14_600]);
    }
    let now = pair.now;
    assert_eq!(pair.a.stack.transmit(&mut pair.a.port, now, 8), 8);
    for client in &clients {
        let info = pair.a.stack.tcp_info(*client, now).unwrap();
        assert_eq!(info.segments_sent, 2);
    }
}

#[test]
fn the_description_of_a_connection_names_its_bounds() {
    let mut pair = Pair::new(&config());
    let (client, server) = pair.connected();
    pair.write(Side::A, client, &[1; 200_000]);
    pair.pass(Duration::from_millis(300));
    let _ = server;
    let words = pair.a.stack.describe(client, pair.now).unwrap().to_string();
    for part in [
        "ESTABLISHED",
        "tcp.send_buffer",
        "pool.blocks",
        "limited by",
    ] {
        assert!(words.contains(part), "{part} is missing in:\n{words}");
    }
}

/// Both ends of eight connections write more than the pool holds, over a cable that loses one frame
/// in thirty, and close. If the pool has no memory for a connection, the connection waits until
/// others have ended.
#[test]
fn many_connections_in_a_tiny_pool_all_complete() {
    const LEN: usize = 20_000;
    for blocks in ["36", "90"] {
        let mut config = small();
        config.set("pool.blocks", blocks).unwrap();
        config.set("pool.send_floor", "2").unwrap();
        config.set("pool.receive_floor", "4").unwrap();
        let mut pair = Pair::new(&config);
        let listener = pair.listen(Side::B, Default::default());
        let to = std::net::SocketAddr::from((pair::B, pair::PORT));
        let mut ends = Vec::new();
        for _ in 0..8 {
            ends.push((Side::A, pair.connect(Side::A, to)));
        }
        let mut count = 0;
        pair.watch = Some(Box::new(move |_| {
            count += 1;
            count % 30 != 0
        }));
        let payload: Vec<u8> = (0..LEN).map(pattern).collect();
        let (mut written, mut read) = ([0; 16], [0; 16]);
        let mut out = [0; 1_000];
        pair.until("everything arrived everywhere", |pair| {
            while let Some((id, _)) = pair.b.stack.tcp_accept(listener, pair.now).unwrap() {
                ends.push((Side::B, id));
            }
            for (place, (side, id)) in ends.iter().copied().enumerate() {
                if read[place] == LEN && written[place] == LEN {
                    let now = pair.now;
                    // The second call finds the connection closed.
                    let _ = pair.host(side).stack.tcp_close(id, now);
                    continue;
                }
                written[place] += pair.write(side, id, &payload[written[place]..]);
                while let Read::Data(count) = pair.read(side, id, &mut out) {
                    assert_eq!(out[..count], payload[read[place]..read[place] + count]);
                    read[place] += count;
                }
            }
            pair.verify();
            read == [LEN; 16]
        });
    }
}

/// The window takes two of three blocks. One block is left for the writer, and the stack accepts
/// each of the writer's writes whole.
#[test]
fn whole_writes_with_one_block_are_all_taken() {
    let mut config = config();
    for (name, value) in [
        ("pool.blocks", "3"),
        ("pool.block_size", "324"),
        ("pool.send_floor", "1"),
        ("pool.receive_floor", "1"),
        ("tcp.write_atomic", "true"),
    ] {
        config.set(name, value).expect("a knob");
    }
    let mut pair = Pair::with(&small(), &config, ethernet());
    let (client, server) = pair.connected();
    assert_eq!(pair.b.stack.pool().room(Holder::Send), 1, "one block");
    let (mut sent, mut got) = (0, 0);
    let mut out = [0; 200];
    for _ in 0..100 {
        sent += pair.write(Side::B, server, &[7; 64]);
        pair.settle();
        while let Read::Data(len) = pair.read(Side::A, client, &mut out) {
            got += len;
        }
        pair.pass(Duration::from_secs(1));
        pair.verify();
    }
    assert_eq!((sent, got), (6_400, 6_400), "bytes written and read");
}
