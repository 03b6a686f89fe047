//! The sending half alone: sequence variables, writes, and what leaves.

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

/// A writer that found a buffer of 900 bytes full waits for a third of it, or
/// for the room that it asked for.
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

/// Recovery is then the limit: its writer would have filled the segment.
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
    // The segment in flight is itself smaller than a full one: filling the rest again
    // would make windows ever smaller.
    assert_eq!(changed(|rest| rest.outstanding = 400), hold);
    let by_congestion = changed(|rest| rest.allowance.bound_by = CwndSteady);
    assert_eq!(by_congestion, Hold(CwndSteady));
}
