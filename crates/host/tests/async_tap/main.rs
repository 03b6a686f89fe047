//! Tests of tokio's sockets of a stack on a TAP device. The peer is the kernel's own stack.
//!
//! Rule: every test runs in a network namespace of its own, which ends with its process.

#[path = "../apart/mod.rs"]
mod apart;

use std::{net::SocketAddr, time::Duration};

use apart::in_network_namespace;
use fullpipe::Config;
use fullpipe_host::{DeviceOptions, Runtime, tokio::TcpListener};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream as KernelStream,
    task::JoinSet,
};

const CONNECTIONS: usize = 1_000;
/// Bytes that each client writes and reads back.
const PAYLOAD: usize = 20_000;

/// Lets this process have a descriptor for each client.
fn raise_descriptor_limit() {
    let wanted = 2 * CONNECTIONS as libc::rlim_t;
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls take a pointer to `limit`, which outlives them.
    let status = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        limit.rlim_cur = limit.rlim_cur.max(wanted);
        limit.rlim_max = limit.rlim_max.max(wanted);
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit)
    };
    assert_eq!(status, 0, "root may have {wanted} descriptors");
}

fn start() -> Runtime {
    let mut options = DeviceOptions::new("tap:fpasync".parse().expect("a device"));
    options.host_address = Some("10.8.1.1/24".parse().expect("an address"));
    let mut config = Config::default();
    // There is room for every connection at once. With less room, connections that were closed with
    // unsent payload would be aborted, as Linux does (TCPAbortOnMemory).
    for (knob, value) in [
        ("stack.connections", "2000"),
        ("stack.backlog", "1000"),
        ("stack.half_open", "1000"),
        ("stack.half_open_per_source", "1000"),
        ("stack.orphans", "1000"),
        ("pool.blocks", "65536"),
    ] {
        config.set(knob, value).expect("it is in range");
    }
    Runtime::builder("10.8.1.2/24".parse().expect("an address"))
        .config(config)
        .start(options.open().expect("root may"))
        .expect("the stack starts")
}

async fn serve(listener: TcpListener) {
    let mut connections = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (stream, _) = listener.accept().await.expect("clients come");
        connections.spawn(async move {
            let (mut reader, mut writer) = stream.into_split();
            tokio::io::copy(&mut reader, &mut writer).await
        });
    }
    while let Some(echoed) = connections.join_next().await {
        let bytes = echoed.expect("no panic").expect("the stream is sound");
        assert_eq!(bytes, PAYLOAD as u64);
    }
}

/// Writes, waits until every client is connected, and reads everything back.
async fn client(server: SocketAddr, number: usize, all: std::sync::Arc<tokio::sync::Barrier>) {
    let mut stream = KernelStream::connect(server).await.expect("it listens");
    all.wait().await;
    let payload: Vec<u8> = (0..PAYLOAD)
        .map(|at| (at ^ at >> 8 ^ number) as u8)
        .collect();
    let mut echoed = Vec::new();
    let (mut reader, mut writer) = stream.split();
    let writing = async {
        writer.write_all(&payload).await.expect("it is open");
        writer.shutdown().await.expect("it is open");
    };
    let (read, ()) = tokio::join!(reader.read_to_end(&mut echoed), writing);
    read.expect("the stream is sound");
    assert!(echoed == payload, "client {number} read other bytes");
}

#[test]
#[ignore = "needs root and a TAP device: cargo xtask test"]
fn one_thousand_tokio_connections_are_echoed_over_a_tap_device() {
    in_network_namespace(
        "one_thousand_tokio_connections_are_echoed_over_a_tap_device",
        || {
            raise_descriptor_limit();
            let runtime = start();
            let executor = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("tokio starts");
            executor.block_on(async {
                let address = SocketAddr::from(([10, 8, 1, 2], 7));
                let listener = TcpListener::bind(&runtime, address).expect("the port is free");
                let all = std::sync::Arc::new(tokio::sync::Barrier::new(CONNECTIONS));
                let serving = tokio::spawn(serve(listener));
                let mut clients = JoinSet::new();
                for number in 0..CONNECTIONS {
                    clients.spawn(client(address, number, std::sync::Arc::clone(&all)));
                }
                while let Some(ended) = clients.join_next().await {
                    ended.expect("every client reads its bytes");
                }
                serving.await.expect("every connection is echoed");
            });
            assert!(
                runtime.finish(Duration::from_secs(300)),
                "every connection ends"
            );
        },
    );
}
