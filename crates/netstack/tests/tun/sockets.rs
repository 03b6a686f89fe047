//! Kernel sockets as clients, over IPv4 and IPv6: TCP with half-close, refusals, and datagrams.
//!
//! Rule: a client's socket sees what the target did.

use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream, UdpSocket},
    thread,
};

use crate::{
    apart::in_network_namespace,
    ground::{Ground, PATIENCE, connect_to, serve, server, server6},
};

/// Reads to the end, then answers with the number of bytes.
fn count(mut client: TcpStream) {
    let mut all = Vec::new();
    client
        .read_to_end(&mut all)
        .expect("the client ends its direction");
    let answer = all.len().to_string();
    client
        .write_all(answer.as_bytes())
        .expect("the client reads");
}

/// The part of the test that runs in the clients' namespace. `any` is the unspecified address of
/// the family of `server`.
fn use_the_network(server: fn(u16) -> SocketAddr, any: &str) {
    let refused = TcpStream::connect_timeout(&server(81), PATIENCE);
    assert_eq!(
        refused.expect_err("nothing listens").kind(),
        ErrorKind::ConnectionRefused
    );

    let mut half = connect_to(server(82));
    half.write_all(&[7; 1 << 20]).expect("it is open");
    half.shutdown(Shutdown::Write).expect("it is open");
    let mut answer = String::new();
    half.read_to_string(&mut answer)
        .expect("the other direction is open");
    assert_eq!(answer, (1 << 20).to_string());

    let socket = UdpSocket::bind(any).expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket
        .send_to(b"question", server(53))
        .expect("it is routed");
    let mut answer = [0; 100];
    let (len, from) = socket.recv_from(&mut answer).expect("an answer");
    assert_eq!(
        (&answer[..len], from),
        (b"re: question".as_slice(), server(53))
    );

    // Nothing listens at this port: the first datagram of a connected socket is refused.
    let socket = UdpSocket::bind(any).expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket.connect(server(54)).expect("it is routed");
    socket.send(b"question").expect("it is routed");
    let refused = socket.recv(&mut answer).expect_err("nobody answers");
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[test]
#[ignore = "needs root and a TUN device: cargo xtask test"]
fn sockets_in_a_namespace_reach_servers_through_the_forwarder() {
    in_network_namespace(
        "sockets::sockets_in_a_namespace_reach_servers_through_the_forwarder",
        || {
            let ground = Ground::prepare();
            serve(82, count);
            for address in [server(53), server6(53)] {
                let dns = UdpSocket::bind(address).expect("a free port");
                thread::spawn(move || {
                    let mut question = [0; 100];
                    while let Ok((len, from)) = dns.recv_from(&mut question) {
                        let answer = [b"re: ", &question[..len]].concat();
                        dns.send_to(&answer, from).expect("it is routed");
                    }
                });
            }
            for (done, any) in [(1, "0.0.0.0:0"), (2, "[::]:0")] {
                let server = if done == 1 { server } else { server6 };
                ground.as_client(|| use_the_network(server, any));
                ground.wait_until_no_flow_is_left();
                let totals = ground.table.totals();
                // For each family, one TCP flow and two UDP flows.
                assert_eq!(
                    (totals.opened, totals.refused),
                    (3 * done, done),
                    "{any}: {totals:?}"
                );
            }
        },
    );
}
