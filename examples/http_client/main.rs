//! An HTTP client by name: the address of this host and the DNS server come from DHCP.
//!
//!     cargo run -p fullpipe-host --example http_client -- packet:eth0 www.example.com
//!
//! A device `tap:fp0` works too, if a DHCP server and a DNS server answer at its other end.

use std::{
    env,
    io::{self, Read, Write},
    time::Duration,
};

use fullpipe_host::{DeviceOptions, Runtime, TcpStream};

const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().collect();
    let [_, device, name] = &arguments[..] else {
        return Err("usage: http_client DEVICE NAME".into());
    };
    let runtime = Runtime::dhcp().start(DeviceOptions::new(device.parse()?).open()?)?;
    let lease = runtime.wait_for_lease(PATIENCE)?;
    eprintln!("{} asks {:?}", lease.address, runtime.dns_servers());

    let mut stream = TcpStream::connect_to_name(&runtime, &format!("{name}:80"))?;
    eprintln!("connected to {}", stream.peer_addr());
    write!(
        stream,
        "GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n"
    )?;
    let mut page = Vec::new();
    stream.read_to_end(&mut page)?;
    io::stdout().write_all(&page)?;
    Ok(())
}
