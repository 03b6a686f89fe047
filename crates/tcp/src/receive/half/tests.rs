//! Tests of unread payload, readers and the urgent pointer.

use super::*;

/// Creates a receiver. Its application has not read `unread` bytes, and its peer may still send
/// `left` bytes.
fn receiver(unread: u32, left: u32) -> ReceiveHalf {
    let mut receive = ReceiveHalf::new(SeqNum(u32::MAX - 700), 0);
    receive.rcv_nxt += unread;
    receive.rcv_adv = receive.rcv_nxt + left;
    receive
}

#[test]
fn a_reader_lags_with_a_quarter_of_the_buffer_or_the_rest_of_the_window_unread() {
    for (unread, left, expected) in [
        (0, 10_000, false),
        (0, 0, false),
        (2_499, 7_501, false),
        (2_500, 7_500, true),
        (999, 1_000, false),
        (1_000, 1_000, true),
    ] {
        let lags = receiver(unread, left).reader_lags(10_000);
        assert_eq!(lags, expected, "{unread} unread, {left} left");
    }
}

/// RFC 9293 §3.8.5: the highest urgent pointer counts, until its last byte is read.
#[test]
fn an_urgent_pointer_is_ahead_until_its_last_byte_is_read() {
    let mut receive = receiver(100, 1_000);
    let first_unread = receive.rcv_nxt - 100;
    receive.note_urgent(first_unread);
    assert_eq!(receive.urgent_left(), 0, "already read");
    receive.note_urgent(first_unread + 1);
    assert_eq!(receive.urgent_left(), 1);
    receive.note_urgent(first_unread + 50);
    receive.note_urgent(first_unread + 20);
    assert_eq!(receive.urgent_left(), 50, "the highest counts");
    receive.forget_urgent_read();
    assert_eq!(receive.urgent_left(), 50, "not yet read");
}
