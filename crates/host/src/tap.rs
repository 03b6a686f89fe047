//! A TAP or TUN device of Linux: frames to and from the kernel's own stack.
//!
//! Rule: a device that was there is given back as it was found; one that we made
//! goes with its descriptor, however this process ends. One system call moves
//! one frame; nothing waits here.

use std::{
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd},
        unix::fs::OpenOptionsExt,
    },
};

use fullpipe::device::{Capabilities, Device, Medium, Received, RxMeta, TxChecksum, TxMeta};

use crate::{
    errno::{DeviceError, check},
    interface::{self, Control},
    netlink::{self, Change},
    runtime::HostDevice,
    spec::{DeviceSpec, Prefix},
};

const PATH: &str = "/dev/net/tun";
/// `struct virtio_net_hdr`, which precedes each frame when checksums are left
/// out or segments are cut by the other side.
const VNET_LEN: usize = 10;
/// In its first byte: the checksum is only begun.
const NEEDS_CHECKSUM: u8 = 1;
/// In its first byte: the checksum was verified.
const CHECKSUM_VALID: u8 = 2;
/// In its second byte: the frame is to be cut into TCP segments over IPv4.
const CUT_TCP4: u8 = 1;
/// The bit of that byte which says that CWR is among the flags.
const CUT_ECN: u8 = 0x80;
/// Largest Ethernet header, VLAN tag included.
const LINK_MAX: usize = 18;
/// Smallest MTU that IPv4 works over, and the largest that the kernel takes.
const MTU_RANGE: std::ops::RangeInclusive<usize> = 68..=65_521;

/// Largest IP packet there is, whoever cuts it.
const LARGEST_PACKET: usize = u16::MAX as usize;

/// How to open a device.
#[derive(Clone, Debug)]
pub struct TapOptions {
    /// Which.
    pub spec: DeviceSpec,
    /// Largest IP packet in bytes; `None` leaves what the device has.
    pub mtu: Option<usize>,
    /// An address for the kernel's end.
    pub host_address: Option<Prefix>,
    /// Let the kernel leave out checksums of frames that never leave this
    /// machine. A capture of such frames shows wrong checksums.
    pub checksum_offload: bool,
    /// Exchange frames of many segments with the kernel, which cuts them where a
    /// wire needs it. Only together with `checksum_offload`.
    pub segment_offload: bool,
}

impl TapOptions {
    /// As the device is, with both offloads.
    pub fn new(spec: DeviceSpec) -> Self {
        Self {
            spec,
            mtu: None,
            host_address: None,
            checksum_offload: true,
            segment_offload: true,
        }
    }
}

/// What was changed about a device that was there before, and about our own.
#[derive(Debug, Default)]
struct Undo {
    was_there: bool,
    mtu: Option<usize>,
    down: bool,
    address: Option<(u32, Prefix)>,
}

/// An open device.
#[derive(Debug)]
pub struct Tap {
    file: File,
    name: String,
    capabilities: Capabilities,
    /// Bytes before each frame.
    head_len: usize,
    incoming: Box<[u8]>,
    outgoing: Box<[u8]>,
    full: bool,
    refused: u64,
    failure: Option<io::Error>,
    undo: Undo,
}

impl Tap {
    /// Opens the device, or makes it; brings it up.
    ///
    /// # Errors
    /// One line that names what is missing and what to do. The device is then as
    /// it was before.
    pub fn open(options: &TapOptions) -> Result<Self, DeviceError> {
        let DeviceSpec { medium, name } = &options.spec;
        if let Some(mtu) = options.mtu.filter(|mtu| !MTU_RANGE.contains(mtu)) {
            let source = io::Error::from_raw_os_error(libc::EINVAL);
            return Err(
                DeviceError::new(format!("{name} cannot have an MTU of {mtu}"), source)
                    .advise(format!("use {} to {}", MTU_RANGE.start(), MTU_RANGE.end())),
            );
        }
        if let Some(prefix) = &options.host_address {
            check_free(prefix, name)?;
        }
        let was_there = interface::index(name).is_some();
        let file = open_tun()?;
        let offload = attach(&file, options, was_there)?;
        let head_len = if offload { VNET_LEN } else { 0 };
        let mut tap = Self {
            file,
            name: name.clone(),
            capabilities: Capabilities::plain(*medium, 0),
            head_len,
            incoming: Box::default(),
            outgoing: Box::default(),
            full: false,
            refused: 0,
            failure: None,
            undo: Undo {
                was_there,
                ..Undo::default()
            },
        };
        // From here on a failure drops `tap`, which takes everything back.
        tap.capabilities.checksum_tx = offload;
        tap.set_up(options)?;
        let largest = if offload && options.segment_offload {
            tap.capabilities.super_segment = LARGEST_PACKET;
            LARGEST_PACKET
        } else {
            tap.capabilities.mtu
        };
        let frame_len = head_len + LINK_MAX + largest;
        tap.incoming = vec![0; frame_len].into();
        tap.outgoing = vec![0; frame_len].into();
        Ok(tap)
    }

    fn set_up(&mut self, options: &TapOptions) -> Result<(), DeviceError> {
        let name = &self.name;
        let failed = |what: String| move |source| DeviceError::privileged(what, source);
        let control =
            Control::open().map_err(failed("cannot talk to the kernel about devices".into()))?;
        let mut mtu = control
            .mtu(name)
            .map_err(failed(format!("cannot read the MTU of {name}")))?;
        if let Some(wanted) = options.mtu.filter(|wanted| *wanted != mtu) {
            control
                .set_mtu(name, wanted)
                .map_err(failed(format!("cannot set the MTU of {name} to {wanted}")))?;
            self.undo.mtu = Some(mtu);
            mtu = wanted;
        }
        self.capabilities.mtu = mtu;
        if let Some(prefix) = options.host_address {
            let index = interface::index(name).unwrap_or(0);
            match netlink::change_address(Change::Add, index, &prefix) {
                Ok(()) => self.undo.address = Some((index, prefix)),
                // It has the address already, and keeps it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(failed(format!("cannot give {name} the address {prefix}"))(
                        error,
                    ));
                }
            }
        }
        if !control
            .is_up(name)
            .map_err(failed(format!("cannot read the state of {name}")))?
        {
            control
                .set_up(name, true)
                .map_err(failed(format!("cannot bring {name} up")))?;
            self.undo.down = true;
        }
        Ok(())
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Frames that the kernel refused to take.
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    fn take_back(&mut self) -> io::Result<()> {
        let undo = std::mem::take(&mut self.undo);
        if !undo.was_there {
            return Ok(()); // closing the descriptor removes it
        }
        if let Some((index, prefix)) = undo.address {
            netlink::change_address(Change::Remove, index, &prefix)?;
        }
        let control = Control::open()?;
        if undo.down {
            control.set_up(&self.name, false)?;
        }
        if let Some(mtu) = undo.mtu {
            control.set_mtu(&self.name, mtu)?;
        }
        if self.head_len > 0 {
            set_offload(&self.file, 0)?;
        }
        Ok(())
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        // Nobody is left to be told; the device works either way.
        let _ = self.take_back();
    }
}

/// An address that another interface has would make replies go astray.
fn check_free(prefix: &Prefix, name: &str) -> Result<(), DeviceError> {
    let failed = |source| DeviceError::new("cannot list this machine's addresses", source);
    match interface::holder_of(prefix.address).map_err(failed)? {
        Some(holder) if holder != name => {
            let source = io::Error::from_raw_os_error(libc::EADDRINUSE);
            Err(DeviceError::new(
                format!("{name} cannot have the address {}", prefix.address),
                source,
            )
            .advise(format!(
                "{holder} has it: choose another network for --host-addr"
            )))
        }
        Some(_) | None => Ok(()),
    }
}

fn open_tun() -> Result<File, DeviceError> {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(PATH).map_err(|source| {
        let code = source.raw_os_error();
        let error = DeviceError::privileged(format!("cannot open {PATH}"), source);
        match code {
            Some(libc::ENOENT) => error.advise("load the module (modprobe tun), or give the container the device (--device /dev/net/tun)"),
            Some(libc::ENODEV | libc::ENXIO) => error.advise("this kernel has no TUN/TAP driver: load the module (modprobe tun)"),
            _ => error,
        }
    })
}

/// Binds `file` to the interface. Returns whether checksums are left out.
fn attach(file: &File, options: &TapOptions, was_there: bool) -> Result<bool, DeviceError> {
    let &TapOptions {
        ref spec,
        checksum_offload,
        segment_offload,
        ..
    } = options;
    let (kind, word) = match spec.medium {
        Medium::Ethernet => (libc::IFF_TAP, "tap"),
        Medium::Ip => (libc::IFF_TUN, "tun"),
    };
    let vnet = if checksum_offload {
        libc::IFF_VNET_HDR
    } else {
        0
    };
    let mut request = interface::request(&spec.name);
    request.ifr_ifru.ifru_flags = (kind | libc::IFF_NO_PI | vnet) as libc::c_short;
    // SAFETY: this ioctl takes an `ifreq`, which outlives the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) })
        .map_err(|source| refused(spec, word, was_there, source))?;
    if !checksum_offload {
        return Ok(false);
    }
    let segments = if segment_offload { libc::TUN_F_TSO4 } else { 0 };
    set_offload(file, libc::TUN_F_CSUM | segments)
        .map(|()| true)
        .map_err(|source| {
            DeviceError::new(
                format!("cannot switch the offloads of {} on", spec.name),
                source,
            )
        })
}

fn refused(spec: &DeviceSpec, word: &str, was_there: bool, source: io::Error) -> DeviceError {
    let name = &spec.name;
    let verb = if was_there { "open" } else { "create" };
    let error = DeviceError::new(
        format!("cannot {verb} {spec}"),
        io::Error::from_raw_os_error(source.raw_os_error().unwrap_or(libc::EIO)),
    );
    match source.raw_os_error() {
        Some(libc::EPERM) if was_there => error.advise(format!(
            "it belongs to somebody else, or this needs the capability CAP_NET_ADMIN: run as root, or let root create it for you (ip tuntap add dev {name} mode {word} user $USER)"
        )),
        Some(libc::EPERM) => error.advise(format!(
            "this needs the capability CAP_NET_ADMIN: run as root, or let root create it for you (ip tuntap add dev {name} mode {word} user $USER)"
        )),
        Some(libc::EBUSY) => error.advise("another program has it open: stop that one or choose another name"),
        Some(libc::EINVAL) if was_there => error.advise(format!("{name} exists and is no {word} device with one queue: choose another name")),
        _ => error,
    }
}

fn set_offload(file: &File, offload: libc::c_uint) -> io::Result<()> {
    // SAFETY: this ioctl takes a number.
    check(unsafe {
        libc::ioctl(
            file.as_raw_fd(),
            libc::TUNSETOFFLOAD as _,
            libc::c_ulong::from(offload),
        )
    })
    .map(drop)
}

/// How many segments the frame behind `head` would be on a wire; 0 when it is
/// one as it is. The kernel says where the TCP header begins and how much text
/// each carries; what it says of the headers' length is only how much of the
/// frame lies together in its memory.
fn merged(head: &[u8], frame: &[u8]) -> u16 {
    let Some(
        &[
            _,
            kind,
            _,
            _,
            size_low,
            size_high,
            start_low,
            start_high,
            ..,
        ],
    ) = head.first_chunk::<VNET_LEN>()
    else {
        return 0;
    };
    let size = usize::from(u16::from_ne_bytes([size_low, size_high]));
    let tcp = usize::from(u16::from_ne_bytes([start_low, start_high]));
    let Some(offset) = frame.get(tcp + 12).filter(|_| kind & !CUT_ECN == CUT_TCP4) else {
        return 0;
    };
    let headers = tcp + usize::from(offset >> 4) * 4;
    let text = frame.len().saturating_sub(headers);
    text.checked_div(size)
        .map_or(0, |_| text.div_ceil(size).min(u16::MAX.into()) as u16)
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl HostDevice for Tap {
    fn failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }
}

impl Device for Tap {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        let len = match io::Read::read(&mut &self.file, &mut self.incoming) {
            Ok(len) => len,
            Err(error) => {
                if !matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) {
                    self.failure = Some(error);
                }
                return None;
            }
        };
        let (head, frame) = self.incoming[..len].split_at_checked(self.head_len)?;
        // What the kernel only began comes from this machine's memory.
        let checksum_verified = head
            .first()
            .is_some_and(|flags| flags & (NEEDS_CHECKSUM | CHECKSUM_VALID) != 0);
        Some(Received {
            frame,
            meta: RxMeta {
                checksum_verified,
                merged: merged(head, frame),
            },
        })
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        if self.full {
            // Perhaps the kernel has room by now: one frame will tell.
            self.full = false;
            return None;
        }
        self.outgoing.get_mut(self.head_len..self.head_len + len)
    }

    fn send(&mut self, len: usize, meta: TxMeta) {
        if self.head_len > 0 {
            let head = &mut self.outgoing[..VNET_LEN];
            head.fill(0);
            match meta.checksum {
                TxChecksum::Complete => {}
                TxChecksum::Partial { start, offset } => {
                    head[0] = NEEDS_CHECKSUM;
                    head[6..8].copy_from_slice(&start.to_ne_bytes());
                    head[8..10].copy_from_slice(&offset.to_ne_bytes());
                }
            }
            if meta.segment_size > 0 {
                head[1] = CUT_TCP4;
                head[2..4].copy_from_slice(&meta.header_len.to_ne_bytes());
                head[4..6].copy_from_slice(&meta.segment_size.to_ne_bytes());
            }
        }
        match io::Write::write(&mut &self.file, &self.outgoing[..self.head_len + len]) {
            Ok(_) => {}
            Err(error) => {
                // Lost, as on any wire; TCP sends it again.
                self.refused += 1;
                self.full = error.kind() == io::ErrorKind::WouldBlock;
            }
        }
    }
}
