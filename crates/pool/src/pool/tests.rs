//! Tests of the use of blocks with every mix of holders (kinds of buffers), floors (blocks
//! guaranteed to a holder) and overcommitment (more promises than blocks).

use super::*;
use crate::stream::Stream;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use proptest::prelude::*;

fn config(blocks: u32, send_floor: u32, receive_floor: u32, overcommit_percent: u32) -> PoolConfig {
    PoolConfig {
        blocks,
        block_size: 10,
        send_floor,
        receive_floor,
        overcommit_percent,
        ranges: 4,
        ..PoolConfig::default()
    }
}

#[test]
fn the_reference_geometries_are_held_whole() {
    for (blocks, block_size) in [(36, 196), (256, 1548), (4096, 16384), (4, 1), (1, 1)] {
        let mut pool = Pool::new(&PoolConfig {
            blocks,
            block_size,
            receive_floor: 0,
            send_floor: 0,
            ..PoolConfig::default()
        });
        let capacity = u64::from(blocks) * u64::from(block_size);
        let mut stream = Stream::new(Holder::Send);
        assert_eq!(stream.append_room(&pool), capacity);
        let text = alloc::vec![7; capacity as usize + 1];
        assert_eq!(stream.append(&mut pool, &text) as u64, capacity);
        assert_eq!((pool.free_blocks(), pool.peak_blocks()), (0, blocks));
        stream.verify(&pool);
        stream.release(&mut pool);
        pool.verify();
        assert_eq!((pool.free_blocks(), pool.held(Holder::Send)), (blocks, 0));
    }
}

#[test]
fn a_contradictory_configuration_is_named() {
    let good = PoolConfig::default();
    assert_eq!(good.contradiction(), None);
    for (bad, word) in [
        (
            PoolConfig {
                blocks: 0,
                ..good.clone()
            },
            "blocks",
        ),
        (
            PoolConfig {
                block_size: 0,
                ..good.clone()
            },
            "byte",
        ),
        (
            PoolConfig {
                send_floor: 4000,
                receive_floor: 97,
                ..good.clone()
            },
            "send_floor",
        ),
        (
            PoolConfig {
                overcommit_percent: 99,
                ..good.clone()
            },
            "overcommit_percent",
        ),
        (
            PoolConfig {
                ranges: u32::MAX,
                ..good.clone()
            },
            "ranges",
        ),
    ] {
        let words = bad.contradiction().expect(word);
        assert!(words.contains(word), "{words}");
    }
}

#[test]
fn every_holder_has_its_own_name_and_count() {
    let mut pool = Pool::new(&config(12, 0, 0, 100));
    let mut streams = Holder::ALL.map(Stream::new);
    let mut names: [String; 6] = Holder::ALL.map(|holder| holder.name().to_string());
    for (n, stream) in streams.iter_mut().enumerate() {
        stream.append(&mut pool, &[1; 21][..1 + 10 * (n % 2)]);
    }
    for (n, holder) in Holder::ALL.into_iter().enumerate() {
        assert_eq!(pool.held(holder), 1 + n as u32 % 2, "{}", holder.name());
    }
    names.sort();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    for stream in &mut streams {
        stream.release(&mut pool);
    }
    assert_eq!(pool.peak_blocks(), 9);
}

#[test]
fn a_floor_is_a_share_that_its_owner_may_use_up() {
    // Ten blocks: three guaranteed to senders, four to receivers.
    let mut pool = Pool::new(&config(10, 3, 4, 100));
    assert_eq!(
        Holder::ALL.map(|holder| pool.room(holder)),
        [6, 7, 3, 3, 3, 3]
    );
    let (mut send, mut receive) = (Stream::new(Holder::Send), Stream::new(Holder::Receive));
    assert_eq!(send.append(&mut pool, &[0; 20]), 20);
    // Two of the senders' three guaranteed blocks are in use, so one more block is kept for
    // senders.
    assert_eq!(receive.reserve(&mut pool, 1000), 70);
    assert_eq!(send.append_room(&pool), 10);
    assert_eq!(send.append(&mut pool, &[0; 100]), 10);
    pool.verify();
    receive.unreserve(&mut pool, 20);
    // Two of the receivers' four guaranteed blocks are promised, so two more are kept for
    // receivers.
    assert_eq!(send.append(&mut pool, &[0; 100]), 30);
    assert_eq!(receive.reserve(&mut pool, 1000), 40);
    receive.write_at(&mut pool, 0, &[9; 40]).unwrap();
    pool.verify();
    assert_eq!((pool.free_blocks(), pool.promised()), (0, 0));
    send.release(&mut pool);
    receive.release(&mut pool);
}

#[test]
fn other_holders_leave_both_floors_alone() {
    let mut pool = Pool::new(&config(10, 3, 4, 100));
    let mut datagrams = Stream::new(Holder::Datagram);
    assert_eq!(datagrams.append(&mut pool, &[0; 100]), 30);
    let (mut send, mut receive) = (Stream::new(Holder::Send), Stream::new(Holder::Receive));
    assert_eq!(receive.reserve(&mut pool, 100), 40);
    assert_eq!(send.append(&mut pool, &[0; 100]), 30);
    pool.verify();
    for stream in [&mut datagrams, &mut send, &mut receive] {
        stream.release(&mut pool);
    }
    assert_eq!(pool.free_blocks(), 10);
}

#[test]
fn an_overcommitted_pool_reports_when_no_block_is_left() {
    let mut pool = Pool::new(&config(4, 1, 0, 300));
    let mut windows = [0; 4].map(|_: u8| Stream::new(Holder::Receive));
    for window in &mut windows[..3] {
        assert_eq!(window.reserve(&mut pool, 30), 30);
    }
    assert_eq!(pool.promised(), 9);
    // Twelve blocks may be held or promised; one of them is kept for the
    // senders' floor.
    assert_eq!(windows[3].reserve(&mut pool, 30), 20);
    windows[0].write_at(&mut pool, 0, &[1; 30]).unwrap();
    // One block is free, and it is kept for the senders' floor.
    let refused = windows[1].write_at(&mut pool, 5, &[2; 2]);
    assert_eq!(refused, Err(crate::NoBlock));
    assert!(windows[1].is_empty());
    pool.verify();
    let mut send = Stream::new(Holder::Send);
    assert_eq!(send.append(&mut pool, &[3; 30]), 10);
    windows[0].advance(&mut pool, 30);
    windows[1].write_at(&mut pool, 5, &[2; 2]).unwrap();
    for stream in windows.iter_mut().chain([&mut send]) {
        stream.release(&mut pool);
        pool.verify();
    }
    assert_eq!((pool.free_blocks(), pool.promised()), (4, 0));
}

#[test]
fn four_windows_share_a_block_and_the_last_gives_it_back() {
    let sizes = PoolConfig {
        block_size: 2_048,
        ..config(6, 2, 1, 100)
    };
    let mut pool = Pool::new(&sizes);
    assert_eq!((pool.cell_size(), pool.is_short()), (512, false));
    let mut windows: Vec<_> = (0..17).map(|_| Stream::new(Holder::Receive)).collect();
    for window in &mut windows[..16] {
        assert!(window.enter_cell(&mut pool));
        assert_eq!(window.reserve(&mut pool, 10_000), 512);
        pool.verify();
    }
    // Two blocks are kept for the senders' floor.
    assert!(pool.is_short() && !windows[16].enter_cell(&mut pool));
    assert_eq!((pool.held(Holder::Receive), pool.promised()), (4, 0));
    for (byte, window) in windows[..16].iter_mut().enumerate() {
        window.write_at(&mut pool, 0, &[byte as u8; 512]).unwrap();
    }
    assert!(!windows[3].leave_cell(&mut pool, 0), "no block is free");
    // Freed cells (parts of a block) are used again, in any order in which they are given back.
    for kept in [5, 9, 15, 0, 1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 13, 14] {
        let window = &mut windows[kept];
        let bytes: Vec<u8> = window.slices(&pool, 0..512).flatten().copied().collect();
        assert_eq!(bytes, [kept as u8; 512]);
        window.release(&mut pool);
        pool.verify();
        assert!(windows[16].enter_cell(&mut pool));
        windows[16].release(&mut pool);
        pool.verify();
    }
    assert_eq!((pool.free_blocks(), pool.cells_in_use()), (6, 0));
}

#[test]
fn handshakes_with_cells_never_make_memory_short_and_others_get_an_eighth() {
    let mut pool = Pool::new(&PoolConfig {
        block_size: 2_048,
        ..config(34, 2, 0, 100)
    });
    let both = |pool: &Pool| (pool.is_short(), pool.is_short_for_handshakes());
    assert!(pool.set_aside(20, true));
    assert_eq!(both(&pool), (false, false));
    assert!(pool.set_aside(3, false));
    assert_eq!(both(&pool), (false, false));
    assert!(pool.set_aside(1, false));
    assert_eq!(both(&pool), (false, true));
    assert!(pool.set_aside(4, false) && !pool.set_aside(5, true));
    assert_eq!(both(&pool), (true, true));
    pool.take_back(8, false);
    pool.take_back(20, true);
    assert_eq!((both(&pool), pool.promised()), ((false, false), 0));
    pool.verify();
}

#[test]
fn a_pool_of_small_blocks_has_no_cells() {
    for (block_size, cells, size) in [
        (196, 4, 0),
        (1_023, 4, 0),
        (1_024, 4, 256),
        (1_500, 4, 375),
        (2_048, 1, 0),
        (2_048, 3, 682),
    ] {
        let mut pool = Pool::new(&PoolConfig {
            block_size,
            cells,
            ..config(8, 0, 0, 100)
        });
        assert_eq!(pool.cell_size(), size, "{block_size} / {cells}");
        let mut window = Stream::new(Holder::Receive);
        assert_eq!(window.enter_cell(&mut pool), size > 0);
        window.release(&mut pool);
        pool.verify();
    }
}

#[test]
#[should_panic(expected = "send_floor and receive_floor together")]
fn a_pool_cannot_be_made_from_a_contradiction() {
    Pool::new(&config(4, 3, 2, 100));
}

/// A step of one stream. Several streams share a pool that is too small for all of them.
#[derive(Clone, Debug)]
enum Step {
    Append(usize),
    Reserve(u64),
    Unreserve(u64),
    /// Offset in 256ths of the window, and length in 256ths of the window after the offset.
    Write(u64, u64),
    Advance(u64),
    Release,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        (1..60_usize).prop_map(Step::Append),
        (0..90_u64).prop_map(Step::Reserve),
        (0..40_u64).prop_map(Step::Unreserve),
        (0..=256_u64, 0..=256_u64).prop_map(|(at, part)| Step::Write(at, part)),
        (0..=256_u64).prop_map(Step::Advance),
        Just(Step::Release),
    ];
    proptest::collection::vec((0..8_usize, step), 1..120)
}

/// Runs `step` on `stream`; returns true if a promise was broken.
fn run(step: &Step, stream: &mut Stream, pool: &mut Pool) -> bool {
    let (start, window) = (stream.start(), stream.reserved_end() - stream.start());
    match *step {
        Step::Append(n) => {
            let room = stream.append_room(pool);
            let appended = stream.append(pool, &[5; 60][..n]) as u64;
            assert_eq!(appended, room.min(n as u64), "append_room is exact");
        }
        Step::Reserve(n) => {
            let before = stream.reserved_end();
            let granted = stream.reserve(pool, start + n);
            assert!(granted >= before && granted <= before.max(start + n));
        }
        Step::Unreserve(n) => {
            let before = stream.reserved_end();
            stream.unreserve(pool, start + n);
            assert_eq!(
                stream.reserved_end(),
                before.min((start + n).max(stream.end()))
            );
        }
        Step::Write(at, part) => {
            let offset = start + window * at / 256;
            let len = (stream.reserved_end() - offset) * part / 256;
            let bytes = alloc::vec![6; len as usize];
            return stream.write_at(pool, offset, &bytes).is_err();
        }
        Step::Advance(part) => stream.advance(pool, stream.len() * part / 256),
        Step::Release => stream.release(pool),
    }
    false
}

proptest! {
    #[test]
    fn streams_contending_for_a_tiny_pool_conserve_it_at_every_step(
        geometry in (1..12_u32, 1..20_u32),
        floors in (0..=256_u32, 0..=256_u32),
        overcommit in prop_oneof![Just(100_u32), 100..400_u32],
        steps in steps(),
    ) {
        let (blocks, block_size) = geometry;
        let send_floor = blocks * floors.0 / 256;
        let receive_floor = (blocks - send_floor) * floors.1 / 256;
        let mut pool = Pool::new(&PoolConfig {
            block_size, ..config(blocks, send_floor, receive_floor, overcommit)
        });
        // Two of the streams are senders and two are receivers; every other holder has one stream.
        let mut streams = [0, 1, 2, 3, 4, 5, 0, 1].map(|n| Stream::new(Holder::ALL[n]));
        for (who, step) in &steps {
            let broken = run(step, &mut streams[*who], &mut pool);
            prop_assert!(!broken || overcommit > 100, "a promise was broken by {step:?}");
            pool.verify();
            for holder in Holder::ALL {
                let of_holder = || streams.iter().filter(|stream| stream.holder() == holder);
                let held: u32 = of_holder().map(|stream| stream.held_blocks(&pool)).sum();
                let promised: u32 = of_holder().map(|stream| stream.promised_blocks(&pool)).sum();
                prop_assert_eq!((held, promised), (pool.held(holder), pool.promised_to(holder)));
            }
            for stream in &streams {
                stream.verify(&pool);
            }
            if overcommit == 100 {
                prop_assert!(pool.promised() <= pool.free_blocks());
            }
        }
        for stream in &mut streams {
            stream.release(&mut pool);
        }
        pool.verify();
        prop_assert_eq!((pool.free_blocks(), pool.promised()), (blocks, 0));
    }

    /// Senders reach their floor, regardless of the blocks that the other holders took.
    #[test]
    fn a_sender_always_reaches_its_floor(
        blocks in 2..12_u32, floor in 1..256_u32, overcommit in 100..300_u32, steps in steps(),
    ) {
        let send_floor = 1 + (blocks - 1) * floor / 256;
        let mut pool = Pool::new(&config(blocks, send_floor, 0, overcommit));
        let mut others = [1, 2, 3, 4, 5, 1, 1, 1].map(|n| Stream::new(Holder::ALL[n]));
        for (who, step) in &steps {
            run(step, &mut others[*who], &mut pool);
            prop_assert!(pool.room(Holder::Send) >= send_floor);
        }
        let mut send = Stream::new(Holder::Send);
        prop_assert!(send.append(&mut pool, &[1; 120]) >= 10 * send_floor as usize);
    }
}
