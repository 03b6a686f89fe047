//! A running stack: the builder that starts one, and the value that stops it.
//!
//! Rule: entropy is drawn here, and only for values that the user did not give. The
//! driver moves the frames.

mod dhcp;
mod error;
mod names;
mod unaddressed;

use std::{
    fmt,
    io::{self, Write},
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant as Moment},
};

use fullpipe::{
    Config, Instant, Interface, InterfaceId, MacAddress, Stack,
    congestion::{CongestionControl, RegisterError},
    device::Capabilities,
};

pub use error::StartError;

use crate::{
    capture::Capture, device::HostDevice, driver::Driver, entropy, inspection::Inspection,
    names::NameHolder, spec::Prefix,
};

/// Interval at which [`Runtime::finish`] checks for open connections, and at which the start checks
/// whether the address may be used.
const FINISH_POLL: Duration = Duration::from_millis(5);

/// Settings of a [`Runtime`] before it starts; see [`Runtime::builder`].
pub struct RuntimeBuilder {
    /// The host's address; `None` if DHCP gives it.
    prefix: Option<Prefix>,
    host_name: Option<String>,
    previous: Option<Ipv4Addr>,
    gateway: Option<IpAddr>,
    mac: Option<MacAddress>,
    secret: Option<[u8; 16]>,
    config: Config,
    congestion: Option<Registration>,
    capture: Option<Box<dyn Write + Send>>,
    dns_servers: Vec<IpAddr>,
    is_inspectable: bool,
    /// Further interfaces: address, gateway and device.
    further: Vec<FurtherInterface>,
}

/// Registers a congestion control with the stack and makes it the default.
type Registration = Box<dyn FnOnce(&mut Stack) -> Result<(), RegisterError> + Send>;

type FurtherInterface = (Prefix, Option<IpAddr>, Box<dyn HostDevice>);

impl fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The secret is left out, because peers must never learn it.
        f.debug_struct("RuntimeBuilder")
            .field("prefix", &self.prefix)
            .field("gateway", &self.gateway)
            .field("mac", &self.mac)
            .finish_non_exhaustive()
    }
}

impl RuntimeBuilder {
    fn new(prefix: Option<Prefix>) -> Self {
        Self {
            prefix,
            host_name: None,
            previous: None,
            gateway: None,
            mac: None,
            secret: None,
            config: Config::default(),
            congestion: None,
            capture: None,
            dns_servers: Vec::new(),
            is_inspectable: false,
            further: Vec::new(),
        }
    }

    /// Sets the name that the DHCP client tells the server; none by default. Unused without DHCP.
    pub fn host_name(mut self, name: impl Into<String>) -> Self {
        self.host_name = Some(name.into());
        self
    }

    /// Sets the address of an earlier lease, which the DHCP client asks for first; none by default.
    /// Unused without DHCP.
    pub fn previous_address(mut self, address: Ipv4Addr) -> Self {
        self.previous = Some(address);
        self
    }

    /// Sets the router for packets to other networks; none by default.
    pub fn gateway(mut self, gateway: IpAddr) -> Self {
        self.gateway = Some(gateway);
        self
    }

    /// Sets the MAC address; by default a random one, locally administered. Unused on a
    /// device that carries IP packets.
    pub fn mac(mut self, mac: MacAddress) -> Self {
        self.mac = Some(mac);
        self
    }

    /// Sets the secret from which sequence numbers, ports and hash keys derive; by
    /// default 16 bytes of the kernel's generator. Use a fixed secret only in tests:
    /// peers that know it can forge segments.
    pub fn secret(mut self, secret: [u8; 16]) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Sets the knobs; [`Config::default`] by default.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the congestion control of connections that choose none: an algorithm of this program,
    /// which is called `name` ([`Stack::register_congestion`]). By default the knob
    /// `tcp.congestion` applies.
    pub fn congestion<A: CongestionControl + Send + 'static>(
        mut self,
        name: impl Into<String>,
        make: impl FnMut() -> A + Send + 'static,
    ) -> Self {
        let name = name.into();
        self.congestion = Some(Box::new(move |stack| {
            let choice = stack.register_congestion(&name, make)?;
            stack.set_default_congestion(choice);
            Ok(())
        }));
        self
    }

    /// Records every frame to `out` in the pcapng format ([`Capture`]).
    pub fn capture(mut self, out: impl Write + Send + 'static) -> Self {
        self.capture = Some(Box::new(out));
        self
    }

    /// Sets the DNS servers, in the order in which they are asked. By default they are those of the
    /// DHCP lease and of router advertisements (knob `ip.autoconfiguration`).
    pub fn dns_servers(mut self, servers: impl IntoIterator<Item = IpAddr>) -> Self {
        self.dns_servers = servers.into_iter().collect();
        self
    }

    /// Lets other processes of this network namespace ask the stack for its addresses, routes and
    /// neighbours ([`RunningStack`](crate::RunningStack), `fullpipe addr`); by default nobody can.
    pub fn inspectable(mut self) -> Self {
        self.is_inspectable = true;
        self
    }

    /// Adds a further interface on `device`, with a random MAC address. `gateway` is the router for
    /// packets from `address` to other networks. Interfaces are numbered in the order of these
    /// calls, after the one on which the stack [starts](Self::start) and, with `ip.loopback`, the
    /// loopback interface. DHCP, the capture, and
    /// lookups of a duplicate address at the start concern the first interface only.
    pub fn interface(
        mut self,
        address: Prefix,
        gateway: Option<IpAddr>,
        device: impl HostDevice + 'static,
    ) -> Self {
        self.further.push((address, gateway, Box::new(device)));
        self
    }

    /// Starts the stack on `device`. With `ip.autoconfiguration` and an IPv6 address, waits one to
    /// two seconds, in case another host that has the same address answers.
    ///
    /// # Errors
    /// Returns a [`StartError`] that names the cause; the device is then closed.
    pub fn start(self, device: impl HostDevice + 'static) -> Result<Runtime, StartError> {
        match self.capture {
            Some(out) => {
                let device = Capture::new(device, out).map_err(StartError::Capture)?;
                Self {
                    capture: None,
                    ..self
                }
                .start_on(Box::new(device))
            }
            None => self.start_on(Box::new(device)),
        }
    }

    fn start_on(self, device: Box<dyn HostDevice>) -> Result<Runtime, StartError> {
        let system = StartError::System;
        let mac = match self.mac {
            Some(mac) => mac,
            None => entropy::station_address().map_err(system)?,
        };
        let secret = match self.secret {
            Some(secret) => secret,
            None => entropy::secret().map_err(system)?,
        };
        let capabilities = device.capabilities();
        let interface = self.first_interface(mac, capabilities);
        let (mut stack, lease) = match self.prefix {
            Some(_) => {
                let stack = Stack::new(&self.config, interface, secret);
                (stack.map_err(StartError::Config)?, None)
            }
            None => {
                let identity = (self.host_name, self.previous);
                let started = unaddressed::start(&self.config, interface, secret, identity)?;
                (started.0, Some(started.1))
            }
        };
        if let Some(register) = self.congestion {
            register(&mut stack).map_err(StartError::Congestion)?;
        }
        device.begin(&interface).map_err(StartError::Device)?;
        let mut devices = vec![(InterfaceId::FIRST, device)];
        for (prefix, gateway, device) in self.further {
            let interface = Interface {
                mac: entropy::station_address().map_err(system)?,
                address: prefix.address,
                prefix_len: prefix.len,
                gateway,
                capabilities: device.capabilities(),
            };
            let added = stack.add_interface(&self.config, interface);
            let added = added.map_err(StartError::Config)?;
            device.begin(&interface).map_err(StartError::Device)?;
            devices.push((added, device));
        }
        let names = NameHolder::new(self.dns_servers, entropy::secret().map_err(system)?);
        let driver = Arc::new(Driver::new(stack, devices, lease, names).map_err(system)?);
        let inspection = match self.is_inspectable {
            true => Some(Inspection::begin(Arc::clone(&driver)).map_err(system)?),
            false => None,
        };
        let thread = {
            let driver = Arc::clone(&driver);
            thread::Builder::new()
                .name("fullpipe".into())
                .spawn(move || driver.run())
                .map_err(system)?
        };
        let runtime = Runtime {
            driver,
            inspection,
            thread: Some(thread),
            interface,
            config: self.config,
        };
        runtime.await_address().map_err(StartError::Device)?;
        Ok(runtime)
    }

    /// Returns the first interface; its address is the unspecified address if the builder was given no
    /// address.
    fn first_interface(&self, mac: MacAddress, capabilities: Capabilities) -> Interface {
        let none = Ipv4Addr::UNSPECIFIED.into();
        Interface {
            mac,
            address: self.prefix.map_or(none, |prefix| prefix.address),
            prefix_len: self.prefix.map_or(0, |prefix| prefix.len),
            gateway: self.gateway,
            capabilities,
        }
    }
}
/// A running stack, on which sockets are opened.
///
/// After the runtime is dropped, calls on its sockets that would wait fail with `NotConnected`.
/// The devices are closed when the runtime and all its sockets have been dropped.
pub struct Runtime {
    driver: Arc<Driver>,
    /// Answers the questions of other processes.
    inspection: Option<Inspection>,
    thread: Option<JoinHandle<()>>,
    interface: Interface,
    config: Config,
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("interface", &self.interface)
            .finish_non_exhaustive()
    }
}

impl Runtime {
    /// Waits until the address may be used, if the stack first asks other hosts about it (knob
    /// `ip.autoconfiguration`).
    fn await_address(&self) -> io::Result<()> {
        let IpAddr::V6(address) = self.interface.address else {
            return Ok(());
        };
        loop {
            let (is_tentative, is_duplicate) = self.with_stack(|stack, _| {
                let mut tentative = stack.tentative_addresses();
                let is_tentative = tentative.any(|own| own.address == address);
                (is_tentative, stack.duplicate_address() == Some(address))
            });
            if is_duplicate {
                let why = format!("another host has the address {address}");
                return Err(io::Error::new(io::ErrorKind::AddrInUse, why));
            }
            if !is_tentative {
                return Ok(());
            }
            let core = self.driver.lock();
            self.driver.check(&core)?;
            drop(core);
            thread::sleep(FINISH_POLL);
        }
    }

    /// Begins a runtime for the host `address`, given with the prefix of its network
    /// (`"10.9.0.2/24".parse()?`).
    pub fn builder(address: Prefix) -> RuntimeBuilder {
        RuntimeBuilder::new(Some(address))
    }

    /// The stack's first address and its device's capabilities. With DHCP, the address is
    /// unspecified: [`lease`](Self::lease) has the present one.
    pub const fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The knobs with which the stack was started.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Calls `look` with the stack and the current time, under the lock. All sockets and
    /// the driver's thread wait until `look` returns, so it must not block, and must not
    /// use a socket of this runtime.
    pub fn with_stack<R>(&self, look: impl FnOnce(&mut Stack, Instant) -> R) -> R {
        self.driver.call(look)
    }

    pub(crate) fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// Waits until every connection has delivered its written payload and is closed, for at most
    /// `patience`, and then stops the runtime. Returns true if all connections were closed.
    pub fn finish(self, patience: Duration) -> bool {
        let started = Moment::now();
        loop {
            let done = self.with_stack(|stack, _| stack.tcp_counts().0 == 0);
            if done || started.elapsed() >= patience {
                return done;
            }
            thread::sleep(FINISH_POLL);
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.inspection = None;
        self.release_lease();
        self.driver.stop();
        if let Some(thread) = self.thread.take() {
            // If the driver's thread panicked, it has printed the message.
            let _ = thread.join();
        }
    }
}
