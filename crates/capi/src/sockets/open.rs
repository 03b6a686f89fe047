//! Opening and closing sockets: `fp_socket` to `fp_close`.
//!
//! Rule: a socket takes an entry of the stack's tables only in `fp_listen` or `fp_connect` or, for
//! UDP, when it gets a port. The address is checked at that moment, so for TCP `fp_bind` only stores
//! the address.

use core::net::{Ipv4Addr, SocketAddr};

use fullpipe::{ConnectOptions, Instant, ListenOptions, Stack, UdpId};

use super::{Direction, FpSocket, blocking, table::Socket};
use crate::{
    address::FpAddress,
    config::{borrow, borrow_mut},
    enter::{FpStack, StackState, enter},
    errno::{
        Errno, FP_EAGAIN, FP_EALREADY, FP_EDESTADDRREQ, FP_EINPROGRESS, FP_EINVAL, FP_EISCONN,
        FP_ENOTCONN, FP_EOPNOTSUPP, returned,
    },
};

/// A TCP socket.
pub const FP_SOCK_STREAM: i32 = 1;
/// A UDP socket.
pub const FP_SOCK_DGRAM: i32 = 2;

/// For `fp_shutdown`: the program reads nothing more.
pub const FP_SHUT_RD: i32 = 0;
/// For `fp_shutdown`: the program writes nothing more; the peer reads the end of the stream.
pub const FP_SHUT_WR: i32 = 1;
/// For `fp_shutdown`: the program reads and writes nothing more.
pub const FP_SHUT_RDWR: i32 = 2;

/// Every address of this host, and a port that the stack chooses.
const ANY: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// Opens a TCP socket (FP_SOCK_STREAM) or a UDP socket (FP_SOCK_DGRAM). Returns its handle;
/// -FP_EINVAL for another kind; -FP_ENFILE if there are as many sockets as the knobs
/// stack.connections, stack.listeners and udp.sockets together allow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_socket(stack: *mut FpStack, kind: i32) -> FpSocket {
    let open = || {
        // SAFETY: the caller passes a stack.
        let mut entered = unsafe { enter(stack) }?;
        let tuning = entered.sockets.tuning;
        let socket = match kind {
            FP_SOCK_STREAM => Socket::NewTcp {
                local: None,
                tuning,
            },
            FP_SOCK_DGRAM => Socket::NewUdp,
            _ => return Err(Errno(FP_EINVAL)),
        };
        entered.sockets.add(socket)
    };
    returned(open())
}

/// Gives a socket its local address and port. Returns 0; -FP_EINVAL if it already has an address;
/// -FP_EADDRINUSE or -FP_EADDRNOTAVAIL (for TCP, `fp_listen` and `fp_connect` return these two).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_bind(
    stack: *mut FpStack,
    socket: FpSocket,
    address: *const FpAddress,
) -> i32 {
    let bind = || {
        // SAFETY: the caller passes a stack and an address.
        let (mut entered, address) = unsafe { (enter(stack)?, borrow(address)?.read()?) };
        let StackState { stack, sockets, .. } = &mut *entered;
        let slot = sockets.get(socket)?;
        match &mut slot.socket {
            Socket::NewTcp {
                local: local @ None,
                ..
            } => *local = Some(address),
            Socket::NewUdp => {
                let id = stack.udp_bind(address)?;
                slot.socket = Socket::Udp { id, peer: None };
            }
            Socket::NewTcp { .. }
            | Socket::Listener(_)
            | Socket::Connection(_)
            | Socket::Udp { .. }
            | Socket::Free => return Err(Errno(FP_EINVAL)),
        }
        Ok(0)
    };
    returned(bind())
}

/// Listens at the socket's address. At most `backlog` connections wait to be accepted; if `backlog`
/// is 0 or less, the knob stack.backlog applies. Accepted connections get the settings that the
/// socket has now; later the socket's settings cannot be changed. Returns 0 or an error number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_listen(stack: *mut FpStack, socket: FpSocket, backlog: i32) -> i32 {
    let listen = || {
        // SAFETY: the caller passes a stack.
        let mut entered = unsafe { enter(stack) }?;
        let StackState { stack, sockets, .. } = &mut *entered;
        let slot = sockets.get(socket)?;
        let Socket::NewTcp { local, tuning } = slot.socket else {
            return Err(Errno(match slot.socket {
                Socket::NewUdp | Socket::Udp { .. } => FP_EOPNOTSUPP,
                _ => FP_EINVAL,
            }));
        };
        let options = ListenOptions {
            backlog: u32::try_from(backlog).ok().filter(|most| *most > 0),
            tuning: Some(tuning),
            ..ListenOptions::default()
        };
        let id = stack.tcp_listen(local.ok_or(Errno(FP_EDESTADDRREQ))?, options)?;
        slot.socket = Socket::Listener(id);
        Ok(0)
    };
    returned(listen())
}

/// Accepts the connection that has waited longest, and writes the peer's address to `peer` unless
/// `peer` is NULL. Returns the handle of a new socket; -FP_EAGAIN if no connection waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_accept(
    stack: *mut FpStack,
    socket: FpSocket,
    peer: *mut FpAddress,
) -> FpSocket {
    let attempt = |state: &mut StackState, now: Instant| {
        let StackState { stack, sockets, .. } = state;
        let Socket::Listener(listener) = sockets.get(socket)?.socket else {
            return Err(Errno(FP_EINVAL));
        };
        if stack.tcp_backlog(listener)? == 0 {
            return Err(Errno(FP_EAGAIN));
        }
        // Take a place in the table first. If there is none, the connection stays in the backlog.
        let handle = sockets.add(Socket::NewUdp)?;
        let Some((id, from)) = stack.tcp_accept(listener, now)? else {
            sockets.remove(handle);
            return Err(Errno(FP_EAGAIN));
        };
        sockets.get(handle)?.socket = Socket::Connection(id);
        if !peer.is_null() && peer.is_aligned() {
            // SAFETY: the pointer is aligned and not null; the caller passes memory for an address.
            unsafe { peer.write(FpAddress::new(from)) };
        }
        Ok(handle)
    };
    // SAFETY: the caller passes a stack.
    unsafe { blocking(stack, socket, Direction::Receive, false, attempt) }
}

/// Connects a socket to `remote`. Returns 0 once a TCP connection is established, or the reason of
/// the failure. If the call does not wait, it first returns -FP_EINPROGRESS; further calls return
/// -FP_EALREADY until the connection is established or has failed. A connected UDP socket exchanges
/// datagrams with `remote` only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_connect(
    stack: *mut FpStack,
    socket: FpSocket,
    remote: *const FpAddress,
) -> i32 {
    // SAFETY: the caller passes an address.
    let remote = match unsafe { borrow(remote) }.and_then(FpAddress::read) {
        Ok(remote) => remote,
        Err(error) => return returned(Err(error)),
    };
    let mut begun = false;
    let attempt = |state: &mut StackState, now: Instant| {
        let result = connect(state, socket, remote, now);
        begun |= result == Err(Errno(FP_EINPROGRESS));
        match result {
            Err(Errno(FP_EINPROGRESS | FP_EALREADY)) => Err(Errno(FP_EAGAIN)),
            other => other,
        }
    };
    // SAFETY: the caller passes a stack.
    let result = unsafe { blocking(stack, socket, Direction::Send, false, attempt) };
    match result == -FP_EAGAIN {
        true if begun => -FP_EINPROGRESS,
        true => -FP_EALREADY,
        false => result,
    }
}

fn connect(
    state: &mut StackState,
    socket: FpSocket,
    remote: SocketAddr,
    now: Instant,
) -> Result<i32, Errno> {
    let id = udp_id(state, socket)?;
    let StackState { stack, sockets, .. } = state;
    let slot = sockets.get(socket)?;
    match slot.socket {
        Socket::NewTcp { local, tuning } => {
            let options = ConnectOptions {
                tuning: Some(tuning),
            };
            let id = stack.tcp_connect(remote, local, options, now)?;
            slot.socket = Socket::Connection(id);
            slot.connecting = true;
            Err(Errno(FP_EINPROGRESS))
        }
        Socket::Connection(id) => {
            let ready = stack.tcp_ready(id, now)?;
            if let Some(reason) = ready.closed {
                slot.connecting = false;
                return Err(reason.into());
            }
            if !ready.connected {
                return Err(Errno(FP_EALREADY));
            }
            match core::mem::take(&mut slot.connecting) {
                true => Ok(0),
                false => Err(Errno(FP_EISCONN)),
            }
        }
        Socket::Udp { .. } => {
            let Some(id) = id else {
                return Err(Errno(FP_EINVAL));
            };
            slot.socket = Socket::Udp {
                id,
                peer: Some(remote),
            };
            Ok(0)
        }
        Socket::Listener(_) | Socket::NewUdp | Socket::Free => Err(Errno(FP_EOPNOTSUPP)),
    }
}

/// Returns the id of a UDP socket. If the socket has no port, gives it one first. Returns `None` for
/// a TCP socket.
pub(super) fn udp_id(state: &mut StackState, socket: FpSocket) -> Result<Option<UdpId>, Errno> {
    let slot = state.sockets.get(socket)?;
    Ok(match slot.socket {
        Socket::NewUdp => {
            let id = state.stack.udp_bind(ANY)?;
            slot.socket = Socket::Udp { id, peer: None };
            Some(id)
        }
        Socket::Udp { id, .. } => Some(id),
        Socket::NewTcp { .. } | Socket::Listener(_) | Socket::Connection(_) | Socket::Free => None,
    })
}

/// Closes one or both directions of a connection (FP_SHUT_...). Returns 0 or an error number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_shutdown(stack: *mut FpStack, socket: FpSocket, how: i32) -> i32 {
    let shutdown = || {
        // SAFETY: the caller passes a stack.
        let mut entered = unsafe { enter(stack) }?;
        let now = entered.now();
        let StackState { stack, sockets, .. } = &mut *entered;
        let Socket::Connection(id) = sockets.get(socket)?.socket else {
            return Err(Errno(FP_ENOTCONN));
        };
        if !(FP_SHUT_RD..=FP_SHUT_RDWR).contains(&how) {
            return Err(Errno(FP_EINVAL));
        }
        if how != FP_SHUT_WR {
            stack.tcp_shutdown_read(id, now)?;
        }
        if how != FP_SHUT_RD {
            stack.tcp_shutdown(id, now)?;
        }
        Ok(0)
    };
    returned(shutdown())
}

/// Closes a socket without waiting: written payload is still delivered afterwards. The handle is no
/// longer valid. Returns 0 or -FP_EBADF.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_close(stack: *mut FpStack, socket: FpSocket) -> i32 {
    let close = || {
        // SAFETY: the caller passes a stack.
        let mut entered = unsafe { enter(stack) }?;
        let now = entered.now();
        let StackState { stack, sockets, .. } = &mut *entered;
        let slot = sockets.get(socket)?;
        match slot.socket {
            Socket::Listener(id) => stack.tcp_close_listener(id, now)?,
            Socket::Connection(id) if slot.aborts => stack.tcp_abort(id, now)?,
            Socket::Connection(id) => stack.tcp_close(id, now)?,
            Socket::Udp { id, .. } => stack.udp_close(id)?,
            Socket::NewTcp { .. } | Socket::NewUdp | Socket::Free => {}
        }
        sockets.remove(socket);
        Ok(0)
    };
    returned(close())
}

/// Writes the socket's own address to `address`. Returns 0 or an error number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_getsockname(
    stack: *mut FpStack,
    socket: FpSocket,
    address: *mut FpAddress,
) -> i32 {
    let local = |stack: &Stack, socket: &Socket| match *socket {
        Socket::NewTcp { local, .. } => Ok(local.unwrap_or(ANY)),
        Socket::Connection(id) => Ok(stack.tcp_ends(id)?.0),
        Socket::Udp { id, .. } => Ok(stack.udp_local(id)?),
        Socket::NewUdp => Ok(ANY),
        Socket::Listener(_) | Socket::Free => Err(Errno(FP_EOPNOTSUPP)),
    };
    // SAFETY: the caller passes a stack, and memory for an address or null.
    unsafe { write_address(stack, socket, address, local) }
}

/// Writes the address of the peer to `address`. Returns 0, or -FP_ENOTCONN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_getpeername(
    stack: *mut FpStack,
    socket: FpSocket,
    address: *mut FpAddress,
) -> i32 {
    let remote = |stack: &Stack, socket: &Socket| match *socket {
        Socket::Connection(id) => Ok(stack.tcp_ends(id)?.1),
        Socket::Udp {
            peer: Some(peer), ..
        } => Ok(peer),
        Socket::NewTcp { .. }
        | Socket::NewUdp
        | Socket::Udp { peer: None, .. }
        | Socket::Listener(_)
        | Socket::Free => Err(Errno(FP_ENOTCONN)),
    };
    // SAFETY: the caller passes a stack, and memory for an address or null.
    unsafe { write_address(stack, socket, address, remote) }
}

/// Writes the address that `choose` takes from a socket to `address`. Returns 0 or an error number.
///
/// # Safety
/// The caller passes a stack, and memory for an address or null.
unsafe fn write_address(
    stack: *mut FpStack,
    socket: FpSocket,
    address: *mut FpAddress,
    choose: impl FnOnce(&Stack, &Socket) -> Result<SocketAddr, Errno>,
) -> i32 {
    let write = || {
        // SAFETY: the caller passes a stack, and memory for an address or null.
        let (mut entered, address) = unsafe { (enter(stack)?, borrow_mut(address)?) };
        let StackState { stack, sockets, .. } = &mut *entered;
        *address = FpAddress::new(choose(stack, &sockets.get(socket)?.socket)?);
        Ok(0)
    };
    returned(write())
}
