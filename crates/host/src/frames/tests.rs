//! Tests of batches of frames, with devices that become full or fail.

use std::{
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixDatagram,
    },
    sync::Mutex,
};

use fullpipe::device::Medium;

use super::*;

/// A device with a list of outcomes.
struct Scripted {
    outcomes: Mutex<Vec<io::Result<()>>>,
    sent: Mutex<Vec<Vec<u8>>>,
    socket: UnixDatagram,
}

impl Scripted {
    fn new(outcomes: Vec<io::Result<()>>) -> Self {
        Self {
            outcomes: Mutex::new(outcomes),
            sent: Mutex::default(),
            socket: UnixDatagram::unbound().expect("a socket"),
        }
    }

    fn next(&self) -> io::Result<()> {
        let mut outcomes = self.outcomes.lock().expect("no panic");
        if outcomes.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        outcomes.remove(0)
    }
}

impl AsFd for Scripted {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl HostDevice for Scripted {
    fn capabilities(&self) -> Capabilities {
        Capabilities::plain(Medium::Ethernet, 1_500)
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, RxMeta)> {
        self.next()?;
        buffer[..1_500].fill(7);
        Ok((1_500, RxMeta::default()))
    }

    fn send(&self, frame: &[u8], _: TxMeta) -> io::Result<()> {
        self.next()?;
        self.sent.lock().expect("no panic").push(frame.to_vec());
        Ok(())
    }
}

fn full<T>() -> io::Result<T> {
    Err(io::ErrorKind::WouldBlock.into())
}

fn batch_of(frames: u8) -> FrameBatch<TxMeta> {
    let mut batch = FrameBatch::new(1_518);
    for number in 0..frames {
        batch.lend(60).expect("room")[..60].fill(number);
        batch.push(60, TxMeta::default());
    }
    batch
}

#[test]
fn a_full_device_keeps_the_rest_in_order() {
    let refused = || Err(io::ErrorKind::InvalidInput.into());
    let device = Scripted::new(vec![Ok(()), full(), refused(), Ok(()), Ok(())]);
    let mut batch = batch_of(4);
    assert!(batch.send_to(&device), "the second frame finds it full");
    assert!(!batch.is_empty());
    assert!(!batch.send_to(&device), "one frame is refused and lost");
    assert!(batch.is_empty());
    let sent: Vec<_> = device.sent.lock().expect("no panic").clone();
    assert_eq!(sent, [vec![0; 60], vec![2; 60], vec![3; 60]]);
    assert_eq!(batch.room(), batch_of(0).room(), "all memory is free again");
}

#[test]
fn a_batch_takes_frames_up_to_its_number_and_its_memory() {
    let device = Scripted::new((0..1_000).map(|_| Ok(())).collect());
    let mut batch = FrameBatch::new(1_518);
    let more = batch.receive_from(&device, 1_518, 3).expect("it works");
    assert!(more && batch.frames.len() == 3);
    assert!(
        batch
            .receive_from(&device, 1_518, usize::MAX)
            .expect("it works")
    );
    assert!(batch.room() < 1_518, "it stops for lack of memory");
    while batch.first().is_some() {
        batch.remove_first();
    }
    let device = Scripted::new(vec![Ok(()), full(), Err(io::ErrorKind::NotFound.into())]);
    assert!(!batch.receive_from(&device, 1_518, 9).expect("it works"));
    let error = batch
        .receive_from(&device, 1_518, 9)
        .expect_err("it is gone");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}
