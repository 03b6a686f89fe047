//! Opening whichever device the options name.
//!
//! Rule: one arm for each kind of device; a new kind is its file and its arm.

use crate::{
    device::HostDevice,
    errno::DeviceError,
    packet::PacketSocket,
    spec::{DeviceKind, DeviceOptions},
    tap::Tap,
};

impl DeviceOptions {
    /// Opens the device.
    ///
    /// # Errors
    /// One line that names what is missing and what to do.
    pub fn open(&self) -> Result<Box<dyn HostDevice>, DeviceError> {
        Ok(match self.spec.kind {
            DeviceKind::Tap | DeviceKind::Tun => Box::new(Tap::open(self)?),
            DeviceKind::Packet => Box::new(PacketSocket::open(self)?),
        })
    }
}
