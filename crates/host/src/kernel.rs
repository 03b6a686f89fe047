//! Properties of the kernel's own TCP connections (`TCP_INFO`).
//!
//! Rule: values are only read. Fields that this kernel does not know stay zero.

use std::{io, mem, os::fd::AsRawFd, time::Duration};

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
/// If `socket` is not a TCP socket.
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
