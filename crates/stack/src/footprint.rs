//! The memory that a configuration needs, knob by knob.
//!
//! Rule: a configuration that cannot be allocated is refused, with the name of the knob, before
//! anything is allocated. The sizes are upper bounds; the tables themselves are allocated
//! elsewhere.

use alloc::vec::Vec;

use fullpipe_pool::knobs::KnobError;
use fullpipe_tcp::{Connection, trace::TraceRecord};

use crate::{config::Config, source_limit::MOST_ACCOUNTS};

/// Upper bound on the bytes of a table entry, with its links, its timer and its hash bucket. An
/// entry in the table of connections takes more (see [`parts`]).
const ENTRY: usize = 512;
/// Upper bound on the bytes that a queue keeps for each packet or datagram, besides the content.
const QUEUED: usize = 64;
/// Upper bound on the bytes of the account of one source of answers, with its hash bucket.
const ACCOUNT: usize = 72;
/// Upper bound on the bytes of an answer that waits to be sent.
const ANSWER: usize = 128;
/// Upper bound on the bytes of a range, received out of order or in flight.
const RANGE: usize = 96;
/// Upper bound on the bytes of tables whose size no knob changes.
const FIXED: u64 = 8 * 1024;
/// Number of rows of [`parts`].
const PARTS: usize = 18;
/// Number of rows of [`answer_parts`].
const ANSWER_PARTS: usize = 4;

/// Names of one or two knobs, the two counts that follow from them, and the bytes of one
/// item. The product of the counts is the number of items.
type Part = (&'static str, [u32; 2], usize);

impl Config {
    /// Checks that the memory of a stack can be allocated, by reserving and freeing it.
    /// [`Stack::new`](crate::Stack::new) calls this first.
    ///
    /// # Errors
    /// Returns [`KnobError::TooLarge`] with the first knobs whose memory is refused.
    pub fn check_memory(&self) -> Result<(), KnobError> {
        // All parts stay reserved until the end: each might fit alone, but not all together.
        let mut held: [Vec<u8>; PARTS] = Default::default();
        for (place, (names, counts, each)) in held.iter_mut().zip(parts(self)) {
            let [one, other] = counts.map(u64::from);
            let bytes = (one * other).saturating_mul(each as u64);
            usize::try_from(bytes)
                .ok()
                .filter(|bytes| place.try_reserve_exact(*bytes).is_ok())
                .ok_or(KnobError::TooLarge { names, bytes })?;
        }
        Ok(())
    }

    /// Returns an upper bound on the bytes that [`Stack::new`](crate::Stack::new) allocates with
    /// this configuration, the bytes of the stack itself excluded.
    pub fn memory_needed(&self) -> u64 {
        let sizes = parts(self).map(|(_, counts, each)| {
            let [one, other] = counts.map(u64::from);
            (one * other).saturating_mul(each as u64)
        });
        sizes.into_iter().fold(FIXED, u64::saturating_add)
    }
}

/// Returns the parts of a stack's memory that grow with a knob.
fn parts(config: &Config) -> [Part; PARTS] {
    let Config {
        pool,
        tcp: _,
        stack,
        ip,
        arp,
        icmp,
        udp,
        trace,
    } = config;
    let queued = |knob: u32| knob.max(1).next_power_of_two();
    let [resets, errors, whole, answers] = answer_parts(config);
    [
        resets,
        errors,
        whole,
        answers,
        (
            "pool.blocks x pool.block_size",
            [pool.blocks, pool.block_size],
            1,
        ),
        // Beside its bytes, each block needs a link, and bookkeeping in case it is split into
        // cells.
        ("pool.blocks", [pool.blocks, 1], 4 * size_of::<u32>()),
        ("pool.ranges", [pool.range_count(), 1], RANGE),
        (
            "stack.connections",
            [stack.connections, 1],
            size_of::<Connection>() + RANGE + ENTRY,
        ),
        ("stack.listeners", [stack.listeners, 1], ENTRY),
        ("stack.half_open", [stack.half_open, 1], ENTRY),
        ("stack.sent_ranges", [config.sent_range_count(), 1], RANGE),
        (
            "stack.time_wait_entries",
            [stack.time_wait_entries, 1],
            ENTRY,
        ),
        (
            "trace.records",
            [trace.records, 1],
            size_of::<Option<TraceRecord>>(),
        ),
        (
            "ip.reassembly_datagrams",
            [ip.reassembly_datagrams, 1],
            ENTRY,
        ),
        (
            "arp.entries x arp.queue_packets",
            [arp.entries, queued(arp.queue_packets)],
            QUEUED,
        ),
        ("icmp.echo_replies", [queued(icmp.echo_replies), 1], QUEUED),
        (
            "udp.sockets x udp.receive_queue",
            [udp.sockets, queued(udp.receive_queue)],
            QUEUED,
        ),
        (
            "udp.sockets x udp.send_queue",
            [udp.sockets, queued(udp.send_queue)],
            QUEUED,
        ),
    ]
}

/// Returns the parts of datagrams that are complete and of answers that wait to be sent.
fn answer_parts(config: &Config) -> [Part; ANSWER_PARTS] {
    let Config {
        stack, ip, icmp, ..
    } = config;
    let accounts = |rate: u32, each: u32| rate.div_ceil(each.max(1)).min(MOST_ACCOUNTS);
    [
        (
            "stack.resets_per_second / stack.resets_per_source",
            [
                accounts(stack.resets_per_second, stack.resets_per_source),
                1,
            ],
            ACCOUNT,
        ),
        (
            "icmp.errors_per_second / icmp.errors_per_source",
            [accounts(icmp.errors_per_second, icmp.errors_per_source), 1],
            ACCOUNT,
        ),
        ("ip.reassembly_largest", [ip.reassembly_largest, 1], 1),
        (
            "stack.reset_queue + stack.cookie_queue + icmp.errors",
            [stack.reset_queue + stack.cookie_queue + icmp.errors, 1],
            ANSWER,
        ),
    ]
}
