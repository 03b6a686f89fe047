//! Tests with segments that a window allows, and with segments that it does not allow.

use std::net::{Ipv4Addr, SocketAddr};

use fullpipe_wire::{TcpHeader, TcpOptions};

use super::*;

fn segment(flags: TcpFlags, seq: u32, ack: u32, window: u16, payload_len: u32) -> TcpPacket {
    let anyone = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
    let scale = flags.contains(TcpFlags::SYN).then_some(2);
    let options = TcpOptions {
        window_scale: scale,
        ..TcpOptions::NONE
    };
    let header = TcpHeader {
        seq,
        ack,
        flags,
        window,
        options,
        ..TcpHeader::default()
    };
    TcpPacket {
        src: anyone,
        dst: anyone,
        header,
        payload_len,
    }
}

/// A connection. The client's sequence numbers start at 100, the server's at u32::MAX. Both ends
/// have windows of 1,000 bytes.
fn established() -> WindowChecker {
    let mut watch = WindowChecker::default();
    let syn_ack = TcpFlags::SYN.union(TcpFlags::ACK);
    watch
        .segment(0, &segment(TcpFlags::SYN, 100, 0, 1_000, 0))
        .unwrap();
    watch
        .segment(1, &segment(syn_ack, u32::MAX, 101, 1_000, 0))
        .unwrap();
    watch
        .segment(0, &segment(TcpFlags::ACK, 101, 0, 250, 0))
        .unwrap();
    watch
}

#[test]
fn an_edge_may_stand_or_advance_but_not_retreat() {
    for (ack, window, retreats) in [
        (0, 250, false),
        (0, 300, false),
        (400, 150, false),
        (397, 150, false),
        (396, 150, true),
        (400, 149, true),
        (0, 249, true),
    ] {
        let mut watch = established();
        watch
            .segment(1, &segment(TcpFlags::ACK, 0, 101, 250, 400))
            .unwrap();
        let result = watch.segment(0, &segment(TcpFlags::ACK, 101, ack, window, 0));
        assert_eq!(result.is_err(), retreats, "{ack} {window}: {result:?}");
    }
}

#[test]
fn payload_beyond_the_edge_is_found_but_a_probe_is_none() {
    for (payload_len, wrong) in [(1_000, false), (1_001, false), (1_002, true)] {
        let mut watch = established();
        let result = watch.segment(0, &segment(TcpFlags::ACK, 101, 0, 250, payload_len));
        assert_eq!(result.is_err(), wrong, "{payload_len} bytes");
    }
}

#[test]
fn an_acknowledgment_of_something_never_sent_is_found() {
    let mut watch = established();
    watch
        .segment(0, &segment(TcpFlags::ACK, 101, 0, 250, 50))
        .unwrap();
    assert!(
        watch
            .segment(1, &segment(TcpFlags::ACK, 0, 151, 500, 0))
            .is_ok()
    );
    assert!(
        watch
            .segment(1, &segment(TcpFlags::ACK, 0, 152, 500, 0))
            .is_err()
    );
}

#[test]
fn after_the_peers_fin_the_window_means_nothing() {
    let mut watch = established();
    let fin_ack = TcpFlags::FIN.union(TcpFlags::ACK);
    watch.segment(1, &segment(fin_ack, 0, 101, 250, 0)).unwrap();
    assert!(
        watch
            .segment(0, &segment(TcpFlags::ACK, 101, 1, 0, 0))
            .is_ok()
    );
}

#[test]
fn a_new_incarnation_starts_anew() {
    let mut watch = established();
    watch
        .segment(0, &segment(TcpFlags::SYN, 7_000, 0, 10, 0))
        .unwrap();
    let syn_ack = TcpFlags::SYN.union(TcpFlags::ACK);
    assert!(watch.segment(1, &segment(syn_ack, 5, 7_001, 20, 0)).is_ok());
}

#[test]
fn of_two_answers_to_one_syn_the_one_that_is_used_counts() {
    let mut watch = WindowChecker::default();
    let syn_ack = TcpFlags::SYN.union(TcpFlags::ACK);
    for (end, flags, seq, ack, window, retreats) in [
        (0, TcpFlags::SYN, 100, 0, 1_000, false),
        (1, syn_ack, 70, 101, 1_000, false),
        // A second answer to the SYN, with another number and a zero window.
        (1, syn_ack, 7_000, 101, 0, false),
        (0, TcpFlags::ACK, 101, 71, 250, false),
        (1, TcpFlags::ACK, 71, 101, 20, false),
        (1, TcpFlags::ACK, 71, 101, 19, true),
    ] {
        let said = watch.segment(end, &segment(flags, seq, ack, window, 0));
        assert_eq!(said.is_err(), retreats, "{said:?}");
    }
}

/// Both ends have sent everything; then a late duplicate of the opening segment is
/// answered with `flags`.
fn answer_from_the_beginning(forgets: bool, flags: TcpFlags) -> Result<(), Violation> {
    let mut watch = established();
    let fin = TcpFlags::ACK.union(TcpFlags::FIN);
    watch.segment(0, &segment(fin, 101, 0, 250, 500)).unwrap();
    watch.segment(1, &segment(fin, 0, 602, 250, 0)).unwrap();
    watch
        .segment(1, &segment(TcpFlags::ACK, 1, 602, 250, 0))
        .unwrap();
    if forgets {
        watch.may_forget(1);
    }
    let seq = match flags.contains(TcpFlags::SYN) {
        true => u32::MAX,
        false => 0,
    };
    watch.segment(1, &segment(flags, seq, 101, 100, 0))
}

#[test]
fn only_who_forgets_may_begin_again_after_the_end() {
    let syn_ack = TcpFlags::SYN.union(TcpFlags::ACK);
    for flags in [TcpFlags::ACK, syn_ack] {
        assert!(answer_from_the_beginning(false, flags).is_err());
        assert_eq!(answer_from_the_beginning(true, flags), Ok(()));
    }
}

/// A listener with SYN cookies answers one SYN twice: first without the window scale option, then
/// with it. Even before the listener sends more, the client's acknowledgment number shows which
/// answer the client accepted.
#[test]
fn a_window_is_read_by_the_answer_that_it_acknowledges() {
    let syn_ack = TcpFlags::SYN.union(TcpFlags::ACK);
    let mut watch = WindowChecker::default();
    let syn = segment(TcpFlags::SYN, 100, 0, 1_000, 0);
    watch.segment(0, &syn).unwrap();
    let mut first = segment(syn_ack, 5_000, 101, 1_000, 0);
    first.header.options.window_scale = None;
    watch.segment(1, &first).unwrap();
    watch
        .segment(1, &segment(syn_ack, 9_000, 101, 1_000, 0))
        .unwrap();
    watch
        .segment(0, &segment(TcpFlags::ACK, 101, 5_001, 1_000, 0))
        .unwrap();
    watch
        .segment(1, &segment(TcpFlags::ACK, 5_001, 101, 1_000, 0))
        .unwrap();
    watch
        .segment(0, &segment(TcpFlags::ACK, 101, 5_001, 1_000, 100))
        .unwrap();
}
