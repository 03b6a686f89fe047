//! Levers of the path: each link, each direction.
//!
//! Rule: each row of the table `RELIEFS` (in `fullpipe-scenario`) says how to remove one
//! impairment, so a new impairment needs no change here.

use fullpipe_sim::link::Direction;

use crate::{
    cause::Cause,
    lever::{Change, Lever, LeverKind, Place},
};
use fullpipe_scenario::experiment::{LinkPlan, RELIEFS, Setup};

const DIRECTIONS: [(&str, Direction); 2] =
    [("forward", Direction::Forward), ("back", Direction::Back)];

/// Returns the levers of the links between both ends of the first flow.
pub fn levers(setup: &Setup) -> Vec<Lever> {
    let flow = setup.flow();
    let route = setup.route(flow.from, flow.to).into_iter();
    route
        .flat_map(|(number, _)| of_link(number, &setup.links[number]))
        .collect()
}

/// Returns true if a link between both ends of the first flow draws anything.
pub fn is_random(setup: &Setup) -> bool {
    let flow = setup.flow();
    let route = setup.route(flow.from, flow.to).into_iter();
    let links =
        route.flat_map(|(number, _)| Direction::ALL.map(|way| setup.links[number].link(way)));
    let mut links = links.collect::<Vec<_>>().into_iter();
    links.any(|link| {
        let mut drawn = RELIEFS.iter().filter(|relief| relief.is_random);
        drawn.any(|relief| (relief.values)(&link).is_some())
    })
}

fn of_link(number: usize, link: &LinkPlan) -> Vec<Lever> {
    let mut levers = Vec::new();
    for relief in RELIEFS {
        for (word, direction) in DIRECTIONS {
            let Some(values) = (relief.values)(&link.link(direction)) else {
                continue;
            };
            // Both directions share the air.
            let ways: &[&str] = match relief.is_of_both {
                true if direction == Direction::Back => continue,
                true => &["forward", "back"],
                false => &[word],
            };
            let path = |way: &str, field: &str| format!("{}.{way}.{field}", link.name);
            let changes = |values: Vec<(&'static str, String)>| -> Vec<Change> {
                let all = ways.iter().flat_map(|way| {
                    values.iter().map(|(field, to)| Change {
                        set: path(way, field),
                        to: to.clone(),
                    })
                });
                all.collect()
            };
            let name = match relief.is_of_both {
                true => format!("{}.{}", link.name, relief.name),
                false => path(word, relief.name),
            };
            let way = (!relief.is_of_both).then_some(direction);
            levers.push(Lever {
                name,
                called: None,
                kind: LeverKind::Path,
                cause: Cause {
                    name: relief.name,
                    words: relief.words,
                },
                clues: &[],
                place: Place::Link(number, way),
                field: relief.name,
                present: Some(values.present.clone()),
                range: None,
                twice: values.twice.map(&changes),
                ample: changes(values.ample),
            });
        }
    }
    levers
}
