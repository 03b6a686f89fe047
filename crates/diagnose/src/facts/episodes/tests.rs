//! Tests of the episodes that short series of trace records give.

use fullpipe_tcp::{
    TcpState,
    trace::{RecoveryEvent, TraceEvent},
};

use super::*;

const RETRANSMISSION: TraceEvent = TraceEvent::Retransmission { seq: 0, len: 1 };

/// Begin, end, kind and count of each episode in a series of records with times.
fn episodes(records: &[(u64, TraceEvent)]) -> Vec<(u64, u64, Episode, u32)> {
    let mut log = EpisodeLog::default();
    for (at_ns, event) in records {
        log.record(*at_ns, *event);
    }
    let all = log.finish(1_000);
    (0..all.len())
        .map(|at| (all.at_ns[at], all.end_ns[at], all.kind(at), all.count[at]))
        .collect()
}

fn recovery(event: RecoveryEvent) -> TraceEvent {
    TraceEvent::Recovery(event)
}

#[test]
fn a_lost_handshake_segment_lasts_from_its_timeout_to_the_connection() {
    let records = [
        (100, TraceEvent::Timeout(1)),
        (300, TraceEvent::Timeout(2)),
        (310, TraceEvent::State(TcpState::Established)),
        (400, TraceEvent::Timeout(1)),
    ];
    let expected = [
        (100, 310, Episode::LostHandshake, 2),
        (400, 1_000, Episode::Timeout, 1),
    ];
    assert_eq!(episodes(&records), expected);
}

#[test]
fn a_recovery_counts_its_retransmissions_and_a_timeout_ends_it() {
    let records = [
        (0, TraceEvent::State(TcpState::Established)),
        (10, recovery(RecoveryEvent::TailProbe)),
        (10, RETRANSMISSION),
        (20, recovery(RecoveryEvent::FastRecovery)),
        (20, RETRANSMISSION),
        (25, recovery(RecoveryEvent::MarkResponse)),
        (30, RETRANSMISSION),
        (40, TraceEvent::Timeout(1)),
        (41, RETRANSMISSION),
        (50, TraceEvent::Timeout(2)),
        (60, recovery(RecoveryEvent::Undone)),
        (70, recovery(RecoveryEvent::FastRecovery)),
        (80, recovery(RecoveryEvent::Recovered)),
        (90, TraceEvent::Timeout(1)),
        (95, TraceEvent::State(TcpState::Closed)),
    ];
    let expected = [
        (10, 10, Episode::TailProbe, 0),
        (20, 40, Episode::FastRecovery, 2),
        (25, 25, Episode::Mark, 0),
        (40, 60, Episode::Timeout, 2),
        (60, 60, Episode::Undo, 0),
        (70, 80, Episode::FastRecovery, 0),
        (90, 95, Episode::Timeout, 1),
    ];
    assert_eq!(episodes(&records), expected);
}
