//! State of the kernel's network interfaces: up or down, MTU, addresses.
//!
//! Rule: each call reads or changes one property; no state is kept.

use std::{
    ffi::CStr,
    io, mem,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr,
};

use crate::errno::check;

/// An ioctl request about the interface `name`, which must be shorter than
/// `IFNAMSIZ`.
pub fn request(name: &str) -> libc::ifreq {
    // SAFETY: `ifreq` is plain data, for which zero is a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (slot, byte) in request
        .ifr_name
        .iter_mut()
        .zip(name.bytes())
        .take(libc::IFNAMSIZ - 1)
    {
        *slot = byte as libc::c_char;
    }
    request
}

/// A socket for the ioctls about interfaces.
#[derive(Debug)]
pub struct Control(OwnedFd);

impl Control {
    /// Opens the socket.
    pub fn open() -> io::Result<Self> {
        // SAFETY: no pointers are passed; nothing else owns the returned descriptor.
        let fd = check(unsafe {
            libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0)
        })?;
        // SAFETY: the kernel has just returned `fd`, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    fn call(&self, code: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: every code passed here takes an `ifreq`, which lives until the
        // call returns.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), code as _, ptr::from_mut(request)) })
            .map(drop)
    }

    /// Returns true if the interface is up.
    pub fn is_up(&self, name: &str) -> io::Result<bool> {
        Ok(self.flags(name)? & libc::IFF_UP as libc::c_short != 0)
    }

    /// Brings the interface up or down.
    pub fn set_up(&self, name: &str, up: bool) -> io::Result<()> {
        let flags = self.flags(name)?;
        let mut request = request(name);
        let bit = libc::IFF_UP as libc::c_short;
        request.ifr_ifru.ifru_flags = if up { flags | bit } else { flags & !bit };
        self.call(libc::SIOCSIFFLAGS, &mut request)
    }

    fn flags(&self, name: &str) -> io::Result<libc::c_short> {
        let mut request = request(name);
        self.call(libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: the kernel has just filled in this member of the union.
        Ok(unsafe { request.ifr_ifru.ifru_flags })
    }

    /// Largest IP packet, in bytes.
    pub fn mtu(&self, name: &str) -> io::Result<usize> {
        let mut request = request(name);
        self.call(libc::SIOCGIFMTU, &mut request)?;
        // SAFETY: the kernel has just filled in this member of the union.
        Ok(unsafe { request.ifr_ifru.ifru_mtu } as usize)
    }

    /// Sets the largest IP packet, in bytes.
    pub fn set_mtu(&self, name: &str, mtu: usize) -> io::Result<()> {
        let mut request = request(name);
        request.ifr_ifru.ifru_mtu = libc::c_int::try_from(mtu).unwrap_or(libc::c_int::MAX);
        self.call(libc::SIOCSIFMTU, &mut request)
    }
}

/// Command of `linux/ethtool.h` that turns transmit checksum offload on or off.
const ETHTOOL_STXCSUM: u32 = 0x17;
/// Command of `linux/ethtool.h` that reads the numbers of queues.
const ETHTOOL_GCHANNELS: u32 = 0x3c;
/// Number of words in an answer about queues: first the command, then four maximum counts, then
/// four counts in use. Each group of four counts the queues for receiving, for sending, for other
/// purposes, and for both directions, in this order.
const CHANNELS: usize = 9;

impl Control {
    /// Number of receive queues in use; 1 if the driver does not say.
    pub fn receive_queues(&self, name: &str) -> io::Result<u32> {
        let mut answer = [0; CHANNELS];
        answer[0] = ETHTOOL_GCHANNELS;
        match self.ethtool(name, &mut answer) {
            Ok(()) => Ok((answer[5] + answer[8]).max(1)),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(1),
            Err(error) => Err(error),
        }
    }

    /// Selects what computes the checksums of frames that the kernel sends: the interface if `on`
    /// is true, otherwise the kernel.
    pub fn set_checksum_offload(&self, name: &str, on: bool) -> io::Result<()> {
        self.ethtool(name, &mut [ETHTOOL_STXCSUM, on.into()])
    }

    /// Sends a command of ethtool. `words` is the structure of the command; the kernel may write
    /// its answer into `words`.
    fn ethtool<const N: usize>(&self, name: &str, words: &mut [u32; N]) -> io::Result<()> {
        let mut request = request(name);
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        self.call(libc::SIOCETHTOOL as _, &mut request)
    }

    /// Returns true if the interface's frames have Ethernet headers.
    pub fn is_ethernet(&self, name: &str) -> io::Result<bool> {
        let mut request = request(name);
        self.call(libc::SIOCGIFHWADDR, &mut request)?;
        // SAFETY: the kernel has just filled in this member of the union.
        let address = unsafe { request.ifr_ifru.ifru_hwaddr };
        Ok(address.sa_family == libc::ARPHRD_ETHER)
    }

    /// The MAC address of an Ethernet interface.
    pub fn mac(&self, name: &str) -> io::Result<[u8; 6]> {
        let mut request = request(name);
        self.call(libc::SIOCGIFHWADDR, &mut request)?;
        // SAFETY: the kernel has just filled in this member of the union.
        let address = unsafe { request.ifr_ifru.ifru_hwaddr };
        let mut mac = [0; 6];
        for (byte, given) in mac.iter_mut().zip(address.sa_data) {
            *byte = given as u8;
        }
        Ok(mac)
    }
}

/// The interface's number; `None` if there is no such interface.
pub fn index(name: &str) -> Option<u32> {
    let request = request(name);
    // SAFETY: `ifr_name` ends with a zero byte, and the call only reads it.
    let index = unsafe { libc::if_nametoindex(request.ifr_name.as_ptr()) };
    (index != 0).then_some(index)
}

/// Returns true if this network namespace has an interface with the number `index`.
pub fn exists(index: u32) -> bool {
    let mut name = [0 as libc::c_char; libc::IFNAMSIZ];
    // SAFETY: `name` has the length that the call requires, and the call only writes there.
    !unsafe { libc::if_indextoname(index, name.as_mut_ptr()) }.is_null()
}

/// The interface of this machine that has `address`; `None` if there is none.
pub fn holder_of(address: IpAddr) -> io::Result<Option<String>> {
    let mut first = ptr::null_mut();
    // SAFETY: the call returns a list that is freed below, exactly once.
    check(unsafe { libc::getifaddrs(&raw mut first) })?;
    let mut entry = first;
    let mut holder = None;
    // SAFETY: the list ends with a null pointer; its strings and addresses live
    // until it is freed.
    while let Some(this) = unsafe { entry.as_ref() } {
        // SAFETY: `ifa_addr` is null or points to a socket address that is as long as its family
        // says.
        if unsafe { address_at(this.ifa_addr) } == Some(address) {
            // SAFETY: `ifa_name` is a string of the list, which is not freed yet.
            let name = unsafe { CStr::from_ptr(this.ifa_name) };
            holder = Some(name.to_string_lossy().into_owned());
            break;
        }
        entry = this.ifa_next;
    }
    // SAFETY: `first` came from `getifaddrs` and nothing points into it now.
    unsafe { libc::freeifaddrs(first) };
    Ok(holder)
}

/// # Safety
/// `at` is null or points to a socket address that is as long as its family
/// says.
unsafe fn address_at(at: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: the caller guarantees that `at` is null or valid.
    let family = i32::from(unsafe { at.as_ref() }?.sa_family);
    match family {
        // SAFETY: the family says that `at` points to a `sockaddr_in`.
        libc::AF_INET => Some(unsafe {
            let address = &*at.cast::<libc::sockaddr_in>();
            Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes()).into()
        }),
        // SAFETY: the family says that `at` points to a `sockaddr_in6`.
        libc::AF_INET6 => Some(unsafe {
            let address = &*at.cast::<libc::sockaddr_in6>();
            Ipv6Addr::from(address.sin6_addr.s6_addr).into()
        }),
        _ => None,
    }
}
