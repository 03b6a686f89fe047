//! Tests of waits on a stack whose device never carries a frame.

use std::{
    net::IpAddr,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixDatagram,
    },
    task::Context,
};

use fullpipe::{
    Config, Interface, MacAddress,
    device::{Capabilities, Medium, RxMeta, TxMeta},
};

use super::*;
use crate::device::HostDevice;
use crate::names::NameHolder;

struct Silent(UnixDatagram);

impl AsFd for Silent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl HostDevice for Silent {
    fn capabilities(&self) -> Capabilities {
        Capabilities::plain(Medium::Ethernet, 1_500)
    }

    fn receive(&self, _: &mut [u8]) -> io::Result<(usize, RxMeta)> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn send(&self, _: &[u8], _: TxMeta) -> io::Result<()> {
        Ok(())
    }
}

fn driver() -> Driver {
    let device = Silent(UnixDatagram::unbound().expect("a socket"));
    let interface = Interface {
        mac: MacAddress([2, 0, 0, 0, 0, 1]),
        address: IpAddr::from([10, 0, 0, 1]),
        prefix_len: 24,
        gateway: None,
        capabilities: device.capabilities(),
    };
    let stack = Stack::new(&Config::default(), interface, [7; 16]).expect("it is sound");
    let names = NameHolder::new(Vec::new(), [7; 16]);
    let devices: Vec<(_, Box<dyn HostDevice>)> =
        vec![(fullpipe::InterfaceId::FIRST, Box::new(device))];
    Driver::new(stack, devices, None, names).expect("the kernel gives a descriptor")
}

fn never(_: &mut Stack, _: Instant) -> Option<()> {
    None
}

#[test]
fn a_future_that_is_dropped_leaves_no_waker() {
    let driver = driver();
    let mut context = Context::from_waker(Waker::noop());
    let waiters = || driver.lock().wakers.count();
    let interests = [Interest::Read, Interest::Write, Interest::Connect];
    for interest in interests {
        let mut first = Wait::new(&driver, Handle::Tcp(3), interest, never);
        let mut second = Wait::new(&driver, Handle::Tcp(3), interest, never);
        for _ in 0..3 {
            assert!(Pin::new(&mut first).poll(&mut context).is_pending());
            assert!(Pin::new(&mut second).poll(&mut context).is_pending());
        }
        assert_eq!(waiters(), 2, "each is registered once");
        drop(first);
        assert_eq!(waiters(), 1);
        drop(second);
        assert_eq!(waiters(), 0);
    }
}

#[test]
fn a_wait_that_succeeds_or_times_out_leaves_no_waker() {
    let driver = driver();
    let mut tries = 0;
    let third = |_: &mut Stack, _| {
        tries += 1;
        (tries == 3).then_some(tries)
    };
    let mut wait = Wait::new(&driver, Handle::Udp(0), Interest::Read, third);
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut wait).poll(&mut context).is_pending());
    assert!(Pin::new(&mut wait).poll(&mut context).is_pending());
    assert!(Pin::new(&mut wait).poll(&mut context).is_ready());
    let wait = Wait::new(&driver, Handle::Listener(0), Interest::Read, never);
    let error = wait.block(Some(Duration::from_millis(1)));
    assert_eq!(
        error.expect_err("nothing comes").kind(),
        io::ErrorKind::WouldBlock
    );
    assert_eq!(driver.lock().wakers.count(), 0);
}

#[test]
fn a_polled_socket_holds_the_last_waker_and_loses_it_when_it_closes() {
    let driver = driver();
    let on = (Handle::Tcp(0), Interest::Read);
    for _ in 0..2 {
        let mut key = Some(WaiterKey::POLLED);
        let polled = poll_once(&driver, on, &mut key, Waker::noop(), never);
        assert!(polled.is_pending());
    }
    assert_eq!(driver.lock().wakers.count(), 1);
    driver.close(Handle::Tcp(0), |_, _| ());
    assert_eq!(driver.lock().wakers.count(), 0);
}
