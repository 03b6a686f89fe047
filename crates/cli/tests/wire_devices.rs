//! Tests of `fullpipe iperf` on the wire of an interface, against stock iperf on the kernel's
//! stack.
//!
//! Rule: each test runs in its own network namespace, which ends with the test's process.
//! Tests compare bytes, not rates.

#[path = "../../host/tests/apart/mod.rs"]
mod apart;

use std::{
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use fullpipe_host::kernel;

/// Bytes of a transfer, as stock iperf prints them with `-y C`.
const BYTES: &str = "30000001";

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    let status = status.expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments}");
}

/// Starts a program. [`output`] reads what it prints.
fn start(program: &str, arguments: &str) -> Child {
    Command::new(program)
        .args(arguments.split(' '))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn output(child: Child) -> (bool, String) {
    let output = child.wait_with_output().expect("it is our child");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    println!("{text}");
    (output.status.success(), text)
}

/// Runs a client, again and again until its server listens. Returns the output.
fn client(program: &str, arguments: &str) -> String {
    for _ in 0..300 {
        let (succeeds, text) = output(start(program, arguments));
        // Read the output too, because stock iperf succeeds even if nothing listens.
        if succeeds && !text.contains("refused") {
            return text;
        }
        thread::sleep(Duration::from_millis(200));
    }
    panic!("{program} {arguments}: no server");
}

/// Transfers payload in both directions, with `fullpipe iperf` as client and as server.
fn transfers(device: &str) {
    let fullpipe = env!("CARGO_BIN_EXE_fullpipe");
    let ours = format!("--dev {device} --addr 10.77.0.2/24");
    for reversed in ["", " -R"] {
        let server = start(fullpipe, &format!("iperf -s -P 1 {ours}"));
        let stock = client("iperf", &format!("-c 10.77.0.2 -y C -n {BYTES}{reversed}"));
        let (succeeds, text) = output(server);
        let what = format!("{device}{reversed}: {text} and {stock}");
        assert!(succeeds && text.contains("28.6 MBytes"), "{what}");
        assert!(stock.contains(&format!(",{BYTES},")), "{what}");
        assert!(text.contains("limits ("), "{what}");

        let mut server = start("iperf", "-s -y C");
        let text = client(
            fullpipe,
            &format!("iperf -c 10.77.0.1 -n {BYTES}{reversed} {ours}"),
        );
        server.kill().expect("it is our child");
        server.wait().expect("it is our child");
        let what = format!("{device}{reversed}: {text}");
        assert!(text.contains("28.6 MBytes"), "{what}");
        assert!(text.contains("limits ("), "{what}");
    }
}

#[test]
#[ignore = "needs root, network devices and strangers' programs: cargo xtask test"]
fn iperf_on_the_wire_of_an_interface_counts_the_bytes_of_stock_iperf() {
    apart::in_network_namespace(
        "iperf_on_the_wire_of_an_interface_counts_the_bytes_of_stock_iperf",
        || {
            ip("link add fpwire0 type veth peer name fpwire1");
            ip("addr add 10.77.0.1/24 dev fpwire1");
            ip("link set fpwire0 up");
            ip("link set fpwire1 up");
            transfers("packet:fpwire0");
            kernel::set_checksum_offload("fpwire1", false).expect("veth can");
            transfers("xdp:fpwire0");
        },
    );
}

/// Returns the link-local address of the stack of process `id`, once it may be used.
fn link_local_of(id: u32) -> String {
    for _ in 0..300 {
        let asks = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
            .args(["addr", &id.to_string()])
            .output();
        let text = asks.expect("the program starts").stdout;
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut words = text.lines().filter(|line| !line.contains("tentative"));
        let found = words.find_map(|line| line.split_whitespace().find(|w| w.starts_with("fe80:")));
        if let Some((address, _)) = found.and_then(|prefix| prefix.split_once('/')) {
            return address.to_owned();
        }
        thread::sleep(Duration::from_millis(200));
    }
    panic!("the stack has no link-local address");
}

/// RFC 4007 §11: on each side the zone of the address is the side's own interface.
#[test]
#[ignore = "needs root, network devices and strangers' programs: cargo xtask test"]
fn a_link_local_address_with_a_zone_is_reached_from_both_sides() {
    apart::in_network_namespace(
        "a_link_local_address_with_a_zone_is_reached_from_both_sides",
        || {
            ip("link add fpzone0 type veth peer name fpzone1");
            ip("addr add fe80::99/64 dev fpzone1 nodad");
            ip("link set fpzone0 up");
            ip("link set fpzone1 up");
            let fullpipe = env!("CARGO_BIN_EXE_fullpipe");
            let ours = "--dev packet:fpzone0 --addr fd77::2/64 --set ip.autoconfiguration=true";
            for reversed in ["", " -R"] {
                let server = start(fullpipe, &format!("iperf -s -P 1 {ours}"));
                let address = link_local_of(server.id());
                let flags = format!("-V -c {address}%fpzone1 -y C -n {BYTES}{reversed}");
                let stock = client("iperf", &flags);
                let (succeeds, text) = output(server);
                let what = format!("{flags}: {text} and {stock}");
                assert!(succeeds && text.contains("limits ("), "{what}");
                assert!(stock.contains(&format!(",{BYTES},")), "{what}");
            }

            let mut server = start("iperf", "-V -s -y C");
            let text = client(
                fullpipe,
                &format!("iperf -c fe80::99%fpzone0 -n {BYTES} {ours}"),
            );
            server.kill().expect("it is our child");
            server.wait().expect("it is our child");
            assert!(
                text.contains("28.6 MBytes") && text.contains("limits ("),
                "{text}"
            );

            let (succeeds, text) =
                output(start(fullpipe, &format!("iperf -c fe80::99%eth7 {ours}")));
            assert!(
                !succeeds && text.contains("write fe80::99%fpzone0"),
                "{text}"
            );
        },
    );
}

#[test]
#[ignore = "needs root and network devices: cargo xtask test"]
fn a_link_joins_the_networks_of_two_interfaces() {
    apart::in_network_namespace("a_link_joins_the_networks_of_two_interfaces", || {
        // A namespace for each host, because a kernel does not send between its own addresses.
        for side in ["1", "2"] {
            let name = format!("fp-link-{}-{side}", std::process::id());
            let _ = Command::new("ip").args(["netns", "del", &name]).output();
            ip(&format!("netns add {name}"));
            ip(&format!("link add host type veth peer name wire{side}"));
            ip(&format!("link set host netns {name}"));
            ip(&format!("-n {name} addr add 10.77.3.{side}/24 dev host"));
            ip(&format!("-n {name} link set host up"));
            ip(&format!("link set wire{side} up"));
        }
        let link = "link --between packet:wire1,packet:wire2 --delay 1ms --time 4";
        let link = start(env!("CARGO_BIN_EXE_fullpipe"), link);
        let first = format!("fp-link-{}-1", std::process::id());
        let ping = format!("netns exec {first} ping -c 1 -W 1 10.77.3.2");
        // The first pings may come before the link is there.
        let answered = (0..5).any(|_| output(start("ip", &ping)).0);
        let (succeeds, text) = output(link);
        for side in ["1", "2"] {
            ip(&format!("netns del fp-link-{}-{side}", std::process::id()));
        }
        assert!(succeeds && answered, "{text}");
    });
}
