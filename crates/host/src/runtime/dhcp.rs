//! A runtime whose address comes from DHCP.
//!
//! Rule: these calls wait for the lease or read it; the driver's thread obtains and renews it.

use std::{
    io,
    net::Ipv4Addr,
    sync::Arc,
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant as Moment},
};

use fullpipe::{Config, Instant, Interface, Rng, Stack, device::Medium};
use fullpipe_dhcp::{Client, Lease, Settings};

use super::{Runtime, RuntimeBuilder, StartError};
use crate::{entropy, lease::LeaseHolder, wait::Unpark};

/// Address with which the stack is created, because a stack cannot be created without one: the IPv4
/// dummy address, which no other host has (RFC 7600 §4.8). It is removed before the first frame.
const PLACEHOLDER: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// Creates a stack without an address on `interface`, and a client that obtains one.
///
/// # Errors
/// Fails if the device carries no Ethernet frames, a knob (a setting of the stack) is invalid, or
/// there is no entropy.
pub(super) fn start_without_address(
    config: &Config,
    interface: Interface,
    secret: [u8; 16],
    (host_name, previous): (Option<String>, Option<Ipv4Addr>),
) -> Result<(Stack, LeaseHolder), StartError> {
    if interface.capabilities.medium != Medium::Ethernet {
        return Err(StartError::Device(io::Error::new(
            io::ErrorKind::Unsupported,
            "DHCP needs a device that carries Ethernet frames, such as tap:NAME or packet:NIC",
        )));
    }
    let placed = Interface {
        address: PLACEHOLDER.into(),
        prefix_len: 32,
        gateway: None,
        ..interface
    };
    let mut stack = Stack::new(config, placed, secret).map_err(StartError::Config)?;
    let now = Instant::from_nanos(1);
    let removed = stack.remove_address(PLACEHOLDER.into(), now);
    removed.expect("the only address of a new stack");
    let seed = entropy::secret().map_err(StartError::System)?;
    let (seed, _) = seed.split_first_chunk().expect("16 bytes");
    let settings = Settings {
        host_name,
        previous,
        ..Settings::new(interface.mac)
    };
    let client = Client::new(settings, Rng::seeded(u64::from_ne_bytes(*seed)), now);
    Ok((stack, LeaseHolder::new(client)))
}

impl Runtime {
    /// Begins a runtime for a host that obtains its address, default route and name servers by DHCP.
    /// The device must carry Ethernet frames and receive broadcasts: `tap` or `packet`, not `tun` or
    /// `xdp`. [`wait_for_lease`](Self::wait_for_lease) waits for the address. Dropping the runtime
    /// returns the address to its server.
    ///
    /// When a lease ends, its address is removed, and the connections of the address end with
    /// `AddrNotAvailable`.
    pub fn dhcp() -> RuntimeBuilder {
        RuntimeBuilder::new(None)
    }

    /// Returns the lease that the host has now; `None` without DHCP.
    pub fn lease(&self) -> Option<Lease> {
        let core = self.driver.lock();
        core.lease.as_ref().and_then(LeaseHolder::lease).cloned()
    }

    /// Blocks until the host has a lease, for at most `patience`.
    ///
    /// # Errors
    /// Returns `TimedOut` after `patience`; `Unsupported` if the runtime does not use DHCP; another
    /// error if the runtime was stopped.
    pub fn wait_for_lease(&self, patience: Duration) -> io::Result<Lease> {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        let deadline = Moment::now() + patience;
        loop {
            if let Poll::Ready(outcome) = self.poll_lease(&mut context) {
                return outcome;
            }
            match deadline.saturating_duration_since(Moment::now()) {
                Duration::ZERO => {
                    let why = "no DHCP server has granted an address";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                }
                left => thread::park_timeout(left),
            }
        }
    }

    /// Becomes ready once the host has a lease.
    ///
    /// # Errors
    /// Returns `Unsupported` if the runtime does not use DHCP; another error if the runtime was
    /// stopped.
    pub fn poll_lease(&self, context: &mut Context<'_>) -> Poll<io::Result<Lease>> {
        let mut core = self.driver.lock();
        if let Err(error) = self.driver.check(&core) {
            return Poll::Ready(Err(error));
        }
        let Some(holder) = &mut core.lease else {
            return Poll::Ready(Err(io::ErrorKind::Unsupported.into()));
        };
        match holder.lease() {
            Some(lease) => Poll::Ready(Ok(lease.clone())),
            None => {
                holder.wait(context.waker());
                Poll::Pending
            }
        }
    }

    /// Asks the DHCP server for a longer lease at once. Nothing happens without a lease.
    pub fn renew_lease(&self) {
        self.driver.change_lease(LeaseHolder::renew);
    }

    /// Returns the host's address to the DHCP server and asks for no other address. The connections
    /// of the address end. Without DHCP, nothing happens.
    pub fn release_lease(&self) {
        self.driver.change_lease(LeaseHolder::release);
    }
}
