//! iperf 2 on the device: client and server, TCP and UDP.
//!
//! Rule: `fullpipe-iperf` has the clients and servers (*testers*). This file only chooses a tester
//! and prints its reports.
#![no_std]
#![no_main]

use fullpipe::{Duration, Instant, Stack};
use fullpipe_firmware::{
    board::Clock,
    command_line::Options,
    host::{Host, Next},
    println, semihosting,
};
use fullpipe_iperf::{
    DEFAULT_PORT, Event, TcpClient, TcpServer, TestPlan, Tester, UDP_LENGTH, UdpClient, UdpServer,
};

/// Longest wait at the end, until closed connections have freed their memory.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a TCP write if the command line has no `length=`.
const TCP_LENGTH: usize = 16 * 1024;

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let clock = Clock::start();
    let mut line = [0; 1024];
    let line = semihosting::command_line(&mut line);
    match Options::parse(line) {
        Ok(options) => semihosting::exit(run(&options, clock)),
        Err(word) => {
            println!("unknown option, or wrong value: {word}");
            semihosting::exit(false)
        }
    }
}

/// Runs one client, or a server until it has served its tests. Returns true if no test failed.
fn run(options: &Options<'_>, clock: Clock) -> bool {
    let mut host = Host::start(options, clock);
    let (stack, _) = host.stack();
    let port = options.port.unwrap_or(DEFAULT_PORT);
    let is_udp = options.role.starts_with("udp");
    let own = if is_udp { UDP_LENGTH } else { TCP_LENGTH };
    let plan = TestPlan {
        remote: (options.peer, port).into(),
        amount: options.amount,
        length: options.length.unwrap_or(own),
        rate: options.rate,
        reverse: options.reverse,
        sends_header: !options.headerless,
    };
    let local = (options.address, port).into();
    let mut datagram = [0; 1472];
    let datagram = &mut datagram[..plan.length.min(1472)];
    match options.role {
        "tcp-client" => serve(&mut host, TcpClient::new(plan), 1),
        "udp-client" => match UdpClient::new(plan, datagram, stack) {
            Ok(client) => serve(&mut host, client, 1),
            Err(error) => refuse(error),
        },
        "tcp-server" => match TcpServer::new(local, stack) {
            Ok(server) => serve(&mut host, server, options.tests),
            Err(error) => refuse(error),
        },
        "udp-server" => match UdpServer::new(local, stack) {
            Ok(server) => serve(&mut host, server, options.tests),
            Err(error) => refuse(error),
        },
        other => refuse(other),
    }
}

fn refuse(error: impl core::fmt::Display) -> bool {
    println!("refused: {error}");
    false
}

/// Runs `tester` until it has reported `tests` tests. Returns true if none failed.
fn serve(host: &mut Host, mut tester: impl Tester, tests: u32) -> bool {
    let (mut ended, mut failed) = (0, false);
    println!("ready");
    host.run(PATIENCE, |stack: &mut Stack, now: Instant| {
        loop {
            match tester.poll(stack, now) {
                Event::Waits(until) => return Next::Wait(until),
                Event::Ended(report) => {
                    println!("{report}");
                    failed |= report.failure.is_some();
                    ended += 1;
                    if ended == tests {
                        return Next::End;
                    }
                }
            }
        }
    });
    !failed
}
