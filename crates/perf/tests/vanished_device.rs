//! Test that a server whose network device vanishes ends with an error.

#[path = "../../host/tests/sockets/wire.rs"]
mod wire;

use std::{
    io::{self, Write},
    net::SocketAddr,
};

use fullpipe_host::Runtime;
use fullpipe_perf::{
    FullpipeSockets, Stop,
    iperf2::{Failure, Screen, ServerOptions, run_server},
};
use wire::{Breaker, wire};

/// Output that cuts the cable when the first line is written. The first line shows that the server
/// listens.
struct CutsWhenWritten(Breaker);

impl Write for CutsWhenWritten {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.cut();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_server_fails_when_its_device_is_gone() {
    for (udp, call) in [(false, "accept failed"), (true, "read failed")] {
        let (device, _peer) = wire();
        let breaks = device.breaker();
        let address = "10.0.0.1/24".parse().expect("an address");
        let runtime = Runtime::builder(address).start(device).expect("it starts");
        let options = ServerOptions {
            udp,
            ..ServerOptions::new(SocketAddr::from(([10, 0, 0, 1], 5001)))
        };
        let mut screen = Screen {
            out: &mut CutsWhenWritten(breaks),
            err: &mut Vec::new(),
        };
        let sockets = FullpipeSockets(&runtime);
        let ended = run_server(&sockets, &options, &Stop::new(), &mut screen);
        let error = ended.expect_err("the device is gone");
        assert!(
            matches!(&error, Failure::Sockets(what, _) if what == call),
            "{error}"
        );
        assert!(error.to_string().contains("the network device is gone"));
    }
}
