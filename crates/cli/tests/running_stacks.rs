//! Tests of `fullpipe addr`, `fullpipe route` and `fullpipe neigh` with stacks on TAP and TUN devices.
//!
//! Rule: each test runs in its own network namespace, which ends with the test's process. The program is
//! run; the stack whose addresses change is in the test's process.

#[path = "../../host/tests/apart/mod.rs"]
mod apart;

use std::{
    io::{BufRead, BufReader, Read as _, Write as _},
    net::IpAddr,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            net::{SocketAddr, UnixListener},
            process::CommandExt as _,
        },
    },
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use fullpipe::{InterfaceId, Subnet};
use fullpipe_host::{DeviceOptions, Runtime};
use serde_json::{Value, json};

/// Number of tries until a state is reached, a fifth of a second apart.
const TRIES: usize = 300;

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    let status = status.expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments}");
}

fn fullpipe(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullpipe"));
    let output = command.args(arguments.split(' ')).output();
    let output = output.expect("the program starts");
    println!("fullpipe {arguments}: {output:?}");
    output
}

fn printed(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Runs the program, which succeeds and warns of nothing.
fn text(arguments: &str) -> String {
    let output = fullpipe(arguments);
    assert_eq!(printed(&output.stderr), "");
    assert!(output.status.success());
    printed(&output.stdout)
}

/// Runs the program with `--json`. Returns the object of the stack of process `pid`.
fn object(command: &str, pid: u32) -> Value {
    let all: Value = serde_json::from_str(&text(&format!("{command} --json"))).expect("JSON");
    let mut objects = all.as_array().expect("an array").iter();
    let object = objects.find(|object| object["pid"] == json!(pid));
    object.expect("the stack is listed").clone()
}

/// A program that is killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a stack that can be asked, on a TAP device with the kernel at 10.78.0.1 and fd78::1.
fn start() -> Runtime {
    let mut options = DeviceOptions::new("tap:fpone".parse().expect("a device"));
    options.host_address = Some("10.78.0.1/24".parse().expect("an address"));
    let device = options.open().expect("root may");
    ip("-6 addr add fd78::1/64 dev fpone nodad");
    Runtime::builder("10.78.0.2/24".parse().expect("an address"))
        .gateway([10, 78, 0, 1].into())
        .inspectable()
        .start(device)
        .expect("the stack starts")
}

/// Starts `fullpipe iperf -s` on a TUN device, and waits until its stack is listed.
fn start_server() -> Running {
    let server = "iperf -s --dev tun:fptwo --addr 10.79.0.2/24 --host-addr 10.79.0.1/24";
    let child = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
        .args(server.split(' '))
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let server = Running(child);
    let asks = format!("addr {}", server.0.id());
    let is_listed = (0..TRIES).any(|_| {
        thread::sleep(Duration::from_millis(200));
        fullpipe(&asks).status.success()
    });
    assert!(is_listed, "the server has a stack");
    server
}

fn ping(address: &str) {
    let status = Command::new("ping")
        .args(["-c", "1", "-W", "5", address])
        .status();
    assert!(status.expect("ping is installed").success(), "{address}");
}

/// Returns the part of the text that is about process `pid`: the lines below its heading.
fn lines_of(text: &str, pid: u32) -> Vec<String> {
    let heading = format!(" ({pid}):");
    let lines = text.lines().skip_while(|line| !line.ends_with(&heading));
    let lines = lines.skip(1).take_while(|line| line.starts_with(' '));
    let lines: Vec<_> = lines.map(str::to_string).collect();
    assert!(!lines.is_empty(), "process {pid} is not in {text}");
    lines
}

fn subnet(address: &str, prefix_len: u8) -> Subnet {
    Subnet {
        address: address.parse().expect("an address"),
        prefix_len,
    }
}

#[test]
#[ignore = "needs root and network devices: cargo xtask test"]
fn two_live_stacks_are_listed_with_addresses_that_change() {
    apart::in_network_namespace(
        "two_live_stacks_are_listed_with_addresses_that_change",
        || {
            let runtime = start();
            let server = start_server();
            let (own, other) = (std::process::id(), server.0.id());
            runtime.with_stack(|stack, _| {
                let added = stack.add_address(InterfaceId::FIRST, subnet("fd78::2", 64));
                added.expect("there is room");
            });
            ping("10.78.0.2");
            ping("fd78::2");
            shows_both_families(own, other);

            runtime.with_stack(|stack, now| {
                let removed: IpAddr = "fd78::2".parse().expect("an address");
                stack.remove_address(removed, now).expect("it was added");
                let added = stack.add_address(InterfaceId::FIRST, subnet("10.78.9.2", 24));
                added.expect("there is room");
            });
            let addresses = lines_of(&text("addr"), own);
            assert!(
                addresses.contains(&"    10.78.9.2/24".to_string()),
                "{addresses:?}"
            );
            assert!(!addresses.concat().contains("fd78::2"), "{addresses:?}");
            let routes = lines_of(&text("route"), own);
            let added = "  10.78.9.0/24 dev if0 src 10.78.9.2".to_string();
            assert!(routes.contains(&added), "{routes:?}");
            assert!(!routes.concat().contains("fd78::/64"), "{routes:?}");
            let of_json = object("addr", own)["interfaces"].to_string();
            assert!(
                of_json.contains("10.78.9.2") && !of_json.contains("fd78::2"),
                "{of_json}"
            );

            drop(runtime);
            let left = text("addr");
            assert!(!left.contains(&format!("({own})")), "{left}");
            lines_of(&left, other);
            drop(server);
            let none = fullpipe("addr");
            assert_eq!(none.status.code(), Some(1));
            assert!(printed(&none.stderr).contains("no process in this network namespace"));
        },
    );
}

/// Checks the output for the stack of this process, `own`, and for that of process `other`, which has no
/// MAC address and no neighbours.
fn shows_both_families(own: u32, other: u32) {
    let addresses = text("addr");
    let of_own = lines_of(&addresses, own);
    assert!(of_own[0].starts_with("  if0: mtu 1500, mac "), "{of_own:?}");
    for line in ["    10.78.0.2/24", "    fd78::2/64"] {
        assert!(of_own.contains(&line.to_string()), "{of_own:?}");
    }
    assert_eq!(
        lines_of(&addresses, other)[..2],
        ["  if0: mtu 1500", "    10.79.0.2/24"]
    );
    assert_eq!(lines_of(&text(&format!("addr {own}")), own), of_own);

    let routes = text("route");
    let of_own = lines_of(&routes, own);
    for line in [
        "  10.78.0.0/24 dev if0 src 10.78.0.2",
        "  fd78::/64 dev if0 src fd78::2",
        "  default via 10.78.0.1 dev if0",
    ] {
        assert!(of_own.contains(&line.to_string()), "{of_own:?}");
    }
    lines_of(&routes, other);

    let neighbours = lines_of(&text(&format!("neigh {own}")), own);
    for address in ["10.78.0.1", "fd78::1"] {
        let begins = format!("  {address} dev if0 lladdr ");
        let mut lines = neighbours.iter();
        assert!(
            lines.any(|line| line.starts_with(&begins)),
            "{neighbours:?}"
        );
    }

    let interface = &object("addr", own)["interfaces"][0];
    assert_eq!(
        interface["addresses"][0],
        json!({"address": "10.78.0.2", "prefix_len": 24, "state": "preferred", "temporary": false})
    );
    assert!(
        interface["addresses"].to_string().contains("\"fd78::2\""),
        "{interface}"
    );
    let other = object("addr", other);
    assert_eq!(
        other["interfaces"][0]["addresses"][0]["address"],
        "10.79.0.2"
    );
    assert_eq!(other["program"], "fullpipe");
    let routes = object("route", own)["routes"].clone();
    let networks = routes.as_array().expect("an array").iter();
    let networks: Vec<_> = networks.filter_map(|route| route["to"].as_str()).collect();
    for network in ["10.78.0.0/24", "fd78::/64", "0.0.0.0/0"] {
        assert!(networks.contains(&network), "{networks:?}");
    }
    let neighbours = object("neigh", own)["neighbours"].clone();
    let known = neighbours.as_array().expect("an array").iter();
    let known: Vec<_> = known
        .filter(|of| of["mac"].is_string())
        .map(|of| &of["address"])
        .collect();
    for address in ["10.78.0.1", "fd78::1"] {
        assert!(known.contains(&&json!(address)), "{neighbours}");
    }
}

/// Answers each question in the name of stack `number` of process `pid` with `answer`.
fn impersonate(pid: u32, number: u32, answer: &'static str) {
    let name = format!("fullpipe/{pid}/{number}");
    let address = SocketAddr::from_abstract_name(name).expect("a short name");
    let listener = UnixListener::bind_addr(&address).expect("a free name");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 16]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
}

/// Listens on the name in its first argument, and says that it does.
const LISTENER: &str = "use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0) or die; \
    bind(S, pack_sockaddr_un(\"\\0$ARGV[0]\")) or die; listen(S, 5) or die; \
    $| = 1; print \"listens\\n\"; while (accept(C, S)) { print C '[]'; close C }";

/// Starts a process of the user `nobody` that answers in the name of stack `number` of process `pid`.
fn impersonate_as_nobody(pid: u32, number: u32) -> Running {
    let mut child = Command::new("perl")
        .args(["-e", LISTENER, &format!("fullpipe/{pid}/{number}")])
        .uid(65_534)
        .stdout(Stdio::piped())
        .spawn()
        .expect("perl is installed");
    let out = child.stdout.take().expect("a pipe");
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line).expect("a line");
    assert_eq!(line, "listens\n");
    Running(child)
}

#[test]
#[ignore = "needs root, network devices and perl: cargo xtask test"]
fn malformed_and_false_answers_are_left_out_with_a_warning() {
    apart::in_network_namespace(
        "malformed_and_false_answers_are_left_out_with_a_warning",
        || {
            // Names that are taken do not stop a stack from starting.
            let own = std::process::id();
            impersonate(own, 0, "not JSON");
            impersonate(own, 1, r#"[{"interface":0}]"#);
            let _liar = impersonate_as_nobody(own, 2);
            let _runtime = start();
            let output = fullpipe("addr");
            assert!(output.status.success());
            let (out, err) = (printed(&output.stdout), printed(&output.stderr));
            assert!(
                out.contains(&format!(" ({own}), stack 3:\n  if0: ")),
                "{out}"
            );
            assert_eq!(out.matches(" (").count(), 1, "{out}");
            for (number, why) in [
                (0, "its answer is malformed"),
                (1, "its answer is malformed"),
                (2, "user 65534 (process "),
            ] {
                let warning = format!("warning: fullpipe/{own}/{number} is left out: {why}");
                assert!(err.contains(&warning), "{err}");
            }
        },
    );
}
