//! Tests of the example `tunnel`: both of its ends, over UDP sockets of this machine.

#[path = "../../../examples/tunnel/main.rs"]
#[allow(dead_code, reason = "the tests have a `main` of their own")]
mod tunnel;

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UdpSocket},
    time::timeout,
};
use tunnel::Seal;

const KEY: [u8; 32] = [7; 32];
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "current_thread")]
async fn a_connection_reaches_its_target_through_the_tunnel() {
    let target = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let target_at = target.local_addr().expect("an address");
    let exit = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    let exit_at = exit.local_addr().expect("an address");
    let entry = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let entry_at = entry.local_addr().expect("an address");
    // No host has this address (RFC 5737); the exit carries the flow to `target`.
    let far = SocketAddr::from(([192, 0, 2, 7], 80));
    let outside = UdpSocket::bind("0.0.0.0:0").await.expect("a free port");
    let sent: Vec<u8> = (0..300_000_u32).map(|place| (place * 7) as u8).collect();
    let client = async {
        let mut client = TcpStream::connect(entry_at)
            .await
            .expect("the entry listens");
        let (mut server, _) = target.accept().await.expect("a flow");
        let expected = sent.clone();
        let echo = tokio::spawn(async move {
            let mut all = Vec::new();
            server
                .read_to_end(&mut all)
                .await
                .expect("it ends in order");
            assert!(all == expected, "{} bytes arrived", all.len());
            server.write_all(b"received").await.expect("it is open");
        });
        client.write_all(&sent).await.expect("it is open");
        client.shutdown().await.expect("it is open");
        let mut answer = Vec::new();
        client
            .read_to_end(&mut answer)
            .await
            .expect("it ends in order");
        echo.await.expect("the target is served");
        answer
    };
    let both = async {
        tokio::select! {
            ended = tunnel::exit(exit, &KEY, Some(target_at)) => panic!("the exit ends: {ended:?}"),
            ended = tunnel::enter(outside, exit_at, &KEY, entry, far) => panic!("the entry ends: {ended:?}"),
            answer = client => answer,
        }
    };
    let answer = timeout(PATIENCE, both).await.expect("it ends in time");
    assert_eq!(answer, b"received");
}

#[test]
fn a_packet_is_opened_once_and_only_with_its_key_and_direction() {
    let (own, of_peer) = (Seal::new(&KEY, 0), Seal::new(&KEY, 0));
    let sealed: Vec<_> = (0..100).map(|number| own.seal(&[number])).collect();
    assert_eq!(of_peer.open(&sealed[2]), Some(vec![2]));
    assert_eq!(of_peer.open(&sealed[1]), Some(vec![1]), "out of order");
    assert_eq!(of_peer.open(&sealed[1]), None, "again");
    assert_eq!(of_peer.open(&sealed[99]), Some(vec![99]));
    assert_eq!(of_peer.open(&sealed[3]), None, "too old");
    assert_eq!(of_peer.open(&sealed[98]), Some(vec![98]));
    let mut changed = sealed[97].clone();
    changed[9] ^= 1;
    assert_eq!(of_peer.open(&changed), None, "changed");
    assert_eq!(Seal::new(&KEY, 1).open(&sealed[97]), None, "direction");
    assert_eq!(Seal::new(&[8; 32], 0).open(&sealed[97]), None, "key");
    assert_eq!(of_peer.open(&sealed[97]), Some(vec![97]));
}
