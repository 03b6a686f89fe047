//! Ten thousand flows, one after another on several threads.
//!
//! Rule: what a closed flow leaves behind is measured, not assumed: connections, packet memory and
//! the memory of the process.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    thread,
};

use crate::{
    apart::in_network_namespace,
    ground::{Ground, connect, serve},
};

/// Connections that the test opens and closes in one turn.
const TURN: usize = 2_000;
const TURNS: usize = 5;
/// Threads that open the connections of a turn.
const CLIENTS: usize = 20;
/// Memory by which the process may grow after its first turn.
const GROWTH_MAX: u64 = 16 << 20;

/// Reads four bytes and writes them back.
fn echo(mut client: TcpStream) {
    let mut bytes = [0; 4];
    let read = client.read_exact(&mut bytes);
    read.and_then(|()| client.write_all(&bytes))
        .expect("the client sends and reads four bytes");
}

/// Opens and closes the connections of one turn.
fn open_and_close() {
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                for _ in 0..TURN / CLIENTS {
                    let mut stream = connect(84);
                    stream.write_all(b"ping").expect("it is open");
                    let mut back = [0; 4];
                    stream.read_exact(&mut back).expect("an echo");
                    assert_eq!(&back, b"ping");
                }
            });
        }
    });
}

/// Returns the resident memory of this process in bytes.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = text.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    let kib: u64 = number.expect("a number").parse().expect("a number");
    kib << 10
}

#[test]
#[ignore = "needs root and a TUN device: cargo xtask test"]
fn ten_thousand_flows_leave_no_flow_and_no_memory() {
    in_network_namespace(
        "many_flows::ten_thousand_flows_leave_no_flow_and_no_memory",
        || {
            let ground = Ground::prepare();
            serve(84, echo);
            let mut after_first = 0;
            for turn in 0..TURNS {
                ground.as_client(open_and_close);
                ground.wait_until_no_flow_is_left();
                let pool = ground.runtime.with_stack(|stack, _| {
                    let pool = stack.pool();
                    (pool.free_blocks(), pool.block_count())
                });
                assert_eq!(pool.0, pool.1, "blocks are held after turn {turn}");
                let now = resident();
                println!("turn {turn}: {} KiB resident", now >> 10);
                match turn {
                    0 => after_first = now,
                    _ => assert!(now <= after_first + GROWTH_MAX, "{after_first} -> {now}"),
                }
            }
            let totals = ground.table.totals();
            assert_eq!(totals.opened, (TURN * TURNS) as u64, "{totals:?}");
            assert_eq!(totals.refused, 0, "{totals:?}");
        },
    );
}
