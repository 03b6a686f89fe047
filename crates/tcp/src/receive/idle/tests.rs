//! Tests of idle connections whose window is a cell (a part of a block) or two segments, and of the
//! steps in which the window opens.

use std::vec;

use fullpipe_pool::{Holder, PoolConfig, Stream};

use super::*;
use crate::{SeqNum, receive::Arrival, receive::OutOfOrderLimits};

/// Block size of the pool.
const BLOCK: u32 = 2_048;
/// Cell size, a quarter of a block.
const CELL: u32 = 512;
const PAUSE: Duration = Duration::from_secs(1);

/// A receiver, and a pool of which a part is taken.
struct Rig {
    receive: ReceiveHalf,
    pool: Pool,
    room: WindowRoom,
    others: Stream,
    now: Instant,
}

impl Rig {
    /// Creates a receiver whose peer has segments of `mss` bytes, in a pool of 64 blocks. Other
    /// streams have been promised `taken` of these blocks.
    fn with(mss: u32, taken: u32) -> Self {
        let mut pool = Pool::new(&PoolConfig {
            blocks: 64,
            block_size: BLOCK,
            send_floor: 0,
            receive_floor: 0,
            cells: 4,
            ..PoolConfig::default()
        });
        let mut others = Stream::new(Holder::Receive);
        others.reserve(&mut pool, u64::from(taken * BLOCK));
        Self {
            receive: ReceiveHalf::new(SeqNum(u32::MAX - 700), 0),
            pool,
            room: WindowRoom {
                capacity: 1 << 16,
                share: 50,
                mss,
                mss_most: mss,
                scale: 0,
                limits_peer: false,
            },
            others,
            now: Instant::from_secs(10),
        }
    }

    /// Creates a receiver with a cell, while memory is short.
    fn in_cell(mss: u32) -> Self {
        let mut rig = Self::with(mss, 16);
        assert!(rig.receive.begin_idle(CELL, 0, &mut rig.pool));
        assert_eq!(rig.field(), CELL);
        rig
    }

    /// Creates a receiver with a window of two segments that it advertised while memory
    /// was plentiful. The connection has been idle since memory became short.
    fn large(mss: u32) -> Self {
        let mut rig = Self::with(mss, 0);
        rig.room.capacity = 2 * mss;
        assert_eq!(rig.field(), 2 * mss);
        rig.room.capacity = 1 << 16;
        rig.others.reserve(&mut rig.pool, 16 * u64::from(BLOCK));
        rig.pause();
        rig
    }

    /// Returns the window field of a segment that leaves now.
    fn field(&mut self) -> u32 {
        let field = self.receive.window_field(&self.room, &mut self.pool);
        self.verify();
        field.into()
    }

    /// Lets the peer be silent for a pause, and then send its next payload.
    fn pause(&mut self) {
        self.now += PAUSE;
        self.receive.end_pause(self.now, PAUSE, 0, &mut self.pool);
    }

    /// Receives `bytes` in order.
    fn arrive(&mut self, bytes: u32) {
        let limits = OutOfOrderLimits {
            pieces: 1,
            bytes: u32::MAX,
        };
        let (next, payload) = (self.receive.rcv_nxt, vec![7; bytes as usize]);
        let arrival = self
            .receive
            .on_payload(next, &payload, limits, &mut self.pool);
        assert!(
            matches!(arrival, Arrival::InOrder { bytes: all, .. } if all == bytes),
            "{arrival:?} of {bytes} bytes"
        );
        self.receive.arrived = self.now;
        self.receive.burst = self.receive.burst.map(|burst| burst + bytes);
        self.verify();
    }

    fn read(&mut self) {
        self.receive
            .read_with(&mut self.pool, &mut |slice| slice.len());
    }

    /// Receives and reads `bytes`. Returns the growth that could be advertised, and true if an
    /// ACK of its own advertises the growth.
    fn request(&mut self, bytes: u32) -> (u32, bool) {
        self.arrive(bytes);
        self.read();
        let growth = self.receive.window_growth(&self.room, &mut self.pool);
        (growth, self.receive.update_is_due(growth, &self.room))
    }

    fn verify(&self) {
        self.receive.verify(&self.pool);
        self.others.verify(&self.pool);
        self.pool.verify();
    }
}

#[test]
fn a_cell_is_of_use_if_some_units_of_the_window_field_fill_it() {
    let cells = |cells| {
        Pool::new(&PoolConfig {
            blocks: 8,
            block_size: BLOCK,
            cells,
            ..PoolConfig::default()
        })
    };
    for (scale, in_block, usable) in [
        (0, 4, Some(512)),
        (7, 4, Some(512)),
        // A unit of 256 bytes is half a cell.
        (8, 4, None),
        // 682 bytes are a whole number of units only if a unit is one or two bytes.
        (1, 3, Some(682)),
        (2, 3, None),
        (0, 1, None),
    ] {
        let pool = cells(in_block);
        assert_eq!(usable_cell(scale, &pool), usable, "{scale}, {in_block}");
    }
}

#[test]
fn a_connection_begins_in_a_cell_if_memory_is_short_and_its_window_fits() {
    for (name, taken, window, scale, begins) in [
        ("a quarter is taken", 16, CELL, 0, true),
        ("less is taken", 15, CELL, 0, false),
        ("a window beyond a cell", 16, CELL + 1, 0, false),
        ("no window yet", 16, 0, 0, true),
        ("units of half a cell", 16, CELL, 8, false),
    ] {
        let mut rig = Rig::with(1_000, taken);
        let began = rig.receive.begin_idle(window, scale, &mut rig.pool);
        assert_eq!(began, begins, "{name}");
        assert_eq!(rig.pool.cells_in_use(), u32::from(begins), "{name}");
        assert_eq!(rig.receive.burst.is_some(), begins, "{name}");
        rig.verify();
    }
}

#[test]
fn a_peer_that_sends_its_cell_gets_two_more_and_after_these_an_ordinary_window() {
    let mut rig = Rig::in_cell(1_000);
    // A rest of less than an eighth of a cell, 64 bytes, counts as used.
    rig.request(CELL - 64);
    assert_eq!((rig.field(), rig.pool.cells_in_use()), (CELL, 1));
    rig.pause();
    rig.request(CELL - 63);
    assert_eq!((rig.field(), rig.pool.cells_in_use()), (2 * CELL, 0));
    rig.request(2 * CELL - 64);
    assert!(rig.receive.burst.is_some());
    rig.request(64);
    assert_eq!(rig.receive.burst, None);
    assert!(rig.field() > 20_000);
}

#[test]
fn an_opened_window_is_a_cell_again_once_the_peer_has_used_it_after_a_pause() {
    let mut rig = Rig::in_cell(1_000);
    rig.request(CELL);
    assert_eq!(rig.field(), 2 * CELL);
    rig.pause();
    // The right edge that was advertised does not retreat.
    rig.request(400);
    assert_eq!((rig.field(), rig.pool.cells_in_use()), (624, 0));
    rig.pause();
    rig.request(112);
    assert_eq!((rig.field(), rig.pool.cells_in_use()), (CELL, 1));
}

#[test]
fn a_pause_counts_from_its_full_length_on_and_only_without_unread_payload() {
    for (name, pause, unread, idle) in [
        ("a pause", PAUSE, 0, true),
        ("less", Duration::from_nanos(PAUSE.as_nanos() - 1), 0, false),
        ("unread", PAUSE, 1, false),
    ] {
        let mut rig = Rig::with(1_000, 16);
        rig.field();
        rig.arrive(2_000);
        rig.receive
            .read(&mut vec![0; 2_000 - unread], &mut rig.pool);
        rig.receive
            .end_pause(rig.now + pause, PAUSE, 0, &mut rig.pool);
        assert_eq!(rig.receive.burst, idle.then_some(0), "{name}");
        rig.verify();
    }
}

#[test]
fn without_shortage_the_first_payload_ends_an_idle_window() {
    let mut rig = Rig::in_cell(1_000);
    rig.others.unreserve(&mut rig.pool, 0);
    assert_eq!(rig.field(), CELL, "nothing was sent");
    rig.request(1);
    assert_eq!(rig.receive.burst, None);
    assert!(rig.field() > 20_000);
}

/// If a cell has room for less than a segment, the peer may wait until the whole cell is free.
#[test]
fn a_cell_that_was_read_is_shown_whole_unless_a_segment_still_fits() {
    for (name, mss, bytes, shown) in [
        ("below a segment before and after", 1_000, 1, true),
        ("a segment before", 512, 1, true),
        ("a segment is left", 500, 12, false),
        ("none is left", 500, 13, true),
        ("half the cell", 100, 256, true),
        ("a silly growth", 100, 99, false),
        ("a segment", 100, 100, true),
    ] {
        let mut rig = Rig::in_cell(mss);
        let (growth, due) = rig.request(bytes);
        assert_eq!(growth, bytes, "{name}");
        assert_eq!(
            rig.receive.is_worth_showing(growth, &rig.room),
            shown,
            "{name}"
        );
        assert_eq!(rig.field(), CELL - if shown { 0 } else { bytes }, "{name}");
        assert!(shown || !due, "{name}");
    }
}

/// The peer has sent small segments only, and a full one may be next.
#[test]
fn the_segment_that_must_fit_is_the_largest_that_the_peer_may_send() {
    let mut rig = Rig::in_cell(1_000);
    rig.room.mss = 100;
    assert_eq!(rig.request(50), (50, true));
    let mut rig = Rig::large(1_000);
    rig.room.mss = 100;
    rig.request(1_000);
    assert_eq!(rig.field(), 2_000);
}

/// RFC 9293 §3.8.6.2.2: a window of two segments has room for one segment until growth by another
/// segment is advertised.
#[test]
fn an_idle_window_of_two_segments_grows_in_steps_of_a_segment() {
    let mut rig = Rig::large(1_000);
    assert_eq!(rig.request(300), (300, false));
    assert_eq!(rig.field(), 1_700, "300 bytes more would be a silly window");
    assert_eq!(rig.request(699), (999, false));
    assert_eq!(rig.field(), 1_001);
    assert_eq!(rig.request(1), (1_000, true));
    assert_eq!(rig.field(), 2_000);
}

#[test]
fn a_segment_after_each_pause_leaves_two_segments_and_two_without_one_end_that() {
    let mut rig = Rig::large(1_000);
    for _ in 0..5 {
        assert_eq!(rig.request(900), (900, false));
        assert_eq!(rig.field(), 1_100);
        rig.pause();
        assert_eq!(rig.request(900), (1_800, true));
        assert_eq!((rig.field(), rig.receive.burst), (2_000, Some(900)));
        rig.pause();
    }
    rig.request(1_000);
    assert_eq!(rig.receive.burst, Some(1_000));
    rig.request(100);
    assert_eq!(rig.receive.burst, None);
    assert!(rig.field() > 20_000);
}

#[test]
fn payload_that_waits_for_its_reader_keeps_the_window_as_it_is() {
    let mut rig = Rig::in_cell(1_000);
    rig.arrive(100);
    assert_eq!(rig.field(), CELL - 100);
    rig.read();
    assert_eq!(rig.field(), CELL);
}

/// Another cell of the block is in use, so leaving the cell frees no block.
#[test]
fn without_two_free_blocks_a_full_cell_stays_a_cell() {
    for (free, field) in [(0, CELL), (1, CELL), (2, 2 * CELL)] {
        let mut rig = Rig::in_cell(1_000);
        let mut other = Stream::new(Holder::Receive);
        assert!(other.enter_cell(&mut rig.pool));
        let taken = u64::from(16 + rig.pool.room(Holder::Receive) - free);
        rig.others.reserve(&mut rig.pool, taken * u64::from(BLOCK));
        assert_eq!(rig.pool.room(Holder::Receive), free);
        rig.arrive(CELL);
        rig.read();
        assert_eq!(rig.field(), field, "{free} blocks");
        assert_eq!(rig.receive.short_of_memory, free < 2, "{free} blocks");
    }
}
