//! Socket options: `fp_setsockopt`, `fp_getsockopt`.
//!
//! Rule: levels, numbers and units of options are those of Linux, except for options that Linux does
//! not have. An option of a connection is passed to the stack. For a socket that is not connected
//! yet, the option is stored, and applied when the connection is opened.

use core::{
    ffi::{c_char, c_void},
    mem::size_of,
    ptr, slice, str,
};

use fullpipe::{Duration, Instant, SocketOption, Stack, Tuning};

use super::{
    FpSocket,
    table::{Slot, Socket},
};
use crate::{
    config::borrow_mut,
    enter::{FpStack, StackState, enter},
    errno::{
        Errno, FP_EFAULT, FP_EINVAL, FP_ENOENT, FP_ENOPROTOOPT, FP_ENOTCONN, FP_ERANGE, returned,
    },
    limits::FpLimits,
    tcp_info::FpTcpInfo,
    text::TextBuffer,
};

/// Level of the options of every socket.
pub const FP_SOL_SOCKET: i32 = 1;
/// Level of the options of TCP sockets.
pub const FP_IPPROTO_TCP: i32 = 6;
/// Level of the options that only this stack has.
pub const FP_SOL_FULLPIPE: i32 = 0x4650;

/// The error of a connection, or the last error that the network reported for a UDP socket: int32_t,
/// get only.
pub const FP_SO_ERROR: i32 = 4;
/// Send buffer in bytes, not doubled: uint32_t.
pub const FP_SO_SNDBUF: i32 = 7;
/// Receive buffer in bytes, not doubled: uint32_t.
pub const FP_SO_RCVBUF: i32 = 8;
/// Keepalive probes on or off: uint32_t.
pub const FP_SO_KEEPALIVE: i32 = 9;
/// 1: `fp_close` resets the connection, as SO_LINGER with time 0 does: uint32_t.
pub const FP_SO_LINGER: i32 = 13;
/// Received bytes that make a connection readable: uint32_t.
pub const FP_SO_RCVLOWAT: i32 = 18;
/// Free bytes that make a full connection writable again: uint32_t.
pub const FP_SO_SNDLOWAT: i32 = 19;
/// Longest wait of a receiving call in milliseconds, 0 for no limit: uint32_t.
pub const FP_SO_RCVTIMEO: i32 = 20;
/// Longest wait of a sending call in milliseconds, 0 for no limit: uint32_t.
pub const FP_SO_SNDTIMEO: i32 = 21;

/// 1 switches Nagle's algorithm off: uint32_t.
pub const FP_TCP_NODELAY: i32 = 1;
/// Largest segment in bytes: uint32_t.
pub const FP_TCP_MAXSEG: i32 = 2;
/// 1 delays segments that are not full: uint32_t.
pub const FP_TCP_CORK: i32 = 3;
/// Idle seconds before keepalive probes; setting them switches the probes on: uint32_t.
pub const FP_TCP_KEEPIDLE: i32 = 4;
/// Seconds between keepalive probes: uint32_t.
pub const FP_TCP_KEEPINTVL: i32 = 5;
/// Number of unanswered keepalive probes after which a connection ends: uint32_t.
pub const FP_TCP_KEEPCNT: i32 = 6;
/// Number of timeouts of a SYN after which the attempt to connect ends: uint32_t.
pub const FP_TCP_SYNCNT: i32 = 7;
/// State of a connection: struct fp_tcp_info, get only.
pub const FP_TCP_INFO: i32 = 11;
/// 1 acknowledges every segment at once: uint32_t.
pub const FP_TCP_QUICKACK: i32 = 12;
/// Name of the congestion control algorithm: char[].
pub const FP_TCP_CONGESTION: i32 = 13;
/// Milliseconds for which payload may stay unacknowledged, 0 for the default: uint32_t.
pub const FP_TCP_USER_TIMEOUT: i32 = 18;
/// Largest number of bytes written and not sent, 0 for no limit: uint32_t.
pub const FP_TCP_NOTSENT_LOWAT: i32 = 25;

/// 1: no call on this socket waits: uint32_t.
pub const FP_NONBLOCK: i32 = 1;
/// Limits of a connection: struct fp_limits, get only.
pub const FP_LIMITS: i32 = 2;
/// Datagrams that a UDP socket dropped because its queue or packet memory was full: uint32_t, get
/// only.
pub const FP_DROPS: i32 = 3;
/// Description of a connection with each bound and its knob: char[], get only.
pub const FP_DESCRIPTION: i32 = 4;

/// Largest number of bytes sent and not acknowledged: uint32_t.
pub const FP_UNACKNOWLEDGED: i32 = 5;
/// Largest number of bytes kept out of order: uint32_t.
pub const FP_OUT_OF_ORDER: i32 = 6;

/// Time before keepalive probes if the application sets none. RFC 9293 §3.8.4.
const KEEPALIVE_S: u64 = 7_200;

/// Sets an option from `len` bytes at `value`. Returns 0; -FP_ENOPROTOOPT for an option that the
/// socket does not have; -FP_EINVAL for a wrong length; -FP_ERANGE for a value that is not legal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_setsockopt(
    stack: *mut FpStack,
    socket: FpSocket,
    level: i32,
    name: i32,
    value: *const c_void,
    len: usize,
) -> i32 {
    let change = || {
        if value.is_null() {
            return Err(Errno(FP_EFAULT));
        }
        // SAFETY: the caller passes a stack.
        let mut entered = unsafe { enter(stack) }?;
        let now = entered.now();
        let StackState { stack, sockets, .. } = &mut *entered;
        let slot = sockets.get(socket)?;
        let option = match (level, name) {
            (FP_IPPROTO_TCP, FP_TCP_CONGESTION) => {
                // SAFETY: the caller passes `len` readable bytes.
                let name = unsafe { read_name(value, len) }?;
                SocketOption::Congestion(stack.congestion(name).ok_or(Errno(FP_ENOENT))?)
            }
            _ => {
                // SAFETY: the caller passes `len` readable bytes.
                let number = unsafe { read_number(value, len) }?;
                if set_of_socket(slot, level, name, number)? {
                    return Ok(0);
                }
                option(stack, slot, level, name, number, now)?
            }
        };
        match &mut slot.socket {
            Socket::NewTcp { tuning, .. } => {
                let mut changed = *tuning;
                tune(&mut changed, option);
                stack.check_tuning(&changed)?;
                *tuning = changed;
            }
            Socket::Connection(id) => stack.tcp_set(*id, option, now)?,
            _ => return Err(Errno(FP_ENOPROTOOPT)),
        }
        Ok(0)
    };
    returned(change())
}

/// # Safety
/// `value` is readable for `len` bytes.
unsafe fn read_number(value: *const c_void, len: usize) -> Result<u32, Errno> {
    if len != size_of::<u32>() {
        return Err(Errno(FP_EINVAL));
    }
    // SAFETY: four bytes are readable; they may be unaligned.
    Ok(unsafe { value.cast::<u32>().read_unaligned() })
}

/// # Safety
/// `value` is readable for `len` bytes.
unsafe fn read_name<'a>(value: *const c_void, len: usize) -> Result<&'a str, Errno> {
    if len > 64 {
        return Err(Errno(FP_EINVAL));
    }
    // SAFETY: the caller passes `len` readable bytes.
    let bytes = unsafe { slice::from_raw_parts(value.cast::<u8>(), len) };
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(len);
    str::from_utf8(&bytes[..end]).map_err(|_| Errno(FP_EINVAL))
}

/// Sets an option that is kept in the table of sockets. Returns false for any other option.
fn set_of_socket(slot: &mut Slot, level: i32, name: i32, number: u32) -> Result<bool, Errno> {
    match (level, name) {
        (FP_SOL_SOCKET, FP_SO_RCVTIMEO) => slot.receive_wait_ms = number,
        (FP_SOL_SOCKET, FP_SO_SNDTIMEO) => slot.send_wait_ms = number,
        (FP_SOL_SOCKET, FP_SO_LINGER) => slot.aborts = switch(number)?,
        (FP_SOL_FULLPIPE, FP_NONBLOCK) => slot.never_waits = switch(number)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn switch(number: u32) -> Result<bool, Errno> {
    match number {
        0 | 1 => Ok(number == 1),
        _ => Err(Errno(FP_ERANGE)),
    }
}

/// Returns the stack's option for a level, a name and a value of C.
fn option(
    stack: &mut Stack,
    slot: &Slot,
    level: i32,
    name: i32,
    number: u32,
    now: Instant,
) -> Result<SocketOption, Errno> {
    let seconds = Duration::from_secs(number.into());
    Ok(match (level, name) {
        (FP_SOL_SOCKET, FP_SO_SNDBUF) => SocketOption::SendBuffer(number),
        (FP_SOL_SOCKET, FP_SO_RCVBUF) => SocketOption::ReceiveBuffer(number),
        (FP_SOL_SOCKET, FP_SO_SNDLOWAT) => SocketOption::SendLowWater(number),
        (FP_SOL_SOCKET, FP_SO_RCVLOWAT) => SocketOption::ReceiveLowWater(number),
        (FP_SOL_SOCKET, FP_SO_KEEPALIVE) => {
            let set = settings(stack, slot, now)?.keepalive_time;
            SocketOption::Keepalive(match (switch(number)?, set.is_zero()) {
                (false, _) => Duration::ZERO,
                (true, true) => Duration::from_secs(KEEPALIVE_S),
                (true, false) => set,
            })
        }
        (FP_IPPROTO_TCP, FP_TCP_NODELAY) => SocketOption::NoDelay(switch(number)?),
        (FP_IPPROTO_TCP, FP_TCP_CORK) => SocketOption::Cork(switch(number)?),
        (FP_IPPROTO_TCP, FP_TCP_QUICKACK) => SocketOption::QuickAck(switch(number)?),
        (FP_IPPROTO_TCP, FP_TCP_MAXSEG) => SocketOption::MaxSegment(number),
        (FP_IPPROTO_TCP, FP_TCP_KEEPIDLE) => SocketOption::Keepalive(seconds),
        (FP_IPPROTO_TCP, FP_TCP_KEEPINTVL) => SocketOption::KeepaliveInterval(seconds),
        (FP_IPPROTO_TCP, FP_TCP_KEEPCNT) => SocketOption::KeepaliveProbes(number),
        (FP_IPPROTO_TCP, FP_TCP_SYNCNT) => SocketOption::SynRetries(number),
        (FP_IPPROTO_TCP, FP_TCP_USER_TIMEOUT) => {
            SocketOption::UserTimeout(Duration::from_millis(number.into()))
        }
        (FP_IPPROTO_TCP, FP_TCP_NOTSENT_LOWAT) => SocketOption::UnsentLowWater(number),
        (FP_SOL_FULLPIPE, FP_UNACKNOWLEDGED) => SocketOption::Unacknowledged(number),
        (FP_SOL_FULLPIPE, FP_OUT_OF_ORDER) => SocketOption::OutOfOrder(number),
        _ => return Err(Errno(FP_ENOPROTOOPT)),
    })
}

/// Changes the settings of a socket that is not open yet.
fn tune(tuning: &mut Tuning, option: SocketOption) {
    match option {
        SocketOption::NoDelay(on) => tuning.nagle = !on,
        SocketOption::Cork(on) => tuning.corked = on,
        SocketOption::SendBuffer(bytes) => tuning.fix_send_buffer(bytes),
        SocketOption::SendLowWater(bytes) => tuning.send_low_water = bytes,
        SocketOption::UnsentLowWater(bytes) => tuning.unsent_low_water = bytes,
        SocketOption::ReceiveBuffer(bytes) => tuning.fix_receive_buffer(bytes),
        SocketOption::ReceiveLowWater(bytes) => tuning.receive_low_water = bytes,
        SocketOption::MaxSegment(bytes) => tuning.mss_max = bytes,
        SocketOption::Unacknowledged(bytes) => tuning.unacknowledged = bytes,
        SocketOption::OutOfOrder(bytes) => tuning.out_of_order = bytes,
        SocketOption::Keepalive(time) => tuning.keepalive_time = time,
        SocketOption::KeepaliveInterval(time) => tuning.keepalive_interval = time,
        SocketOption::KeepaliveProbes(probes) => tuning.keepalive_probes = probes,
        SocketOption::SynRetries(timeouts) => tuning.syn_retries = timeouts,
        SocketOption::UserTimeout(time) => tuning.user_timeout = time,
        SocketOption::QuickAck(on) => tuning.quick_ack = on,
        SocketOption::Congestion(choice) => tuning.congestion = Some(choice),
        SocketOption::Urgent => {}
    }
}

/// Returns the settings of a TCP socket.
fn settings(stack: &mut Stack, slot: &Slot, now: Instant) -> Result<Tuning, Errno> {
    match slot.socket {
        Socket::NewTcp { tuning, .. } => Ok(tuning),
        Socket::Connection(id) => Ok(stack.tcp_info(id, now)?.tuning),
        _ => Err(Errno(FP_ENOPROTOOPT)),
    }
}

/// Writes an option to `value`, and its length to `len`. Before the call, `len` must have the number
/// of bytes at `value`; a structure is cut to this length, as in Linux. Returns 0 or an error number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_getsockopt(
    stack: *mut FpStack,
    socket: FpSocket,
    level: i32,
    name: i32,
    value: *mut c_void,
    len: *mut usize,
) -> i32 {
    let get = || {
        // SAFETY: the caller passes a stack and a length.
        let (mut entered, len) = unsafe { (enter(stack)?, borrow_mut(len)?) };
        if value.is_null() {
            return Err(Errno(FP_EFAULT));
        }
        let now = entered.now();
        let StackState { stack, sockets, .. } = &mut *entered;
        let slot = sockets.get(socket)?;
        // SAFETY: the caller passes `len` writable bytes.
        let mut out = unsafe { OptionValue::new(value, len) };
        match (level, name) {
            (FP_IPPROTO_TCP, FP_TCP_INFO) => out.copy(&FpTcpInfo::new(&info(stack, slot, now)?)),
            (FP_SOL_FULLPIPE, FP_LIMITS) => out.copy(&FpLimits::new(&info(stack, slot, now)?)),
            (FP_SOL_FULLPIPE, FP_DESCRIPTION) => {
                let Socket::Connection(id) = slot.socket else {
                    return Err(Errno(FP_ENOTCONN));
                };
                out.print(stack.describe(id, now)?)?;
            }
            (FP_IPPROTO_TCP, FP_TCP_CONGESTION) => {
                let choice = settings(stack, slot, now)?.congestion;
                let name = choice.and_then(|choice| stack.congestion_name(choice));
                out.print(name.unwrap_or("default"))?;
            }
            _ => out.copy(&number(stack, slot, level, name, now)?),
        }
        Ok(0)
    };
    returned(get())
}

/// The caller's memory for the value of an option.
struct OptionValue<'a> {
    value: *mut c_void,
    /// Bytes of the memory; after a write, the length of the value.
    len: &'a mut usize,
}

impl<'a> OptionValue<'a> {
    /// # Safety
    /// `value` is writable for `len` bytes.
    unsafe fn new(value: *mut c_void, len: &'a mut usize) -> Self {
        Self { value, len }
    }

    /// Copies a structure, cut to the length of the memory.
    fn copy<T: Copy>(&mut self, from: &T) {
        let count = size_of::<T>().min(*self.len);
        // SAFETY: the place is writable for `len` bytes; `T` has no padding that matters to C.
        unsafe {
            ptr::copy_nonoverlapping(ptr::from_ref(from).cast::<u8>(), self.value.cast(), count);
        }
        *self.len = count;
    }

    /// Writes text with a NUL, cut to the length of the memory.
    fn print(&mut self, text: impl core::fmt::Display) -> Result<(), Errno> {
        // SAFETY: the place is writable for `len` bytes.
        let buffer = unsafe { TextBuffer::new(self.value.cast::<c_char>(), *self.len) }?;
        *self.len = buffer.print(text) as usize;
        Ok(())
    }
}

fn info(stack: &mut Stack, slot: &Slot, now: Instant) -> Result<fullpipe::Info, Errno> {
    match slot.socket {
        Socket::Connection(id) => Ok(stack.tcp_info(id, now)?),
        _ => Err(Errno(FP_ENOTCONN)),
    }
}

/// Returns the value of an option that is a number.
fn number(
    stack: &mut Stack,
    slot: &Slot,
    level: i32,
    name: i32,
    now: Instant,
) -> Result<u32, Errno> {
    match (level, name) {
        (FP_SOL_SOCKET, FP_SO_RCVTIMEO) => return Ok(slot.receive_wait_ms),
        (FP_SOL_SOCKET, FP_SO_SNDTIMEO) => return Ok(slot.send_wait_ms),
        (FP_SOL_SOCKET, FP_SO_LINGER) => return Ok(slot.aborts.into()),
        (FP_SOL_FULLPIPE, FP_NONBLOCK) => return Ok(slot.never_waits.into()),
        (FP_SOL_SOCKET, FP_SO_ERROR) => return error(stack, slot, now),
        (FP_SOL_FULLPIPE, FP_DROPS) => {
            return match slot.socket {
                Socket::Udp { id, .. } => Ok(stack.udp_info(id)?.drops.min(u32::MAX.into()) as u32),
                _ => Err(Errno(FP_ENOPROTOOPT)),
            };
        }
        _ => {}
    }
    let tuning = settings(stack, slot, now)?;
    let seconds = |time: Duration| time.as_secs().min(u32::MAX.into()) as u32;
    Ok(match (level, name) {
        (FP_SOL_SOCKET, FP_SO_SNDBUF) => tuning.send_buffer,
        (FP_SOL_SOCKET, FP_SO_RCVBUF) => tuning.receive_buffer,
        (FP_SOL_SOCKET, FP_SO_SNDLOWAT) => tuning.send_low_water,
        (FP_SOL_SOCKET, FP_SO_RCVLOWAT) => tuning.receive_low_water,
        (FP_SOL_SOCKET, FP_SO_KEEPALIVE) => (!tuning.keepalive_time.is_zero()).into(),
        (FP_IPPROTO_TCP, FP_TCP_NODELAY) => (!tuning.nagle).into(),
        (FP_IPPROTO_TCP, FP_TCP_CORK) => tuning.corked.into(),
        (FP_IPPROTO_TCP, FP_TCP_QUICKACK) => tuning.quick_ack.into(),
        (FP_IPPROTO_TCP, FP_TCP_MAXSEG) => match slot.socket {
            Socket::Connection(id) => stack.tcp_info(id, now)?.mss,
            _ => tuning.mss_max,
        },
        (FP_IPPROTO_TCP, FP_TCP_KEEPIDLE) => seconds(tuning.keepalive_time),
        (FP_IPPROTO_TCP, FP_TCP_KEEPINTVL) => seconds(tuning.keepalive_interval),
        (FP_IPPROTO_TCP, FP_TCP_KEEPCNT) => tuning.keepalive_probes,
        (FP_IPPROTO_TCP, FP_TCP_SYNCNT) => tuning.syn_retries,
        (FP_IPPROTO_TCP, FP_TCP_USER_TIMEOUT) => {
            tuning.user_timeout.as_millis().min(u32::MAX.into()) as u32
        }
        (FP_IPPROTO_TCP, FP_TCP_NOTSENT_LOWAT) => tuning.unsent_low_water,
        (FP_SOL_FULLPIPE, FP_UNACKNOWLEDGED) => tuning.unacknowledged,
        (FP_SOL_FULLPIPE, FP_OUT_OF_ORDER) => tuning.out_of_order,
        _ => return Err(Errno(FP_ENOPROTOOPT)),
    })
}

/// Returns the error of a socket, 0 if there is none.
fn error(stack: &mut Stack, slot: &Slot, now: Instant) -> Result<u32, Errno> {
    use crate::errno::{FP_ECONNREFUSED, FP_EHOSTUNREACH, FP_EMSGSIZE};
    use fullpipe::{CloseReason, PathError};
    let number = match slot.socket {
        Socket::Connection(id) => match stack.tcp_ready(id, now)?.closed {
            None | Some(CloseReason::Finished) => 0,
            Some(reason) => Errno::from(reason).0,
        },
        Socket::Udp { id, .. } => match stack.udp_take_error(id)? {
            None => 0,
            Some((_, PathError::Unreachable { hard: true })) => FP_ECONNREFUSED,
            Some((_, PathError::Unreachable { hard: false } | PathError::TimeExceeded)) => {
                FP_EHOSTUNREACH
            }
            Some((_, PathError::FragmentationNeeded { .. })) => FP_EMSGSIZE,
        },
        Socket::NewTcp { .. } | Socket::NewUdp | Socket::Listener(_) | Socket::Free => 0,
    };
    Ok(number as u32)
}
