//! Tests of recordings, alone and compared with a capture.

use fullpipe_tcp::Limit;
use fullpipe_wire::TcpFlags;

use super::*;
use crate::{
    capture::Segment,
    observe::{Band, ConnectionObserver, SeenLimit},
    socket::{AccountsBeside, Replay, SocketRecording, SocketTable, SocketWriter},
};

const ROUND_US: u64 = 100_000;

/// Rounds of a socket that is idle, then limited by its congestion window, then idle.
fn rounds() -> Vec<SocketObservation> {
    let mut rounds = vec![idle(); 10];
    for round in 0..20 {
        let busy = round * ROUND_US;
        rounds.push(with_info(sending(30, 90_000), |info| {
            info.busy_time = Some(busy)
        }));
    }
    let busy = Some(19 * ROUND_US);
    rounds.extend([with_info(idle(), |info| info.busy_time = busy); 10]);
    rounds
}

fn replayed(rounds: &[SocketObservation]) -> Replay {
    let settings = HostSettings::default();
    let mut writer = SocketWriter::create(Vec::new(), 1.5e9, "6.18", &settings).unwrap();
    for (place, socket) in rounds.iter().enumerate() {
        writer.observe(socket);
        writer.end_round(place as u64 * ROUND_US).unwrap();
    }
    writer.close(rounds[0].id.cookie);
    writer.end_round(rounds.len() as u64 * ROUND_US).unwrap();
    let bytes = writer.finish().unwrap();
    let mut recording = SocketRecording::open(bytes.as_slice()).unwrap();
    let (replay, error) = Replay::of(&mut recording, &mut || true);
    assert!(error.is_none(), "{error:?}");
    replay
}

/// The account (time by limit) from a recording equals that of the live socket, and the bands
/// (periods with one limit) cover the time of the account without gaps.
#[test]
fn a_replayed_socket_has_the_account_of_the_live_one() {
    let rounds = rounds();
    let replay = replayed(&rounds);
    let mut table = SocketTable::new();
    for (place, socket) in rounds.iter().enumerate() {
        table.begin_round();
        table.observe(place as u64 * ROUND_US, socket, &mut |_| {});
    }
    let live = &table.sockets()[0];
    let [one] = replay.sockets.as_slice() else {
        panic!("one socket: {replay:?}");
    };
    assert_eq!(one.socket.account.times, live.account.times);
    assert_eq!(one.socket.observations, 40);
    assert!(
        one.bands
            .windows(2)
            .all(|pair| pair[0].end_us == pair[1].at_us)
    );
    let length = one.bands.last().unwrap().end_us - one.bands[0].at_us;
    assert_eq!(length, one.socket.observed_us());
    let limits: Vec<_> = one.bands.iter().map(|band| band.limit).collect();
    assert_eq!(limits.len(), 3, "{limits:?}");
    assert_eq!(limits[0], Some(Limit::Application));
    assert_eq!(limits[2], Some(Limit::Application));
}

/// The accounts agree in the time in which their limits are equal. All other time that both
/// cover is listed as differences.
#[test]
fn accounts_are_compared_over_the_time_that_both_saw() {
    let replay = replayed(&rounds());
    let began_ns = 1_500_000_000_000_000_000;
    let mut connection = ConnectionObserver::new();
    connection.on_segment(&Segment {
        at_ns: began_ns + 500_000_000,
        flags: TcpFlags::SYN,
        ..Segment::EMPTY
    });
    let mut observed = connection.finish(began_ns + 5_500_000_000);
    let band = |at_ns, end_ns, limit: Limit| Band {
        at_ns,
        end_ns,
        limit: limit.into(),
        is_sure: true,
        bytes: 0,
    };
    // Let the capture begin 0.5 s after the first observation of the socket.
    observed.bands = vec![
        band(0, 500_000_000, Limit::Application),
        band(500_000_000, 1_500_000_000, Limit::CwndSteady),
        band(1_500_000_000, 2_500_000_000, Limit::SendBuffer),
        band(2_500_000_000, 5_000_000_000, Limit::Application),
    ];
    let beside = AccountsBeside::of(&observed, &replay.sockets[0], began_ns).unwrap();
    assert!((beside.seconds - 3.4).abs() < 1e-9, "{beside:?}");
    let capture = SeenLimit::Known(Limit::SendBuffer);
    assert!(beside.differences.iter().all(|one| one.capture == capture));
    assert_eq!(beside.differences[0].at_ns, 1_500_000_000);
    let lengths = beside.differences.iter().map(|one| one.end_ns - one.at_ns);
    let differs = lengths.sum::<u64>() as f64 / 1e9;
    assert!((differs - 1.0).abs() < 1e-9, "{beside:?}");
    let agreed = beside.agreed_share * beside.seconds;
    assert!(
        (agreed + differs - beside.seconds).abs() < 1e-9,
        "{beside:?}"
    );
    let sum: f64 = beside.limits.iter().map(|part| part.kernel_s).sum();
    assert!((sum - beside.seconds).abs() < 1e-9, "{beside:?}");
    observed.begin_ns += 60_000_000_000;
    let apart = AccountsBeside::of(&observed, &replay.sockets[0], began_ns);
    assert!(apart.is_none(), "no time in common");
}
