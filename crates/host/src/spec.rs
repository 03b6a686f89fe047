//! Parses devices and addresses as users write them: `tap:fp0`, `tun:fp0`, `packet:eth0`,
//! `xdp:eth0`, `10.0.0.1/24`.
//!
//! Rule: a text is parsed here into a value or an error of one line; nothing is opened.

use std::{fmt, net::IpAddr, str::FromStr};

use fullpipe::device::Medium;

/// Longest name of a network interface (`IFNAMSIZ` without the final zero).
const NAME_MAX: usize = 15;

/// Kind of network device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// A TAP device: Ethernet frames to and from the kernel's own stack.
    Tap,
    /// A TUN device: IP packets to and from the kernel's own stack.
    Tun,
    /// A packet socket (`AF_PACKET`) on an existing interface: the frames on its wire.
    Packet,
    /// An `AF_XDP` socket on an existing interface: the frames on its wire, which the
    /// kernel's own stack does not see.
    Xdp,
}

impl DeviceKind {
    const ALL: [Self; 4] = [Self::Tap, Self::Tun, Self::Packet, Self::Xdp];

    /// Medium of the device: its frames begin with an Ethernet header or with an IP header.
    pub const fn medium(self) -> Medium {
        match self {
            Self::Tap | Self::Packet | Self::Xdp => Medium::Ethernet,
            Self::Tun => Medium::Ip,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Tap => "tap",
            Self::Tun => "tun",
            Self::Packet => "packet",
            Self::Xdp => "xdp",
        }
    }
}

/// A network device, by kind and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSpec {
    /// The kind of device.
    pub kind: DeviceKind,
    /// The interface's name.
    pub name: String,
}

/// Settings for opening a device.
#[derive(Clone, Debug)]
pub struct DeviceOptions {
    /// The device.
    pub spec: DeviceSpec,
    /// Largest IP packet in bytes; `None` keeps the device's own.
    pub mtu: Option<usize>,
    /// An address for the kernel's end of a TAP or TUN device.
    pub host_address: Option<Prefix>,
    /// Allow incomplete checksums in frames that are exchanged with the kernel. The kernel or the
    /// interface completes them before the frames reach a wire. A capture of such frames shows
    /// wrong checksums.
    pub checksum_offload: bool,
    /// Allow frames of many segments. The kernel cuts them before they reach a wire. Needs
    /// `checksum_offload`.
    pub segment_offload: bool,
}

impl DeviceOptions {
    /// Options for `spec` with the device's own MTU and with both offloads.
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

/// An address and the length of its network's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The address.
    pub address: IpAddr,
    /// Length of the network's prefix in bits.
    pub len: u8,
}

/// Error in the text of a device or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(String);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

impl FromStr for DeviceSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let named = text.split_once(':').and_then(|(word, name)| {
            let kind = DeviceKind::ALL
                .into_iter()
                .find(|kind| kind.name() == word)?;
            Some((kind, name))
        });
        let Some((kind, name)) = named else {
            return Err(SpecError(format!("'{text}' is no device: {SYNTAX}")));
        };
        check_name(name)?;
        Ok(Self {
            kind,
            name: name.into(),
        })
    }
}

/// Advice for error messages.
const SYNTAX: &str =
    "write tap:NAME or tun:NAME, or packet:NIC or xdp:NIC for an interface that exists";

fn check_name(name: &str) -> Result<(), SpecError> {
    if name.is_empty() {
        return Err(SpecError(format!("the device has no name: {SYNTAX}")));
    }
    if name.len() > NAME_MAX {
        return Err(SpecError(format!(
            "the device name '{name}' is too long: {} bytes, at most {NAME_MAX}",
            name.len()
        )));
    }
    // The kernel refuses most of these characters in names, and would replace '%d' by a number.
    let refused =
        |char: char| char.is_whitespace() || char.is_control() || matches!(char, '/' | ':' | '%');
    if name == "." || name == ".." || name.chars().any(refused) {
        return Err(SpecError(format!(
            "'{name}' cannot be a device name: choose a name other than '.' and '..', without spaces, '/', ':' and '%'"
        )));
    }
    Ok(())
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.name)
    }
}

impl FromStr for Prefix {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let wrong = || {
            SpecError(format!(
                "'{text}' is no address with a prefix: write A.B.C.D/N"
            ))
        };
        let (address, len) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let len: u8 = len.parse().map_err(|_| wrong())?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        if len > bits {
            return Err(SpecError(format!(
                "'{text}' has a prefix of more than {bits} bits"
            )));
        }
        Ok(Self { address, len })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

#[cfg(test)]
mod tests;
