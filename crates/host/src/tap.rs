//! A TAP or TUN device of Linux, which exchanges frames with the kernel's own stack.
//!
//! Rule: a device that existed before gets its former settings back. A device that was created here
//! is removed when its descriptor is closed, even if this process crashes. One system call moves
//! one frame, and no call waits.

use std::{
    fs::{File, OpenOptions},
    io::{self, IoSlice, IoSliceMut, Read, Write},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd},
        unix::fs::OpenOptionsExt,
    },
};

use fullpipe::device::{Capabilities, RxMeta, TxMeta};

use crate::{
    device::HostDevice,
    errno::{DeviceError, check},
    interface::{self, Control},
    netlink::{self, Change},
    spec::{DeviceKind, DeviceOptions, DeviceSpec, Prefix},
    virtio::{self, PACKET_MAX, VNET_LEN},
};

const PATH: &str = "/dev/net/tun";
/// MTUs from the smallest that IPv4 allows to the largest that the kernel accepts for a
/// TAP device (a TUN device, without an Ethernet header, could have 14 bytes more).
const MTU_RANGE: std::ops::RangeInclusive<usize> = 68..=65_521;

/// Changes of the device that are undone when it is closed.
#[derive(Debug, Default)]
struct Changes {
    /// True if the device existed before it was opened. If false, nothing is undone, because
    /// closing the device removes it.
    existed: bool,
    /// The MTU before it was changed.
    mtu: Option<usize>,
    /// True if the device was down before it was opened.
    was_down: bool,
    /// The address that was added, and the interface's number.
    address: Option<(u32, Prefix)>,
}

/// An open TAP or TUN device.
#[derive(Debug)]
pub struct Tap {
    file: File,
    name: String,
    capabilities: Capabilities,
    /// True if a virtio header precedes each frame.
    has_header: bool,
    changes: Changes,
}

impl Tap {
    /// Opens the device, creates it if it does not exist, and brings it up.
    ///
    /// # Errors
    /// Returns one line that names what is missing and what to do about it. The device is then as
    /// it was before.
    pub fn open(options: &DeviceOptions) -> Result<Self, DeviceError> {
        let DeviceSpec { kind, name } = &options.spec;
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
        let existed = interface::index(name).is_some();
        let file = open_tun()?;
        let has_header = attach(&file, options, existed)?;
        let mut tap = Self {
            file,
            name: name.clone(),
            capabilities: Capabilities::plain(kind.medium(), 0),
            has_header,
            changes: Changes {
                existed,
                ..Changes::default()
            },
        };
        // From here on a failure drops `tap`, which undoes every change.
        tap.capabilities.checksum_tx = has_header;
        if has_header && options.segment_offload {
            tap.capabilities.super_segment = PACKET_MAX;
        }
        tap.set_up(options)?;
        Ok(tap)
    }

    fn set_up(&mut self, options: &DeviceOptions) -> Result<(), DeviceError> {
        let name = &self.name;
        let failed =
            |what: String| move |source| DeviceError::privileged(what, "CAP_NET_ADMIN", source);
        let control =
            Control::open().map_err(failed("cannot open a socket to configure devices".into()))?;
        let mut mtu = control
            .mtu(name)
            .map_err(failed(format!("cannot read the MTU of {name}")))?;
        if let Some(wanted) = options.mtu.filter(|wanted| *wanted != mtu) {
            control
                .set_mtu(name, wanted)
                .map_err(failed(format!("cannot set the MTU of {name} to {wanted}")))?;
            self.changes.mtu = Some(mtu);
            mtu = wanted;
        }
        self.capabilities.mtu = mtu;
        if let Some(prefix) = options.host_address {
            let index = interface::index(name).unwrap_or(0);
            match netlink::change_address(Change::Add, index, &prefix) {
                Ok(()) => self.changes.address = Some((index, prefix)),
                // The device already had the address before, and keeps it.
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
            self.changes.was_down = true;
        }
        Ok(())
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn take_back(&mut self) -> io::Result<()> {
        let changes = std::mem::take(&mut self.changes);
        if !changes.existed {
            return Ok(()); // closing the descriptor removes the device
        }
        if let Some((index, prefix)) = changes.address {
            netlink::change_address(Change::Remove, index, &prefix)?;
        }
        let control = Control::open()?;
        if changes.was_down {
            control.set_up(&self.name, false)?;
        }
        if let Some(mtu) = changes.mtu {
            control.set_mtu(&self.name, mtu)?;
        }
        if self.has_header {
            set_offload(&self.file, 0)?;
        }
        Ok(())
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        // The stack no longer uses the device, and no caller is left to receive an error.
        let _ = self.take_back();
    }
}

/// Refuses an address that another interface has, because replies would go to that interface.
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
                "the interface {holder} has this address: choose another network for --host-addr"
            )))
        }
        Some(_) | None => Ok(()),
    }
}

fn open_tun() -> Result<File, DeviceError> {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(PATH).map_err(|source| {
        let code = source.raw_os_error();
        let error = DeviceError::privileged(format!("cannot open {PATH}"), "CAP_NET_ADMIN", source);
        match code {
            Some(libc::ENOENT) => error.advise("load the module (modprobe tun), or give the container the device (--device /dev/net/tun)"),
            Some(libc::ENODEV | libc::ENXIO) => error.advise("this kernel has no TUN/TAP driver: load the module (modprobe tun)"),
            _ => error,
        }
    })
}

/// Binds `file` to the interface. Returns true if frames have a virtio header, with which checksums
/// may be left out.
fn attach(file: &File, options: &DeviceOptions, existed: bool) -> Result<bool, DeviceError> {
    let &DeviceOptions {
        ref spec,
        checksum_offload,
        segment_offload,
        ..
    } = options;
    let (kind, word) = match spec.kind {
        DeviceKind::Tap => (libc::IFF_TAP, "tap"),
        DeviceKind::Tun => (libc::IFF_TUN, "tun"),
        DeviceKind::Packet | DeviceKind::Xdp => {
            let source = io::Error::from_raw_os_error(libc::EINVAL);
            let what = format!("{spec} is neither a TAP nor a TUN device");
            return Err(DeviceError::new(what, source).advise("open it with DeviceOptions::open"));
        }
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
        .map_err(|source| refused(spec, word, existed, source))?;
    if !checksum_offload {
        return Ok(false);
    }
    let segments = match segment_offload {
        true => libc::TUN_F_TSO4 | libc::TUN_F_TSO6,
        false => 0,
    };
    set_offload(file, libc::TUN_F_CSUM | segments)
        .map(|()| true)
        .map_err(|source| {
            DeviceError::new(
                format!(
                    "cannot enable checksum and segmentation offload on {}",
                    spec.name
                ),
                source,
            )
        })
}

fn refused(spec: &DeviceSpec, word: &str, existed: bool, source: io::Error) -> DeviceError {
    let name = &spec.name;
    let verb = if existed { "open" } else { "create" };
    let error = DeviceError::new(
        format!("cannot {verb} {spec}"),
        io::Error::from_raw_os_error(source.raw_os_error().unwrap_or(libc::EIO)),
    );
    match source.raw_os_error() {
        Some(libc::EPERM) if existed => error.advise(format!(
            "{name} belongs to another user, or opening it needs the capability CAP_NET_ADMIN: run as root, or let root create {name} for you (ip tuntap add dev {name} mode {word} user $USER)"
        )),
        Some(libc::EPERM) => error.advise(format!(
            "this needs the capability CAP_NET_ADMIN: run as root, or let root create {name} for you (ip tuntap add dev {name} mode {word} user $USER)"
        )),
        Some(libc::EBUSY) => error.advise(format!("another program has {name} open: stop that program or choose another name")),
        Some(libc::EINVAL) if existed => error.advise(format!("{name} exists but is no {word} device with a single queue: choose another name")),
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

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl HostDevice for Tap {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, RxMeta)> {
        if !self.has_header {
            let len = (&self.file).read(buffer)?;
            return Ok((len, RxMeta::default()));
        }
        let mut head = [0; VNET_LEN];
        let parts = &mut [IoSliceMut::new(&mut head), IoSliceMut::new(buffer)];
        let len = (&self.file).read_vectored(parts)?.saturating_sub(VNET_LEN);
        let meta = virtio::read(&head, &buffer[..len]);
        Ok((len, meta))
    }

    fn send(&self, frame: &[u8], meta: TxMeta) -> io::Result<()> {
        if !self.has_header {
            return (&self.file).write(frame).map(drop);
        }
        let head = virtio::write(meta);
        let parts = &[IoSlice::new(&head), IoSlice::new(frame)];
        (&self.file).write_vectored(parts).map(drop)
    }
}
