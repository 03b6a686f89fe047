//! Opens the device that the options name.
//!
//! Rule: each kind of device has one arm here; a new kind is a file and an arm.

use crate::{
    device::HostDevice,
    errno::DeviceError,
    packet::PacketSocket,
    spec::{DeviceKind, DeviceOptions},
    tap::Tap,
    xdp::XdpSocket,
};

impl DeviceOptions {
    /// Opens the device.
    ///
    /// # Errors
    /// Returns one line that names what is missing and what to do about it.
    pub fn open(&self) -> Result<Box<dyn HostDevice>, DeviceError> {
        Ok(match self.spec.kind {
            DeviceKind::Tap | DeviceKind::Tun => Box::new(Tap::open(self)?),
            DeviceKind::Packet => Box::new(PacketSocket::open(self)?),
            DeviceKind::Xdp => Box::new(XdpSocket::open(self)?),
        })
    }
}
