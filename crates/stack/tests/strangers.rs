//! Tests with random bytes and forged segments: the stack does not panic and loses no memory.

mod pair;

use std::net::SocketAddr;

use fullpipe::{Duration, ListenOptions, device::RxMeta};
use fullpipe_wire::{SackBlock, TcpFlags, TcpHeader, TcpOptions, Timestamps};
use pair::{B, PORT, Pair, Side, config, frame};
use proptest::prelude::*;

/// A segment of A that is well-formed enough to reach the connection.
fn segments() -> impl Strategy<Value = (TcpHeader, Vec<u8>)> {
    let numbers = (any::<u32>(), any::<u32>(), any::<u16>(), any::<u16>());
    let ports = (0u16..3, prop_oneof![Just(PORT), Just(0), any::<u16>()]);
    let options = (
        any::<Option<u16>>(),
        any::<Option<u8>>(),
        any::<bool>(),
        any::<Option<(u32, u32)>>(),
        any::<Option<(u32, u32)>>(),
    );
    let payload = proptest::collection::vec(any::<u8>(), 0..40);
    (numbers, ports, 0u16..512, options, payload).prop_map(
        |(numbers, ports, flags, options, payload)| {
            let (seq, ack, window, urgent) = numbers;
            let (mss, window_scale, sack_permitted, stamps, block) = options;
            let mut chosen = TcpOptions {
                mss,
                window_scale,
                sack_permitted,
                timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
                ..TcpOptions::default()
            };
            if let Some((left, right)) = block {
                chosen.sack.push(SackBlock { left, right });
            }
            let header = TcpHeader {
                src_port: 4_000 + ports.0,
                dst_port: ports.1,
                seq,
                ack,
                flags: TcpFlags::from_bits(flags),
                window,
                urgent,
                options: chosen,
                options_malformed: false,
            };
            (header, payload)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_are_taken(frames in proptest::collection::vec(
        (proptest::collection::vec(any::<u8>(), 0..120), any::<bool>()), 1..40,
    )) {
        let mut pair = Pair::new(&config());
        pair.listen(Side::B, ListenOptions::default());
        let free = pair.b.stack.pool().free_blocks();
        for (bytes, verified) in &frames {
            let meta = RxMeta { checksum_verified: *verified, ..RxMeta::default() };
            pair.b.stack.receive(bytes, meta, pair.now);
            // Injects the same bytes behind a valid link header.
            for kind in [[8, 0], [8, 6]] {
                let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
                frame.extend(kind);
                frame.extend(bytes);
                pair.b.stack.receive(&frame, meta, pair.now);
            }
        }
        pair.pass(Duration::from_secs(700));
        prop_assert_eq!(pair.b.stack.pool().free_blocks(), free);
        pair.verify();
    }

    #[test]
    fn any_segments_are_taken(
        script in proptest::collection::vec((segments(), 0u64..400), 1..60),
        patched in any::<bool>(),
    ) {
        let mut pair = Pair::new(&config());
        let (client, server) = pair.connected();
        let port = pair.a.stack.tcp_ends(client).unwrap().0.port();
        for ((mut header, payload), pause_ms) in script {
            // Half of the segments are for the open connection, near its window.
            if header.seq % 2 == 0 {
                header.src_port = port;
                header.dst_port = PORT;
            }
            if let (true, Ok(info)) = (patched, pair.b.stack.tcp_info(server, pair.now)) {
                header.seq = info.rcv_nxt.wrapping_add(header.seq % 2_000).wrapping_sub(500);
                header.ack = info.snd_nxt.wrapping_sub(header.ack % 3);
            }
            pair.b.port.inject(&frame(Side::A, &header, &payload));
            pair.settle();
            let _ = pair.b.stack.tcp_write(server, b"answer", pair.now);
            pair.pass(Duration::from_millis(pause_ms));
            pair.verify();
        }
        let _ = pair.a.stack.tcp_abort(client, pair.now);
        let _ = pair.b.stack.tcp_abort(server, pair.now);
        pair.pass(Duration::from_secs(700));
        pair.verify();
        prop_assert_eq!(pair.a.stack.tcp_counts(), (0, 0, 0));
    }
}

#[test]
fn a_wrong_checksum_is_counted_and_changes_nothing_else() {
    let mut pair = Pair::new(&config());
    pair.listen(Side::B, ListenOptions::default());
    let syn = TcpHeader {
        src_port: 9,
        dst_port: PORT,
        flags: TcpFlags::SYN,
        ..TcpHeader::default()
    };
    let mut bytes = frame(Side::A, &syn, b"");
    *bytes.last_mut().unwrap() ^= 1;
    pair.b.port.inject(&bytes);
    pair.settle();
    assert_eq!(pair.b.stack.tcp_counters().in_csum_errors, 1);
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 0));
    let _ = SocketAddr::from((B, PORT));
}
