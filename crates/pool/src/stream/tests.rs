//! Tests that compare streams with a plain list of bytes, with many sizes of blocks and pools.

extern crate std;

use super::*;
use crate::config::PoolConfig;
use crate::pool::{Holder, Pool};
use crate::rng::Rng;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;
use proptest::prelude::*;

fn pool_of(blocks: u32, block_size: u32) -> Pool {
    Pool::new(&PoolConfig {
        blocks,
        block_size,
        receive_floor: 0,
        send_floor: 0,
        ..PoolConfig::default()
    })
}

fn bytes_of_length(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 7 + n / 251) as u8).collect()
}

fn read(stream: &Stream, pool: &Pool, range: Range<u64>) -> Vec<u8> {
    stream.slices(pool, range).flatten().copied().collect()
}

#[test]
fn a_stream_handle_is_small() {
    assert_eq!(size_of::<Stream>(), 48);
}

#[test]
fn written_bytes_are_read_back_across_block_boundaries() {
    let mut pool = pool_of(36, 196);
    let mut stream = Stream::new(Holder::Send);
    let written = bytes_of_length(1000);
    assert_eq!(stream.append(&mut pool, &written), 1000);
    assert_eq!(pool.held(Holder::Send), 6);
    for range in [0..1000, 195..197, 196..392, 391..393, 999..1000, 500..500] {
        assert_eq!(
            read(&stream, &pool, range.start as u64..range.end as u64),
            written[range]
        );
    }
    let lengths: Vec<usize> = stream.slices(&pool, 190..600).map(<[u8]>::len).collect();
    assert_eq!(lengths, [6, 196, 196, 12]);
    let mut out = [0; 64];
    assert_eq!(stream.read_at(&pool, 980, &mut out), 20);
    assert_eq!(out[..20], written[980..]);
    stream.release(&mut pool);
}

#[test]
fn bytes_out_of_order_land_in_their_final_place_and_holes_are_filled_later() {
    let mut pool = pool_of(16, 10);
    let mut stream = Stream::new(Holder::Receive);
    stream.restart(1007);
    let whole = bytes_of_length(80);
    let part = |from: usize, to: usize| &whole[from..to];
    assert_eq!(stream.reserve(&mut pool, 1087), 1087);
    // 1007..1087 touches nine blocks of the grid: 1000, 1010, ... 1080.
    assert_eq!((pool.promised(), pool.held(Holder::Receive)), (9, 0));
    for (from, to, held) in [
        (60, 80, 9),
        (30, 35, 9),
        (33, 50, 9),
        (0, 40, 9),
        (48, 61, 9),
    ] {
        stream
            .write_at(&mut pool, 1007 + from as u64, part(from, to))
            .unwrap();
        assert_eq!(pool.held(Holder::Receive), held);
        assert_eq!(
            read(&stream, &pool, 1007 + from as u64..1007 + to as u64),
            part(from, to)
        );
        stream.verify(&pool);
    }
    assert_eq!(read(&stream, &pool, 1007..1087), whole);
    assert_eq!(pool.promised(), 0);
    stream.release(&mut pool);
}

#[test]
fn the_chain_grows_only_as_far_as_the_highest_byte() {
    let mut pool = pool_of(16, 10);
    let mut stream = Stream::new(Holder::Receive);
    stream.reserve(&mut pool, 100);
    for (offset, len, held) in [
        (0, 1, 1),
        (5, 5, 1),
        (9, 1, 1),
        (9, 2, 2),
        (45, 5, 5),
        (12, 3, 5),
        (50, 1, 6),
    ] {
        stream.write_at(&mut pool, offset, &[1; 5][..len]).unwrap();
        assert_eq!(pool.held(Holder::Receive), held, "{offset}+{len}");
        assert_eq!(pool.promised(), 10 - held);
    }
    stream.release(&mut pool);
}

#[test]
fn a_reservation_counts_the_partial_blocks_at_both_ends() {
    // Block size 10: start, reserved end, and the number of blocks that this range
    // touches.
    for (start, end, blocks) in [
        (0, 1, 1),
        (0, 10, 1),
        (0, 11, 2),
        (9, 10, 1),
        (9, 11, 2),
        (10, 20, 1),
        (5, 5, 0),
        (5, 4, 0),
        (19, 41, 4),
        (1 << 40, (1 << 40) + 1, 1),
    ] {
        let mut pool = pool_of(16, 10);
        let mut stream = Stream::new(Holder::Receive);
        stream.restart(start);
        assert_eq!(stream.reserve(&mut pool, end), end.max(start));
        assert_eq!(pool.promised(), blocks, "{start}..{end}");
        stream.release(&mut pool);
        assert_eq!(pool.promised(), 0);
    }
}

#[test]
fn a_reservation_is_cut_at_the_grid_when_blocks_run_out_and_grows_when_they_return() {
    let mut pool = pool_of(4, 10);
    let mut stream = Stream::new(Holder::Receive);
    stream.restart(7);
    assert_eq!(stream.reserve(&mut pool, 1000), 40);
    assert_eq!(stream.reserve(&mut pool, 12), 40, "it never goes down");
    stream.write_at(&mut pool, 7, &bytes_of_length(15)).unwrap();
    // The first block is given back, the third is partly filled and stays.
    stream.advance(&mut pool, 14);
    assert_eq!((stream.reserve(&mut pool, 1000), pool.promised()), (60, 3));
    assert_eq!((pool.held(Holder::Receive), pool.free_blocks()), (1, 3));
    stream.unreserve(&mut pool, 31);
    assert_eq!((stream.reserved_end(), pool.promised()), (31, 1));
    stream.unreserve(&mut pool, 0);
    assert_eq!((stream.reserved_end(), pool.promised()), (22, 0));
    stream.release(&mut pool);
}

#[test]
fn emptying_a_stream_inside_a_reserved_block_keeps_the_promise() {
    let mut pool = pool_of(4, 10);
    let (mut window, mut rival) = (Stream::new(Holder::Receive), Stream::new(Holder::Send));
    window.reserve(&mut pool, 18);
    window.write_at(&mut pool, 0, &bytes_of_length(15)).unwrap();
    assert_eq!(pool.promised(), 0);
    window.advance(&mut pool, 15);
    assert_eq!((pool.held(Holder::Receive), pool.promised()), (0, 1));
    assert_eq!(rival.append(&mut pool, &bytes_of_length(100)), 30);
    window.write_at(&mut pool, 15, b"abc").unwrap();
    assert_eq!(read(&window, &pool, 15..18), b"abc");
    window.advance(&mut pool, 3);
    assert_eq!(
        (pool.held(Holder::Receive), pool.promised()),
        (0, 0),
        "the window is used up"
    );
    rival.release(&mut pool);
    window.release(&mut pool);
}

#[test]
fn appends_and_reservations_share_one_pool_without_touching_each_other() {
    let mut pool = pool_of(4, 10);
    let (mut send, mut receive) = (Stream::new(Holder::Send), Stream::new(Holder::Receive));
    assert_eq!(receive.reserve(&mut pool, 25), 25);
    assert_eq!(send.append_room(&pool), 10);
    assert_eq!(send.append(&mut pool, &bytes_of_length(99)), 10);
    assert_eq!(send.append(&mut pool, &bytes_of_length(99)), 0);
    receive
        .write_at(&mut pool, 0, &bytes_of_length(25))
        .unwrap();
    assert_eq!(pool.free_blocks(), 0);
    send.advance(&mut pool, 10);
    assert_eq!(receive.reserve(&mut pool, 99), 40);
    assert_eq!(send.append_room(&pool), 0);
    receive.release(&mut pool);
    assert_eq!(send.append_room(&pool), 40);
    send.release(&mut pool);
}

#[test]
fn a_stream_may_append_into_its_own_reservation() {
    let mut pool = pool_of(4, 10);
    let (mut stream, mut rival) = (Stream::new(Holder::Send), Stream::new(Holder::Send));
    assert_eq!(stream.reserve(&mut pool, 20), 20);
    assert_eq!(rival.append(&mut pool, &bytes_of_length(99)), 20);
    assert_eq!(stream.append_room(&pool), 20);
    assert_eq!(stream.append(&mut pool, &bytes_of_length(99)), 20);
    assert_eq!((pool.promised(), pool.free_blocks()), (0, 0));
    stream.release(&mut pool);
    rival.release(&mut pool);
}

#[test]
fn writing_in_place_fills_space_by_space_and_stops_where_the_writer_stops() {
    let mut pool = pool_of(4, 10);
    let mut stream = Stream::new(Holder::Send);
    stream.append(&mut pool, b"abc");
    let mut spaces = Vec::new();
    let appended = stream.append_with(&mut pool, 25, |space| {
        spaces.push(space.len());
        space.fill(b'x');
        space.len()
    });
    assert_eq!((appended, spaces.as_slice()), (25, [7, 10, 8].as_slice()));
    assert_eq!(
        stream.append_with(&mut pool, 9, |_| 1),
        1,
        "a space not filled ends it"
    );
    assert_eq!(stream.end(), 29);
    stream.append(&mut pool, b"z");
    // A writer that fills nothing leaves no block behind.
    assert_eq!(stream.append_with(&mut pool, 9, |_| 0), 0);
    assert_eq!(pool.held(Holder::Send), 3);
    stream.verify(&pool);
    stream.release(&mut pool);
    stream.reserve(&mut pool, 40);
    assert_eq!(stream.append_with(&mut pool, 9, |_| 0), 0);
    assert_eq!((pool.held(Holder::Send), pool.promised()), (0, 1));
    stream.release(&mut pool);
    pool.verify();
}

#[test]
fn a_released_stream_can_be_used_again_and_an_empty_one_moved() {
    let mut pool = pool_of(4, 10);
    let mut stream = Stream::new(Holder::Receive);
    stream.reserve(&mut pool, 35);
    stream.write_at(&mut pool, 3, b"abc").unwrap();
    stream.release(&mut pool);
    assert_eq!(
        (stream.start(), stream.end(), stream.reserved_end()),
        (6, 6, 6)
    );
    stream.restart(1 << 33);
    assert_eq!(stream.append(&mut pool, b"again"), 5);
    assert_eq!(read(&stream, &pool, 1 << 33..(1 << 33) + 5), b"again");
    stream.release(&mut pool);
}

fn expect_panic(words: &str, act: impl FnOnce(&mut Stream, &mut Pool) + std::panic::UnwindSafe) {
    let outcome = std::panic::catch_unwind(|| {
        let (mut stream, mut pool) = (Stream::new(Holder::Receive), pool_of(4, 10));
        stream.reserve(&mut pool, 20);
        stream.write_at(&mut pool, 0, b"abc").unwrap();
        stream.advance(&mut pool, 1);
        act(&mut stream, &mut pool);
    });
    let panic = outcome.expect_err(words);
    let said = panic.downcast_ref::<alloc::string::String>().cloned();
    let said = said.unwrap_or_else(|| (*panic.downcast_ref::<&str>().expect("words")).into());
    assert!(said.contains(words), "{said:?} does not say {words:?}");
}

#[test]
fn a_caller_that_exceeds_its_bounds_panics_before_memory_changes() {
    expect_panic("outside the reservation", |s, p| {
        _ = s.write_at(p, 19, b"ab")
    });
    expect_panic("outside the reservation", |s, p| {
        _ = s.write_at(p, 0, b"ab")
    });
    expect_panic("outside the stream", |s, p| _ = s.slices(p, 0..2));
    expect_panic("outside the stream", |s, p| _ = s.slices(p, 2..4));
    expect_panic("advancing by 3 over 2", |s, p| s.advance(p, 3));
    expect_panic("a stream in use", |s, _| s.restart(9));
    expect_panic("were put into", |s, p| {
        _ = s.append_with(p, 5, |space| space.len() + 1)
    });
}

/// Blocks walked to find `offset`.
fn walk(stream: &Stream, pool: &Pool, offset: u64) -> u32 {
    let (index, _) = stream.locate(pool, offset);
    index - stream.nearest(pool, index).index
}

#[test]
fn sequential_work_never_walks_more_than_the_last_piece() {
    let mut pool = pool_of(4096, 16);
    let mut stream = Stream::new(Holder::Send);
    stream.append(&mut pool, &bytes_of_length(65_536));
    assert_eq!(
        walk(&stream, &pool, 65_535),
        0,
        "the tail is known from the start"
    );
    // Work like a sender in recovery: send new bytes and retransmit a hole far below them. New
    // bytes and retransmissions are in pieces of two blocks, and the head follows the hole.
    let (mut new, mut hole) = (32_768, 96);
    while new + 32 <= stream.end() {
        for at in [&mut new, &mut hole] {
            assert!(
                walk(&stream, &pool, *at) <= 2 || *at == 32_768 || *at == 96,
                "at {at}"
            );
            stream.slices(&pool, *at..*at + 32).for_each(drop);
            *at += 32;
        }
        stream.advance(&mut pool, 16);
        stream.verify(&pool);
    }
    assert_eq!(walk(&stream, &pool, stream.start()), 0);
    assert!(walk(&stream, &pool, stream.end() - 1) <= 1);
    stream.release(&mut pool);
}

#[test]
fn bytes_arriving_above_a_hole_and_in_it_are_placed_without_a_walk() {
    let mut pool = pool_of(4096, 16);
    let mut stream = Stream::new(Holder::Receive);
    stream.reserve(&mut pool, 65_536);
    let (mut above, mut inside) = (32_768, 0);
    while above < 65_536 {
        for at in [&mut above, &mut inside] {
            stream.write_at(&mut pool, *at, &[1; 32]).unwrap();
            *at += 32;
            assert!(walk(&stream, &pool, *at - 1) <= 2);
        }
    }
    stream.release(&mut pool);
}

/// A step of the property test; amounts are in 64ths of a block.
#[derive(Clone, Debug)]
enum Step {
    Append(u64),
    Fill(u64),
    Reserve(u64),
    Unreserve(u64),
    /// Offset in 256ths of the window, and length in 64ths of a block.
    Write(u64, u64),
    /// Offset in 256ths of the bytes held, and length in 64ths of a block.
    Read(u64, u64),
    Advance(u64),
    Release(u64),
    EnterCell,
    /// Blocks that the pool must have in addition to those that the stream needs.
    LeaveCell(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let amount = || prop_oneof![4 => 0..200_u64, 1 => Just(64_u64), 1 => 0..2000_u64];
    prop_oneof![
        3 => amount().prop_map(Step::Append),
        1 => amount().prop_map(Step::Fill),
        3 => amount().prop_map(Step::Reserve),
        1 => amount().prop_map(Step::Unreserve),
        4 => (0..=256_u64, amount()).prop_map(|(at, n)| Step::Write(at, n)),
        4 => (0..=256_u64, amount()).prop_map(|(at, n)| Step::Read(at, n)),
        4 => amount().prop_map(Step::Advance),
        1 => (0..1_u64 << 45).prop_map(Step::Release),
    ]
}

fn step_of_receiver() -> impl Strategy<Value = Step> {
    let kept = prop_oneof![3 => Just(0), 1 => 0..20_u32];
    prop_oneof![
        10 => step().prop_map(|step| match step {
            Step::Append(amount) | Step::Fill(amount) => Step::Reserve(amount),
            step => step,
        }),
        3 => Just(Step::EnterCell),
        1 => kept.prop_map(Step::LeaveCell),
    ]
}

/// The bytes a stream should hold; `None` for a byte in a hole.
struct Model {
    start: u64,
    reserved: u64,
    bytes: VecDeque<Option<u8>>,
    rng: Rng,
}

impl Model {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn fresh(&mut self, len: u64) -> Vec<u8> {
        (0..len).map(|_| self.rng.next_u64() as u8).collect()
    }

    /// Blocks that `start..end` touches.
    fn blocks(&self, size: u64, end: u64) -> u64 {
        if end <= self.start {
            0
        } else {
            (end - 1) / size - self.start / size + 1
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        for (byte, at) in bytes.iter().zip(offset - self.start..) {
            if at as usize >= self.bytes.len() {
                self.bytes.resize(at as usize + 1, None);
            }
            self.bytes[at as usize] = Some(*byte);
        }
    }

    fn check_bytes(&self, stream: &Stream, pool: &Pool, range: Range<u64>) {
        let from = (range.start - self.start) as usize;
        let known = self.bytes.iter().skip(from);
        let found = stream.slices(pool, range.clone()).flatten();
        let wrong = found
            .zip(known)
            .find(|(found, known)| known.is_some_and(|byte| byte != **found));
        assert!(wrong.is_none(), "a byte of {range:?} changed");
        assert_eq!(
            stream.slices(pool, range.clone()).remaining(),
            range.end - range.start
        );
    }

    fn run(&mut self, step: &Step, stream: &mut Stream, pool: &mut Pool) {
        let size = u64::from(pool.block_size());
        let bytes_of = |amount: u64| (amount * size).div_ceil(64);
        let window = self.reserved.max(self.end()) - self.start;
        match *step {
            Step::Append(amount) => {
                let text = self.fresh(bytes_of(amount));
                let expected = stream.append_room(pool).min(text.len() as u64);
                assert_eq!(stream.append(pool, &text) as u64, expected);
                self.write(self.end(), &text[..expected as usize]);
            }
            Step::Fill(amount) => {
                let text = self.fresh(bytes_of(amount));
                let mut given = 0;
                let appended = stream.append_with(pool, text.len(), |space| {
                    // A space filled only in part ends the write. Check that the bytes are exact in
                    // this case, too.
                    let filled = space.len().min(1 + given);
                    space[..filled].copy_from_slice(&text[given..given + filled]);
                    given += filled;
                    filled
                });
                assert_eq!(appended, given);
                self.write(self.end(), &text[..given]);
            }
            Step::Reserve(amount) => self.reserve(self.start + bytes_of(amount), stream, pool),
            Step::Unreserve(amount) => {
                let end = self.start + bytes_of(amount);
                stream.unreserve(pool, end);
                self.reserved = self.reserved.min(end.max(self.end()));
            }
            Step::Write(at, amount) => {
                let offset = self.start + window * at / 256;
                let text = self.fresh(bytes_of(amount).min(self.start + window - offset));
                stream
                    .write_at(pool, offset, &text)
                    .expect("a promise is kept");
                self.write(offset, &text);
            }
            Step::Read(at, amount) => {
                let offset = self.start + self.bytes.len() as u64 * at / 256;
                self.check_bytes(
                    stream,
                    pool,
                    offset..self.end().min(offset + bytes_of(amount)),
                );
            }
            Step::Advance(amount) => {
                let n = bytes_of(amount).min(stream.len());
                stream.advance(pool, n);
                self.bytes.drain(..n as usize);
                self.start += n;
            }
            Step::Release(offset) => {
                stream.release(pool);
                stream.restart(offset);
                (self.start, self.reserved) = (offset, offset);
                self.bytes.clear();
            }
            Step::EnterCell | Step::LeaveCell(_) => self.change_cell(step, stream, pool),
        }
    }

    fn reserve(&mut self, end: u64, stream: &mut Stream, pool: &mut Pool) {
        let size = u64::from(pool.block_size());
        let before = self.reserved.max(self.end());
        let room = u64::from(pool.room(stream.holder()));
        let reachable = if stream.is_in_cell() {
            self.start + u64::from(pool.cell_size())
        } else {
            (self.start / size + self.blocks(size, before) + room) * size
        };
        self.reserved = before.max(end.min(reachable));
        assert_eq!(stream.reserve(pool, end), self.reserved);
    }

    fn change_cell(&self, step: &Step, stream: &mut Stream, pool: &mut Pool) {
        let end = self.reserved.max(self.end());
        let was_in_cell = stream.is_in_cell();
        let room = pool.room(Holder::Receive);
        let (cell_follows, changed) = if let Step::LeaveCell(kept) = *step {
            let needed = self.blocks(u64::from(pool.block_size()), end) as u32;
            let stays = was_in_cell && room < needed + kept;
            (stays, stream.leave_cell(pool, kept) != stays)
        } else {
            let fits = self.bytes.is_empty() && end - self.start <= pool.cell_size().into();
            let enters = fits && room + stream.promised_blocks(pool) > 0;
            let follows = was_in_cell || enters;
            (follows, stream.enter_cell(pool) == follows)
        };
        assert!(changed && stream.is_in_cell() == cell_follows, "{step:?}");
    }
}

fn check_against_model(blocks: u32, block_size: u32, start: u64, steps: &[Step]) {
    let mut pool = pool_of(blocks, block_size);
    let mut stream = Stream::new(Holder::Receive);
    stream.restart(start);
    let mut model = Model {
        start,
        reserved: start,
        bytes: VecDeque::new(),
        rng: Rng::seeded(start),
    };
    for step in steps {
        model.run(step, &mut stream, &mut pool);
        assert_eq!(
            (stream.start(), stream.end()),
            (model.start, model.end()),
            "{step:?}"
        );
        assert_eq!(
            stream.reserved_end(),
            model.reserved.max(model.end()),
            "{step:?}"
        );
        let size = u64::from(block_size);
        let (held, promised) = if stream.is_in_cell() {
            (1, 0)
        } else {
            let held = model.blocks(size, model.end());
            let promised = model.blocks(size, model.reserved).saturating_sub(held);
            (held, promised)
        };
        assert_eq!(pool.cells_in_use(), u32::from(stream.is_in_cell()));
        assert_eq!(u64::from(pool.held(Holder::Receive)), held, "{step:?}");
        assert_eq!(u64::from(pool.promised()), promised, "{step:?}");
        stream.verify(&pool);
        pool.verify();
    }
    model.check_bytes(&stream, &pool, model.start..model.end());
    stream.release(&mut pool);
    pool.verify();
    assert_eq!((pool.free_blocks(), pool.promised()), (blocks, 0));
}

proptest! {
    #[test]
    fn a_stream_behaves_like_a_list_of_bytes_in_any_small_pool(
        blocks in 1..40_u32, block_size in 1..70_u32, start in 0..1_u64 << 45,
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        check_against_model(blocks, block_size, start, &steps);
    }

    #[test]
    fn a_stream_behaves_like_a_list_of_bytes_in_the_reference_pools(
        geometry in prop_oneof![Just((36, 196)), Just((4, 196)), Just((128, 196))],
        start in 0..1000_u64,
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        check_against_model(geometry.0, geometry.1, start, &steps);
    }

    #[test]
    fn a_stream_that_moves_to_a_cell_and_back_behaves_like_a_list_of_bytes(
        geometry in prop_oneof![Just((4, 2048)), Just((1, 1500)), Just((40, 1024))],
        start in 0..1_u64 << 45,
        steps in proptest::collection::vec(step_of_receiver(), 1..80),
    ) {
        check_against_model(geometry.0, geometry.1, start, &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_stream_behaves_like_a_list_of_bytes_in_the_large_pools(
        geometry in prop_oneof![Just((256, 1548)), Just((4096, 16384)), Just((4, 16384))],
        start in 0..100_000_u64,
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        check_against_model(geometry.0, geometry.1, start, &steps);
    }
}
