//! Options, address and filter of a packet socket (`AF_PACKET`).
//!
//! Rule: each function is one system call on the socket that it is given. An interface that a
//! socket made promiscuous stays promiscuous until the socket is closed or the process is killed.

use std::{
    io, mem,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use fullpipe::MacAddress;

use crate::errno::check;

/// Every EtherType, in network byte order.
const EVERY_PROTOCOL: u16 = (libc::ETH_P_ALL as u16).to_be();
/// Offset at which a filter reads the VLAN tag that the kernel has removed.
const VLAN_TAG: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TAG) as u32;
/// Mask of the VLAN's number in a tag.
const VLAN_NUMBER: u32 = 0xfff;
/// Number of bytes that an accepted frame keeps: all, because no frame is longer than this.
const WHOLE: u32 = 1 << 18;

/// Opens a packet socket, which receives nothing before [`bind`].
pub(crate) fn open() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed; nothing else owns the returned descriptor.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the kernel has just returned `fd`, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes `socket` receive the frames of interface number `index`.
pub(super) fn bind(socket: &OwnedFd, index: u32) -> io::Result<()> {
    // SAFETY: `sockaddr_ll` is plain data, for which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = EVERY_PROTOCOL;
    address.sll_ifindex = index as libc::c_int;
    let len = mem::size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer and the length describe `address`, which the call only reads.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) }).map(drop)
}

/// Makes interface number `index` receive frames for any station while `socket` is open.
pub(crate) fn make_promiscuous(socket: &OwnedFd, index: u32) -> io::Result<()> {
    let membership = libc::packet_mreq {
        mr_ifindex: index as libc::c_int,
        mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(socket, libc::PACKET_ADD_MEMBERSHIP, &membership)
}

/// Sets a socket option of the level `SOL_PACKET`, whose value is a `T`.
pub(super) fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    set_at(socket, libc::SOL_PACKET, option, value)
}

/// Sets a socket option whose value is a `T`.
pub(crate) fn set_at<T>(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let (at, len) = (&raw const *value, mem::size_of::<T>() as libc::socklen_t);
    // SAFETY: the pointer and the length describe `value`, which the call only reads; each
    // option is set with the type that it takes.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, at.cast(), len) }).map(drop)
}

/// Makes the kernel drop unicast frames for stations other than `mac`, and frames of VLANs, whose
/// tags the kernel has removed.
pub(super) fn filter(socket: &OwnedFd, mac: MacAddress) -> io::Result<()> {
    let MacAddress([a, b, c, d, e, f]) = mac;
    let step = |code: u32, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let load = |size, at| step(libc::BPF_LD | size | libc::BPF_ABS, 0, 0, at);
    let jump = |test, k, jt, jf| step(libc::BPF_JMP | test | libc::BPF_K, jt, jf, k);
    let give = |len| step(libc::BPF_RET | libc::BPF_K, 0, 0, len);
    let mut steps = [
        load(libc::BPF_W, VLAN_TAG),
        jump(libc::BPF_JSET, VLAN_NUMBER, 7, 0),
        load(libc::BPF_B, 0),
        jump(libc::BPF_JSET, 1, 4, 0), // a group address
        load(libc::BPF_W, 0),
        jump(libc::BPF_JEQ, u32::from_be_bytes([a, b, c, d]), 0, 3),
        load(libc::BPF_H, 4),
        jump(libc::BPF_JEQ, u16::from_be_bytes([e, f]).into(), 0, 1),
        give(WHOLE),
        give(0),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as libc::c_ushort,
        filter: steps.as_mut_ptr(),
    };
    set_at(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}
