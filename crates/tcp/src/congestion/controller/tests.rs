//! Tests of properties that every algorithm must have.

use super::*;
use crate::congestion::tests::path::{Path, World, config};
use fullpipe_pool::{Duration, Instant};

const MSS: u32 = 1_448;

/// Creates a controller with the initial window.
fn started(algorithm: CongestionAlgorithm) -> Controller {
    Controller::new(
        algorithm.into(),
        &start_of(&config(algorithm), MSS, 1),
        &mut CongestionRegistry::new(),
    )
}

fn event() -> CongestionEvent {
    CongestionEvent {
        flight_size: 10 * MSS,
        in_flight: 10 * MSS,
        mss: MSS,
        ..CongestionEvent::default()
    }
}

/// Returns `snd_una..snd_nxt` of ten segments in flight after `acked` acknowledged bytes.
fn window(acked: u32) -> Range<SeqNum> {
    SeqNum(acked)..SeqNum(acked + 10 * MSS)
}

fn marked() -> AckSample {
    AckSample {
        in_flight: 10 * MSS,
        mss: MSS,
        ece: true,
        ..AckSample::default()
    }
}

#[test]
fn a_window_of_marks_causes_one_reduction() {
    for algorithm in CongestionAlgorithm::ALL.iter().copied() {
        let mut controller = started(algorithm);
        let answers = (0..30).filter(|n| controller.on_ack(&marked(), 10 * MSS, window(n * MSS)));
        assert_eq!(
            answers.count(),
            3,
            "{algorithm}: three windows of ten segments"
        );
    }
}

#[test]
fn a_loss_in_a_window_that_was_marked_causes_no_second_reduction() {
    let mut controller = started(CongestionAlgorithm::NewReno);
    controller.on_ack(&marked(), 10 * MSS, window(0));
    let cwnd = controller.cwnd();
    assert!(cwnd < initial_window(&TcpConfig::default(), MSS));
    controller.on_loss(&event(), window(MSS));
    assert_eq!(controller.cwnd(), cwnd);
    controller.on_loss(&event(), window(2 * MSS));
    assert!(
        controller.cwnd() < cwnd,
        "a second recovery is another window"
    );
}

#[test]
fn the_pacing_rate_is_twice_the_window_in_slow_start_and_one_fifth_above_it_afterwards() {
    let mut controller = started(CongestionAlgorithm::NewReno);
    let cwnd = u64::from(controller.cwnd());
    assert_eq!(controller.pacing_rate(0, false), u64::MAX);
    assert_eq!(controller.pacing_rate(100_000, false), cwnd * 2 * 10);
    controller.on_loss(&event(), window(0));
    let cwnd = u64::from(controller.cwnd());
    assert_eq!(controller.pacing_rate(100_000, false), cwnd * 12);
}

#[test]
fn a_full_window_is_a_limit_with_a_name() {
    for algorithm in CongestionAlgorithm::ALL.iter().copied() {
        let mut controller = started(algorithm);
        assert_eq!(controller.limit(), Limit::CwndSlowStart, "{algorithm}");
        if algorithm != CongestionAlgorithm::Bbr {
            controller.on_loss(&event(), window(0));
            assert_eq!(controller.limit(), Limit::CwndAfterLoss, "{algorithm}");
        }
    }
}

/// Passes ACKs of whole windows until the window has at least `bytes`.
fn grow_to(controller: &mut Controller, bytes: u32) {
    for round in 1..1_000 {
        if controller.cwnd() >= bytes {
            return;
        }
        let sample = AckSample {
            acked: controller.cwnd(),
            now: Instant::from_millis(100 * round),
            srtt_us: 100_000,
            cwnd_limited: true,
            ece: false,
            ..marked()
        };
        controller.on_ack(&sample, 10 * MSS, window(100 * MSS));
    }
    panic!("{controller:?}");
}

#[test]
fn a_full_window_is_charged_to_the_event_that_set_its_size() {
    use Limit::{CwndAfterIdle, CwndAfterLoss, CwndAfterMark, CwndSlowStart};
    type Step = (&'static str, fn(&mut Controller), Limit);
    let steps: [Step; 12] = [
        ("start", |_| (), CwndSlowStart),
        ("idle", |it| it.on_idle(2 * MSS), CwndAfterIdle),
        (
            "the window before the pause",
            |it| grow_to(it, 12 * MSS),
            CwndSlowStart,
        ),
        (
            "timeout",
            |it| it.on_timeout(&event(), window(0), true),
            CwndAfterLoss,
        ),
        ("undo", Controller::on_undo, CwndSlowStart),
        (
            "mark",
            |it| _ = it.on_ack(&marked(), 10 * MSS, window(0)),
            CwndAfterMark,
        ),
        (
            "loss of the same window",
            |it| it.on_loss(&event(), window(0)),
            CwndAfterMark,
        ),
        (
            "loss",
            |it| it.on_loss(&event(), window(20 * MSS)),
            CwndAfterLoss,
        ),
        ("undo", Controller::on_undo, CwndAfterMark),
        (
            "loss",
            |it| it.on_loss(&event(), window(40 * MSS)),
            CwndAfterLoss,
        ),
        ("idle", |it| it.on_idle(MSS), CwndAfterIdle),
        ("grown", |it| grow_to(it, 60 * MSS), CwndAfterLoss),
    ];
    for algorithm in [CongestionAlgorithm::NewReno, CongestionAlgorithm::Cubic] {
        let mut controller = started(algorithm);
        for (name, call, expected) in steps {
            call(&mut controller);
            assert_eq!(controller.limit(), expected, "{algorithm}: {name}");
        }
    }
}

#[test]
fn marks_keep_the_queue_short_without_a_drop() {
    for algorithm in CongestionAlgorithm::ALL.iter().copied() {
        let path = Path {
            mark_above: 125_000,
            ..Path::wide()
        };
        let mut world = World::with(path, algorithm);
        world.run(Duration::from_secs(3));
        (world.queue_drops, world.max_queue) = (0, 0);
        let utilisation = world.utilisation(0, Duration::from_secs(20));
        let flow = &world.flows[0];
        assert!(utilisation > 0.9, "{algorithm}: {utilisation}");
        assert_eq!(world.queue_drops, 0, "{algorithm}");
        assert!(flow.ecn_reductions > 0, "{algorithm}");
        assert!(
            world.max_queue < 400_000,
            "{algorithm}: {}",
            world.max_queue
        );
    }
}

#[test]
fn an_application_that_writes_little_does_not_make_the_window_grow() {
    for algorithm in CongestionAlgorithm::ALL.iter().copied() {
        let mut world = World::with(Path::wide(), algorithm);
        // The application writes a tenth of the link's rate, which keeps 50,000 bytes in flight.
        // The bytes that queued while the initial window was too small are in flight, too. Slow
        // start ends at twice the sum of these two amounts.
        world.flows[0].source = Some(1_250_000);
        world.run(Duration::from_secs(20));
        let flow = &world.flows[0];
        assert!(
            flow.delivered > 24_000_000,
            "{algorithm}: {}",
            flow.delivered
        );
        let cwnd = flow.controller.cwnd();
        assert!((50_000..250_000).contains(&cwnd), "{algorithm}: {cwnd}");
        assert_eq!(flow.controller.limit(), Limit::CwndSlowStart, "{algorithm}");
    }
}

/// RFC 6928 §2: min(10 * MSS, max(2 * MSS, 14600)), with the number of segments as a knob.
#[test]
fn the_initial_window_is_ten_segments_within_the_bound_of_rfc_6928() {
    for (segments, mss, expected) in [
        (10, 536, 5_360),
        (10, 1_460, 14_600),
        (10, 1_461, 14_600),
        (10, 8_960, 17_920),
        (4, 2_000, 5_840),
        (1, 1_000, 1_000),
    ] {
        let config = TcpConfig {
            initial_window: segments,
            ..TcpConfig::default()
        };
        assert_eq!(
            initial_window(&config, mss),
            expected,
            "{segments} of {mss}"
        );
    }
}

/// Returns a controller with a window of `cwnd` and a threshold of `ssthresh` bytes.
fn between(algorithm: CongestionAlgorithm, cwnd: u32, ssthresh: u32) -> Controller {
    let mut start = start_of(&config(algorithm), MSS, 1);
    (start.cwnd, start.ssthresh) = (cwnd, ssthresh);
    Controller::new(algorithm.into(), &start, &mut CongestionRegistry::new())
}

#[test]
fn pacing_is_faster_while_the_window_can_double_and_slower_in_recovery() {
    for (cwnd, ssthresh, recovering, expected) in [
        (10_000, 20_002, false, 200_000),
        (10_000, 20_001, false, 120_000),
        (10_000, 20_002, true, 100_000),
        (10_000, 5_000, true, 100_000),
    ] {
        let controller = between(CongestionAlgorithm::NewReno, cwnd, ssthresh);
        assert_eq!(controller.pacing_rate(100_000, recovering), expected);
    }
}

#[test]
fn a_changed_algorithm_keeps_window_and_threshold() {
    let mut controller = between(CongestionAlgorithm::NewReno, 30_000, 50_000);
    let start = start_of(&TcpConfig::default(), MSS, 1);
    let cubic = CongestionAlgorithm::Cubic.into();
    controller.change(cubic, &start, &mut CongestionRegistry::new());
    assert_eq!((controller.cwnd(), controller.ssthresh()), (30_000, 50_000));
}

#[test]
fn a_restart_forgets_the_window_and_the_mark_of_before() {
    for algorithm in CongestionAlgorithm::ALL.iter().copied() {
        let mut controller = started(algorithm);
        assert!(controller.on_ack(&marked(), 10 * MSS, window(0)));
        controller.on_timeout(&event(), window(5), true);
        controller.restart(&start_of(&config(algorithm), MSS, 1));
        let initial = initial_window(&TcpConfig::default(), MSS);
        assert_eq!(
            (controller.cwnd(), controller.ssthresh()),
            (initial, u32::MAX)
        );
        assert!(!controller.is_reduced_by_mark(SeqNum(0)));
        assert!(
            controller.on_ack(&marked(), 10 * MSS, window(0)),
            "{algorithm}"
        );
    }
}

/// RFC 3168 §6.1.2: a mark counts once for each window of data, and the last ACK of that
/// data still carries ECE.
#[test]
fn a_mark_counts_for_the_window_of_data_that_was_in_flight() {
    let mut controller = started(CongestionAlgorithm::NewReno);
    let end = window(5).end;
    assert!(!controller.is_reduced_by_mark(SeqNum(5)));
    controller.on_ack(&marked(), 10 * MSS, window(5));
    assert!(controller.is_reduced_by_mark(end));
    assert!(!controller.is_reduced_by_mark(end + 1));
    controller.on_loss(&event(), window(5));
    assert!(
        !controller.is_reduced_by_mark(SeqNum(5)),
        "the loss has taken it"
    );
    controller.on_ack(&marked(), 10 * MSS, window(end.0 + 1));
    controller.on_timeout(&event(), window(end.0 + 1), true);
    assert!(!controller.is_reduced_by_mark(end + 1));
    let last = window(end.0 + 1).end.0;
    assert!(!controller.on_ack(&marked(), 10 * MSS, window(last)));
    controller.on_undo();
    assert!(!controller.on_ack(&marked(), 10 * MSS, window(last)));
    assert!(controller.on_ack(&marked(), 10 * MSS, window(last + 1)));
}

/// RFC 3168 §6.1.2: the window of data ends at the value that `snd_nxt` had at the loss, even
/// if more was sent and delivered before the loss was repaired.
#[test]
fn a_mark_on_the_ack_that_ends_a_recovery_causes_no_reduction() {
    let mut controller = started(CongestionAlgorithm::NewReno);
    controller.on_loss(&event(), window(0));
    assert!(!controller.on_ack(&marked(), 10 * MSS, window(10 * MSS)));
    assert!(controller.on_ack(&marked(), 10 * MSS, window(11 * MSS)));
}

/// RFC 3168 §6.1.2: one reduction for each window of data. An undo of a spurious response
/// takes back the reduction by the loss, and not a reduction by a mark.
#[test]
fn an_undo_keeps_the_response_to_a_mark_and_ends_that_to_a_loss() {
    type Step = fn(&mut Controller);
    let mark: Step = |it| assert!(it.on_ack(&marked(), 10 * MSS, window(0)));
    let loss: Step = |it| it.on_loss(&event(), window(MSS));
    let timeout: Step = |it| it.on_timeout(&event(), window(MSS), true);
    let earlier_loss: Step = |it| {
        it.on_loss(&event(), SeqNum(0) - 10 * MSS..SeqNum(0) - MSS);
        it.on_recovery_exit();
    };
    let undo: Step = Controller::on_undo;
    let (same, next) = (2 * MSS, 10 * MSS + 1);
    let cases: [(&str, &[Step], u32, bool); 8] = [
        ("mark, loss, undo", &[mark, loss, undo], same, false),
        ("mark, timeout, undo", &[mark, timeout, undo], same, false),
        ("loss, mark, undo", &[earlier_loss, mark, undo], same, false),
        ("twice", &[mark, loss, undo, timeout, undo], same, false),
        ("mark, loss", &[mark, loss], next, false),
        ("the mark's window is over", &[mark, loss, undo], next, true),
        ("loss, undo", &[loss, undo], same, true),
        ("timeout, undo", &[timeout, undo], same, true),
    ];
    for algorithm in CongestionAlgorithm::ALL.iter().copied() {
        for (name, steps, una, reduces) in cases {
            let mut controller = started(algorithm);
            for step in steps {
                step(&mut controller);
            }
            let answer = controller.on_ack(&marked(), 10 * MSS, window(una));
            assert_eq!(answer, reduces, "{algorithm}: {name}");
        }
    }
}

/// The window after an undo is as large as the mark left it, and a real loss of the same
/// window of data reduces it no further.
#[test]
fn a_mark_and_a_spurious_loss_are_one_reduction() {
    for algorithm in [CongestionAlgorithm::NewReno, CongestionAlgorithm::Cubic] {
        let mut controller = started(algorithm);
        controller.on_ack(&marked(), 10 * MSS, window(0));
        let (cwnd, ssthresh) = (controller.cwnd(), controller.ssthresh());
        controller.on_timeout(&event(), window(MSS), true);
        controller.on_undo();
        controller.on_ack(&marked(), 10 * MSS, window(MSS));
        controller.on_loss(&event(), window(2 * MSS));
        let after = (controller.cwnd(), controller.ssthresh());
        assert_eq!(after, (cwnd, ssthresh), "{algorithm}");
        controller.on_undo();
        controller.on_loss(&event(), window(10 * MSS));
        assert!(controller.cwnd() < cwnd, "{algorithm}: the next window");
    }
}

#[test]
fn a_loss_that_begins_the_window_after_a_mark_causes_a_reduction() {
    for (una, reduces) in [(10 * MSS - 1, false), (10 * MSS, true)] {
        let mut controller = started(CongestionAlgorithm::NewReno);
        controller.on_ack(&marked(), 10 * MSS, window(0));
        let cwnd = controller.cwnd();
        controller.on_loss(&event(), window(una));
        assert_eq!(controller.cwnd() < cwnd, reduces, "{una}");
    }
}

/// An old end of a window of data must not be compared, because sequence numbers repeat after 2^32
/// bytes.
#[test]
fn a_window_of_data_that_is_over_is_not_compared_again() {
    let mut controller = started(CongestionAlgorithm::NewReno);
    controller.on_timeout(&event(), window(0), true);
    let unmarked = AckSample {
        ece: false,
        ..marked()
    };
    controller.on_ack(&unmarked, 10 * MSS, window(11 * MSS));
    assert!(controller.on_ack(&marked(), 10 * MSS, window((1 << 31) + 20 * MSS)));
}

#[test]
fn a_mark_during_recovery_causes_no_reduction() {
    let mut controller = started(CongestionAlgorithm::Cubic);
    let recovering = AckSample {
        recovering: true,
        ..marked()
    };
    assert!(!controller.on_ack(&recovering, 10 * MSS, window(0)));
    let unmarked = AckSample {
        ece: false,
        ..marked()
    };
    assert!(!controller.on_ack(&unmarked, 10 * MSS, window(0)));
}

/// An algorithm whose window has one bit for each method that was called.
#[derive(Default)]
struct Calls(u32);

impl CongestionControl for Calls {
    fn start(&mut self, _start: &CongestionStart) {
        self.0 = 0;
    }

    fn cwnd(&self) -> u32 {
        self.0
    }

    fn ssthresh(&self) -> u32 {
        0
    }

    fn on_flight_start(&mut self, _start: FlightStart) {
        self.0 |= 1;
    }

    fn on_ack(&mut self, _sample: &AckSample) {
        self.0 |= 2;
    }

    fn on_range_lost(&mut self, _lost: &LostRange) {
        self.0 |= 4;
    }

    fn on_loss(&mut self, _event: &CongestionEvent) {
        self.0 |= 8;
    }

    fn on_recovery_exit(&mut self) {
        self.0 |= 16;
    }

    fn on_ecn(&mut self, _event: &CongestionEvent) {
        self.0 |= 32;
    }

    fn on_timeout(&mut self, _event: &CongestionEvent, first: bool) {
        self.0 |= if first { 64 } else { 128 };
    }

    fn on_undo(&mut self) {
        self.0 |= 256;
    }

    fn on_idle(&mut self, restart_window: u32) {
        self.0 |= restart_window;
    }
}

#[test]
fn every_event_reaches_the_algorithm() {
    let mut registry = CongestionRegistry::new();
    let choice = registry.register("calls", 1, Calls::default).unwrap();
    let start = CongestionStart::default();
    let mut controller = Controller::new(choice, &start, &mut registry);
    type Call = (&'static str, fn(&mut Controller), u32);
    let calls: [Call; 9] = [
        ("flight", |it| it.on_flight_start(FlightStart::default()), 1),
        (
            "ACK",
            |it| _ = it.on_ack(&AckSample::default(), 0, window(0)),
            2,
        ),
        ("range", |it| it.on_range_lost(&LostRange::default()), 4),
        ("loss", |it| it.on_loss(&event(), window(0)), 8),
        ("recovered", |it| it.on_recovery_exit(), 16),
        ("timeout", |it| it.on_timeout(&event(), window(0), true), 64),
        (
            "another",
            |it| it.on_timeout(&event(), window(0), false),
            128,
        ),
        ("undo", |it| it.on_undo(), 256),
        ("idle", |it| it.on_idle(512), 512),
    ];
    for (name, call, bit) in calls {
        controller.restart(&start);
        call(&mut controller);
        assert_eq!(controller.cwnd(), bit, "{name}");
    }
    controller.restart(&start);
    controller.on_ack(&marked(), 0, window(0));
    assert_eq!(controller.cwnd(), 32 + 2, "the mark first, then the ACK");
    assert!(!controller.controls_recovery());
    assert_eq!(controller.pacing_rate(1_000_000, true), 34);
    assert_eq!(controller.limit(), Limit::CwndAfterMark);
    controller.release(&mut registry);
}

#[test]
fn only_bbr_sets_the_window_of_a_recovery() {
    for algorithm in CongestionAlgorithm::ALL.iter().copied() {
        let expected = algorithm == CongestionAlgorithm::Bbr;
        assert_eq!(started(algorithm).controls_recovery(), expected);
    }
}

#[test]
fn the_debug_output_names_the_algorithm_and_its_window() {
    let controller = between(CongestionAlgorithm::NewReno, 12_345, 54_321);
    let output = std::format!("{controller:?}");
    for part in ["NewReno", "cwnd: 12345", "ssthresh: 54321"] {
        assert!(output.contains(part), "{output}");
    }
}
