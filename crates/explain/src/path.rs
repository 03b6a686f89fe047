//! Levers (things that somebody could change) of the path: each link in each direction.
//!
//! Rule: each row of the table `RELIEFS` (in `fullpipe-scenario`) contains the values that remove
//! one impairment, so a new impairment needs no change in this file.

use fullpipe_sim::link::Direction;

use crate::{
    cause::Cause,
    lever::{Change, Lever, LeverKind, Place, USUAL},
};
use fullpipe_scenario::experiment::{LinkPlan, RELIEFS, Relief, ReliefValues, Setup};

/// Fields of one direction of a link, with values.
type Values = Vec<(&'static str, String)>;

const DIRECTIONS: [(&str, Direction); 2] =
    [("forward", Direction::Forward), ("back", Direction::Back)];

/// Returns the levers of the links between the two ends of the first flow.
pub fn levers(setup: &Setup) -> Vec<Lever> {
    let flow = setup.flow();
    let route = setup.route(flow.from, flow.to).into_iter();
    route
        .flat_map(|(number, _)| of_link(number, &setup.links[number]))
        .collect()
}

/// Returns true if a link between the two ends of the first flow uses random numbers.
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
    RELIEFS
        .iter()
        .flat_map(|relief| of_relief(number, link, relief))
        .collect()
}

/// Returns the levers of one impairment: one for each direction that has the impairment. If both
/// directions have the impairment, adds a lever for both together. For an impairment that always
/// belongs to both directions, returns only one lever for both.
fn of_relief(number: usize, link: &LinkPlan, relief: &Relief) -> Vec<Lever> {
    let ways = DIRECTIONS.iter().filter_map(|(word, way)| {
        let values = (relief.values)(&link.link(*way))?;
        Some((*word, *way, values))
    });
    let ways: Vec<_> = ways.collect();
    let lever = |name: String, way: Option<Direction>, ways: &[(&str, &ReliefValues)]| {
        let changes = |of: fn(&ReliefValues) -> Option<&Values>| {
            let all = ways.iter().map(|(word, values)| {
                let set = of(values)?.iter().map(|(field, to)| Change {
                    set: format!("{}.{word}.{field}", link.name),
                    to: to.clone(),
                });
                Some(set.collect::<Vec<_>>())
            });
            all.collect::<Option<Vec<_>>>().map(|all| all.concat())
        };
        Lever {
            name,
            called: None,
            kind: LeverKind::Path,
            cause: Cause {
                name: relief.name,
                words: relief.words,
            },
            clues: &[],
            is_rare: false,
            place: Place::Link(number, way),
            field: relief.name,
            present: Some(ways[0].1.present.clone()),
            range: None,
            twice: changes(|values| values.twice.as_ref()),
            ample: changes(|values| Some(&values.ample)).expect("each has an ample value"),
        }
    };
    let all: Vec<_> = match &ways[..] {
        [] => return Vec::new(),
        // The impairment belongs to both directions, so the change applies to both.
        [(_, _, values), ..] if relief.is_of_both => {
            DIRECTIONS.map(|(word, _)| (word, values)).to_vec()
        }
        ways => ways
            .iter()
            .map(|(word, _, values)| (*word, values))
            .collect(),
    };
    let of_both = || lever(format!("{}.{}", link.name, relief.name), None, &all);
    if relief.is_of_both {
        return vec![of_both()];
    }
    let alone = ways.iter().map(|(word, way, values)| {
        let name = format!("{}.{word}.{}", link.name, relief.name);
        lever(name, Some(*way), &[(*word, values)])
    });
    let is_impairment = !USUAL.contains(&relief.name);
    let together = (ways.len() == 2 && is_impairment).then(of_both);
    alone.chain(together).collect()
}
