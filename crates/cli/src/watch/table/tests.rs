//! Tests of the cells of the table.

use super::*;

#[test]
fn bytes_have_a_prefix_from_ten_thousand_on() {
    for (count, expected) in [
        (0, "0"),
        (10_239, "10239"),
        (32_768, "32K"),
        (2_626_560, "2565K"),
        (33_554_432, "32M"),
    ] {
        assert_eq!(bytes(count), expected);
    }
}

#[test]
fn the_names_of_congestion_windows_are_short() {
    assert_eq!(short(Some(Limit::CwndAfterLoss)), "cwnd_after_loss");
    assert_eq!(short(None), "unknown");
}

#[test]
fn every_limit_with_its_share_fits_its_column_in_later_rounds() {
    for limit in Limit::ALL {
        let cell = format!("{} 100 %", short(Some(*limit)));
        assert!(columns(&cell) <= later_width(SINCE_START), "{cell}");
        let cell = format!("{}?", short(Some(*limit)));
        assert!(columns(&cell) <= later_width(LIMIT_NOW), "{cell}");
    }
    assert_eq!(later_width("peer"), 0);
}
