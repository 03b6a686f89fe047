//! The two queues, from both sides.

use fullpipe::device::Medium;

use super::*;

fn device(queue_limit: usize) -> SimDevice {
    SimDevice::new(Capabilities::plain(Medium::Ethernet, 1_500), queue_limit)
}

#[test]
fn a_full_queue_refuses_until_the_link_takes_a_frame() {
    let mut device = device(2);
    for mark in [1, 2] {
        device.lend(100).unwrap()[0] = mark;
        device.send(60, TxMeta::default());
    }
    assert!(device.lend(100).is_none());
    assert!(device.was_refused());
    device.forget_refusal();
    let first = device.next_sent().unwrap();
    assert_eq!((first.len(), first[0]), (60, 1));
    assert!(
        device
            .lend(1_514)
            .is_some_and(|memory| memory.len() == 1_514)
    );
    assert!(!device.was_refused());
}

#[test]
fn lending_twice_lends_the_same_memory() {
    let mut device = device(1);
    device.lend(50).unwrap()[49] = 7;
    assert_eq!(device.lend(50).unwrap()[49], 7);
}

#[test]
fn frames_are_received_in_the_order_they_arrived() {
    let mut device = device(1);
    device.deliver(vec![1]);
    device.deliver(vec![2]);
    assert_eq!(device.receive().unwrap().frame, [1]);
    assert_eq!(device.receive().unwrap().frame, [2]);
    assert!(device.receive().is_none());
}
