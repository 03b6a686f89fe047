//! The link in real time between two kernels: as late, as fast and as lossy as
//! it was told to be.
//!
//! Rule: the bounds are wider than what a quiet machine gives and narrower than
//! what a mistake would. It needs root; its networks end with its threads.

mod path;

use std::{
    net::{SocketAddr, UdpSocket},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use fullpipe_host::run_at_once;
use fullpipe_lab::live::LiveReport;
use fullpipe_perf::{
    KernelSockets,
    sockets::{Listener, SocketOptions, Sockets, Stream, is_idle},
};
use fullpipe_sim::{LinkModel, link::Queue};
use path::{KERNEL, Path};

fn right(port: u16) -> SocketAddr {
    SocketAddr::from((KERNEL[1], port))
}

/// A socket on the left and one on the right that knows the left one.
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

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_round_trip_takes_twice_the_delay() {
    run_at_once(1).expect("root may");
    let link = LinkModel {
        delay_us: 20_000,
        ..LinkModel::ideal()
    };
    let done = AtomicBool::new(false);
    let (mut trips, report) = Path::with(link, 1, None, &mut |_| (), |path| {
        let [left, far] = datagrams(path);
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
    println!("median {:?}, {:?}", trips[50], report.directions[0].late);
    assert!(trips[0] >= Duration::from_millis(40), "{trips:?}");
    assert!(trips[50] < Duration::from_micros(41_000), "{trips:?}");
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_full_link_carries_its_rate_and_no_more() {
    run_at_once(1).expect("root may");
    let link = LinkModel {
        rate_bps: 10_000_000,
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
            while began.elapsed() < Duration::from_secs(3) {
                left.send(&[0; 1_000])?;
                thread::sleep(Duration::from_micros(100)); // 80 Mbit/s at most
            }
            Ok(())
        },
    )
    .unwrap();
    // From the second report on the queue is full; each stands for half a second.
    let [from, to] = [&reports[1], &reports[4]];
    let bytes = to.directions[0].delivered_bytes - from.directions[0].delivered_bytes;
    let rate = bytes as f64 * 8.0 / (to.seconds - from.seconds);
    println!("{:.3} Mbit/s, {:?}", rate / 1e6, last.directions[0].late);
    assert!((9.8e6..10.2e6).contains(&rate), "{rate}");
    let way = &last.directions[0];
    assert!(
        way.dropped_by_queue > 0 && way.longest_queue == 50,
        "{way:?}"
    );
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_hundredth_of_many_frames_is_lost_both_ways() {
    run_at_once(1).expect("root may");
    let link = LinkModel {
        loss: 0.01,
        ..LinkModel::ideal()
    };
    let ((), report) = Path::with(link, 1, None, &mut |_| (), |path| {
        let [left, far] = datagrams(path);
        for _ in 0..20_000 {
            left.send(&[0; 10])?;
            far.send(&[0; 10])?;
        }
        Ok(())
    })
    .unwrap();
    for way in &report.directions {
        // Four standard deviations of what 20,000 frames lose.
        let share = way.lost as f64 / way.offered as f64;
        println!("{} of {}", way.lost, way.offered);
        assert!(
            way.offered > 15_000 && (0.007..0.013).contains(&share),
            "{way:?}"
        );
    }
}

#[test]
#[ignore = "needs root, a TAP device and strangers' programs: cargo xtask test"]
fn a_kernel_that_likes_large_frames_sends_ordinary_ones_here() {
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
                        Err(error) => assert!(is_idle(&error), "{error}"),
                    }
                }
                sender.shutdown_write().unwrap();
            });
            let (mut received, mut buffer) = (0, vec![0; 1 << 16]);
            loop {
                match Stream::read(&receiver, &mut buffer) {
                    Ok(0) => break Ok(received),
                    Ok(more) => received += more,
                    Err(error) => assert!(is_idle(&error), "{error}"),
                }
            }
        })
    })
    .unwrap();
    assert_eq!(received, bytes);
    let way = &report.directions[0];
    assert_eq!(way.dropped_too_long, 0, "{way:?}");
    assert!(way.offered as usize >= bytes / 1_500, "{way:?}");
}
