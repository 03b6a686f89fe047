//! Addresses and the interface, as C passes them.
//!
//! Rule: fields have host byte order, except addresses, whose bytes have the order in which people
//! write them.

use core::{
    ffi::c_char,
    net::{IpAddr, SocketAddr},
};

use fullpipe::{Interface, MacAddress, device::Capabilities};

use crate::{
    errno::{Errno, FP_EAFNOSUPPORT, FP_EFAULT, FP_EINVAL, returned},
    text,
};

/// No address. As the family of a gateway, it means that there is no gateway.
pub const FP_NONE: u8 = 0;
/// An IPv4 address, in the first four bytes of `ip`.
pub const FP_IPV4: u8 = 4;
/// An IPv6 address.
pub const FP_IPV6: u8 = 6;

/// An IP address and a port.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FpAddress {
    /// FP_IPV4, FP_IPV6 or FP_NONE.
    pub family: u8,
    /// Unused.
    pub reserved: u8,
    /// Port, in host byte order; 0 lets the stack choose a local port.
    pub port: u16,
    /// The address, first byte first; all zero stands for every address of this host.
    pub ip: [u8; 16],
}

impl FpAddress {
    /// Returns the address for Rust.
    pub(crate) fn read(&self) -> Result<SocketAddr, Errno> {
        let [a, b, c, d, ..] = self.ip;
        let ip = match self.family {
            FP_IPV4 => IpAddr::from([a, b, c, d]),
            FP_IPV6 => IpAddr::from(self.ip),
            _ => return Err(Errno(FP_EAFNOSUPPORT)),
        };
        Ok(SocketAddr::new(ip, self.port))
    }

    /// Returns the address for C.
    pub(crate) fn new(address: SocketAddr) -> Self {
        let mut bytes = [0; 16];
        let family = match address.ip() {
            IpAddr::V4(ip) => {
                bytes[..4].copy_from_slice(&ip.octets());
                FP_IPV4
            }
            IpAddr::V6(ip) => {
                bytes = ip.octets();
                FP_IPV6
            }
        };
        Self {
            family,
            reserved: 0,
            port: address.port(),
            ip: bytes,
        }
    }
}

/// The attachment of a stack to its network.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FpInterface {
    /// MAC address; unused on FP_MEDIUM_IP.
    pub mac: [u8; 6],
    /// Length of the network prefix in bits.
    pub prefix_len: u8,
    /// Unused.
    pub reserved: u8,
    /// Address of this host; the port is unused.
    pub address: FpAddress,
    /// Next hop to other networks, or an address of family FP_NONE; the port is unused.
    pub gateway: FpAddress,
}

impl FpInterface {
    /// Returns the interface for Rust.
    pub(crate) fn read(&self, capabilities: Capabilities) -> Result<Interface, Errno> {
        let gateway = match self.gateway.family {
            FP_NONE => None,
            _ => Some(self.gateway.read()?.ip()),
        };
        Ok(Interface {
            mac: MacAddress(self.mac),
            address: self.address.read()?.ip(),
            prefix_len: self.prefix_len,
            gateway,
            capabilities,
        })
    }
}

/// Reads an address such as "192.0.2.1" and adds a port. Returns 0, -FP_EINVAL or -FP_EFAULT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fp_parse_address(
    text: *const c_char,
    port: u16,
    address: *mut FpAddress,
) -> i32 {
    let parsed = || {
        if address.is_null() || !address.is_aligned() {
            return Err(Errno(FP_EFAULT));
        }
        // SAFETY: the caller passes a string of C.
        let text = unsafe { text::read(text) }?;
        let ip: IpAddr = text.parse().map_err(|_| Errno(FP_EINVAL))?;
        // SAFETY: the pointer is aligned and not null; the caller passes memory for an address.
        unsafe { address.write(FpAddress::new(SocketAddr::new(ip, port))) };
        Ok(0)
    };
    returned(parsed())
}
