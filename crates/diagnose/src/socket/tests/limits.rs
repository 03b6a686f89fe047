//! Tests of the limit of a single observation. Each limit is tested with values that a kernel
//! reports under this limit.

use fullpipe_tcp::{Limit, ReceiveLimit};

use super::*;
use crate::inferred::Confidence;

fn limit_of(socket: &SocketObservation) -> (Option<Limit>, Confidence) {
    let mut memo = SocketMemo::new();
    memo.begin(socket);
    let now = limit_at(socket, &memo);
    (now.limit, now.confidence)
}

fn app_limited(socket: SocketObservation) -> SocketObservation {
    with_info(socket, |info| info.flags = 1)
}

/// Asserts the expected limit and confidence of each of `cases`.
fn assert_limits(cases: &[(&str, SocketObservation, Limit, Confidence)]) {
    for (name, socket, limit, confidence) in cases {
        assert_eq!(limit_of(socket), (Some(*limit), *confidence), "{name}");
    }
}

#[test]
fn the_program_the_send_buffer_and_nagle_are_named_with_nothing_or_little_unsent() {
    use Limit::*;
    let queued = |bytes: u32| move |memory: &mut SocketMemory| memory.queued = bytes;
    assert_limits(&[
        ("idle", app_limited(idle()), Application, Confidence::High),
        // Measured with a kernel: `w` is 12 to 15 KB while `tb` is 46080.
        (
            "little written",
            app_limited(with_memory(sending(6, 0), queued(13_680))),
            Application,
            Confidence::High,
        ),
        // Measured with a kernel and SO_SNDBUF 16384: `w` is 27 to 33 KB while `tb` is 32768; cwnd
        // is 30 and unacked 12 to 15.
        (
            "send buffer full",
            with_memory(sending(13, 0), |memory| {
                memory.sndbuf = 32_768;
                memory.queued = 29_640;
            }),
            SendBuffer,
            Confidence::High,
        ),
        (
            "send buffer full, last segment not",
            with_memory(sending(13, 600), |memory| {
                memory.sndbuf = 32_768;
                memory.queued = 32_900;
            }),
            SendBuffer,
            Confidence::High,
        ),
        (
            "send buffer nearly full",
            with_memory(sending(13, 0), queued(34_000)),
            SendBuffer,
            Confidence::Low,
        ),
        // Measured with a kernel and writes of 100 bytes: unacked is 1 and notsent 100 to 400.
        (
            "Nagle",
            with_memory(sending(1, 300), queued(2_200)),
            Nagle,
            Confidence::High,
        ),
    ]);
}

#[test]
fn the_peers_window_and_recovery_are_named() {
    use Limit::*;
    let window = |bytes: u32| move |info: &mut TcpInfo| info.snd_wnd = Some(bytes);
    let mut probing = with_info(sending(0, 94_208), window(1_000));
    probing.timer = SocketTimer::ZeroWindowProbe;
    assert_limits(&[
        (
            "peer's window full",
            with_info(sending(22, 60_000), window(22 * 1_448 + 500)),
            ReceiveWindow,
            Confidence::High,
        ),
        ("probing", probing, ZeroWindow, Confidence::High),
        (
            "window of 0",
            with_info(sending(0, 9_000), window(0)),
            ZeroWindow,
            Confidence::High,
        ),
        (
            "recovering",
            with_info(sending(20, 90_000), |info| info.ca_state = 3),
            Recovery,
            Confidence::High,
        ),
        (
            "after a timeout",
            with_info(sending(20, 90_000), |info| info.retransmits = 2),
            Recovery,
            Confidence::High,
        ),
        (
            "an ACK is overdue",
            with_info(sending(30, 90_000), |info| {
                info.last_ack_recv = 150;
                info.last_data_sent = 150;
            }),
            Recovery,
            Confidence::Low,
        ),
    ]);
}

#[test]
fn a_full_congestion_window_is_named_by_the_cause_of_its_size() {
    use Limit::*;
    let bbr = |mut socket: SocketObservation, pacing_gain: u32| {
        socket.model = Some(CongestionModel::Bbr {
            rate: 1 << 20,
            min_rtt: 20_000,
            pacing_gain,
            cwnd_gain: 512,
        });
        socket
    };
    assert_limits(&[
        (
            "cwnd full",
            sending(30, 90_000),
            CwndSlowStart,
            Confidence::High,
        ),
        (
            "cwnd full after a loss",
            with_info(sending(30, 90_000), |info| {
                info.snd_ssthresh = 21;
                info.total_retrans = 3;
            }),
            CwndAfterLoss,
            Confidence::High,
        ),
        (
            "cwnd full after a mark",
            with_info(sending(30, 90_000), |info| {
                info.snd_ssthresh = 21;
                info.delivered_ce = Some(1);
            }),
            CwndAfterMark,
            Confidence::High,
        ),
        (
            "cwnd full after HyStart",
            with_info(sending(30, 90_000), |info| info.snd_ssthresh = 21),
            CwndSteady,
            Confidence::High,
        ),
        // The kernel defers super-segments while less than a third of the window is free.
        (
            "cwnd nearly full",
            sending(25, 90_000),
            CwndSlowStart,
            Confidence::Low,
        ),
        (
            "paced",
            bbr(sending(10, 90_000), 256),
            Pacing,
            Confidence::High,
        ),
        (
            "paced in startup",
            bbr(sending(10, 90_000), 739),
            CwndSlowStart,
            Confidence::High,
        ),
    ]);
}

/// Measured with a kernel and `SO_MAX_PACING_RATE` of 1 MB/s: between two segments nothing is in
/// flight, the probe timer runs and the peer's window is open.
#[test]
fn a_rate_that_the_program_set_is_named_also_while_the_probe_timer_runs() {
    let paced = |rate: u64| {
        with_info(sending(0, 65_483), |info| {
            info.max_pacing_rate = Some(1_000_000);
            info.pacing_rate = Some(rate);
            info.snd_wnd = Some(557_056);
        })
    };
    let mut probing = paced(1_000_000);
    probing.timer = SocketTimer::ZeroWindowProbe;
    let unanswered = with_info(probing, |info| info.probes = 1);
    assert_limits(&[
        (
            "paced by the program",
            paced(1_000_000),
            Limit::Pacing,
            Confidence::High,
        ),
        (
            "paced, probe timer",
            probing,
            Limit::Pacing,
            Confidence::High,
        ),
        (
            "probes without an answer",
            unanswered,
            Limit::ZeroWindow,
            Confidence::High,
        ),
        // The congestion window asks for less than the program allows.
        (
            "paced by cwnd",
            paced(800_000),
            Limit::CwndSlowStart,
            Confidence::Low,
        ),
    ]);
}

#[test]
fn the_ends_of_a_connection_are_named() {
    use Limit::*;
    let mut closing = sending(3, 1);
    closing.state = SocketState::FinWait1;
    let mut opening = idle();
    opening.state = SocketState::SynSent;
    assert_limits(&[
        ("closing", closing, Closing, Confidence::High),
        ("opening", opening, Handshake, Confidence::High),
    ]);
}

#[test]
fn a_kernel_that_shows_no_reason_gives_no_limit() {
    // No limit fits: both windows have room, payload for many segments is unsent, nothing is paced,
    // and the device is idle.
    assert_eq!(limit_of(&sending(5, 90_000)).0, None);
    let mut unknown = idle();
    unknown.info = None;
    assert_eq!(limit_of(&unknown).0, None);
}

#[test]
fn an_old_kernel_without_the_peers_window_is_less_certain() {
    let old = with_info(sending(30, 90_000), |info| {
        info.snd_wnd = None;
        info.notsent_bytes = None;
    });
    assert_eq!(
        limit_of(&old),
        (Some(Limit::CwndSlowStart), Confidence::Low)
    );
}

#[test]
fn a_writer_stays_blocked_until_a_third_is_free() {
    let at = |queued: u32| with_memory(sending(10, 0), |memory| memory.queued = queued);
    let mut memo = SocketMemo::new();
    memo.begin(&at(20_000));
    let mut before = at(20_000);
    let mut blocked = Vec::new();
    for queued in [33_000, 46_080, 40_000, 31_000, 30_720, 40_000] {
        memo.note(&before, &at(queued));
        before = at(queued);
        blocked.push(memo.is_blocked);
    }
    assert_eq!(blocked, [false, true, true, true, false, false]);
}

#[test]
fn the_receiver_is_slow_if_its_payload_is_unread_and_its_window_small() {
    let before = observation("unread-receiver");
    let limit = |change: &dyn Fn(&mut SocketObservation)| {
        let mut now = before;
        change(&mut now);
        receive_limit_at(&before, &now, 100_000)
    };
    let window = |bytes: u32| {
        move |socket: &mut SocketObservation| socket.info.as_mut().unwrap().rcv_wnd = Some(bytes)
    };
    assert_eq!(limit(&window(0)), Some(ReceiveLimit::Reader));
    assert_eq!(limit(&window(1 << 20)), Some(ReceiveLimit::None));
    // Let five windows of about 60 KB arrive in five round trips.
    let full = limit(&|socket| {
        socket.receive_queue = 0;
        let info = socket.info.as_mut().unwrap();
        info.rcv_wnd = Some(65_536);
        info.rcv_rtt = 20_000;
        info.bytes_received = info.bytes_received.map(|bytes| bytes + 5 * 60_000);
    });
    assert_eq!(full, Some(ReceiveLimit::Buffer));
    let hole = limit(&|socket| {
        socket.receive_queue = 0;
        let info = socket.info.as_mut().unwrap();
        info.rcv_ooopack = info.rcv_ooopack.map(|count| count + 1);
    });
    assert_eq!(hole, Some(ReceiveLimit::Hole));
}
