//! Tests, step by step, of the computed queue length with which nothing would have been dropped.

use super::*;

const FOUR: u64 = 4;

fn at(us: u64) -> Instant {
    Instant::from_micros(us)
}

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn level(waiting: u64, lost: u64) -> QueueLevel {
    QueueLevel {
        waiting,
        most: FOUR,
        lost,
        cost: us(10),
    }
}

#[test]
fn what_is_lost_waits_until_the_processor_would_have_been_done_with_it() {
    let mut demand = QueueDemand::default();
    assert_eq!(demand.look(at(0), us(0), level(4, 0)), None);
    assert_eq!(demand.most(), 4);
    assert_eq!(demand.look(at(5), us(0), level(4, 3)), None);
    assert_eq!(demand.most(), 7);
    // One entry was read, and one more was dropped later.
    assert_eq!(demand.look(at(20), us(0), level(3, 3)), None);
    assert_eq!(demand.look(at(25), us(0), level(4, 4)), None);
    assert_eq!(demand.most(), 8);
    // Three of the four dropped entries would have been processed.
    assert_eq!(demand.look(at(70), us(39), level(0, 4)), None);
    let over = Overflow {
        from: at(5),
        until: Some(at(70)),
        lost: 4,
    };
    assert_eq!(demand.look(at(80), us(1), level(0, 4)), Some(over));
    // Later losses start a new overflow.
    assert_eq!(demand.look(at(90), us(10), level(4, 5)), None);
    assert_eq!(
        demand.open().map(|open| (open.from, open.lost)),
        Some((at(90), 1))
    );
    assert_eq!(demand.most(), 8);
}

#[test]
fn work_that_takes_no_time_is_done_as_soon_as_time_passes() {
    let mut demand = QueueDemand::default();
    let free = |waiting, lost| QueueLevel {
        cost: Duration::ZERO,
        ..level(waiting, lost)
    };
    assert_eq!(demand.look(at(1), us(1), free(0, 9)), None);
    assert_eq!(demand.most(), 13);
    assert_eq!(demand.look(at(1), us(0), free(0, 9)), None);
    let over = demand.look(at(2), us(1), free(0, 9)).unwrap();
    assert_eq!((over.from, over.until, over.lost), (at(1), Some(at(1)), 9));
    assert_eq!(demand.look(at(3), us(1), free(4, 10)), None);
    assert_eq!(demand.most(), 13);
}

#[test]
fn times_add_up_to_the_age_and_bytes_belong_to_the_limit_before() {
    let mut account = DatagramAccount::start(at(10));
    account.sent(100);
    account.set(Limit::Processor, ReceiveLimit::None, at(12));
    account.sent(200);
    account.set(Limit::Device, ReceiveLimit::Buffer, at(15));
    account.read(50);
    account.pass_to(at(30));
    let charged = |(_, time, bytes): &(Limit, Duration, u64)| !time.is_zero() || *bytes > 0;
    let sender: Vec<_> = account.sender().filter(charged).collect();
    assert_eq!(
        sender,
        [
            (Limit::Application, us(2), 100),
            (Limit::Device, us(15), 0),
            (Limit::Processor, us(3), 200),
        ]
    );
    let times = account.receiver().map(|(_, time, _)| time.as_micros());
    assert_eq!(times.sum::<u64>(), 20);
}
