//! The example `tun_proxy`, run as its documentation says.
//!
//! Rule: `cargo xtask test --only examples` builds the example before it runs this test.

use std::{
    env,
    io::Read,
    net::{Shutdown, UdpSocket},
    path::Path,
    process::Command,
    thread,
};

use fullpipe_host::Namespace;

use crate::{
    apart::in_network_namespace,
    ground::{
        PATIENCE, Running, connect, ip, receive_payload, send_payload, serve, server, wait_until,
    },
};

/// Payload in each direction.
const LEN: usize = 1 << 20;

/// The clients' namespace, which is removed at the end.
struct Clients(String);

impl Drop for Clients {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

/// The part of the test that runs in the clients' namespace.
fn use_the_network() {
    let mut stream = connect(82);
    send_payload(&mut stream, LEN).expect("it is open");
    stream.shutdown(Shutdown::Write).expect("it is open");
    receive_payload(&mut stream, LEN, |_| ()).expect("it is open");
    assert_eq!(stream.read(&mut [0]).expect("the end"), 0);

    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let question = b"question";
    socket.send_to(question, server(53)).expect("it is routed");
    let mut answer = [0; 100];
    let (len, from) = socket.recv_from(&mut answer).expect("an answer");
    assert_eq!((&answer[..len], from), (question.as_slice(), server(53)));
}

#[test]
#[ignore = "needs root, a TUN device and the built example: cargo xtask test"]
fn the_example_runs_and_carries_streams_and_datagrams() {
    in_network_namespace(
        "example::the_example_runs_and_carries_streams_and_datagrams",
        || {
            ip("addr add 198.51.100.7/32 dev lo");
            ip("-6 addr add 2001:db8::7/128 dev lo");
            serve(82, |mut client| {
                receive_payload(&mut client, LEN, |_| ()).expect("every byte");
                send_payload(&mut client, LEN).expect("the client reads");
            });
            let echo = UdpSocket::bind(server(53)).expect("a free port");
            thread::spawn(move || {
                let mut question = [0; 100];
                while let Ok((len, from)) = echo.recv_from(&mut question) {
                    echo.send_to(&question[..len], from).expect("it is routed");
                }
            });

            // This program is in the folder `deps`, beside the folder `examples`.
            let this = env::current_exe().expect("it has a path");
            let folder = this.ancestors().nth(2).expect("two folders");
            let example = folder.join("examples/tun_proxy");
            let _proxy = Running::start(&mut Command::new(example));
            wait_until("the device", || {
                let shown = Command::new("ip").args(["link", "show", "fp0"]).output();
                shown.expect("iproute2 is installed").status.success()
            });
            let clients = Clients(format!("fp-example-{}", std::process::id()));
            let name = &clients.0;
            ip(&format!("netns add {name}"));
            ip(&format!("link set fp0 netns {name}"));
            ip(&format!("-n {name} addr add 10.9.0.1/24 dev fp0"));
            ip(&format!("-n {name} link set fp0 up"));
            ip(&format!("-n {name} route add default dev fp0"));
            let file = Path::new("/run/netns").join(name);
            let inside = Namespace::open(&file).expect("root may open it");
            inside.enter(use_the_network).expect("root may enter");
        },
    );
}
