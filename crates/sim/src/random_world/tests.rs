//! What is drawn is legal, and always the same.

use super::*;

#[test]
fn a_seed_draws_the_same_world_each_time_and_another_seed_another() {
    let draw = |seed| format!("{:?}", RandomWorld::draw(Seed(seed)).hardship);
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}

#[test]
fn every_drawn_configuration_is_legal_and_every_link_can_carry_its_mtu() {
    for seed in 0..300 {
        let mut rng = Rng::seeded(seed);
        draw_config(&mut rng, 5).validate().unwrap();
        let mtu = draw_mtu(&mut rng);
        let link = draw_link(&mut rng, mtu);
        link.check().unwrap();
        let frame = (mtu + ETHERNET_HEADER_LEN) as u64;
        assert!(
            link.token_bucket
                .is_none_or(|bucket| bucket.burst_bytes >= frame)
        );
    }
}
