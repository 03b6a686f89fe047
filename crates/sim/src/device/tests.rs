//! Tests of the transmit and the receive queue, from the stack's side and from the link's side.

use super::*;

fn device(queue_limit: usize) -> SimDevice {
    SimDevice::new(DeviceModel::plain(queue_limit), 1_500)
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
    device.deliver(vec![1], false, Instant::ZERO);
    device.deliver(vec![2], false, Instant::ZERO);
    assert_eq!(device.receive().unwrap().frame, [1]);
    assert_eq!(device.receive().unwrap().frame, [2]);
    assert!(device.receive().is_none());
}

#[test]
fn a_device_that_reports_counts_what_the_link_has_taken_whole() {
    let model = DeviceModel {
        reports_sent: true,
        ..DeviceModel::plain(4)
    };
    let mut device = SimDevice::new(model, 1_500);
    for len in [100, 60] {
        device.lend(len).unwrap();
        device.send(len, TxMeta::default());
    }
    assert_eq!(
        (device.sent_bytes(), device.has_unreported_bytes()),
        (0, false)
    );
    device.next_sent().unwrap();
    assert!(device.has_unreported_bytes());
    assert_eq!(
        (device.sent_bytes(), device.has_unreported_bytes()),
        (100, false)
    );
}

#[test]
fn a_full_receive_ring_loses_what_comes_and_counts_it() {
    let model = DeviceModel {
        receive_ring: 2,
        ..DeviceModel::plain(4)
    };
    let mut device = SimDevice::new(model, 1_500);
    for mark in [1, 2, 3] {
        if device.has_descriptor() {
            device.deliver(vec![mark], false, Instant::ZERO);
        }
    }
    assert_eq!(device.ring_drops(), 1);
    assert_eq!(device.receive().unwrap().frame, [1]);
    assert!(device.has_descriptor(), "what was read leaves its place");
    assert_eq!(device.receive().unwrap().frame, [2]);
    assert!(device.receive().is_none());
}

#[test]
fn frame_by_frame_the_stack_reads_what_was_handed_up_and_the_link_what_is_made() {
    let mut device = device(4);
    device.work_by_frame();
    device.deliver(vec![1, 1], false, Instant::ZERO);
    assert!(device.receive().is_none(), "nothing was handed up");
    assert_eq!(device.hand_up(), Some(2));
    assert_eq!(device.receive().unwrap().frame, [1, 1]);
    device.lend(100).unwrap();
    device.send(60, TxMeta::default());
    assert_eq!(device.making(), Some(60));
    assert!(device.lend(100).is_none(), "one at a time");
    assert!(device.next_sent().is_none(), "it is still being made");
    device.finish_making();
    assert_eq!(device.next_sent().unwrap().len(), 60);
    assert!(device.lend(100).is_some());
}
