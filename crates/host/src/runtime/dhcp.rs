//! A runtime whose address comes from DHCP.
//!
//! Rule: these calls wait for the lease or read it; the driver's thread obtains and renews it.

use std::{
    io,
    sync::Arc,
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant as Moment},
};

use fullpipe_dhcp::Lease;

use super::{Runtime, RuntimeBuilder};
use crate::{lease::LeaseHolder, wait::Unpark};

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
