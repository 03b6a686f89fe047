//! Tests of the device's web server: curl reads its pages, and `/limits` names the limit of each
//! connection.
//!
//! Rule: a slow reader keeps a connection open whose limit is known in advance, because the
//! device's send buffer is smaller than a segment.

use std::process::{Child, Command, Stdio};

use crate::{
    check_capture,
    device::{DEVICE, Device, POOLS},
    in_namespace, make_tap,
    stock::wait_until,
};

/// Buffers of the device's connections. With larger buffers, the first slow reader would take the
/// whole pool of 36 blocks.
const BUFFERS: &str = "tcp.send_buffer=1400 tcp.receive_buffer=600";

fn url(page: &str) -> String {
    let [a, b, c, d] = DEVICE;
    format!("http://{a}.{b}.{c}.{d}{page}")
}

/// Fetches `page`. Returns the page's status and text.
fn fetch(page: &str) -> (String, String) {
    let output = Command::new("curl")
        .args([
            "-s",
            "-S",
            "--max-time",
            "120",
            "-w",
            "\n%{http_code}",
            &url(page),
        ])
        .output()
        .expect("curl is installed");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{page}: {error}");
    let text = String::from_utf8_lossy(&output.stdout);
    let (text, status) = text.rsplit_once('\n').expect("curl prints the status");
    if text.len() < 2_000 {
        eprintln!("$ curl {page}\n{text}");
    }
    (status.to_owned(), text.to_owned())
}

/// A curl that reads slowly until it is dropped.
struct SlowReader(Child);

impl SlowReader {
    fn start(page: &str) -> Self {
        let child = Command::new("curl")
            .args(["-s", "--limit-rate", "20k", "-o", "/dev/null", &url(page)])
            .stdin(Stdio::null())
            .spawn();
        Self(child.expect("curl is installed"))
    }
}

impl Drop for SlowReader {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs root, QEMU and the firmware: cargo xtask test"]
fn firmware_shows_the_limits_of_its_connections_to_curl() {
    in_namespace(
        "limits::firmware_shows_the_limits_of_its_connections_to_curl",
        || {
            make_tap();
            let device = Device::start("http", &format!("{} {BUFFERS}", POOLS[0]));
            let (status, text) = fetch("/data/100000");
            assert_eq!((status.as_str(), text.len()), ("200", 100_000));
            assert_eq!(fetch("/nothing").0, "404");
            let (_, alone) = fetch("/limits");
            assert_eq!(alone.matches("limits (sender): ").count(), 1, "{alone}");
            let slow = SlowReader::start("/data/100000000");
            // Once the slow reader has connected, the send buffer of its connection is soon the
            // limit most of the time.
            let mut both = String::new();
            let is_named = wait_until(|| {
                both = fetch("/limits").1;
                let count = both.matches("limits (sender): ").count();
                assert!(count <= 2, "{both}");
                count == 2 && both.contains("(sender): send_buffer")
            });
            assert!(is_named, "{both}");
            drop(slow);
            assert!(fetch("/").1.contains(" free"));
            let capture = device.capture.clone();
            drop(device);
            check_capture(&capture);
        },
    );
}
