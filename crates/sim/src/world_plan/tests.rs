//! Tests of world files (descriptions of simulated networks).

use super::*;

#[test]
fn a_drawn_world_is_read_back_from_its_file_unchanged() {
    for seed in 0..100 {
        let plan = WorldPlan::draw(Seed(seed));
        let text = plan.to_toml("drawn\n\nby a test");
        assert!(text.starts_with("# drawn\n#\n# by a test\n\n"), "{text}");
        assert_eq!(WorldPlan::from_toml(&text), Ok(plan), "seed {seed}\n{text}");
    }
}

#[test]
fn seeds_of_64_bits_are_read_back() {
    let mut plan = WorldPlan::draw(Seed(1));
    plan.seed = u64::MAX - 1;
    let text = plan.to_toml("");
    assert!(text.contains("seed = \"0xfffffffffffffffe\""), "{text}");
    assert_eq!(WorldPlan::from_toml(&text), Ok(plan));
}

#[test]
fn a_file_that_contradicts_itself_is_refused_in_words() {
    let plan = WorldPlan::draw(Seed(1));
    type Change = fn(&mut WorldPlan);
    let cases: [(Change, &str); 5] = [
        (
            |plan| plan.hosts[0].link = 9,
            "hosts[0]: there is no link 9",
        ),
        (
            |plan| plan.flows[0].server = 9,
            "flows[0]: client and server",
        ),
        (
            |plan| plan.links[0].forward.loss = 2.0,
            "links[0]: link: loss",
        ),
        (
            |plan| plan.hosts[1].config.pool.blocks = 0,
            "hosts[1]: pool.blocks",
        ),
        (
            |plan| {
                plan.outage = Some(OutagePlan {
                    link: 0,
                    begin: plan.impaired_for,
                    length: Duration::from_secs(1),
                });
            },
            "outage",
        ),
    ];
    for (change, words) in cases {
        let mut changed = plan.clone();
        change(&mut changed);
        let error = changed.check().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let text = plan.to_toml("") + "\n[hosts_of_old]\n";
    assert!(WorldPlan::from_toml(&text).is_err(), "an unknown name");
}
