//! Checks whether a stack can join the network of an interface as an additional host.
//!
//! Rule: nothing is opened and nothing changes here. The error for an interface or an address that
//! cannot work names the remedy.

use std::{
    io,
    net::IpAddr,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use fullpipe::Interface;

use crate::{
    errno::DeviceError,
    interface::{self, Control},
    spec::DeviceOptions,
};

/// Interval at which the existence of the interface is checked while nothing arrives.
pub(crate) const ASK_EVERY: Duration = Duration::from_secs(1);

/// Returns the number and the MTU of the interface that `options` name.
///
/// # Errors
/// Fails if there is no such interface, it is down, or the options would change it.
pub(crate) fn find(options: &DeviceOptions) -> Result<(u32, usize), DeviceError> {
    let name = &options.spec.name;
    let refused = |what: &str, advice: &str| {
        let source = io::Error::from_raw_os_error(libc::EINVAL);
        Err(DeviceError::new(format!("{what} {name}"), source).advise(advice))
    };
    if options.mtu.is_some() || options.host_address.is_some() {
        return refused(
            "cannot set an MTU or an address on",
            "packet and xdp devices do not configure their interface: use ip link for the MTU, ip addr for the address",
        );
    }
    let failed = |what: &str| {
        let what = format!("cannot {what} {name}");
        move |source| DeviceError::new(what, source)
    };
    let control = Control::open().map_err(failed("query"))?;
    let Some(index) = interface::index(name) else {
        return refused("there is no interface", "ip link lists the interfaces");
    };
    if !control.is_up(name).map_err(failed("read the state of"))? {
        return refused(
            "cannot send or receive on the interface",
            &format!("the interface is down: bring it up (ip link set {name} up)"),
        );
    }
    let mtu = control.mtu(name).map_err(failed("read the MTU of"))?;
    Ok((index, mtu))
}

/// Refuses an address that this machine's kernel has, because the kernel would answer, too, and
/// reset the stack's connections.
///
/// # Errors
/// Returns one line with the interface that has the address.
pub(crate) fn check_address(address: IpAddr) -> io::Result<()> {
    let failed = |source| DeviceError::new("cannot list this machine's addresses", source);
    let holder = interface::holder_of(address);
    let Some(holder) = holder.map_err(failed).map_err(io::Error::other)? else {
        return Ok(());
    };
    let source = io::Error::from_raw_os_error(libc::EADDRINUSE);
    let error = DeviceError::new(
        format!("the stack cannot have the address {address}"),
        source,
    );
    Err(io::Error::other(error.advise(format!(
        "this machine's {holder} has this address, and the kernel would answer too: choose a free address of the network"
    ))))
}

/// Shortest Ethernet frame, without its checksum.
const FRAME_MIN: usize = 60;

/// Returns an ARP announcement of `host` (RFC 5227, section 2.3), as a frame. An earlier run may
/// have used the same IP address with another MAC address. A neighbour that remembers the old MAC
/// address learns the new one from the announcement.
pub(crate) fn announcement(host: &Interface) -> Option<[u8; FRAME_MIN]> {
    let IpAddr::V4(address) = host.address else {
        return None;
    };
    if address.is_unspecified() {
        return None; // the address comes later, by DHCP
    }
    let mac = host.mac.0;
    let parts: [&[u8]; 9] = [
        &[0xff; 6],
        &mac,
        &[8, 6],             // ARP
        &[0, 1, 8, 0, 6, 4], // Ethernet, IPv4, lengths of their addresses
        &[0, 1],             // request
        &mac,
        &address.octets(),
        &[0; 6],
        &address.octets(),
    ];
    let mut frame = [0; FRAME_MIN];
    for (byte, value) in frame.iter_mut().zip(parts.concat()) {
        *byte = value;
    }
    Some(frame)
}

/// Detects the deletion of an interface.
#[derive(Debug)]
pub(crate) struct Presence {
    index: u32,
    opened: Instant,
    /// Time of the last check that the interface exists, in nanoseconds after `opened`.
    asked_ns: AtomicU64,
}

impl Presence {
    pub(crate) fn new(index: u32) -> Self {
        Self {
            index,
            opened: Instant::now(),
            asked_ns: AtomicU64::new(0),
        }
    }

    /// Returns the error of a read that found no frame. `is_down` is true if the kernel has just
    /// reported that the interface went down.
    ///
    /// ENETDOWN is not enough to detect a deletion. The kernel reports ENETDOWN once, to whichever
    /// call comes first. If the interface is already down and is then deleted, the kernel reports
    /// nothing more.
    pub(crate) fn nothing_read(&self, is_down: bool) -> io::Error {
        let now_ns = self.opened.elapsed().as_nanos() as u64;
        let since_ns = now_ns.saturating_sub(self.asked_ns.load(Ordering::Relaxed));
        if is_down || since_ns >= ASK_EVERY.as_nanos() as u64 {
            self.asked_ns.store(now_ns, Ordering::Relaxed);
            // Return ENODEV if the interface was deleted or moved to another namespace. A deletion
            // that has only begun is detected by the next check.
            if !interface::exists(self.index) {
                return io::Error::from_raw_os_error(libc::ENODEV);
            }
        }
        // Report no failure: an interface that is only down may come up again.
        io::ErrorKind::WouldBlock.into()
    }
}
