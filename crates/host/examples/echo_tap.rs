//! An echo server on a TAP device, which the program creates at its start and removes at its end.
//!
//! Run as root: `cargo run --release -p fullpipe-host --example echo_tap`, and in another terminal
//! `echo hello | nc -N 10.9.0.2 7`. When a client has closed its connection, the program prints
//! the limits of the connection.

use std::{error::Error, io, net::Shutdown, thread};

use fullpipe_host::{DeviceOptions, Runtime, TcpListener, TcpStream};

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = DeviceOptions::new("tap:fpecho".parse()?);
    options.host_address = Some("10.9.0.1/24".parse()?); // the kernel's end
    let runtime = Runtime::builder("10.9.0.2/24".parse()?).start(options.open()?)?;
    let listener = TcpListener::bind(&runtime, ([10, 9, 0, 2], 7).into())?;
    println!("echo server at 10.9.0.2, port 7");
    loop {
        let (stream, _) = listener.accept()?;
        thread::spawn(move || match echo(&stream) {
            Ok(bytes) => println!("{bytes} bytes echoed"),
            Err(error) => eprintln!("{}: {error}", stream.peer_addr()),
        });
    }
}

fn echo(stream: &TcpStream) -> io::Result<u64> {
    let bytes = io::copy(&mut &*stream, &mut &*stream)?;
    println!("{}", stream.describe()?);
    stream.shutdown(Shutdown::Write)?;
    Ok(bytes)
}
