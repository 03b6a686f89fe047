//! A web server on the device: `/limits` shows the shares of each connection's limits.
//!
//! Rule: the library's `http.rs` has the server and its pages; this file only starts the server.
#![no_std]
#![no_main]

use fullpipe::Duration;
use fullpipe_firmware::{
    board::Clock,
    command_line::Options,
    host::{Host, Next},
    http::HttpServer,
    println, semihosting,
};

/// Port if the command line has no `port=`.
const PORT: u16 = 80;

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let clock = Clock::start();
    let mut line = [0; 1024];
    match Options::parse(semihosting::command_line(&mut line)) {
        Ok(options) => semihosting::exit(run(&options, clock)),
        Err(word) => {
            println!("unknown option, or wrong value: {word}");
            semihosting::exit(false)
        }
    }
}

/// Serves until the emulation ends. Returns false if the port cannot be opened.
fn run(options: &Options<'_>, clock: Clock) -> bool {
    let mut host = Host::start(options, clock);
    let (stack, _) = host.stack();
    let local = (options.address, options.port.unwrap_or(PORT)).into();
    let mut server = match HttpServer::new(local, stack) {
        Ok(server) => server,
        Err(error) => {
            println!("refused: {error}");
            return false;
        }
    };
    println!("ready");
    host.run(Duration::ZERO, |stack, now| {
        Next::Wait(server.poll(stack, now))
    });
    true
}
