//! Tests of agreement between three accounts (time by limit) of a transfer.
//!
//! Rule: no transfer runs here; the accounts are made up.

use fullpipe_diagnose::{account::Times, observe::SeenLimit};
use fullpipe_lab::KernelAccount;
use fullpipe_pool::Duration;
use fullpipe_tcp::{Limit, ReceiveLimit};

use super::{FullpipeEnd, ReceiverView, Viewed};

fn account(parts: &[(Limit, u64)]) -> KernelAccount {
    let mut times = Times::default();
    times.add(parts.iter().map(|(limit, ms)| {
        let limit = SeenLimit::from(*limit);
        (limit, Duration::from_millis(*ms), 0)
    }));
    KernelAccount::of(times)
}

fn viewed(sender: &[(Limit, u64)], capture: &[(Limit, u64)], receiver_ms: u64) -> Viewed {
    let rest = 100 - receiver_ms;
    Viewed {
        number: 1,
        title: "a transfer".to_string(),
        end: FullpipeEnd::Sender,
        mbps: 1.0,
        sender: account(sender),
        capture: account(capture),
        receiver: ReceiverView::of(vec![
            (ReceiveLimit::None, rest),
            (ReceiveLimit::Buffer, receiver_ms),
        ]),
    }
}

/// Three observers agree only if no observer contradicts another.
#[test]
fn a_view_that_contradicts_another_is_no_agreement() {
    let buffer = [(Limit::SendBuffer, 90), (Limit::CwndSlowStart, 10)];
    let window = [(Limit::ReceiveWindow, 90), (Limit::CwndSlowStart, 10)];
    assert!(viewed(&buffer, &buffer, 0).agrees());
    assert!(viewed(&window, &window, 90).agrees());
    assert!(!viewed(&buffer, &window, 0).agrees(), "capture");
    assert!(!viewed(&buffer, &buffer, 90).agrees(), "receiver");
    assert!(!viewed(&window, &window, 0).agrees(), "receiver");
}

/// Limits whose times are nearly equal all count as main limits.
#[test]
fn nearly_equal_limits_count_as_agreement() {
    let one = [(Limit::SendBuffer, 51), (Limit::CwndSteady, 49)];
    let other = [(Limit::SendBuffer, 40), (Limit::CwndSteady, 60)];
    assert!(viewed(&one, &other, 0).agrees());
}
