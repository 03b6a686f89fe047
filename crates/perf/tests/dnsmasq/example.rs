//! The example `http_client`, which asks dnsmasq for its address and for the address of a name.
//!
//! Rule: `cargo xtask test --only examples` builds the example before it runs this test.

use std::{
    env,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    apart,
    server::{Dnsmasq, SERVER},
};

/// Longest wait for the example.
const PATIENCE: Duration = Duration::from_secs(120);
/// The answer of the server, without its header.
const PAGE: &str = "a page for a client by name";

/// Runs `ip` with these arguments.
fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    let status = status.expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments}");
}

/// A running example, which is killed at the end.
struct Example(Child);

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs root, a TAP device, dnsmasq and the built example: cargo xtask test"]
fn the_example_runs_and_prints_the_page_of_a_name() {
    let test = "example::the_example_runs_and_prints_the_page_of_a_name";
    apart::in_network_namespace(test, || {
        // The example opens this device, whose other end has an address already.
        ip("tuntap add dev fpdnsmasq mode tap");
        ip("addr add 10.77.0.1/24 dev fpdnsmasq");
        ip("link set fpdnsmasq up");
        let listener = TcpListener::bind(SocketAddr::from((SERVER, 80))).expect("a free port");
        thread::spawn(move || {
            let (mut client, _from) = listener.accept().expect("a client");
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                client.read_exact(&mut byte).expect("a request");
                request.push(byte[0]);
            }
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{PAGE}",
                PAGE.len()
            );
            client.write_all(answer.as_bytes()).expect("it reads");
        });
        let _server = Dnsmasq::start(&["--host-record=www.example.test,10.77.0.1"]);

        // This program is in the folder `deps`, beside the folder `examples`.
        let this = env::current_exe().expect("it has a path");
        let folder = this.ancestors().nth(2).expect("two folders");
        let mut example = Command::new(folder.join("examples/http_client"));
        example.args(["tap:fpdnsmasq", "www.example.test"]);
        example.stdout(Stdio::piped());
        let mut example = Example(example.spawn().expect("the example is built"));
        let limit = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = example.0.try_wait().expect("our child") {
                break status;
            }
            assert!(Instant::now() < limit, "it goes on:\n{}", Dnsmasq::log());
            thread::sleep(Duration::from_millis(20));
        };
        let mut said = String::new();
        let mut out = example.0.stdout.take().expect("a pipe");
        out.read_to_string(&mut said).expect("text");
        assert!(status.success(), "{said}\n{}", Dnsmasq::log());
        assert!(
            said.starts_with("HTTP/1.1 200 OK") && said.ends_with(PAGE),
            "{said}"
        );
    });
}
