//! The kernel's own stack: values of its TCP connections (`TCP_INFO`), options of its sockets
//! that the standard library does not have, and the settings of its interfaces.
//!
//! Rule: a function about an interface applies to the network namespace of the calling thread.
//! Fields of `TCP_INFO` that this kernel does not know are zero.

use std::{
    io, mem,
    net::{IpAddr, Ipv4Addr},
    os::fd::AsRawFd,
    time::Duration,
};

pub use crate::netlink::FirstWindows;
use crate::{
    errno::check,
    interface::{self, Control},
    netlink::{self, LinkNumber},
};

/// Some of the kernel's values for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelTcpInfo {
    /// The congestion window, in segments.
    pub cwnd_segments: u32,
    /// Largest payload of a segment, in bytes.
    pub mss: u32,
    /// The smoothed round-trip time.
    pub rtt: Duration,
}

/// Reads the kernel's values for the connection of `socket`.
///
/// # Errors
/// Fails if `socket` is not a TCP socket.
pub fn tcp_info(socket: &impl AsRawFd) -> io::Result<KernelTcpInfo> {
    // SAFETY: `tcp_info` consists of integers, for which zero is a value.
    let mut info: libc::tcp_info = unsafe { mem::zeroed() };
    let mut len = mem::size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, which is the size of what
    // `info` points to, and both outlive the call.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut len,
        )
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(KernelTcpInfo {
        cwnd_segments: info.tcpi_snd_cwnd,
        mss: info.tcpi_snd_mss,
        rtt: Duration::from_micros(u64::from(info.tcpi_rtt)),
    })
}

/// Sets the send buffer of `socket` as `SO_SNDBUF` does, but without the cap `net.core.wmem_max`.
/// The kernel doubles `bytes`.
///
/// # Errors
/// Fails if the process lacks the capability `CAP_NET_ADMIN`.
pub fn force_send_buffer(socket: &impl AsRawFd, bytes: u32) -> io::Result<()> {
    set_option(socket, libc::SO_SNDBUFFORCE, bytes)
}

/// Sets the receive buffer of `socket` as `SO_RCVBUF` does, but without the cap
/// `net.core.rmem_max`. The kernel doubles `bytes`.
///
/// # Errors
/// Fails if the process lacks the capability `CAP_NET_ADMIN`.
pub fn force_receive_buffer(socket: &impl AsRawFd, bytes: u32) -> io::Result<()> {
    set_option(socket, libc::SO_RCVBUFFORCE, bytes)
}

/// Sets the largest pacing rate of `socket`, in bytes per second.
///
/// # Errors
/// Returns the kernel's error.
pub fn set_max_pacing_rate(socket: &impl AsRawFd, bytes_per_second: u32) -> io::Result<()> {
    set_option(socket, libc::SO_MAX_PACING_RATE, bytes_per_second)
}

/// Sets a numeric option of the level `SOL_SOCKET`.
fn set_option(socket: &impl AsRawFd, option: libc::c_int, value: u32) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<u32>()` bytes of `value`, which outlives the call.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            mem::size_of::<u32>() as libc::socklen_t,
        )
    })
    .map(drop)
}

/// Number of the interface called `name`.
fn index(name: &str) -> io::Result<u32> {
    interface::index(name).ok_or_else(|| {
        let why = format!("there is no interface {name}");
        io::Error::new(io::ErrorKind::NotFound, why)
    })
}

/// Sets the number of segments that a super-segment (a frame that is cut into segments later) may
/// have on an interface (`gso_max_segs`). With 1 the kernel makes no super-segments.
///
/// # Errors
/// Returns the kernel's error.
pub fn set_gso_max_segments(name: &str, segments: u32) -> io::Result<()> {
    netlink::set_link_number(index(name)?, LinkNumber::GsoMaxSegments, segments)
}

/// Sets the number of frames that an interface may queue for the wire (`txqueuelen`).
///
/// # Errors
/// Returns the kernel's error.
pub fn set_transmit_queue(name: &str, frames: u32) -> io::Result<()> {
    netlink::set_link_number(index(name)?, LinkNumber::TransmitQueue, frames)
}

/// Selects what computes the checksums of frames that the kernel sends: the interface if `on` is
/// true (`ethtool -K NAME tx on`), otherwise the kernel.
///
/// # Errors
/// Returns the kernel's error.
pub fn set_checksum_offload(name: &str, on: bool) -> io::Result<()> {
    Control::open()?.set_checksum_offload(name, on)
}

/// Returns the MAC address of an Ethernet interface.
///
/// # Errors
/// Returns the kernel's error.
pub fn mac_address(name: &str) -> io::Result<[u8; 6]> {
    Control::open()?.mac(name)
}

/// Gives the kernel a permanent entry for a neighbour's MAC address, so that it sends no ARP
/// request.
///
/// # Errors
/// Returns the kernel's error.
pub fn add_neighbour(name: &str, address: IpAddr, mac: [u8; 6]) -> io::Result<()> {
    netlink::add_neighbour(index(name)?, address, mac)
}

/// Makes the connections to `address`, a neighbour on the interface, begin with `windows`
/// (`initcwnd`, `initrwnd`).
///
/// # Errors
/// Returns the kernel's error.
pub fn set_first_windows(name: &str, address: Ipv4Addr, windows: FirstWindows) -> io::Result<()> {
    netlink::add_host_route(index(name)?, address, windows)
}
