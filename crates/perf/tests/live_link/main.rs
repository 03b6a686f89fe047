//! Tests of the link in real time between two kernels: its delay, its rate and its loss must be as
//! configured.
//!
//! Rule: frames are sent no faster than the link reads them from the sender's device. Times are
//! compared with times of this machine without the link's delay, so that a slow machine passes the
//! test and a wrong link fails it. The tests need root; their network namespaces end with their
//! threads.

#[path = "../../../host/tests/apart/mod.rs"]
mod apart;
mod path;

use std::{
    net::{SocketAddr, UdpSocket},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use apart::apart;
use fullpipe_host::run_at_once;
use fullpipe_perf::live::LiveReport;
use fullpipe_perf::{
    KernelSockets,
    sockets::{SocketOptions, Sockets, Stream, StreamListener, would_block},
};
use fullpipe_sim::{LinkModel, link::Queue};
use path::{KERNEL, Path};

fn right(port: u16) -> SocketAddr {
    SocketAddr::from((KERNEL[1], port))
}

/// Returns a socket on the left and a socket on the right, connected to each other.
fn datagrams(path: &Path) -> [UdpSocket; 2] {
    let open = |side: usize| {
        let bind = move || UdpSocket::bind((std::net::Ipv4Addr::from(KERNEL[side]), 7));
        path.sides[side].enter(bind).unwrap().unwrap()
    };
    let [left, far] = [open(0), open(1)];
    left.connect(right(7)).unwrap();
    far.connect(left.local_addr().unwrap()).unwrap();
    for socket in [&left, &far] {
        socket
            .set_read_timeout(Some(Duration::from_millis(500)))
            .unwrap();
    }
    [left, far]
}

/// Measures the round trips of a hundred small datagrams, one after another. Returns them sorted.
fn round_trips(link: LinkModel) -> (Vec<Duration>, LiveReport) {
    let done = AtomicBool::new(false);
    let (mut trips, report) = Path::with(link, 1, None, &mut |_| (), |path| {
        let [left, far] = datagrams(path);
        // This link loses nothing, so each answer arrives, although possibly late on a slow
        // machine.
        left.set_read_timeout(Some(Duration::from_secs(300)))?;
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut byte = [0];
                while !done.load(Ordering::Acquire) {
                    if far.recv(&mut byte).is_ok() {
                        far.send(&byte).unwrap();
                    }
                }
            });
            let trips = (0..100).map(|number| {
                let sent = Instant::now();
                left.send(&[number]).unwrap();
                left.recv(&mut [0]).unwrap();
                sent.elapsed()
            });
            let trips: Vec<_> = trips.collect();
            done.store(true, Ordering::Release);
            Ok(trips)
        })
    })
    .unwrap();
    trips.sort();
    (trips, report)
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_round_trip_takes_twice_the_delay() {
    apart("a_round_trip_takes_twice_the_delay", &[], || {
        run_at_once(1).expect("root may");
        let (without, _) = round_trips(LinkModel::ideal());
        let (with, report) = round_trips(LinkModel {
            delay_us: 20_000,
            ..LinkModel::ideal()
        });
        let delay = Duration::from_millis(40);
        println!("best {:?} and {:?}", without[0], with[0]);
        println!("{:?}", report.directions[0].late);
        assert!(with[0] >= delay, "{with:?}");
        // Apart from the delay, a round trip takes only this machine's processing time.
        let most = delay + Duration::from_millis(1) + 10 * without[0];
        assert!(with[0] < most, "{with:?}, without a delay {without:?}");
    });
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_full_link_carries_its_rate_and_no_more() {
    apart("a_full_link_carries_its_rate_and_no_more", &[], || {
        run_at_once(1).expect("root may");
        let link = LinkModel {
            rate_bps: 1_000_000,
            queue: Queue::Packets(50),
            ..LinkModel::ideal()
        };
        let mut reports: Vec<LiveReport> = Vec::new();
        let (_, last) = Path::with(
            link,
            1,
            None,
            &mut |now| reports.push(now.clone()),
            |path| {
                let [left, _far] = datagrams(path);
                let began = Instant::now();
                while began.elapsed() < Duration::from_secs(6) {
                    left.send(&[0; 1_000])?;
                    // Send at eight times the link's rate, so that the link stays full even after a
                    // pause of this process.
                    thread::sleep(Duration::from_millis(1));
                }
                Ok(())
            },
        )
        .unwrap();
        // Measure from the first overflow of the queue on: from then on, the link is never idle.
        let full = |report: &&LiveReport| report.directions[0].dropped_by_queue > 0;
        let from = reports.iter().find(full).expect("the queue overflows");
        let to = reports.last().expect("a report each half second");
        let bytes = to.directions[0].delivered_bytes - from.directions[0].delivered_bytes;
        let rate = bytes as f64 * 8.0 / (to.seconds - from.seconds);
        println!("{:.4} Mbit/s, {:?}", rate / 1e6, last.directions[0].late);
        // If headers were not counted, the rate would differ by 4 %.
        assert!((0.97e6..1.03e6).contains(&rate), "{rate}");
        let forward = &last.directions[0];
        assert!(
            forward.dropped_by_queue > 0 && forward.longest_queue == 50,
            "{forward:?}"
        );
    });
}

/// Waits until all datagrams of `from` have left the link: a datagram with the number `last` is
/// repeated until it arrives.
fn flush(from: &UdpSocket, to: &UdpSocket, last: u32) -> std::io::Result<()> {
    let mut buffer = [0; 16];
    loop {
        from.send(&last.to_be_bytes())?;
        // After an error, end the loop and send the datagram again: the datagram was lost, or the
        // machine is slow.
        while let Ok(length) = to.recv(&mut buffer) {
            if buffer[..length] == last.to_be_bytes() {
                return Ok(());
            }
        }
    }
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_hundredth_of_many_frames_is_lost_both_ways() {
    apart("a_hundredth_of_many_frames_is_lost_both_ways", &[], || {
        run_at_once(1).expect("root may");
        let link = LinkModel {
            loss: 0.01,
            ..LinkModel::ideal()
        };
        let ((), report) = Path::with(link, 1, None, &mut |_| (), |path| {
            let [left, far] = datagrams(path);
            // The kernel drops frames that a device does not read in time. Therefore each hundred
            // frames leave the link before the next hundred are sent.
            for batch in 0..200_u32 {
                for _ in 0..100 {
                    left.send(&[0; 10])?;
                    far.send(&[0; 10])?;
                }
                flush(&left, &far, batch)?;
                flush(&far, &left, batch)?;
            }
            Ok(())
        })
        .unwrap();
        for direction in &report.directions {
            // The bounds are four standard deviations of the loss of 20,000 frames.
            let share = direction.lost as f64 / direction.offered as f64;
            println!("{} of {}", direction.lost, direction.offered);
            assert!(
                direction.offered >= 20_000 && (0.007..0.013).contains(&share),
                "{direction:?}"
            );
        }
    });
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_kernel_that_likes_large_frames_sends_ordinary_ones_here() {
    apart(
        "a_kernel_that_likes_large_frames_sends_ordinary_ones_here",
        &[],
        || {
            let bytes = 4 << 20;
            let (received, report) = Path::with(LinkModel::ideal(), 1, None, &mut |_| (), |path| {
                let sockets = KernelSockets::default();
                let options = SocketOptions::default();
                let listener = path.sides[1].enter(|| sockets.listen(right(8), &options))??;
                let sender = path.sides[0].enter(|| sockets.connect(right(8), &options))??;
                let receiver = listener.accept()?;
                thread::scope(|scope| {
                    scope.spawn(|| {
                        let mut left = vec![1; bytes];
                        while !left.is_empty() {
                            match Stream::write(&sender, &left) {
                                Ok(sent) => drop(left.drain(..sent)),
                                Err(error) => assert!(would_block(&error), "{error}"),
                            }
                        }
                        sender.shutdown_write().unwrap();
                    });
                    let (mut received, mut buffer) = (0, vec![0; 1 << 16]);
                    loop {
                        match Stream::read(&receiver, &mut buffer) {
                            Ok(0) => break Ok(received),
                            Ok(more) => received += more,
                            Err(error) => assert!(would_block(&error), "{error}"),
                        }
                    }
                })
            })
            .unwrap();
            assert_eq!(received, bytes);
            let way = &report.directions[0];
            assert_eq!(way.dropped_too_long, 0, "{way:?}");
            assert!(way.offered as usize >= bytes / 1_500, "{way:?}");
        },
    );
}
