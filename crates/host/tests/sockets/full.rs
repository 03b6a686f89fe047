//! Tests with a device that is often full.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::atomic::{AtomicU32, Ordering},
};

use fullpipe::device::{Capabilities, RxMeta, TxMeta};
use fullpipe_host::{HostDevice, UdpSocket};

use crate::{
    at, start,
    wire::{CableEnd, wire},
};

/// A device that refuses two of three frames, and cannot report when it has room.
struct OftenFull {
    cable: CableEnd,
    offered: AtomicU32,
}

impl AsFd for OftenFull {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.cable.as_fd()
    }
}

impl HostDevice for OftenFull {
    fn capabilities(&self) -> Capabilities {
        self.cable.capabilities()
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, RxMeta)> {
        self.cable.receive(buffer)
    }

    fn send(&self, frame: &[u8], meta: TxMeta) -> io::Result<()> {
        if self.offered.fetch_add(1, Ordering::Relaxed) % 3 != 2 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.cable.send(frame, meta)
    }
}

#[test]
fn a_full_device_delays_frames_and_neither_loses_nor_reorders_them() {
    let (near, far) = wire();
    let near = OftenFull {
        cable: near,
        offered: AtomicU32::new(0),
    };
    let (one, other) = (start(near, 1), start(far, 2));
    let sender = UdpSocket::bind(&one, at(1)).expect("the port is free");
    let receiver = UdpSocket::bind(&other, at(2)).expect("the port is free");
    let mut next = 0_u32;
    let mut buffer = [0; 100];
    for batch in 0..20 {
        for number in batch * 16..(batch + 1) * 16_u32 {
            let payload = number.to_be_bytes();
            sender.send_to(&payload, at(2)).expect("there is room");
        }
        for _ in 0..16 {
            let (len, _) = receiver.recv_from(&mut buffer).expect("it arrives");
            assert_eq!(buffer[..len], next.to_be_bytes());
            next += 1;
        }
    }
}
