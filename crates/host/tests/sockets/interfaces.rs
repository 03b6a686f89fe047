//! Tests of a runtime with two devices.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use fullpipe::{
    Interface,
    device::{Capabilities, RxMeta, TxMeta},
};
use fullpipe_host::{HostDevice, Runtime, StartError};

use crate::wire::{CableEnd, wire};

/// A device that counts how often a host begins to use it.
struct Counted {
    cable: CableEnd,
    begun: Arc<AtomicU32>,
}

impl AsFd for Counted {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.cable.as_fd()
    }
}

impl HostDevice for Counted {
    fn capabilities(&self) -> Capabilities {
        self.cable.capabilities()
    }

    fn begin(&self, _: &Interface) -> io::Result<()> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, RxMeta)> {
        self.cable.receive(buffer)
    }

    fn send(&self, frame: &[u8], meta: TxMeta) -> io::Result<()> {
        self.cable.send(frame, meta)
    }
}

#[test]
fn a_device_whose_interface_is_refused_is_not_begun() {
    for (second, expected) in [("10.0.0.1/24", 1), ("10.0.1.1/24", 2)] {
        let begun = Arc::new(AtomicU32::new(0));
        let device = || Counted {
            cable: wire().0,
            begun: Arc::clone(&begun),
        };
        let started = Runtime::builder("10.0.0.1/24".parse().unwrap())
            .interface(second.parse().unwrap(), None, device())
            .start(device());
        let is_refused = matches!(started, Err(StartError::Config(_)));
        assert_eq!(is_refused, expected == 1, "{second}");
        assert_eq!(begun.load(Ordering::Relaxed), expected, "{second}");
    }
}
