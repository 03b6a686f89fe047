//! Tests of limits that are certain, and of limits that other limits imitate.

use fullpipe_pool::Duration;
use fullpipe_tcp::Limit;

use super::Script;
use crate::{
    account::Times,
    observe::{
        SeenLimit,
        round::{Cause, Span},
        rounds::Rounds,
        spacing::Spacing,
    },
};

const MSS: u64 = 1_448;

fn times(parts: &[(Limit, u64)]) -> Times<SeenLimit> {
    let mut times = Times::default();
    let parts = parts.iter();
    times.add(parts.map(|(limit, ms)| ((*limit).into(), Duration::from_millis(*ms), 0)));
    times
}

/// The main limit is certain only if no other limit can have a longer time.
#[test]
fn a_limit_is_certain_if_uncertain_time_cannot_make_another_limit_longer() {
    use Limit::{Nagle, Recovery, SendBuffer};
    let mut observed = Script::new(65_535).finish();
    let is_certain = |observed: &crate::observe::ObservedConnection| {
        observed.is_certain(SeenLimit::from(Nagle), Some)
    };
    observed.account = times(&[(Nagle, 50), (Recovery, 40), (SendBuffer, 10)]);
    observed.sure = times(&[(Nagle, 50), (Recovery, 40)]);
    assert!(is_certain(&observed));
    observed.sure = times(&[(Nagle, 49), (Recovery, 40)]);
    assert!(!is_certain(&observed));
}

/// The path passes a segment in 10 µs. A pacer sends at 70 % of this rate.
#[test]
fn segments_of_a_pacer_below_the_rate_of_the_path_do_not_wait_for_the_path() {
    let mut spacing = Spacing::default();
    let mut at = 0;
    for _ in 0..6 {
        at += 30_000;
        spacing.on_data(at, 1_448);
    }
    assert!(spacing.on_data(at + 31_000, 1_448));
    at += 31_000 + 200_000;
    spacing.on_data(at, 1_448);
    assert!(spacing.is_shown);
    assert!(!spacing.on_data(at + 43_000, 1_448));
}

/// Share of the certain time of a congestion window after losses. The flight falls from 40 to 20
/// segments at the first loss, and to `last` segments at a later loss.
fn certain_share(last: u64) -> f64 {
    let mut rounds = Rounds::new(MSS);
    let (mut at, mut end) = (0, 0);
    let mut round = |flight: u64, is_lossy: bool| {
        at += 10_000_000;
        if is_lossy {
            rounds.on_loss();
        }
        rounds.add(Span::new(at, Cause::Window));
        end += flight * MSS;
        rounds.on_flight(at, flight * MSS, end);
        rounds.on_acked(at, flight * MSS, end, end);
    };
    for flight in [10, 20, 40] {
        round(flight, flight == 40);
    }
    for _ in 0..5 {
        round(20, false);
    }
    round(20, true);
    for grown in 0..40 {
        round(last + grown, false);
    }
    let (account, sure, _) = rounds.finish().finish();
    let of_loss = |times: &Times<SeenLimit>| {
        let own = times.times();
        let own = own.filter(|(limit, _)| *limit == Limit::CwndAfterLoss.into());
        own.map(|(_, time)| time.as_secs_f64()).sum::<f64>()
    };
    of_loss(&sure) / of_loss(&account)
}

/// BBR leaves start-up with a smaller flight, also if a loss happens at the same time. Later losses
/// do not reduce its flight.
#[test]
fn a_flight_that_a_later_loss_does_not_reduce_is_not_certainly_limited_by_losses() {
    assert!(certain_share(10) > 0.8, "{}", certain_share(10));
    assert!(certain_share(20) < 0.3, "{}", certain_share(20));
}
