//! Tests with frames between two cables, in real time. These tests do not depend on exact times,
//! which `tests/live_link` tests on a quiet machine.

use std::{
    io::Write,
    os::fd::AsFd,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use fullpipe::device::TxMeta;
use fullpipe_host::{HostDevice, wait_for_either};
use fullpipe_sim::link::{Direction, LinkEngine, LinkModel, Queue};

use fullpipe_pool::{Duration as LinkTime, Instant as LinkInstant, Rng};

use super::{Lateness, LiveEnd, LiveLink, LiveReport};
use wire::CableEnd;

#[path = "../../../host/tests/sockets/wire.rs"]
mod wire;

/// Longest time to wait for a frame that must arrive.
const PATIENCE: Duration = Duration::from_secs(300);
const SEED: u64 = 7;

/// Output of a capture that a test can read.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn ends(left: CableEnd, right: CableEnd) -> [LiveEnd; 2] {
    [("left", left), ("right", right)].map(|(name, device)| LiveEnd {
        name: name.into(),
        device: Box::new(device),
    })
}

/// Runs `body` at the outer ends of two cables that a link connects.
fn between<R>(
    link: LinkModel,
    page: Option<Page>,
    body: impl FnOnce(CableEnd, CableEnd) -> R,
) -> (R, LiveReport) {
    let ((near, left), (right, far)) = (wire::wire(), wire::wire());
    let capture = page.map(|page| Box::new(page) as Box<dyn Write + Send>);
    let mut live = LiveLink::new(ends(left, right), link, SEED, capture).unwrap();
    let (stop, reports) = (AtomicBool::new(false), AtomicU32::new(0));
    thread::scope(|scope| {
        let run = scope.spawn(|| {
            let stop = || stop.load(Ordering::Acquire);
            let each = &mut |_: &LiveReport| {
                reports.fetch_add(1, Ordering::AcqRel);
            };
            live.run(&stop, Duration::from_millis(10), each).unwrap()
        });
        let result = body(near, far);
        // Wait for two more reports, because the second report covers a period after the last
        // frame.
        let enough = reports.load(Ordering::Acquire) + 2;
        let until = Instant::now() + PATIENCE;
        while reports.load(Ordering::Acquire) < enough {
            assert!(Instant::now() < until, "it reports while it runs");
            thread::sleep(Duration::from_millis(1));
        }
        stop.store(true, Ordering::Release);
        (result, run.join().unwrap())
    })
}

fn send(end: &mut CableEnd, number: u32) {
    let frame = [[0xff; 60].as_slice(), &number.to_be_bytes()].concat();
    end.send(&frame, TxMeta::default()).unwrap();
}

/// Returns the number of the next frame; `None` if no frame arrives within `patience`. The test
/// waits only for frames that must arrive, so that no timeout affects the result.
fn receive(end: &mut CableEnd, patience: Duration) -> Option<u32> {
    let until = Instant::now() + patience;
    loop {
        let mut frame = [0; 2_048];
        if let Ok((len, _)) = end.receive(&mut frame) {
            return Some(u32::from_be_bytes(frame[60..len].try_into().unwrap()));
        }
        let left = until.checked_duration_since(Instant::now())?;
        wait_for_either([Some(end.as_fd()), None], left).unwrap();
    }
}

#[test]
fn a_frame_is_delayed_by_the_delay_and_never_by_less() {
    let link = LinkModel {
        delay_us: 5_000,
        ..LinkModel::ideal()
    };
    let (trips, report) = between(link, None, |mut near, mut far| {
        (0..50)
            .map(|number| {
                let sent = Instant::now();
                send(&mut near, number);
                assert_eq!(receive(&mut far, PATIENCE), Some(number));
                send(&mut far, number);
                assert_eq!(receive(&mut near, PATIENCE), Some(number));
                sent.elapsed()
            })
            .collect::<Vec<_>>()
    });
    assert!(
        trips.iter().all(|trip| *trip >= Duration::from_millis(10)),
        "{trips:?}"
    );
    for way in &report.directions {
        assert_eq!((way.offered, way.delivered), (50, 50), "{way:?}");
    }
    let line = report.line(None);
    assert!(
        line.contains("left > right") && line.contains("50 frames"),
        "{line}"
    );
}

#[test]
fn a_seed_loses_the_same_frames_in_real_time_as_in_virtual_time() {
    let link = LinkModel {
        loss: 0.2,
        ..LinkModel::ideal()
    };
    let mut engine = LinkEngine::new(link, &Rng::seeded(SEED));
    let survives = |_number: &u32| {
        engine.offer(Direction::Forward, vec![0; 64], LinkInstant::ZERO);
        engine.take(LinkInstant::ZERO).is_some()
    };
    let expected: Vec<u32> = (0..200).filter(survives).collect();
    let ((), report) = between(link, None, |mut near, mut far| {
        for number in 0..200 {
            send(&mut near, number);
            // Wait only for frames that must arrive, so that no timeout affects the result.
            if expected.contains(&number) {
                assert_eq!(receive(&mut far, PATIENCE), Some(number));
            }
        }
    });
    let way = &report.directions[0];
    assert!((130..190).contains(&expected.len()), "{expected:?}");
    assert_eq!(way.delivered, expected.len() as u64, "{way:?}");
}

#[test]
fn frames_that_a_device_has_to_keep_are_not_read() {
    let link = LinkModel {
        rate_bps: 8, // a frame a minute
        queue: Queue::Device,
        ..LinkModel::ideal()
    };
    let ((), report) = between(link, None, |mut near, _far| {
        (0..5).for_each(|number| send(&mut near, number));
    });
    let read = report.directions[0].offered;
    assert!((1..=3).contains(&read), "{report:?}");
}

#[test]
fn a_capture_has_each_frame_as_it_came_and_as_it_went() {
    let page = Page::default();
    between(
        LinkModel::ideal(),
        Some(page.clone()),
        |mut near, mut far| {
            for number in 0..3 {
                send(&mut near, number);
                receive(&mut far, PATIENCE);
            }
        },
    );
    let bytes = page.0.lock().unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut taps = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if word(at) == 6 {
            taps.push(word(at + 8));
        }
        at += word(at + 4) as usize;
    }
    assert_eq!(taps, [0, 1, 0, 1, 0, 1]);
}

#[test]
fn a_device_that_is_gone_ends_the_link_by_name() {
    let ((_near, left), (right, _far)) = (wire::wire(), wire::wire());
    let breaker = right.breaker();
    let mut live = LiveLink::new(ends(left, right), LinkModel::ideal(), 1, None).unwrap();
    breaker.cut();
    let error = live
        .run(&|| false, Duration::from_secs(1), &mut |_| ())
        .unwrap_err();
    assert!(error.to_string().starts_with("right: "), "{error}");
}

#[test]
fn lateness_is_reported_in_quantiles() {
    let mut late = Lateness::default();
    assert_eq!(late.quantiles().max_us, 0);
    for us in (0..1_000).chain([500_000]) {
        late.note(LinkTime::from_micros(us));
    }
    let told = late.quantiles();
    assert_eq!(
        (told.median_us, told.p99_us, told.max_us),
        (510, 1_000, 500_000)
    );
    // If many frames are late, the 99th percentile shows their lateness.
    for _ in 0..100 {
        late.note(LinkTime::from_micros(25_300));
    }
    assert_eq!(late.quantiles().p99_us, 26_000);
    for _ in 0..100 {
        late.note(LinkTime::from_micros(2_000_000));
    }
    assert_eq!(late.quantiles().p99_us, 2_000_000);
}
