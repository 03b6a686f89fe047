//! How a device and an address are written: `tap:fp0`, `tun:fp0`, `10.0.0.1/24`.
//!
//! Rule: text becomes a value here or one clear line; nothing is opened.

use std::{fmt, net::IpAddr, str::FromStr};

use fullpipe::device::Medium;

/// Longest name of a network interface (`IFNAMSIZ` without its end).
pub const NAME_MAX: usize = 15;

/// A network device, by kind and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSpec {
    /// Ethernet frames (TAP) or IP packets (TUN).
    pub medium: Medium,
    /// The interface's name.
    pub name: String,
}

/// An address and the length of its network's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The address.
    pub address: IpAddr,
    /// Leading bits that name the network.
    pub len: u8,
}

/// Why a text names no device or no address.
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
        let (medium, name) = match text.split_once(':') {
            Some(("tap", name)) => (Medium::Ethernet, name),
            Some(("tun", name)) => (Medium::Ip, name),
            Some(_) | None => {
                return Err(SpecError(format!(
                    "'{text}' is no device: write tap:NAME or tun:NAME"
                )));
            }
        };
        check_name(name)?;
        Ok(Self {
            medium,
            name: name.into(),
        })
    }
}

fn check_name(name: &str) -> Result<(), SpecError> {
    if name.is_empty() {
        return Err(SpecError(
            "the device has no name: write tap:NAME or tun:NAME".into(),
        ));
    }
    if name.len() > NAME_MAX {
        return Err(SpecError(format!(
            "the device name '{name}' is too long: {} bytes, at most {NAME_MAX}",
            name.len()
        )));
    }
    // What the kernel refuses, and '%', which it would replace by a number.
    let refused =
        |char: char| char.is_whitespace() || char.is_control() || matches!(char, '/' | ':' | '%');
    if name == "." || name == ".." || name.chars().any(refused) {
        return Err(SpecError(format!("'{name}' cannot be a device name")));
    }
    Ok(())
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.medium {
            Medium::Ethernet => "tap",
            Medium::Ip => "tun",
        };
        write!(f, "{kind}:{}", self.name)
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
