//! Test of the server with curl, over its TAP device.
//!
//! Rule: the test has its own network namespace, which ends with its process.

#[path = "../../../crates/host/tests/apart/mod.rs"]
mod apart;

use std::process::{Child, Command, Stdio};

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the output of curl, which retries until the server listens.
fn curl(arguments: &[&str]) -> String {
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--fail", "--max-time", "300"])
        .args(["--retry", "40", "--retry-delay", "1", "--retry-connrefused"])
        .args(["--retry-all-errors"])
        .args(arguments)
        .output()
        .expect("curl is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}{text}");
    text
}

#[test]
#[ignore = "needs root, a TAP device and curl: cargo xtask test"]
fn hyper_serves_curl_over_a_tap_device() {
    apart::in_network_namespace("hyper_serves_curl_over_a_tap_device", || {
        let server = Command::new(env!("CARGO_BIN_EXE_http_server"))
            .stdout(Stdio::null())
            .spawn();
        let _server = Server(server.expect("the server starts"));
        let answer = curl(&["http://10.9.0.2/"]);
        assert!(answer.contains("Established"), "{answer}");
        assert!(answer.contains("app_limited"), "{answer}");
        // Send one hundred requests over one connection, then twenty requests over one connection
        // each.
        let one = curl(&["http://10.9.0.2/[1-100]"]);
        assert_eq!(one.matches("app_limited").count(), 100, "{one}");
        for _ in 0..20 {
            curl(&["http://10.9.0.2/"]);
        }
    });
}
