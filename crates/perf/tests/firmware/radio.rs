//! Tests of the device over the radio link of the experiment `nuttx`, in real time. The peer is a
//! stock iperf.
//!
//! Rules:
//! - The link is ten times slower than the experiment's, so that the link and not this machine
//!   limits the device, even on a machine that needs ten times as long for each frame.
//! - Goodputs of one machine are compared with each other, not with published goodputs.
//! - A delay of the machine only lowers a goodput, so the best of several runs is compared.

use std::time::Duration;

use fullpipe_sim::{
    LinkModel,
    link::{Queue, Radio},
};

use crate::{
    device::{Device, Profile, bytes, number},
    path::Path,
    run, stock,
    stock::Stock,
};

/// The knobs (settings of the stack) of the device in `experiments/nuttx.toml`, with a receive
/// buffer of two blocks. Two blocks are enough for the stock server's answer of 28 bytes. With the
/// preset's receive buffer, the window would reserve half of the pool.
const DEVICE: &str = "preset=nuttx tcp.send_buffer=1M tcp.timestamps=false \
    tcp.window_scaling=false tcp.sack=false address=10.9.0.3 peer=10.9.0.2 tcp.receive_buffer=392";

/// Goodput that 36 blocks must reach, in percent of the goodput with 1,024 blocks.
const SHARE: u64 = 95;
/// Largest number of pairs of runs. With 36 blocks only four segments are in flight, so a long
/// delay of this machine costs goodput.
const PAIRS: u32 = 3;
/// Factor by which the link is slower than the experiment's, and by which a run is longer.
const SLOWER: u32 = 10;
/// Time limit of the test, which usually takes one to four minutes.
const LIMIT: Duration = Duration::from_secs(600);

/// The link of `experiments/nuttx.toml`, slower by [`SLOWER`]. In the simulator, a pool of 36
/// blocks reaches 98 % of the goodput of a pool of a megabyte over this link, and also over the
/// experiment's link.
fn radio() -> LinkModel {
    LinkModel {
        rate_bps: 11_000_000 / u64::from(SLOWER),
        delay_us: 100 * u64::from(SLOWER),
        queue: Queue::Device,
        radio: Some(Radio {
            access_us: 675 * u64::from(SLOWER),
            backoff_us: 300 * u64::from(SLOWER),
        }),
        ..LinkModel::ideal()
    }
}

/// Sends from the device for `seconds` with `settings`. Returns the text that the device printed,
/// and the goodput in bit/s.
fn send(path: &Path, seconds: u32, settings: &str) -> (String, u64) {
    let server = path.sides[1].enter(|| {
        let server = Stock::start(&["-s", "-y", "C"]);
        server.wait_for_tcp(([0; 4], 5001).into());
        server
    });
    let server = server.expect("root may");
    let line = format!("tcp-client seconds={seconds} {DEVICE} {settings}");
    let device = path.sides[0].enter(|| Device::start_build(Profile::Release, "iperf", &line));
    let device = device.expect("root may");
    let capture = device.capture.clone();
    let (text, succeeded) = device.end();
    assert!(succeeded, "{text}");
    std::fs::remove_file(capture).expect("the file is there");
    let rows = server.stop_and_read_rows(1);
    let received: u64 = rows.iter().map(|row| row.bytes).sum();
    assert_eq!(bytes(&text, "tcp sent"), received, "{text}");
    // The line of the test ends with the bytes, the time and the goodput: `… bytes in 30.12 s, …`.
    let (_, time) = text.split_once(" bytes in ").expect("a time");
    let hundredths = number(time, "") * 100 + number(time, ".");
    (text, received * 800 / hundredths)
}

/// Compares the best goodput of a pool of 36 blocks with the best goodput of a pool of 1,024
/// blocks.
fn compare_pools(path: &Path) {
    let (mut ample, mut small) = (0, 0);
    for _ in 0..PAIRS {
        ample = ample.max(send(path, 3 * SLOWER, "pool.blocks=1024").1);
        small = small.max(send(path, 3 * SLOWER, "").1);
        println!("1,024 blocks: {ample}, 36 blocks: {small} bit/s");
        if small * 100 >= ample * SHARE {
            return;
        }
    }
    panic!("36 blocks carry {small}, 1,024 carry {ample} bit/s");
}

#[test]
#[ignore = "needs root, QEMU and the firmware: cargo xtask test"]
fn firmware_with_36_small_blocks_is_as_fast_as_with_1024_over_the_radio() {
    let name = "radio::firmware_with_36_small_blocks_is_as_fast_as_with_1024_over_the_radio";
    assert!(stock::is_installed(), "iperf 2 is installed");
    crate::apart::apart_within(LIMIT, name, &[], || {
        // QEMU and iperf inherit this priority, so that other programs of this machine do not delay
        // the device. Each delay lowers the device's goodput, because only four segments are in
        // flight.
        fullpipe_host::run_at_once(1).expect("root may");
        Path::with(radio(), 1, None, &mut |_| (), |path| {
            path.sides[0].enter(|| {
                let tap = crate::device::TAP;
                run("ip", &format!("tuntap add dev {tap} mode tap"));
                run("ip", &format!("link set {tap} master bridge0 up"));
            })?;
            compare_pools(path);
            let (text, _) = send(path, 1, "tcp.write_atomic=true");
            assert_eq!(bytes(&text, "tcp sent"), 60, "only iperf's header fits");
            assert!(text.contains("limits (sender): memory "), "{text}");
            Ok(())
        })
        .expect("root may");
    });
}
