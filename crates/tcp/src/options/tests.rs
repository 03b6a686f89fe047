//! Tests of the options that a side offers, and of those on which both sides agree.

use super::*;

const WINDOW: LargestWindow = LargestWindow {
    most: 1 << 20,
    always: 1 << 20,
};

#[test]
fn the_scale_is_the_smallest_that_can_express_the_buffer() {
    for (buffer, expected) in [
        (1_000, 0),
        (65_535, 0),
        (65_536, 1),
        (131_070, 2),
        (1 << 20, 5),
        (1 << 30, 14),
    ] {
        let scale = scale_for(buffer);
        assert!(
            u64::from(buffer).div_ceil(1 << scale) <= 0xffff || scale == 14,
            "{buffer}"
        );
        assert_eq!(scale, expected, "{buffer}");
    }
}

#[test]
fn an_option_is_agreed_only_when_both_offer_it() {
    let config = TcpConfig::default();
    let offer = Offer::new(&config, 1_460, WINDOW);
    let silent = Agreed::new(offer, &TcpOptions::default(), &config);
    assert_eq!(
        silent,
        Agreed {
            peer_mss: DEFAULT_MSS,
            ..Agreed::nothing()
        }
    );
    let peer = TcpOptions {
        mss: Some(1_400),
        window_scale: Some(7),
        sack_permitted: true,
        ..TcpOptions::default()
    };
    let agreed = Agreed::new(offer, &peer, &config);
    assert_eq!((agreed.snd_wscale, agreed.rcv_wscale), (7, 5));
    assert!(agreed.sack && !agreed.timestamps);
    assert_eq!(agreed.peer_mss, 1_400);
}

#[test]
fn a_tiny_mss_and_a_huge_scale_of_the_peer_are_bounded() {
    let config = TcpConfig::default();
    let offer = Offer::new(&config, 1_460, WINDOW);
    let peer = TcpOptions {
        mss: Some(1),
        window_scale: Some(200),
        ..TcpOptions::default()
    };
    let agreed = Agreed::new(offer, &peer, &config);
    assert_eq!(u32::from(agreed.peer_mss), config.mss_min);
    assert_eq!(agreed.snd_wscale, MAX_WINDOW_SCALE);
}
