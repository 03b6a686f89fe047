//! Tests of the limit of a sender that repairs a loss or waits for a timer.

use super::*;

/// Creates a pair whose client has a large congestion window and writes 60 segments, twelve of
/// which are lost.
fn with_losses() -> Pair {
    let config = TcpConfig {
        send_buffer: 1 << 20,
        receive_buffer: 1 << 20,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(config.clone(), config);
    pair.transfer(CLIENT, 600_000, Duration::from_secs(10));
    pair.run_for(Duration::from_millis(50));
    let mut seen = 0;
    pair.lose = Box::new(move |in_transit| {
        let is_data = !in_transit.payload.is_empty();
        seen += usize::from(is_data);
        is_data && (20..32).contains(&seen)
    });
    pair.write(CLIENT, &alloc::vec![7; 60 * usize::from(MSS)]);
    pair
}

fn time_at(pair: &mut Pair, limit: Limit) -> Duration {
    pair.at(CLIENT, |connection, env| {
        connection.limit.time_at(limit, env.now)
    })
}

/// Runs `pair` until fast recovery has begun.
fn run_to_recovery(pair: &mut Pair) {
    let until = pair.now + Duration::from_secs(1);
    while !pair.at(CLIENT, |connection, _| connection.is_recovering()) {
        assert!(pair.step(until), "no recovery");
    }
}

#[test]
fn a_recovery_whose_retransmissions_are_paced_is_limited_by_pacing() {
    let mut pair = with_losses();
    run_to_recovery(&mut pair);
    // At this rate the pacer sends a segment every 29 ms.
    pair.ends[CLIENT].config.pacing_rate_max = 50_000;
    let before = [Limit::Pacing, Limit::Recovery].map(|limit| time_at(&mut pair, limit));
    pair.run_for(Duration::from_millis(25));
    let after = [Limit::Pacing, Limit::Recovery].map(|limit| time_at(&mut pair, limit));
    assert!(
        pair.at(CLIENT, |connection, _| connection.is_recovering()),
        "the recovery takes longer"
    );
    let [paced, repaired] = [0, 1].map(|at| (after[at] - before[at]).as_millis());
    assert!(paced >= 23 && repaired <= 2, "{paced} ms, {repaired} ms");
}

#[test]
fn a_retransmission_waits_for_the_device_and_its_limit_is_the_device() {
    let mut pair = with_losses();
    let until = pair.now + Duration::from_secs(1);
    let full = |pair: &mut Pair| {
        pair.at(CLIENT, |connection, env| {
            connection.on_device_backlog(1 << 20, 1_460, env)
        })
    };
    assert!(full(&mut pair));
    while pair.at(CLIENT, |connection, _| connection.recovery.board().lost()) == 0 {
        assert!(pair.step(until), "no loss");
        full(&mut pair);
    }
    assert_eq!(pair.ends[CLIENT].counters.retrans_segs, 0, "it waits");
    let limit = pair.at(CLIENT, |connection, _| connection.limit.current());
    assert_eq!(limit, Limit::Device);
    pair.at(CLIENT, |connection, env| {
        connection.on_device_backlog(0, 1_460, env)
    });
    pair.transmit();
    assert!(pair.ends[CLIENT].counters.retrans_segs > 0, "it leaves");
}

/// The window of 8 KiB is full, everything is lost, and the device is busy meanwhile.
#[test]
fn a_repair_that_waits_for_the_device_is_no_probe_of_a_closed_window() {
    let config = TcpConfig {
        receive_buffer: 8 << 10,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(config.clone(), config);
    pair.lose = Box::new(|_| true);
    pair.write(CLIENT, &alloc::vec![7; 60_000]);
    let backlog = |pair: &mut Pair, bytes: u32| {
        pair.at(CLIENT, |connection, env| {
            connection.on_device_backlog(bytes, 1_460, env)
        })
    };
    backlog(&mut pair, 1 << 20);
    let until = pair.now + Duration::from_secs(3);
    while pair.step(until) {
        backlog(&mut pair, 1 << 20);
    }
    let counters = &pair.ends[CLIENT].counters;
    assert_eq!((counters.win_probe, counters.retrans_segs), (0, 0));
    let is_set = pair.at(CLIENT, |connection, _| {
        connection.timers.retransmit.is_set()
    });
    assert!(is_set, "the retransmission timer runs on");
    pair.lose = Box::new(|_| false);
    backlog(&mut pair, 0);
    pair.transmit();
    assert!(pair.ends[CLIENT].counters.retrans_segs > 0, "it leaves");
}

/// The window is full, but a larger one would change nothing, because no ACK comes.
#[test]
fn an_outage_in_the_first_flight_is_charged_to_recovery() {
    for (name, sack, receive_buffer) in [
        ("a full window", true, 8 << 10),
        ("a full window, without SACK", false, 8 << 10),
        ("a window of one segment", true, 1_460),
        ("an initial window", true, 1 << 20),
        ("an initial window, without SACK", false, 1 << 20),
    ] {
        let config = TcpConfig {
            receive_buffer,
            sack,
            ..TcpConfig::default()
        };
        let mut pair = Pair::established(config.clone(), config);
        pair.lose = Box::new(|_| true);
        pair.write(CLIENT, &alloc::vec![7; 60_000]);
        let start = pair.now;
        let before = time_at(&mut pair, Limit::Recovery);
        pair.run_for(Duration::from_secs(10));
        let recovery = time_at(&mut pair, Limit::Recovery) - before;
        let share = recovery.as_secs_f64() / pair.now.since(start).as_secs_f64();
        assert!(share > 0.97, "{name}: {share:.3}");
    }
}

/// Nagle's algorithm waits for an ACK, and the application for an answer, but neither
/// comes before the retransmission.
#[test]
fn a_lost_request_is_charged_to_recovery_until_it_is_repaired() {
    for (name, bytes) in [("all is sent", 700), ("a tail waits for Nagle", 1_600)] {
        let config = TcpConfig {
            sack: false,
            delayed_ack: Duration::ZERO,
            ..TcpConfig::default()
        };
        let mut pair = Pair::established(config.clone(), config);
        let mut attempts = 0;
        pair.lose = Box::new(move |in_transit| {
            attempts += u32::from(!in_transit.payload.is_empty());
            !in_transit.payload.is_empty() && attempts <= 3
        });
        pair.write(CLIENT, &alloc::vec![7; bytes]);
        let start = pair.now;
        while pair.read(SERVER).is_empty() {
            pair.step(start + Duration::from_secs(10));
        }
        let waited = pair.now.since(start).as_secs_f64();
        let share = time_at(&mut pair, Limit::Recovery).as_secs_f64() / waited;
        assert!(share > 0.7, "{name}: {share:.3} of {waited} s");
        pair.run_for(Duration::from_millis(40));
        let limit = pair.at(CLIENT, |connection, _| connection.limit.current());
        assert_eq!(limit, Limit::Application, "{name}");
    }
}
