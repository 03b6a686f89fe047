//! A few worlds of each cause; `cargo xtask soak --verdicts` has hundreds.

use super::*;

#[test]
fn a_verdict_names_what_was_built() {
    let judged: Vec<_> = (0..48).map(|number| judge(number).unwrap()).collect();
    for world in &judged {
        assert_eq!(
            world.named, world.built,
            "world {}: {}",
            world.number, world.sentence
        );
    }
    let tally = tally(&judged);
    assert!(tally.helped_share() >= 0.95, "{tally}");
    assert!(tally.median_error.unwrap() <= 0.15, "{tally}");
}

#[test]
fn a_world_is_the_same_every_time_and_its_file_is_one_to_run() {
    for number in 0..200 {
        let world = KnownWorld::draw(number);
        assert_eq!(world.file, KnownWorld::draw(number).file);
        let experiment = world.experiment().unwrap();
        assert!(experiment.rows.len() == 1 && experiment.validate().is_ok());
    }
}
