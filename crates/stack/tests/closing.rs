//! Tests of the end of connections, and of TIME-WAIT.

mod pair;

use std::{cell::RefCell, net::SocketAddr, rc::Rc};

use fullpipe::{
    CloseReason, ConnectOptions, ConnectionId, Duration, OpenError, Read, TcpError, TcpState,
    counters::Discard,
};
use fullpipe_wire::{TcpFlags, TcpHeader, TcpOptions, Timestamps};
use pair::{A, B, PORT, Pair, Seen, Side, config, frame, has};

fn server() -> SocketAddr {
    SocketAddr::from((B, PORT))
}

fn client_port(pair: &Pair, client: ConnectionId) -> u16 {
    pair.a.stack.tcp_ends(client).unwrap().0.port()
}

#[test]
fn a_half_closed_connection_still_carries_payload_in_the_other_direction() {
    let mut pair = Pair::new(&config());
    let (client, accepted) = pair.connected();
    pair.write(Side::A, client, b"question");
    pair.a.stack.tcp_shutdown(client, pair.now).unwrap();
    pair.settle();
    let mut payload = [0; 16];
    assert_eq!(pair.read(Side::B, accepted, &mut payload), Read::Data(8));
    assert_eq!(pair.read(Side::B, accepted, &mut payload), Read::End);
    assert_eq!(pair.state(Side::A, client), TcpState::FinWait2);
    assert_eq!(pair.state(Side::B, accepted), TcpState::CloseWait);
    let now = pair.now;
    assert_eq!(
        pair.a.stack.tcp_write(client, b"x", now),
        Err(TcpError::Shutdown)
    );
    pair.write(Side::B, accepted, b"answer");
    pair.settle();
    assert_eq!(pair.read(Side::A, client, &mut payload), Read::Data(6));
    pair.verify();
}

#[test]
fn the_side_that_closes_first_is_in_time_wait_and_the_other_is_gone() {
    let mut pair = Pair::new(&config());
    let (client, accepted) = pair.connected();
    pair.a.stack.tcp_close(client, pair.now).unwrap();
    pair.settle();
    pair.b.stack.tcp_close(accepted, pair.now).unwrap();
    pair.settle();
    assert_eq!(
        pair.a.stack.tcp_counts(),
        (0, 0, 1),
        "A is in TIME-WAIT, without a slot"
    );
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 0));
    pair.verify();
    pair.pass(Duration::from_secs(59));
    assert_eq!(pair.a.stack.tcp_counts(), (0, 0, 1));
    pair.pass(Duration::from_secs(2));
    assert_eq!(pair.a.stack.tcp_counts(), (0, 0, 0));
    assert_eq!(pair.a.stack.next_timeout(), None);
    pair.verify();
}

#[test]
fn both_sides_may_close_at_once() {
    let mut pair = Pair::new(&config());
    let (client, accepted) = pair.connected();
    pair.a.stack.tcp_close(client, pair.now).unwrap();
    pair.b.stack.tcp_close(accepted, pair.now).unwrap();
    pair.settle();
    assert_eq!(pair.a.stack.tcp_counts(), (0, 0, 1));
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 1));
    pair.verify();
}

#[test]
fn closing_with_unread_payload_resets_the_peer() {
    let mut pair = Pair::new(&config());
    let (client, accepted) = pair.connected();
    pair.write(Side::A, client, b"never read");
    pair.settle();
    pair.b.stack.tcp_close(accepted, pair.now).unwrap();
    pair.settle();
    assert_eq!(pair.ready(Side::A, client).closed, Some(CloseReason::Reset));
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 0));
    assert_eq!(
        pair.b.stack.pool().free_blocks(),
        pair.b.stack.pool().block_count()
    );
    pair.verify();
}

#[test]
fn payload_written_before_closing_still_arrives() {
    let mut pair = Pair::new(&config());
    let (client, accepted) = pair.connected();
    let written = pair.write(Side::A, client, &[9; 50_000]);
    pair.a.stack.tcp_close(client, pair.now).unwrap();
    let mut read = 0;
    let mut out = [0; 4_096];
    pair.until("the end was read", |pair| {
        loop {
            match pair.read(Side::B, accepted, &mut out) {
                Read::Data(count) => read += count,
                Read::Empty => return false,
                Read::End => return true,
            }
        }
    });
    assert_eq!(read, written);
    pair.verify();
}

#[test]
fn payload_received_before_a_reset_can_still_be_read() {
    let mut pair = Pair::new(&config());
    let (client, accepted) = pair.connected();
    pair.write(Side::B, accepted, b"last words");
    pair.settle();
    pair.b.stack.tcp_abort(accepted, pair.now).unwrap();
    pair.settle();
    let mut payload = [0; 16];
    assert_eq!(pair.read(Side::A, client, &mut payload), Read::Data(10));
    let now = pair.now;
    let ended = Err(TcpError::Ended(CloseReason::Reset));
    assert_eq!(pair.a.stack.tcp_read(client, &mut payload, now), ended);
    pair.a.stack.tcp_close(client, now).unwrap();
    assert_eq!(pair.a.stack.tcp_counts(), (0, 0, 0));
    pair.verify();
}

/// A connection in TIME-WAIT at B.
struct Waiting {
    /// Port of A.
    port: u16,
    /// Sequence number behind A's FIN.
    next: u32,
    /// Sequence number behind B's FIN.
    ack: u32,
    /// A's last timestamp, if A uses timestamps.
    stamp: u32,
}

/// Opens a connection and closes it, B first.
fn waiting(pair: &mut Pair) -> Waiting {
    let (client, accepted) = pair.connected();
    let port = client_port(pair, client);
    let last: Rc<RefCell<Option<Seen>>> = Rc::default();
    let keep = last.clone();
    pair.watch = Some(Box::new(move |seen| {
        if seen.from == Side::A {
            *keep.borrow_mut() = Some(seen.clone());
        }
        true
    }));
    pair.b.stack.tcp_close(accepted, pair.now).unwrap();
    pair.settle();
    pair.a.stack.tcp_close(client, pair.now).unwrap();
    pair.settle();
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 1));
    pair.watch = None;
    let header = last.borrow().clone().unwrap().header;
    assert!(header.flags.contains(TcpFlags::FIN));
    let stamp = header.options.timestamps.map_or(0, |stamps| stamps.value);
    Waiting {
        port,
        next: header.seq.wrapping_add(1),
        ack: header.ack,
        stamp,
    }
}

fn segment(port: u16, seq: u32, ack: u32, flags: TcpFlags) -> TcpHeader {
    let ports = TcpHeader {
        src_port: port,
        dst_port: PORT,
        ..TcpHeader::default()
    };
    TcpHeader {
        seq,
        ack,
        flags,
        window: 1_000,
        ..ports
    }
}

/// Returns B's answer to a segment of A.
fn answer(pair: &mut Pair, header: &TcpHeader) -> Option<Seen> {
    let now = pair.now;
    pair.b.port.inject(&frame(Side::A, header, b""));
    let before = pair.b.port.outgoing_len();
    fullpipe::turn(&mut pair.b.stack, &mut pair.b.port, now);
    let answered = pair.b.port.outgoing_len() > before;
    let (bytes, meta) = answered.then(|| pair.b.port.last_sent())?;
    pair::seen(Side::B, &bytes, meta)
}

#[test]
fn time_wait_answers_old_segments_and_ignores_resets() {
    let mut pair = Pair::new(&config());
    let Waiting {
        port, next, ack, ..
    } = waiting(&mut pair);
    let fin = segment(
        port,
        next.wrapping_sub(1),
        ack,
        TcpFlags::FIN | TcpFlags::ACK,
    );
    let answered =
        answer(&mut pair, &fin).expect("a repeated FIN means that the last ACK was lost");
    assert!(has(&answered, TcpFlags::ACK));
    assert_eq!((answered.header.seq, answered.header.ack), (ack, next));
    let reset = segment(port, next, ack, TcpFlags::RST);
    assert!(answer(&mut pair, &reset).is_none());
    assert_eq!(
        pair.b.stack.tcp_counts(),
        (0, 0, 1),
        "RFC 1337: TIME-WAIT continues"
    );
    let old = segment(port, next.wrapping_sub(9_000), ack, TcpFlags::ACK);
    assert!(answer(&mut pair, &old).is_some());
    assert!(
        answer(&mut pair, &old).is_none(),
        "the rate of ACKs is limited"
    );
}

#[test]
fn a_retransmitted_fin_restarts_time_wait() {
    let mut pair = Pair::new(&config());
    let Waiting {
        port, next, ack, ..
    } = waiting(&mut pair);
    pair.pass(Duration::from_secs(50));
    let fin = segment(
        port,
        next.wrapping_sub(1),
        ack,
        TcpFlags::FIN | TcpFlags::ACK,
    );
    answer(&mut pair, &fin).expect("an ACK");
    pair.pass(Duration::from_secs(50));
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 1));
    pair.pass(Duration::from_secs(11));
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 0));
}

#[test]
fn a_new_incarnation_opens_only_if_it_cannot_accept_old_segments() {
    let stamped = |header: TcpHeader, value| TcpHeader {
        options: TcpOptions {
            timestamps: Some(Timestamps { value, echo: 0 }),
            ..TcpOptions::default()
        },
        ..header
    };
    // Without timestamps, sequence numbers decide if a SYN opens a new incarnation.
    let mut plain = config();
    plain.set("tcp.timestamps", "false").unwrap();
    let with = config();
    for (name, config, ahead, later_ms, begins) in [
        ("later numbers", &plain, 1, None, true),
        ("the same number", &plain, 0, None, false),
        ("earlier numbers", &plain, u32::MAX, None, false),
        ("a later timestamp", &with, u32::MAX, Some(1), true),
        (
            "the same timestamp and later numbers",
            &with,
            1,
            Some(0),
            true,
        ),
        (
            "the same timestamp and earlier numbers",
            &with,
            u32::MAX,
            Some(0),
            false,
        ),
        ("an earlier timestamp", &with, 1, Some(-1), false),
        ("later numbers without a timestamp", &with, 1, None, true),
    ] {
        let mut pair = Pair::new(config);
        let Waiting {
            port,
            next,
            ack,
            stamp,
        } = waiting(&mut pair);
        let mut syn = segment(port, next.wrapping_add(ahead), 0, TcpFlags::SYN);
        if let Some(later_ms) = later_ms {
            syn = stamped(syn, stamp.wrapping_add_signed(later_ms));
        }
        let answered = answer(&mut pair, &syn).expect("SYN and ACK, or an ACK");
        assert_eq!(has(&answered, TcpFlags::SYN), begins, "{name}");
        let expected = if begins { (0, 1, 0) } else { (0, 0, 1) };
        assert_eq!(pair.b.stack.tcp_counts(), expected, "{name}");
        if begins {
            let beyond = answered.header.seq.wrapping_sub(ack) as i32;
            assert!(
                beyond > 0,
                "{name}: the new numbers begin after the old ones"
            );
        }
        pair.verify();
    }
}

#[test]
fn a_new_incarnation_without_memory_for_its_window_leaves_time_wait_as_it_was() {
    let mut config = config();
    // The first handshake always gets a window, which here uses up the share of all handshakes.
    config.set("pool.blocks", "100").unwrap();
    config.set("stack.half_open_share", "1").unwrap();
    config.set("stack.syn_cookies", "off").unwrap();
    let mut pair = Pair::new(&config);
    let Waiting {
        port, next, stamp, ..
    } = waiting(&mut pair);
    let first = segment(port - 1, 77, 0, TcpFlags::SYN);
    assert!(answer(&mut pair, &first).is_some());
    assert_eq!(pair.b.stack.tcp_counts(), (0, 1, 1));
    let mut syn = segment(port, next.wrapping_add(1), 0, TcpFlags::SYN);
    syn.options.timestamps = Some(Timestamps {
        value: stamp.wrapping_add(1),
        echo: 0,
    });
    assert!(answer(&mut pair, &syn).is_none());
    let counters = pair.b.stack.counters();
    assert_eq!(counters.discarded(Discard::TcpNoMemory), 1);
    assert_eq!(counters.mib.tcp_time_wait_recycled, 0);
    assert_eq!(pair.b.stack.tcp_counts(), (0, 1, 1));
    pair.verify();

    let reset = segment(port - 1, 78, 0, TcpFlags::RST);
    assert!(answer(&mut pair, &reset).is_none());
    assert!(answer(&mut pair, &syn).is_some());
    assert_eq!(pair.b.stack.tcp_counts(), (0, 1, 0));
    assert_eq!(pair.b.stack.counters().mib.tcp_time_wait_recycled, 1);
    pair.verify();
}

#[test]
fn a_port_can_be_used_again_after_time_wait_and_not_before() {
    let mut pair = Pair::new(&config());
    let (client, accepted) = pair.connected();
    let local = SocketAddr::from((A, client_port(&pair, client)));
    pair.a.stack.tcp_close(client, pair.now).unwrap();
    pair.settle();
    pair.b.stack.tcp_close(accepted, pair.now).unwrap();
    pair.settle();
    let options = ConnectOptions::default();
    let now = pair.now;
    let refused = pair
        .a
        .stack
        .tcp_connect(server(), Some(local), options, now);
    assert_eq!(refused, Err(OpenError::AddressInUse));
    // The same port may be used for a connection to another destination.
    let other = SocketAddr::from((B, PORT + 1));
    assert!(
        pair.a
            .stack
            .tcp_connect(other, Some(local), options, now)
            .is_ok()
    );
    pair.pass(Duration::from_secs(61));
    let now = pair.now;
    let again = pair
        .a
        .stack
        .tcp_connect(server(), Some(local), options, now)
        .unwrap();
    pair.settle();
    assert_eq!(pair.state(Side::A, again), TcpState::Established);
    pair.verify();
}

#[test]
fn the_oldest_time_wait_entry_is_forgotten_if_the_table_is_full() {
    let mut config = config();
    config.set("stack.time_wait_entries", "2").unwrap();
    let mut pair = Pair::new(&config);
    let listener = pair.listen(Side::B, Default::default());
    for round in 1..=4 {
        let client = pair.connect(Side::A, server());
        pair.settle();
        let (accepted, _) = pair
            .b
            .stack
            .tcp_accept(listener, pair.now)
            .unwrap()
            .unwrap();
        pair.a.stack.tcp_close(client, pair.now).unwrap();
        pair.settle();
        pair.b.stack.tcp_close(accepted, pair.now).unwrap();
        pair.settle();
        assert_eq!(pair.a.stack.tcp_counts(), (0, 0, round.min(2)));
        pair.verify();
    }
    assert_eq!(pair.a.stack.counters().mib.tcp_time_wait_overflows, 2);
}

#[test]
fn without_time_wait_entries_a_connection_stays_in_its_slot() {
    let mut config = config();
    config.set("stack.time_wait_entries", "0").unwrap();
    let mut pair = Pair::new(&config);
    let (client, accepted) = pair.connected();
    pair.a.stack.tcp_close(client, pair.now).unwrap();
    pair.settle();
    pair.b.stack.tcp_close(accepted, pair.now).unwrap();
    pair.settle();
    assert_eq!(pair.a.stack.tcp_counts(), (1, 0, 0));
    pair.pass(Duration::from_secs(61));
    assert_eq!(pair.a.stack.tcp_counts(), (0, 0, 0));
    pair.verify();
}

#[test]
fn segments_without_a_connection_are_answered_with_resets_within_limits() {
    let mut pair = Pair::new(&config());
    let stray = segment(9_000, 100, 900, TcpFlags::ACK);
    // B sends an ARP request for the first segment; the reset waits for the reply.
    pair.b.port.inject(&frame(Side::A, &stray, b"data"));
    pair.settle();
    let answered = answer(&mut pair, &stray).expect("a reset");
    assert_eq!(answered.header.flags, TcpFlags::RST);
    assert_eq!(answered.header.seq, 900);
    let reset = segment(9_000, 100, 900, TcpFlags::RST);
    assert!(
        answer(&mut pair, &reset).is_none(),
        "a reset is never answered"
    );
    assert_eq!(pair.b.stack.tcp_counters().out_rsts, 2);
}
