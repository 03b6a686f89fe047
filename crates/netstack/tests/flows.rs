//! Tests of flows between a client stack and a netstack, over a pair of packet queues. No device
//! and no privilege is needed.

use std::{
    io::{ErrorKind, Read, Write},
    net::{IpAddr, Shutdown, SocketAddr},
    sync::Arc,
    thread,
    time::Duration,
};

use fullpipe::{Config, InterfaceId, Refusal, Subnet};
use fullpipe_host::{Runtime, TcpStream, UdpSocket};
use fullpipe_netstack::{
    FlowLimits, NetstackBuilder, PipeDevice, RelayClock, RelaySide, TcpFlows, UdpFlows, relay,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// An address that neither stack has.
const FAR: [u8; 4] = [198, 51, 100, 7];
const PATIENCE: Duration = Duration::from_secs(120);

fn far(port: u16) -> SocketAddr {
    SocketAddr::from((FAR, port))
}

/// Returns an IPv6 address that neither stack has, with `port`.
fn far_v6(port: u16) -> SocketAddr {
    format!("[fd77::2:7]:{port}").parse().expect("an address")
}

/// Returns a client stack with an address of each version of IP, and the flows of a netstack that
/// receives the client's packets.
fn netstack(limits: FlowLimits) -> (Runtime, TcpFlows, UdpFlows) {
    let (near, other) = PipeDevice::pair(1500).expect("sockets");
    let client = Runtime::builder("10.9.0.1/24".parse().expect("an address"))
        .gateway("10.9.0.2".parse().expect("an address"))
        .start(near)
        .expect("a client");
    let v6 = "fd77::1".parse().expect("an address");
    let subnet = Subnet {
        address: v6,
        prefix_len: 32,
    };
    let added = client.with_stack(|stack, _| stack.add_address(InterfaceId::FIRST, subnet));
    added.expect("an address of the other version");
    let (tcp, udp) = NetstackBuilder::default()
        .limits(limits)
        .start(other)
        .expect("a netstack");
    (client, tcp, udp)
}

/// Runs `client` on a thread and `server` in tokio; both must end in time. The netstack runs until
/// the client has ended.
fn run<R: Send + 'static>(
    limits: FlowLimits,
    client: impl FnOnce(Runtime) -> R + Send + 'static,
    server: impl AsyncFnOnce(&mut TcpFlows, &mut UdpFlows),
) -> R {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("an executor");
    executor.block_on(async {
        let (runtime, mut tcp, mut udp) = netstack(limits);
        let thread = thread::spawn(move || client(runtime));
        let both = async {
            server(&mut tcp, &mut udp).await;
            while !thread.is_finished() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let ended = tokio::time::timeout(PATIENCE, both).await;
        ended.expect("the server and the client end in time");
        thread.join().expect("the client does not panic")
    })
}

#[test]
fn a_flow_carries_both_directions_and_keeps_the_half_close() {
    for destination in [far(443), far_v6(443)] {
        echoes(destination);
    }
}

fn echoes(destination: SocketAddr) {
    let echoed = run(
        FlowLimits::default(),
        move |runtime| {
            let stream = TcpStream::connect(&runtime, destination).expect("it is admitted");
            let sent = vec![7; 300_000];
            thread::scope(|scope| {
                scope.spawn(|| {
                    (&stream).write_all(&sent).expect("it is open");
                    stream.shutdown(Shutdown::Write).expect("it is open");
                });
                let mut echoed = Vec::new();
                (&stream)
                    .read_to_end(&mut echoed)
                    .expect("it is closed in order");
                echoed == sent
            })
        },
        async |tcp, _udp| {
            let request = tcp.next().await.expect("a SYN");
            assert_eq!(request.destination(), destination);
            let mut flow = request.admit().await.expect("the peer waits");
            assert_eq!(flow.destination(), destination);
            let (mut ours, mut theirs) = tokio::io::duplex(10_000);
            let echo = tokio::spawn(async move {
                let (mut reader, mut writer) = tokio::io::split(&mut theirs);
                tokio::io::copy(&mut reader, &mut writer)
                    .await
                    .expect("it echoes");
                writer.shutdown().await.expect("it is open");
            });
            let clock = Arc::new(RelayClock::default());
            let moved = relay(&mut flow, &mut ours, PATIENCE, &clock).await;
            assert_eq!(moved.expect("both directions end"), (300_000, 300_000));
            assert_eq!(clock.report(RelaySide::Up).bytes, 300_000);
            echo.await.expect("the echo ends");
        },
    );
    assert!(echoed);
}

#[test]
fn a_refused_flow_fails_for_the_peer_before_it_is_open() {
    for (destination, refusal) in [
        (far(9), Some(Refusal::Port)),
        (far(9), None),
        (far_v6(9), Some(Refusal::Port)),
    ] {
        let error = run(
            FlowLimits::default(),
            move |runtime| TcpStream::connect(&runtime, destination).expect_err("it is refused"),
            async |tcp, _udp| {
                let request = tcp.next().await.expect("a SYN");
                match refusal {
                    Some(refusal) => request.refuse(refusal).expect("the peer waits"),
                    None => drop(request),
                }
            },
        );
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    }
}

#[test]
fn a_sink_that_accepts_nothing_stops_the_peer_and_is_named() {
    run(
        FlowLimits::default(),
        |runtime| {
            let stream = TcpStream::connect(&runtime, far(80)).expect("it is admitted");
            stream.set_write_timeout(Some(Duration::from_millis(500)));
            let mut sent = 0;
            while let Ok(written) = stream.send(&[0; 65_536]) {
                sent += written;
                assert!(sent < 1 << 30, "nothing stops the peer");
            }
        },
        async |tcp, _udp| {
            let request = tcp.next().await.expect("a SYN");
            let mut flow = request.admit().await.expect("the peer waits");
            let (mut ours, _theirs) = tokio::io::duplex(1_000);
            let clock = RelayClock::default();
            let idle = Duration::from_secs(2);
            let ended = relay(&mut flow, &mut ours, idle, &clock).await;
            assert_eq!(ended.expect_err("it is idle").kind(), ErrorKind::TimedOut);
            let up = clock.report(RelaySide::Up);
            assert_eq!(up.bytes, 1_000);
            assert!(up.waited_for_sink > up.waited_for_source, "{up:?}");
        },
    );
}

#[test]
fn datagrams_are_sorted_by_flow_and_answered_from_their_destination() {
    run(
        FlowLimits {
            udp_idle: Duration::from_secs(2),
            ..FlowLimits::default()
        },
        |runtime| {
            for (local, destinations) in [
                ("10.9.0.1:5000", [far(53), far(443)]),
                ("[fd77::1]:5000", [far_v6(53), far_v6(443)]),
            ] {
                let local = local.parse().expect("an address");
                let socket = UdpSocket::bind(&runtime, local).expect("a free port");
                socket.set_read_timeout(Some(PATIENCE));
                for destination in destinations {
                    let question = destination.to_string();
                    socket
                        .send_to(question.as_bytes(), destination)
                        .expect("it is sent");
                    let mut answer = [0; 100];
                    let (len, from) = socket.recv_from(&mut answer).expect("an answer");
                    assert_eq!(from, destination);
                    assert_eq!(&answer[..len], format!("re {question}").as_bytes());
                }
            }
        },
        async |_tcp, udp| {
            let mut served = Vec::new();
            for _ in 0..4 {
                let mut flow = udp.next().await.expect("a datagram");
                served.push(tokio::spawn(async move {
                    let question = flow
                        .recv()
                        .await
                        .expect("the datagram that began the flow arrives");
                    let answer = [b"re ".as_slice(), &question].concat();
                    flow.send(&answer).await.expect("the peer is there");
                    assert_eq!(flow.recv().await, None, "the flow is idle and ends");
                }));
            }
            for flow in served {
                flow.await.expect("the flow was served");
            }
            assert_eq!(udp.dropped(), 0);
        },
    );
}

#[test]
fn flows_beyond_the_limit_wait_until_others_end() {
    const FLOWS: usize = 16;
    let limits = FlowLimits {
        tcp_flows: 8,
        memory: 4 << 20,
        ..FlowLimits::default()
    };
    run(
        limits,
        |runtime| {
            thread::scope(|scope| {
                for _ in 0..FLOWS {
                    scope.spawn(|| {
                        let stream = TcpStream::connect(&runtime, far(80));
                        let stream = stream.expect("each flow is admitted");
                        let mut byte = [0];
                        let read = stream.receive(&mut byte).expect("each flow is served");
                        assert_eq!((read, byte), (1, *b"x"));
                    });
                }
            });
        },
        async |tcp, _udp| {
            for _ in 0..FLOWS {
                let request = tcp.next().await.expect("a SYN");
                let mut flow = request.admit().await.expect("the peer waits");
                flow.write_all(b"x").await.expect("it is open");
                flow.shutdown().await.expect("it is open");
                tokio::spawn(async move {
                    let _ = flow.read_to_end(&mut Vec::new()).await;
                });
            }
        },
    );
}

/// An idle flow keeps the memory of its window. With windows of 64 KiB, 32 flows would take all.
#[test]
fn idle_flows_that_carried_payload_leave_memory_to_further_flows() {
    const FLOWS: usize = 100;
    const PAYLOAD: [u8; 5_000] = [7; 5_000];
    let limits = FlowLimits {
        tcp_flows: 128,
        memory: 2 << 20,
        ..FlowLimits::default()
    };
    run(
        limits,
        |runtime| {
            let mut open = Vec::new();
            for number in 0..FLOWS {
                let stream = TcpStream::connect(&runtime, far(443));
                let stream = stream.unwrap_or_else(|error| panic!("flow {number}: {error}"));
                (&stream).write_all(&PAYLOAD).expect("it is open");
                (&stream).read_exact(&mut [0]).expect("it is open");
                open.push(stream);
            }
        },
        async |tcp, _udp| {
            let mut open = Vec::new();
            for _ in 0..FLOWS {
                let request = tcp.next().await.expect("a SYN");
                let mut flow = request.admit().await.expect("the peer waits");
                let mut received = PAYLOAD;
                flow.read_exact(&mut received).await.expect("it is open");
                flow.write_all(b"k").await.expect("it is open");
                open.push(flow);
            }
        },
    );
}

#[tokio::test(flavor = "current_thread")]
async fn a_stream_of_packets_reaches_the_flows_and_echo_is_answered() {
    let (device, pipe) = PipeDevice::with_pipe(1500).expect("sockets");
    let _flows = NetstackBuilder::default()
        .start(device)
        .expect("a netstack");
    let request = echo_request();
    pipe.send(&request).await.expect("the stack runs");
    let mut reply = [0; 1500];
    let received = tokio::time::timeout(PATIENCE, pipe.recv(&mut reply)).await;
    let len = received.expect("in time").expect("a packet");
    assert_eq!(len, request.len());
    assert_eq!(
        reply[12..16],
        FAR,
        "the reply comes from the address that was asked"
    );
    assert_eq!((reply[20], &reply[24..len]), (0, &request[24..]));
}

#[tokio::test(flavor = "current_thread")]
async fn the_program_answers_or_refuses_echo_requests_that_are_passed_on() {
    let (device, pipe) = PipeDevice::with_pipe(1500).expect("sockets");
    let started = NetstackBuilder::default().start_with_echo(device);
    let (_tcp, _udp, mut echo) = started.expect("a netstack");
    let request = echo_request();
    let mut reply = [0; 1500];
    pipe.send(&request).await.expect("the stack runs");
    let asked = tokio::time::timeout(PATIENCE, echo.next()).await;
    let asked = asked.expect("in time").expect("the stack runs");
    assert_eq!(asked.peer(), IpAddr::from([10, 9, 0, 1]));
    assert_eq!(asked.destination(), IpAddr::from(FAR));
    assert_eq!((asked.identifier(), asked.sequence()), (0x0102, 0x0304));
    assert_eq!(asked.data(), [5, 6, 7, 8]);
    asked.answer().await.expect("the stack runs");
    let received = tokio::time::timeout(PATIENCE, pipe.recv(&mut reply)).await;
    let len = received.expect("in time").expect("a packet");
    assert_eq!((len, &reply[12..16]), (request.len(), &FAR[..]));
    assert_eq!((reply[20], &reply[24..len]), (0, &request[24..]));

    pipe.send(&request).await.expect("the stack runs");
    let asked = tokio::time::timeout(PATIENCE, echo.next()).await;
    let asked = asked.expect("in time").expect("the stack runs");
    asked.refuse(Refusal::Host);
    let received = tokio::time::timeout(PATIENCE, pipe.recv(&mut reply)).await;
    received.expect("in time").expect("a packet");
    assert_eq!(reply[20..22], [3, 1], "host unreachable");
    assert_eq!(reply[48 + 4..48 + 8], request[24..28], "the quoted numbers");
}

/// An echo request from 10.9.0.1 to [`FAR`], with checksums.
fn echo_request() -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 32, 0, 1, 0, 0, 64, 1, 0, 0, 10, 9, 0, 1];
    packet.extend(FAR);
    packet.extend([8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    for (range, at) in [(0..20, 10), (20..32, 22)] {
        let words = packet[range].chunks(2);
        let sum: u32 = words
            .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]))
            .sum();
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
    packet
}

/// The queue of the socket is empty, so nothing but memory that becomes free can wake the sender.
#[tokio::test(flavor = "current_thread")]
async fn a_send_that_lacks_packet_memory_continues_when_memory_is_free() {
    let (device, pipe) = PipeDevice::with_pipe(1500).expect("sockets");
    let mut config = Config::default();
    for (knob, value) in [("pool.blocks", "64"), ("pool.block_size", "2048")] {
        config.set(knob, value).expect("a knob");
    }
    let client = Runtime::builder("10.9.0.1/24".parse().expect("an address"))
        .gateway("10.9.0.2".parse().expect("an address"))
        .config(config)
        .start(device)
        .expect("a client");
    let local = SocketAddr::from(([10, 9, 0, 1], 0));
    let (mut full, mut sender) = (Vec::new(), None);
    // Nobody reads the pipe: the datagrams stay in packet memory.
    while sender.is_none() {
        let socket = UdpSocket::bind(&client, local).expect("a socket");
        socket.set_write_timeout(Some(Duration::from_millis(20)));
        let mut queued = 0;
        while socket.send_to(&[1; 1_400], far(7)).is_ok() {
            queued += 1;
        }
        match queued {
            0 => sender = Some(socket),
            _ => full.push(socket),
        }
    }
    let sender = sender.expect("the loop ended");
    sender.set_write_timeout(Some(PATIENCE));
    let waiting = thread::spawn(move || sender.send_to(&[2; 1_400], far(7)));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!waiting.is_finished(), "memory is short");
    let mut packet = [0; 1_500];
    while packet[1_499 - 100] != 2 {
        let received = tokio::time::timeout(PATIENCE, pipe.recv(&mut packet)).await;
        received.expect("in time").expect("a packet");
    }
    let sent = waiting.join().expect("the thread does not panic");
    assert_eq!(sent.expect("the datagram is queued"), 1_400);
}
