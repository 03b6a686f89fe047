//! Tests of `fullpipe iperf` and of mistakes in its arguments.

use super::*;

const IPERF_MISTAKES: &[(&[&str], &str)] = &[
    (&["iperf"], "<--server|--client <HOST>>"),
    (&["iperf", "-s", "-c", "h"], "cannot be used with"),
    (&["iperf", "-s", "-R"], "cannot be used with"),
    (
        &["iperf", "-c", "127.0.0.1", "-n", "1M", "-t", "1"],
        "cannot be used with",
    ),
    (
        &["iperf", "-c", "127.0.0.1", "-t", "soon"],
        "'soon' is not a time: write seconds",
    ),
    (
        &["iperf", "-c", "127.0.0.1", "-b", "0"],
        "a rate of 0 would never send",
    ),
    (
        &["iperf", "-c", "127.0.0.1", "-w", "8G"],
        "-w 8589934592: outside 1 to 1073741824 bytes",
    ),
    (&["iperf", "-s", "--port", "0"], "0 is not in 1..=65535"),
    (
        &["iperf", "-s", "--dev", "eth0"],
        "expected kernel, tap:NAME, tun:NAME, packet:NIC or xdp:NIC",
    ),
    (&["iperf", "-s", "--dev", "tap:"], "the device has no name"),
    (
        &["iperf", "-s", "--dev", "tap:fp0"],
        "--dev tap:fp0 needs an address of fullpipe's stack: add --addr A.B.C.D/N or --addr dhcp",
    ),
    (
        &["iperf", "-s", "--addr", "10.0.0.1/24"],
        "--addr applies only to fullpipe's stack: add --dev tap:NAME, tun:NAME, packet:NIC or xdp:NIC",
    ),
    (
        &["iperf", "-s", "--set", "pool.blocks=4"],
        "--set applies only to fullpipe's stack: add --dev tap:NAME, tun:NAME, packet:NIC or xdp:NIC",
    ),
    (
        &["iperf", "-s", "--dev", "tap:fp0", "--addr", "10.0.0.1"],
        "write A.B.C.D/N",
    ),
    (
        &[
            "iperf",
            "-s",
            "--dev",
            "tap:fp0",
            "--addr",
            "10.0.0.1/24",
            "--host-addr",
            "10.0.0.1/24",
        ],
        "--addr and --host-addr are both 10.0.0.1",
    ),
    (
        &[
            "iperf",
            "-s",
            "--dev",
            "tap:fp0",
            "--addr",
            "10.0.0.1/24",
            "--set",
            "tcp.sak=1",
        ],
        "did you mean `tcp.sack`?",
    ),
];

#[test]
fn a_wrong_iperf_is_one_line_and_exit_code_2() {
    refused(Path::new("."), IPERF_MISTAKES);
}

#[test]
fn an_address_that_no_host_can_have_is_refused_before_a_device_is_opened() {
    for (address, why) in [
        ("10.0.0.0/24", "not the network's own"),
        ("10.0.0.255/24", "nor its broadcast address"),
        ("10.0.1.255/23", "nor its broadcast address"),
        ("255.255.255.255/32", "are reserved"),
        ("0.0.0.7/8", "are reserved"),
        ("240.0.0.1/24", "are reserved"),
        ("224.0.0.1/24", "the address of one host"),
        ("127.0.0.1/8", "the address of one host"),
        ("ff02::1/64", "the address of one host"),
        ("::ffff:10.0.0.1/96", "IPv4-mapped"),
    ] {
        // Name a missing folder for the capture, so that the command ends before it opens a
        // device.
        let start = ["iperf", "-s", "--dev", "tap:fp0", "--pcap", "nowhere/file"];
        let own = [&start[..], &["--addr", address]].concat();
        let kernel = ["--addr", "10.0.0.1/24", "--host-addr", address];
        let kernel = [&start[..], &kernel].concat();
        let (own_why, kernel_why) = (
            format!("--addr {address}: "),
            format!("--host-addr {address}: "),
        );
        let cases = [(&own[..], &own_why[..]), (&own, why)];
        refused(Path::new("."), &cases);
        refused(Path::new("."), &[(&kernel, &kernel_why), (&kernel, why)]);
    }
}

/// Runs a client and a server over the loopback interface. A free port is chosen first, because the
/// server cannot listen on port 0.
#[test]
fn iperf_over_the_kernel_serves_one_client_and_ends() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let port = port.to_string();
    let server = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
        .args(["iperf", "-s", "-P", "1", "-t", "120", "-p", &port])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let client = |_: u32| fullpipe(&["iperf", "-c", "127.0.0.1", "-n", "1M", "-p", &port]);
    // Try again, because the server may not be listening yet.
    let client = (0..1_000)
        .map(|attempt| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            client(attempt)
        })
        .find(|output| output.status.success())
        .expect("the server answers");
    assert!(
        stdout(&client).contains("1.00 MBytes"),
        "{}",
        stdout(&client)
    );
    let server = server.wait_with_output().unwrap();
    assert!(server.status.success(), "{}", stderr(&server));
    assert!(
        stdout(&server).contains("1.00 MBytes"),
        "{}",
        stdout(&server)
    );
}

#[test]
fn an_iperf_that_finds_nobody_or_a_port_in_use_is_one_line_and_exit_code_1() {
    let taken = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let taken_port = taken.local_addr().unwrap().port().to_string();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let free_port = free.local_addr().unwrap().port().to_string();
    drop(free);
    for (arguments, expected) in [
        (["iperf", "-c", "127.0.0.1", "-p", &free_port], "refused"),
        (["iperf", "-s", "-t1", "-p", &taken_port], "in use"),
        (
            ["iperf", "-c", "no-such-host.invalid", "-t", "1"],
            "found no address of the host",
        ),
    ] {
        let output = fullpipe(&arguments);
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {line}");
        assert!(line.contains(expected), "{arguments:?}: {line}");
        assert_eq!(line.trim_end().lines().count(), 1, "{arguments:?}: {line}");
    }
}
