//! Tests that drawn worlds (simulated networks) are legal and reproducible, and that each property
//! is drawn independently.

use super::*;

#[test]
fn a_seed_draws_the_same_world_each_time_and_another_seed_another() {
    let draw = |seed| WorldPlan::draw(Seed(seed));
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}

#[test]
fn every_drawn_world_is_legal_and_every_link_can_carry_its_mtu() {
    for seed in 0..300 {
        let plan = WorldPlan::draw(Seed(seed));
        plan.check().unwrap();
        for link in &plan.links {
            let model = link.forward;
            let frame = (model.mtu + ETHERNET_HEADER_LEN) as u64;
            assert!(
                model
                    .token_bucket
                    .is_none_or(|bucket| bucket.burst_bytes >= frame)
            );
        }
    }
}

#[test]
fn a_property_of_a_link_depends_on_no_other_property() {
    for seed in 0..100 {
        let rng = Rng::seeded(seed);
        let model = draw_direction(&rng, 1_500);
        assert_eq!(model.loss, draw_chance(rng.fork_named("loss"), 0.1));
        let of_jumbo = draw_direction(&rng, 9_000);
        let LinkModel {
            rate_bps,
            delay_us,
            reordering,
            ..
        } = of_jumbo;
        assert_eq!(
            (model.rate_bps, model.delay_us, model.reordering),
            (rate_bps, delay_us, reordering)
        );
    }
}

#[test]
fn worlds_mix_families_interfaces_and_absences() {
    let plans: Vec<_> = (0..300).map(|seed| WorldPlan::draw(Seed(seed))).collect();
    let count = |has: fn(&WorldPlan) -> bool| plans.iter().filter(|plan| has(plan)).count();
    let has_v6 = |plan: &WorldPlan| plan.flows.iter().any(|flow| flow.family == Family::V6);
    let has_second = |plan: &WorldPlan| plan.flows.iter().any(|flow| flow.parallel);
    assert!(count(has_v6) > 20);
    assert!(count(has_second) > 10);
    assert!(count(|plan| !plan.absences.is_empty()) > 20);
    assert!(plans.iter().any(|plan| has_v6(plan) && has_second(plan)));
    let is_v6 = |plan: &WorldPlan| plan.absences.iter().any(|of| of.family == Family::V6);
    assert!(count(is_v6) > 0);
    for plan in &plans {
        let again = WorldPlan::from_toml(&plan.to_toml("")).expect("a world file");
        assert_eq!(again, *plan, "seed {}", plan.seed);
    }
}
