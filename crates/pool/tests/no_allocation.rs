//! Tests that no operation of a stream or a set of ranges allocates after `Pool::new`.
//!
//! The one rule: allocations are counted by the process's allocator, not by the
//! crate. The correctness of results is tested beside the code.

use fullpipe_pool::{Holder, Pool, PoolConfig, Ranges, Rng, Stream};

/// Runs one random operation on a stream or on the set of ranges. The pool may run out of memory.
fn step(rng: &mut Rng, pool: &mut Pool, streams: &mut [Stream], set: &mut Ranges) {
    let bytes = [3; 700];
    let who = rng.below(streams.len() as u64) as usize;
    let stream = &mut streams[who];
    match rng.below(8) {
        0 => _ = stream.append(pool, &bytes[..rng.below(700) as usize]),
        1 => _ = stream.append_with(pool, 500, |space| space.len() / 2),
        2 => _ = stream.reserve(pool, stream.start() + rng.below(3000)),
        3 => {
            let room = stream.reserved_end() - stream.start();
            let at = rng.between(0, room);
            let len = (room - at).min(rng.below(700)) as usize;
            _ = stream.write_at(pool, stream.start() + at, &bytes[..len]);
        }
        4 => {
            let mut out = [0; 300];
            let at = stream.start() + rng.between(0, stream.len());
            _ = stream.read_at(pool, at, &mut out);
            stream.slices(pool, at..stream.end()).for_each(drop);
        }
        5 => stream.advance(pool, rng.between(0, stream.len())),
        6 => {
            let at = rng.below(10_000);
            _ = set.insert(pool, at..at + 1 + rng.below(60));
            _ = set.iter(pool).count();
        }
        _ => match rng.below(4) {
            0 => stream.release(pool),
            1 => stream.unreserve(pool, stream.start() + rng.below(500)),
            2 => set.remove_below(pool, rng.below(10_000)),
            _ => set.clear(pool),
        },
    }
}

#[test]
fn nothing_is_allocated_after_construction() {
    let shapes = [(36, 196, 100), (4, 196, 100), (16, 60, 100), (8, 64, 300)];
    for (blocks, block_size, overcommit_percent) in shapes {
        let config = PoolConfig {
            blocks,
            block_size,
            overcommit_percent,
            send_floor: 1,
            receive_floor: 1,
            ranges: 20,
            ..PoolConfig::default()
        };
        let mut made = None;
        let construction = allocation_counter::measure(|| made = Some(Pool::new(&config)));
        assert_eq!(construction.count_total, 3, "links, bytes and ranges");

        let mut pool = made.expect("it was just made");
        let mut rng = Rng::seeded(u64::from(blocks));
        let mut streams = [0, 0, 1, 1, 2, 3, 4, 5].map(|n| Stream::new(Holder::ALL[n]));
        let mut set = Ranges::new();
        let use_of_it = allocation_counter::measure(|| {
            for _ in 0..20_000 {
                step(&mut rng, &mut pool, &mut streams, &mut set);
            }
            pool.verify();
            streams
                .iter_mut()
                .for_each(|stream| stream.release(&mut pool));
            set.clear(&mut pool);
        });
        assert_eq!(use_of_it.count_total, 0, "{blocks} x {block_size}");
        assert_eq!((pool.free_blocks(), pool.free_ranges()), (blocks, 20));
        assert!(pool.peak_blocks() > blocks / 2, "the pool was hardly used");
    }
}
