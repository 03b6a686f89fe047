//! Tests of the words for a second cause and for a limit.

use super::*;
use crate::search::is_about_as_much;

/// Returns the words for two levers (changes) that save time. `second` and `first` are the factors
/// by which they make the transfer faster.
fn words(is_equal: bool, [second, first]: [f64; 2]) -> String {
    let saved = [second, first].map(|ratio| 1.0 - 1.0 / ratio);
    beside(is_equal, is_about_as_much(saved[0] / saved[1]), "x")
}

/// A goodput of +49 % saves a third of the time, +131 % saves 57 %.
#[test]
fn a_much_smaller_gain_is_not_as_much() {
    for (is_equal, ratios, expected) in [
        (false, [1.49, 2.31], ". The transfer is also limited by x"),
        (true, [1.03, 1.07], ". The transfer is also limited by x"),
        (true, [1.06, 1.07], ". The transfer is limited equally by x"),
        (
            false,
            [305.0, 24.7],
            ". The transfer loses about as much time to a second cause, x",
        ),
    ] {
        assert_eq!(words(is_equal, ratios), expected);
    }
}

#[test]
fn a_sender_of_datagrams_waits_for_no_connection_to_close() {
    for (is_udp, expected) in [
        (false, "for the connection to close"),
        (true, "for the last datagrams to arrive"),
    ] {
        assert_eq!(waits_for(Limit::Closing, is_udp), expected);
    }
}
