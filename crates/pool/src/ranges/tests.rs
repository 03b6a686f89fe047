//! Tests that compare sets of ranges with a plain set of numbers.

use super::*;
use crate::config::PoolConfig;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use proptest::prelude::*;

fn pool_with(ranges: u32) -> Pool {
    Pool::new(&PoolConfig {
        blocks: 1,
        block_size: 1,
        ranges,
        receive_floor: 0,
        send_floor: 0,
        ..PoolConfig::default()
    })
}

fn inserted(
    merged: Range<u64>,
    new_bytes: u64,
    overlap: Option<Range<u64>>,
) -> Result<Inserted, RangesFull> {
    Ok(Inserted {
        merged,
        new_bytes,
        overlap,
    })
}

#[test]
fn a_handle_is_sixteen_bytes() {
    assert_eq!(size_of::<Ranges>(), 16);
}

#[test]
fn touching_ranges_merge_and_known_bytes_are_reported() {
    for (name, added, expected, count) in [
        ("apart, below", 1..5, inserted(1..5, 4, None), 4),
        ("apart, between", 22..28, inserted(22..28, 6, None), 4),
        ("apart, above", 71..72, inserted(71..72, 1, None), 4),
        ("touching from below", 5..10, inserted(5..20, 5, None), 3),
        ("touching from above", 20..25, inserted(10..25, 5, None), 3),
        ("touching the last", 70..80, inserted(50..80, 10, None), 3),
        ("closing a gap", 20..30, inserted(10..40, 10, None), 2),
        (
            "known already",
            12..15,
            inserted(10..20, 0, Some(12..15)),
            3,
        ),
        (
            "exactly known",
            30..40,
            inserted(30..40, 0, Some(30..40)),
            3,
        ),
        (
            "overlapping below",
            5..12,
            inserted(5..20, 5, Some(10..12)),
            3,
        ),
        (
            "overlapping above",
            18..25,
            inserted(10..25, 5, Some(18..20)),
            3,
        ),
        ("over two", 15..35, inserted(10..40, 10, Some(15..20)), 2),
        (
            "touching, then over",
            20..35,
            inserted(10..40, 10, Some(30..35)),
            2,
        ),
        (
            "over everything",
            0..100,
            inserted(0..100, 60, Some(10..20)),
            1,
        ),
    ] {
        let mut pool = pool_with(8);
        let mut set = Ranges::new();
        for known in [10..20, 50..70, 30..40] {
            set.insert(&mut pool, known).unwrap();
        }
        assert_eq!(set.insert(&mut pool, added), expected, "{name}");
        assert_eq!(
            (set.count(), pool.free_ranges()),
            (count, 8 - count),
            "{name}"
        );
        assert_eq!(set.iter(&pool).count(), count as usize, "{name}");
        assert_eq!(set.last(&pool), set.iter(&pool).last(), "{name}");
        pool.verify();
        set.clear(&mut pool);
        assert_eq!((set.is_empty(), pool.free_ranges()), (true, 8), "{name}");
    }
}

#[test]
fn a_full_arena_refuses_only_ranges_that_need_a_node() {
    let mut pool = pool_with(2);
    let (mut one, mut other) = (Ranges::new(), Ranges::new());
    one.insert(&mut pool, 0..10).unwrap();
    other.insert(&mut pool, 0..10).unwrap();
    assert_eq!(one.insert(&mut pool, 20..30), Err(RangesFull));
    assert_eq!((one.first(&pool), one.count()), (Some(0..10), 1));
    assert_eq!(one.insert(&mut pool, 10..30), inserted(0..30, 20, None));
    other.clear(&mut pool);
    assert_eq!(one.insert(&mut pool, 40..50), inserted(40..50, 10, None));
    one.clear(&mut pool);
    pool.verify();
}

#[test]
fn removing_below_cuts_the_range_it_falls_into() {
    for (offset, left) in [
        (0, alloc::vec![10..20, 30..40]),
        (10, alloc::vec![10..20, 30..40]),
        (15, alloc::vec![15..20, 30..40]),
        (20, alloc::vec![30..40]),
        (25, alloc::vec![30..40]),
        (39, alloc::vec![39..40]),
        (40, alloc::vec![]),
        (u64::MAX, alloc::vec![]),
    ] {
        let mut pool = pool_with(4);
        let mut set = Ranges::new();
        set.insert(&mut pool, 30..40).unwrap();
        set.insert(&mut pool, 10..20).unwrap();
        set.remove_below(&mut pool, offset);
        assert_eq!(set.iter(&pool).collect::<Vec<_>>(), left, "{offset}");
        assert_eq!(
            (set.first(&pool), set.last(&pool)),
            (left.first().cloned(), left.last().cloned())
        );
        set.insert(&mut pool, 90..91).unwrap();
        assert_eq!(set.last(&pool), Some(90..91));
        set.clear(&mut pool);
        pool.verify();
    }
}

#[test]
#[should_panic(expected = "has no bytes")]
fn inserting_an_empty_range_panics() {
    _ = Ranges::new().insert(&mut pool_with(1), 5..5);
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u64, u64),
    RemoveBelow(u64),
    Covers(u64, u64),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..200_u64, 1..30_u64).prop_map(|(at, n)| Step::Insert(at, n)),
        2 => (0..100_u64).prop_map(Step::RemoveBelow),
        3 => (0..200_u64, 0..30_u64).prop_map(|(at, n)| Step::Covers(at, n)),
        1 => Just(Step::Clear),
    ]
}

/// The runs of consecutive numbers in `numbers`.
fn runs(numbers: &BTreeSet<u64>) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some(run) if run.end == number => run.end += 1,
            Some(_) | None => runs.push(number..number + 1),
        }
    }
    runs
}

fn run(step: &Step, set: &mut Ranges, model: &mut BTreeSet<u64>, pool: &mut Pool) {
    match *step {
        Step::Insert(at, n) => {
            let range = at..at + n;
            let known: BTreeSet<u64> = model.range(range.clone()).copied().collect();
            let mut wanted = model.clone();
            wanted.extend(range.clone());
            let wanted_runs = runs(&wanted);
            let needs_node = wanted_runs.len() > runs(model).len();
            let outcome = set.insert(pool, range.clone());
            if needs_node && wanted_runs.len() as u32 > set.count() {
                assert_eq!((outcome, pool.free_ranges()), (Err(RangesFull), 0));
                return;
            }
            let merged = wanted_runs
                .into_iter()
                .find(|run| run.contains(&at))
                .unwrap();
            let expected = inserted(
                merged,
                n - known.len() as u64,
                runs(&known).first().cloned(),
            );
            assert_eq!(outcome, expected);
            *model = wanted;
        }
        Step::RemoveBelow(offset) => {
            set.remove_below(pool, offset);
            *model = model.split_off(&offset);
        }
        Step::Covers(at, n) => {
            assert_eq!(
                set.covers(pool, at..at + n),
                (at..at + n).all(|number| model.contains(&number))
            );
        }
        Step::Clear => {
            set.clear(pool);
            model.clear();
        }
    }
}

/// Measures the work of one insertion among many ranges that a peer sent in an order of its choice.
#[test]
fn a_range_is_inserted_in_a_logarithm_of_the_ranges_in_any_order() {
    const COUNT: u64 = 8_192;
    let place = |order: &str, index: u64| match order {
        "ascending" => index,
        "descending" => COUNT - 1 - index,
        "from both ends" if index % 2 == 1 => COUNT - 1 - index / 2,
        "from both ends" => index / 2,
        _ => index.wrapping_mul(5_077) % COUNT,
    };
    for order in ["ascending", "descending", "from both ends", "scattered"] {
        let mut pool = pool_with(2 * COUNT as u32);
        let mut set = Ranges::new();
        for index in 0..COUNT {
            let start = 10 * place(order, index);
            set.insert(&mut pool, start..start + 1)
                .expect("a free node");
        }
        assert_eq!(u64::from(set.count()), COUNT, "{order}");
        for index in 0..COUNT {
            let start = 10 * place(order, index);
            let again = set.insert(&mut pool, start..start + 1).expect("no node");
            assert_eq!(again.new_bytes, 0);
        }
        set.remove_below(&mut pool, 10 * COUNT);
        let steps = pool.ranges_walked() / (3 * COUNT);
        let most = 3 * u64::from(COUNT.ilog2());
        assert!(steps <= most, "{order}: {steps} steps a range");
        assert_eq!(u64::from(pool.free_ranges()), 2 * COUNT);
    }
}

proptest! {
    #[test]
    fn two_sets_in_one_arena_behave_like_sets_of_numbers(
        ranges in 1..16_u32,
        steps in proptest::collection::vec((any::<bool>(), step()), 1..80),
    ) {
        let mut pool = pool_with(ranges);
        let mut sets = [Ranges::new(), Ranges::new()];
        let mut models = [BTreeSet::new(), BTreeSet::new()];
        for (who, step) in &steps {
            let who = usize::from(*who);
            run(step, &mut sets[who], &mut models[who], &mut pool);
            for (set, model) in sets.iter().zip(&models) {
                prop_assert_eq!(set.iter(&pool).collect::<Vec<_>>(), runs(model));
                prop_assert_eq!(set.count() as usize, runs(model).len());
                prop_assert_eq!(set.last(&pool), runs(model).last().cloned());
            }
            prop_assert_eq!(pool.free_ranges() + sets[0].count() + sets[1].count(), ranges);
            pool.verify();
        }
        sets.iter_mut().for_each(|set| set.clear(&mut pool));
        prop_assert_eq!(pool.free_ranges(), ranges);
    }
}
