//! Tests of the sending half alone: sequence variables, writes, and the segments that leave.

use fullpipe_pool::{Pool, PoolConfig};

use super::{half::BlockedWrite, *};
use crate::{Allowance, Limit, SeqNum};

fn pool(blocks: u32) -> Pool {
    Pool::new(&PoolConfig {
        blocks,
        block_size: 100,
        receive_floor: 0,
        ..PoolConfig::default()
    })
}

fn established() -> SendHalf {
    let mut send = SendHalf::new(SeqNum(u32::MAX - 50));
    for seq in [&mut send.snd_una, &mut send.snd_nxt] {
        *seq = SeqNum(u32::MAX - 49);
    }
    send
}

fn transmit(send: &mut SendHalf, bytes: u32) {
    send.snd_nxt += bytes;
}

#[test]
fn acknowledging_frees_the_payload_below_across_the_wrap() {
    let mut pool = pool(8);
    let mut send = established();
    assert_eq!(send.write(&[7; 600], 4_000, false, &mut pool), 600);
    transmit(&mut send, 500);
    send.set_window(SeqNum(1), send.snd_una, 1_000);
    let ack = send.snd_una + 300;
    assert_eq!(send.acknowledge(ack, &mut pool), 300);
    assert_eq!(
        (send.outstanding(), send.unsent(), send.snd_wnd),
        (200, 100, 700)
    );
    assert_eq!(send.stream.start(), 300);
    send.stream.release(&mut pool);
}

#[test]
fn the_window_of_an_older_segment_is_ignored() {
    let mut send = established();
    send.set_window(SeqNum(100), send.snd_una, 5_000);
    assert!(!send.update_window(SeqNum(99), send.snd_una, 9_000));
    assert_eq!(send.snd_wnd, 5_000);
    assert!(send.update_window(SeqNum(100), send.snd_una, 9_000));
    assert_eq!((send.snd_wnd, send.max_snd_wnd), (9_000, 9_000));
}

#[test]
fn a_write_names_what_cut_it_short() {
    let mut pool = pool(4);
    for (name, capacity, atomic, taken, by) in [
        ("fits", 1_000, false, 300, None),
        ("buffer", 200, false, 200, Some(Limit::SendBuffer)),
        (
            "buffer, all or nothing",
            200,
            true,
            0,
            Some(Limit::SendBuffer),
        ),
        ("fits, all or nothing", 300, true, 300, None),
    ] {
        let mut send = established();
        assert_eq!(
            send.write(&[1; 300], capacity, atomic, &mut pool),
            taken,
            "{name}"
        );
        assert_eq!(send.blocked.map(|blocked| blocked.by), by, "{name}");
        send.stream.release(&mut pool);
    }
    let mut send = established();
    assert_eq!(send.write(&[1; 900], 1_000, false, &mut pool), 400);
    assert_eq!(
        send.blocked,
        Some(BlockedWrite {
            wanted: 500,
            by: Limit::Memory,
            woken: false
        })
    );
    send.stream.release(&mut pool);
}

/// A writer that found a buffer of 900 bytes full waits until a third of the buffer is free, or the
/// room that the writer asked for.
#[test]
fn a_blocked_writer_is_woken_at_its_low_water() {
    let mut pool = pool(16);
    let mut send = established();
    assert_eq!(send.write(&[1; 1_000], 900, false, &mut pool), 900);
    let wakes = |send: &SendHalf, low_water, pool: &Pool| {
        let wake = WakePolicy {
            atomic: false,
            low_water,
            mss: 1,
        };
        send.should_wake(900, wake, pool)
    };
    let room_at = |send: &mut SendHalf, pool: &mut Pool, room: u64| {
        let held = send.stream.len();
        send.stream.advance(pool, held - (900 - room));
    };
    for (room, stack, half, whole) in [
        (200, false, false, false),
        (300, true, false, false),
        (450, true, true, false),
        (900, true, true, true),
    ] {
        room_at(&mut send, &mut pool, room);
        let woken = [0, 450, 5_000].map(|low_water| wakes(&send, low_water, &pool));
        assert_eq!(woken, [stack, half, whole], "{room} bytes free");
    }
    send.stream.release(&mut pool);
}

fn situation() -> Situation {
    Situation {
        allowance: Allowance {
            room: 10_000,
            bound_by: Limit::Application,
        },
        unsent: 10_000,
        outstanding: 1_000,
        mss: 1_000,
        goal: 1_000,
        max_snd_wnd: 20_000,
        nagle: true,
        corked: false,
        uses_up_window: false,
        fin_queued: false,
        writer: Writer::Free,
        override_sws: false,
    }
}

fn room(room: u32, bound_by: Limit) -> Situation {
    Situation {
        allowance: Allowance { room, bound_by },
        ..situation()
    }
}

fn tail(unsent: u32, bound_by: Limit) -> Situation {
    let is_blocked = matches!(bound_by, Limit::SendBuffer | Limit::Memory);
    Situation {
        unsent,
        writer: if is_blocked {
            Writer::Blocked
        } else {
            Writer::Free
        },
        ..room(unsent, bound_by)
    }
}

#[test]
fn a_segment_is_full_or_the_tail_or_all_that_the_window_will_take() {
    use Decision::{Hold, Send};
    use Limit::{Application, CwndSteady, Memory, Nagle, ReceiveWindow, SendBuffer, ZeroWindow};

    for (name, situation, expected) in [
        ("a full segment", room(9_999, CwndSteady), Send(1_000)),
        (
            "several, for a device that cuts",
            Situation {
                goal: 4_500,
                ..situation()
            },
            Send(4_000),
        ),
        ("no window", room(0, ZeroWindow), Hold(ZeroWindow)),
        (
            "a silly window",
            room(400, ReceiveWindow),
            Hold(ReceiveWindow),
        ),
        (
            "a silly window, override",
            Situation {
                override_sws: true,
                ..room(400, ReceiveWindow)
            },
            Send(400),
        ),
        (
            "half the largest window, nothing in flight",
            Situation {
                outstanding: 0,
                max_snd_wnd: 800,
                ..room(400, ReceiveWindow)
            },
            Send(400),
        ),
        (
            "a tail behind data in flight",
            tail(400, Application),
            Hold(Nagle),
        ),
        (
            "a tail, nothing in flight",
            Situation {
                outstanding: 0,
                ..tail(400, Application)
            },
            Send(400),
        ),
        (
            "a tail, no Nagle",
            Situation {
                nagle: false,
                ..tail(400, Application)
            },
            Send(400),
        ),
        (
            "a tail before FIN",
            Situation {
                fin_queued: true,
                ..tail(400, Application)
            },
            Send(400),
        ),
        (
            "a corked tail",
            Situation {
                outstanding: 0,
                corked: true,
                ..tail(400, Application)
            },
            Hold(Nagle),
        ),
        (
            "a tail that the woken writer is about to complete",
            Situation {
                outstanding: 0,
                writer: Writer::Woken,
                ..tail(400, Memory)
            },
            Hold(Memory),
        ),
        (
            "a corked tail that fills the buffer",
            Situation {
                outstanding: 0,
                corked: true,
                ..tail(400, SendBuffer)
            },
            Send(400),
        ),
        (
            "a tail that the blocked writer will complete",
            tail(400, Memory),
            Hold(Memory),
        ),
    ] {
        assert_eq!(segmentize(&situation), expected, "{name}");
    }
}

/// A blocked writer has more payload, which would fill the segment. The limit is therefore
/// recovery, and not Nagle's algorithm.
#[test]
fn in_recovery_the_tail_of_a_blocked_writer_does_not_wait_for_nagle() {
    for (nagle, writer, limit) in [
        (true, Writer::Blocked, Limit::Recovery),
        (true, Writer::Woken, Limit::Recovery),
        (false, Writer::Woken, Limit::Recovery),
        (true, Writer::Free, Limit::Nagle),
    ] {
        let situation = Situation {
            nagle,
            writer,
            ..tail(400, Limit::Recovery)
        };
        assert_eq!(segmentize(&situation), Decision::Hold(limit), "{writer:?}");
    }
}

#[test]
fn the_tail_leaves_with_the_segments_before_it_unless_nagle_or_cork_holds_it() {
    let whole = |change: fn(&mut Situation)| {
        let mut situation = Situation {
            goal: 4_500,
            ..tail(3_400, Limit::Application)
        };
        change(&mut situation);
        segmentize(&situation)
    };
    for (name, sent, expected) in [
        ("nagle", whole(|_| ()), 3_000),
        ("no nagle", whole(|tail| tail.nagle = false), 3_400),
        ("FIN", whole(|tail| tail.fin_queued = true), 3_400),
        ("less than all", whole(|tail| tail.goal = 3_300), 3_000),
    ] {
        assert_eq!(sent, Decision::Send(expected), "{name}");
    }
}

#[test]
fn the_rest_of_a_window_is_filled_behind_full_segments_if_the_knob_is_set() {
    use Decision::{Hold, Send};
    use Limit::{CwndSteady, ReceiveWindow};

    let rest = Situation {
        uses_up_window: true,
        nagle: false,
        max_snd_wnd: 3_400,
        ..room(400, ReceiveWindow)
    };
    let changed = |change: fn(&mut Situation)| {
        let mut situation = rest;
        change(&mut situation);
        segmentize(&situation)
    };
    let hold = Hold(ReceiveWindow);
    assert_eq!(segmentize(&rest), Send(400));
    assert_eq!(changed(|rest| rest.uses_up_window = false), hold);
    assert_eq!(changed(|rest| rest.nagle = true), hold);
    assert_eq!(changed(|rest| rest.corked = true), hold);
    // The segment in flight is itself smaller than a full one: using up the rest of the window
    // again would make segments ever smaller.
    assert_eq!(changed(|rest| rest.outstanding = 400), hold);
    let by_congestion = changed(|rest| rest.allowance.bound_by = CwndSteady);
    assert_eq!(by_congestion, Hold(CwndSteady));
}

#[test]
fn the_window_moves_only_if_its_right_edge_does() {
    let una = established().snd_una;
    for (seq, ack, window, moved, stored) in [
        (100, 0, 1_000, false, 1_000),
        (100, 0, 1_001, true, 1_001),
        (100, 0, 999, false, 999),
        (100, 100, 900, false, 900),
        (100, 100, 901, true, 901),
        (101, 0, 2_000, true, 2_000),
        (99, 100, 2_000, false, 1_000),
    ] {
        let mut send = established();
        send.set_window(SeqNum(100), una, 1_000);
        assert_eq!(send.update_window(SeqNum(seq), una + ack, window), moved);
        assert_eq!(send.snd_wnd, stored, "{seq} {ack} {window}");
        assert_eq!(send.max_snd_wnd, stored.max(1_000));
    }
    let mut send = established();
    send.set_window(SeqNum(100), una + 100, 1_000);
    assert!(!send.update_window(SeqNum(100), una, 5_000), "an older ACK");
    assert_eq!(send.snd_wnd, 1_000);
}

#[test]
fn the_sequence_variables_are_counted_from_each_other() {
    let mut pool = pool(8);
    let mut send = established();
    let una = send.snd_una;
    assert!(send.is_idle() && !send.fin_is_next());
    send.write(&[7; 600], 4_000, false, &mut pool);
    assert!(!send.is_idle(), "unsent");
    assert_eq!((send.unsent(), send.outstanding()), (600, 0));
    send.set_window(SeqNum(1), una, 500);
    transmit(&mut send, 400);
    assert_eq!((send.unsent(), send.window_room()), (200, 100));
    transmit(&mut send, 200);
    assert_eq!((send.unsent(), send.window_room()), (0, 0));
    assert!(!send.is_idle(), "not acknowledged");
    assert_eq!(send.offset_of(una + 250), 250);
    assert_eq!(send.acknowledge(una + 600, &mut pool), 600);
    assert!(send.is_idle() && !send.fin_acked_by(una + 601));
    send.fin_queued = true;
    assert!(send.fin_is_next() && !send.is_idle());
    assert!(!send.fin_acked_by(una + 600) && send.fin_acked_by(una + 601));
    transmit(&mut send, 1);
    assert!(!send.fin_is_next());
    assert_eq!(
        send.acknowledge(una + 601, &mut pool),
        0,
        "FIN is no payload"
    );
    assert_eq!(send.snd_wnd, 0);
}

/// RFC 9293 §3.8.5.
#[test]
fn an_urgent_pointer_is_cleared_when_the_byte_before_it_is_acknowledged() {
    let mut pool = pool(8);
    let mut send = established();
    let una = send.snd_una;
    send.write(&[7; 300], 4_000, false, &mut pool);
    transmit(&mut send, 300);
    send.snd_up = Some(una + 100);
    send.acknowledge(una + 99, &mut pool);
    assert_eq!(send.snd_up, Some(una + 100));
    send.acknowledge(una + 100, &mut pool);
    assert_eq!(send.snd_up, None);
    send.stream.release(&mut pool);
}

#[test]
fn the_tighter_of_buffer_and_memory_bounds_a_write() {
    let mut pool = pool(4);
    let mut send = established();
    for (capacity, expected) in [
        (399, (399, Limit::SendBuffer)),
        (400, (400, Limit::SendBuffer)),
        (401, (400, Limit::Memory)),
    ] {
        assert_eq!(send.write_room(capacity, false, &pool), expected);
    }
    send.write(&[1; 150], 1_000, false, &mut pool);
    assert_eq!(send.write_room(200, false, &pool), (50, Limit::SendBuffer));
    assert_eq!(send.write_room(100, false, &pool), (0, Limit::SendBuffer));
    send.stream.release(&mut pool);
}

#[test]
fn a_writer_in_place_is_blocked_only_if_it_filled_the_room() {
    let mut pool = pool(4);
    for (most, blocked) in [(250, true), (249, false), (0, false)] {
        let mut send = established();
        let mut left = most;
        let written = send.write_with(250, &mut pool, &mut |slice| {
            let take = slice.len().min(left);
            left -= take;
            take
        });
        assert_eq!(written, most);
        let expected = BlockedWrite {
            wanted: 1,
            by: Limit::SendBuffer,
            woken: false,
        };
        assert_eq!(send.blocked, blocked.then_some(expected), "{most}");
        send.stream.release(&mut pool);
    }
}

/// Blocks a writer on a full buffer of 900 bytes. Returns true if the writer is woken once `acked`
/// of `sent` bytes are acknowledged.
fn wakes(sent: u32, acked: u32, missing: usize, wake: WakePolicy) -> bool {
    let mut pool = pool(16);
    let mut send = established();
    let una = send.snd_una;
    send.write(&[1; 900], 900, false, &mut pool);
    send.write(&std::vec![1; missing], 900, wake.atomic, &mut pool);
    transmit(&mut send, sent);
    if acked > 0 {
        send.acknowledge(una + acked, &mut pool);
    }
    let woken = send.should_wake(900, wake, &pool);
    if let Some(blocked) = &mut send.blocked {
        blocked.woken = true;
    }
    assert!(!send.should_wake(900, wake, &pool), "once");
    send.blocked = None;
    assert!(!send.should_wake(900, wake, &pool), "no writer waits");
    send.stream.release(&mut pool);
    woken
}

/// A writer of whole records needs room for the record. Any other writer is also woken
/// when less than two segments are unsent and there is room for one.
#[test]
fn a_writer_is_woken_for_its_record_or_before_the_sender_runs_dry() {
    let wake = WakePolicy {
        atomic: false,
        low_water: 0,
        mss: 100,
    };
    let record = WakePolicy {
        atomic: true,
        ..wake
    };
    for (name, sent, acked, wake, expected) in [
        ("a third", 300, 300, wake, true),
        ("less than a third", 300, 299, wake, false),
        ("nearly dry", 701, 100, wake, true),
        ("two segments unsent", 700, 100, wake, false),
        ("no room for a segment", 701, 99, wake, false),
        ("a record", 500, 500, record, true),
        ("less than a record", 500, 499, record, false),
    ] {
        assert_eq!(wakes(sent, acked, 500, wake), expected, "{name}");
    }
}

#[test]
fn a_tail_behind_full_segments_waits_for_cork_nagle_and_a_woken_writer() {
    let whole = |change: fn(&mut Situation)| {
        let mut situation = Situation {
            goal: 4_500,
            nagle: false,
            ..tail(3_400, Limit::Application)
        };
        change(&mut situation);
        segmentize(&situation)
    };
    for (name, sent, expected) in [
        ("nothing", whole(|_| ()), 3_400),
        ("cork", whole(|tail| tail.corked = true), 3_000),
        ("woken", whole(|tail| tail.writer = Writer::Woken), 3_000),
        (
            "blocked",
            whole(|tail| tail.writer = Writer::Blocked),
            3_400,
        ),
        (
            "cork and override",
            whole(|tail| (tail.corked, tail.override_sws) = (true, true)),
            3_400,
        ),
        (
            "a whole segment",
            whole(|tail| tail.allowance.room = 1_000),
            1_000,
        ),
        ("more unsent", whole(|tail| tail.unsent = 3_401), 3_000),
    ] {
        assert_eq!(sent, Decision::Send(expected), "{name}");
    }
}

/// RFC 9293 §3.8.6.2.1, condition 3: half the largest window.
#[test]
fn with_nothing_in_flight_half_the_largest_window_is_filled() {
    use Decision::{Hold, Send};
    use Limit::{CwndSteady, ReceiveWindow, ZeroWindow};
    for (limit, room_left, outstanding, expected) in [
        (ReceiveWindow, 400, 0, Send(400)),
        (ReceiveWindow, 399, 0, Hold(ReceiveWindow)),
        (ReceiveWindow, 400, 1, Hold(ReceiveWindow)),
        (ZeroWindow, 400, 0, Send(400)),
        (ZeroWindow, 399, 0, Hold(ZeroWindow)),
        (CwndSteady, 1, 0, Send(1)),
        (CwndSteady, 999, 1, Hold(CwndSteady)),
        (CwndSteady, 1_000, 1, Send(1_000)),
    ] {
        let situation = Situation {
            outstanding,
            max_snd_wnd: 800,
            ..room(room_left, limit)
        };
        assert_eq!(segmentize(&situation), expected, "{limit:?} {room_left}");
    }
}

/// RFC 9293 §3.7.4: Nagle's algorithm, with a cork and a blocked writer.
#[test]
fn a_tail_alone_leaves_by_nagle_cork_and_the_state_of_the_writer() {
    use Decision::{Hold, Send};
    use Limit::{Application, Nagle};
    use Writer::{Blocked, Free, Woken};
    for (outstanding, nagle, corked, writer, expected) in [
        (0, true, false, Free, Send(400)),
        (1, true, false, Free, Hold(Nagle)),
        (1, false, false, Free, Send(400)),
        (0, false, true, Free, Hold(Nagle)),
        (0, false, true, Blocked, Send(400)),
        (1, false, true, Blocked, Hold(Application)),
        (0, false, false, Woken, Hold(Application)),
        (1, false, false, Woken, Hold(Application)),
        (1, false, false, Blocked, Send(400)),
    ] {
        let mut situation = Situation {
            outstanding,
            nagle,
            corked,
            writer,
            ..tail(400, Application)
        };
        assert_eq!(segmentize(&situation), expected, "{outstanding} {writer:?}");
        situation.override_sws = true;
        assert_eq!(segmentize(&situation), Send(400));
        (situation.override_sws, situation.fin_queued) = (false, true);
        assert_eq!(segmentize(&situation), Send(400));
    }
}

#[test]
fn the_send_buffer_should_hold_two_windows() {
    assert_eq!(send_goal(14_600), 29_200);
    assert_eq!(send_goal(u32::MAX), u32::MAX);
}

/// With one block left for writers, a record of a whole block fits once all earlier
/// payload is acknowledged.
#[test]
fn an_empty_buffer_takes_a_whole_block_again() {
    let mut pool = Pool::new(&PoolConfig {
        blocks: 1,
        block_size: 100,
        send_floor: 0,
        receive_floor: 0,
        ..PoolConfig::default()
    });
    let mut send = established();
    send.write(&[1; 30], 1_000, true, &mut pool);
    transmit(&mut send, 30);
    let una = send.snd_una;
    assert_eq!(send.acknowledge(una + 10, &mut pool), 10);
    assert_eq!(send.offset_of(send.snd_una), 10);
    assert_eq!(send.acknowledge(una + 30, &mut pool), 20);
    assert_eq!(send.offset_of(send.snd_una), 0);
    assert_eq!(send.write(&[1; 100], 1_000, true, &mut pool), 100);
    assert_eq!((send.unsent(), send.payload_end()), (100, una + 130));
    send.stream.release(&mut pool);
}
