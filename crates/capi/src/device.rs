//! A network device in C.
//!
//! Rule: a callback is called only during `fp_turn`, and must not call a function on the same stack:
//! such a call returns -FP_EBUSY. Memory that a callback returns belongs to the driver.

use core::{ffi::c_void, ptr, slice};

use fullpipe::device::{Capabilities, Device, Medium, Received, RxMeta, TxChecksum, TxMeta};

use crate::errno::{Errno, FP_EFAULT, FP_EINVAL};

/// Frames begin with an Ethernet II header.
pub const FP_MEDIUM_ETHERNET: u32 = 0;
/// Frames begin with an IP header.
pub const FP_MEDIUM_IP: u32 = 1;
/// The device completes TCP and UDP checksums of frames that it sends.
pub const FP_DEVICE_CHECKSUM_TX: u32 = 1;
/// The device counts the bytes that it has sent: `sent_bytes` is set.
pub const FP_DEVICE_REPORTS_SENT: u32 = 2;

/// Longest frame in bytes that a driver may pass, or that the stack may ask memory for.
const LONGEST_FRAME: usize = 1 << 17;

/// Metadata of a received frame. All zero if the device offloads nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FpReceived {
    /// 1 if the device has verified the TCP or UDP checksum.
    pub checksum_verified: u8,
    /// Unused.
    pub reserved: u8,
    /// Number of segments that the device merged into this frame; 0 if it merges none.
    pub merged: u16,
}

/// Metadata of a frame to be sent.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FpSending {
    /// 1 if the device must compute the Internet checksum of the bytes from `checksum_start` on and
    /// write it at `checksum_start + checksum_offset`. Only with FP_DEVICE_CHECKSUM_TX.
    pub checksum_partial: u8,
    /// Unused.
    pub reserved: u8,
    /// First byte that the checksum covers.
    pub checksum_start: u16,
    /// Offset of the checksum field from `checksum_start`.
    pub checksum_offset: u16,
    /// Payload of each segment that the device cuts from the frame; 0 if the device must send the
    /// frame unchanged.
    pub segment_size: u16,
    /// Bytes of headers that the device repeats in front of each segment.
    pub header_len: u16,
}

/// A network device. The structure is copied by `fp_init`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FpDevice {
    /// Passed to each callback.
    pub context: *mut c_void,
    /// FP_MEDIUM_ETHERNET or FP_MEDIUM_IP.
    pub medium: u32,
    /// Largest IP packet in bytes, link header not counted.
    pub mtu: u32,
    /// FP_DEVICE_... flags.
    pub flags: u32,
    /// Largest TCP payload of a frame that the device cuts into segments; 0 if it cuts none.
    pub super_segment: u32,
    /// Returns the next received frame and writes its length, or returns NULL. The frame stays
    /// readable until the next callback. `received` is all zero before the call.
    pub receive: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            len: *mut usize,
            received: *mut FpReceived,
        ) -> *const u8,
    >,
    /// Returns memory for a frame of `len` bytes, or NULL while the device is full. Two calls
    /// without `send` between them lend the same memory.
    pub lend: Option<unsafe extern "C" fn(context: *mut c_void, len: usize) -> *mut u8>,
    /// Sends the first `len` bytes of the memory that the last call of `lend` returned.
    pub send:
        Option<unsafe extern "C" fn(context: *mut c_void, len: usize, sending: *const FpSending)>,
    /// Sends the frames that the device has only collected in `send`. Called at the end of a turn.
    /// May be NULL.
    pub flush: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// Returns the total length of the frames that have left the device. May be NULL without
    /// FP_DEVICE_REPORTS_SENT.
    pub sent_bytes: Option<unsafe extern "C" fn(context: *mut c_void) -> u64>,
}

impl FpDevice {
    /// Checks the fields and returns the capabilities.
    pub(crate) fn check(&self) -> Result<Capabilities, Errno> {
        let Self {
            medium,
            mtu,
            flags,
            super_segment,
            ..
        } = *self;
        if self.receive.is_none() || self.lend.is_none() || self.send.is_none() {
            return Err(Errno(FP_EFAULT));
        }
        let reports_sent = flags & FP_DEVICE_REPORTS_SENT != 0;
        if reports_sent && self.sent_bytes.is_none() {
            return Err(Errno(FP_EFAULT));
        }
        let medium = match medium {
            FP_MEDIUM_ETHERNET => Medium::Ethernet,
            FP_MEDIUM_IP => Medium::Ip,
            _ => return Err(Errno(FP_EINVAL)),
        };
        let known = FP_DEVICE_CHECKSUM_TX | FP_DEVICE_REPORTS_SENT;
        if flags & !known != 0 || super_segment > u16::MAX.into() {
            return Err(Errno(FP_EINVAL));
        }
        Ok(Capabilities {
            medium,
            mtu: mtu as usize,
            checksum_tx: flags & FP_DEVICE_CHECKSUM_TX != 0,
            super_segment: super_segment as usize,
            reports_sent,
        })
    }
}

/// A checked device.
pub(crate) struct CDevice {
    pub(crate) callbacks: FpDevice,
    pub(crate) capabilities: Capabilities,
}

impl Device for CDevice {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        let receive = self.callbacks.receive?;
        let (mut len, mut meta) = (0, FpReceived::default());
        // SAFETY: the driver's callback gets its own context and valid places for the results.
        let frame = unsafe { receive(self.callbacks.context, &raw mut len, &raw mut meta) };
        if frame.is_null() || len > LONGEST_FRAME {
            return None;
        }
        Some(Received {
            // SAFETY: the driver promises that the frame has `len` bytes that stay readable until
            // the next callback, and `self` is borrowed until then.
            frame: unsafe { slice::from_raw_parts(frame, len) },
            meta: RxMeta {
                checksum_verified: meta.checksum_verified != 0,
                merged: meta.merged,
                ..RxMeta::default()
            },
        })
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        if len > LONGEST_FRAME {
            return None;
        }
        let lend = self.callbacks.lend?;
        // SAFETY: the driver's callback gets its own context.
        let memory = ptr::NonNull::new(unsafe { lend(self.callbacks.context, len) })?;
        // SAFETY: the driver lends `len` bytes until the next callback, and `self` is borrowed
        // until then.
        Some(unsafe { slice::from_raw_parts_mut(memory.as_ptr(), len) })
    }

    fn send(&mut self, len: usize, meta: TxMeta) {
        let (partial, start, offset) = match meta.checksum {
            TxChecksum::Complete => (0, 0, 0),
            TxChecksum::Partial { start, offset } => (1, start, offset),
        };
        let sending = FpSending {
            checksum_partial: partial,
            reserved: 0,
            checksum_start: start,
            checksum_offset: offset,
            segment_size: meta.segment_size,
            header_len: meta.header_len,
        };
        if let Some(send) = self.callbacks.send {
            // SAFETY: the driver's callback gets its own context and valid metadata.
            unsafe { send(self.callbacks.context, len, &raw const sending) };
        }
    }

    fn sent_bytes(&mut self) -> u64 {
        match self.callbacks.sent_bytes {
            // SAFETY: the driver's callback gets its own context.
            Some(sent_bytes) => unsafe { sent_bytes(self.callbacks.context) },
            None => 0,
        }
    }

    fn flush(&mut self) {
        if let Some(flush) = self.callbacks.flush {
            // SAFETY: the driver's callback gets its own context.
            unsafe { flush(self.callbacks.context) };
        }
    }
}
