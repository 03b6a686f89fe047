//! The memory that a configuration needs, knob by knob.
//!
//! Rule: a configuration that cannot be allocated is refused, with the name of the knob, before
//! anything is allocated. The sizes are upper bounds; the tables themselves are allocated
//! elsewhere.

use alloc::vec::Vec;

use fullpipe_pool::knobs::{KnobError, KnobKind, KnobValue};
use fullpipe_tcp::{Connection, trace::TraceRecord};

use crate::{
    config::{Config, PoolConfig},
    row_number::MOST_ROWS,
    source_limit::MOST_ACCOUNTS,
};

#[cfg(test)]
mod tests;

/// Upper bounds on the bytes of an entry of each table, with its links, its timer and its hash
/// bucket.
mod entry {
    /// A connection with its record. A busy connection has a `Connection` in addition.
    pub(super) const CONNECTION: usize = 432;
    pub(super) const LISTENER: usize = 256;
    pub(super) const HALF_OPEN: usize = 288;
    pub(super) const TIME_WAIT: usize = 208;
    pub(super) const REASSEMBLY: usize = 400;
    pub(super) const NEIGHBOUR: usize = 288;
    pub(super) const UDP_SOCKET: usize = 448;
    /// A range received out of order.
    pub(super) const RANGE: usize = 32;
    /// A range in flight.
    pub(super) const SENT_RANGE: usize = 72;
    /// A received datagram, its content excluded.
    pub(super) const RECEIVED: usize = 72;
    /// A packet that waits to be sent, its content excluded.
    pub(super) const QUEUED: usize = 88;
    /// A packet that waits for a neighbour, its content excluded.
    pub(super) const PENDING: usize = 8;
    /// The state of one source of packets (`source_limit`), which bounds the answers to that
    /// source.
    pub(super) const ACCOUNT: usize = 80;
    /// The largest packet of the loopback interface, and its tables.
    pub(super) const LOOPBACK: u32 = 128 << 10;
    /// The ends of a queue.
    pub(super) const QUEUE: u32 = 12;
    /// An answer, a route, an address or an ARP reply.
    pub(super) const ANSWER: usize = 176;
}

/// Bytes of a busy connection, with its links and its own sent range.
const BUSY: usize = size_of::<Connection>() + 16 + entry::SENT_RANGE;

/// Upper bound on the bytes of tables whose size no knob changes.
const FIXED: u64 = 8 * 1024;
/// Number of rows of [`parts`].
const PARTS: usize = 22;
/// Number of rows of [`answer_parts`].
const ANSWER_PARTS: usize = 9;

/// Names of one or two knobs, the two counts that follow from them, and the bytes of one
/// item. The product of the counts is the number of items.
type Part = (&'static str, [u32; 2], usize);

impl Config {
    /// Checks that the memory of a stack can be allocated, by reserving and freeing it.
    /// [`Stack::new`](crate::Stack::new) calls this before it allocates anything.
    ///
    /// # Errors
    /// Returns [`KnobError::TooLarge`] with the first knobs whose memory is refused, and
    /// [`KnobError::OutOfRange`] with knobs that together ask for more rows of a table than have
    /// numbers: on a 32-bit machine 65,534.
    pub fn check_memory(&self) -> Result<(), KnobError> {
        self.check_rows(MOST_ROWS)?;
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

    /// Checks that every table has fewer rows than `most`.
    fn check_rows(&self, most: u32) -> Result<(), KnobError> {
        let value = |number| KnobValue {
            number,
            kind: KnobKind::Number,
        };
        let mut rows = self.numbered_rows().into_iter();
        match rows.find(|(_, rows)| *rows >= most.into()) {
            None => Ok(()),
            Some((name, rows)) => Err(KnobError::OutOfRange {
                name,
                given: value(rows),
                legal: (value(0), value(u64::from(most) - 1)),
                unit: "rows",
            }),
        }
    }

    /// Returns the knobs of each table whose rows have a [`RowNumber`](crate::row_number::RowNumber),
    /// and the number of its rows.
    fn numbered_rows(&self) -> [(&'static str, u64); 5] {
        let Self { stack, udp, .. } = self;
        let sum = |counts: [u32; 3]| counts.map(u64::from).iter().sum();
        let owners = sum([stack.connections, stack.half_open, stack.time_wait_entries]);
        let sockets = sum([stack.connections, stack.listeners, self.udp_sockets()]);
        let datagrams = u64::from(self.udp_sockets()) * u64::from(udp.send_queue);
        [
            (
                "stack.connections + stack.half_open + stack.time_wait_entries",
                owners,
            ),
            ("stack.connections + stack.listeners + udp.sockets", sockets),
            ("udp.sockets x udp.send_queue", datagrams),
            ("arp.entries", self.arp.entries.into()),
            (
                "ip.reassembly_datagrams",
                self.ip.reassembly_datagrams.into(),
            ),
        ]
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

/// Returns the part of the packet memory.
const fn pool_part(pool: &PoolConfig) -> Part {
    let names = "pool.blocks x pool.block_size";
    (names, [pool.blocks, pool.block_size], 1)
}

/// Returns the part of the busy connections.
fn busy_part(config: &Config) -> Part {
    let name = match config.stack.busy_connections {
        0 => "stack.connections",
        _ => "stack.busy_connections",
    };
    (name, [config.busy_connections(), 1], BUSY)
}

/// Returns the number of interfaces of a new stack.
fn interfaces(config: &Config) -> u32 {
    1 + u32::from(config.ip.loopback && cfg!(feature = "loopback"))
}

/// Returns the parts of a stack's memory that grow with a knob.
fn parts(config: &Config) -> [Part; PARTS] {
    let Config {
        pool,
        tcp: _,
        stack,
        ip,
        arp: _,
        icmp: _,
        udp,
        trace,
    } = config;
    let [a, b, c, d, e, f, g, h, i] = answer_parts(config);
    [
        pool_part(pool),
        // In addition to its bytes, each block needs a link. If the block is split into cells
        // (windows of idle connections), it also needs bookkeeping.
        ("pool.blocks", [pool.blocks, 1], 4 * size_of::<u32>()),
        ("pool.ranges", [pool.range_count(), 1], entry::RANGE),
        (
            "stack.connections",
            [stack.connections, 1],
            entry::CONNECTION,
        ),
        busy_part(config),
        ("stack.listeners", [stack.listeners, 1], entry::LISTENER),
        ("stack.half_open", [stack.half_open, 1], entry::HALF_OPEN),
        (
            "stack.sent_ranges",
            [config.sent_range_count(), 1],
            entry::SENT_RANGE,
        ),
        (
            "stack.time_wait_entries",
            [stack.time_wait_entries, 1],
            entry::TIME_WAIT,
        ),
        (
            "trace.records",
            [trace.records, 1],
            size_of::<Option<TraceRecord>>(),
        ),
        (
            "ip.reassembly_datagrams",
            [ip.reassembly_datagrams, 1],
            entry::REASSEMBLY,
        ),
        (
            "udp.sockets x udp.receive_queue",
            [config.udp_sockets(), udp.receive_queue],
            entry::RECEIVED,
        ),
        (
            "udp.sockets x udp.send_queue",
            [config.udp_sockets() * interfaces(config), udp.send_queue],
            entry::QUEUED,
        ),
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
    ]
}

/// Returns the parts of the loopback interface, of sockets and neighbours, of the buffer for the
/// largest reassembled datagram, and of answers that wait to be sent.
fn answer_parts(config: &Config) -> [Part; ANSWER_PARTS] {
    let Config {
        stack,
        ip,
        arp,
        icmp,
        ..
    } = config;
    let interfaces = interfaces(config);
    let loopback = interfaces - 1;
    let loopback_bytes = entry::LOOPBACK + arp.entries * entry::QUEUE;
    let accounts = |rate: u32, each: u32| rate.div_ceil(each.max(1)).clamp(1, MOST_ACCOUNTS);
    let answers = [
        stack.reset_queue * interfaces,
        stack.cookie_queue * interfaces,
        icmp.errors,
        ip.routes,
        ip.addresses,
        arp.replies,
    ];
    [
        ("ip.loopback", [loopback, loopback_bytes], 1),
        (
            "udp.sockets",
            [config.udp_sockets(), interfaces],
            entry::UDP_SOCKET,
        ),
        ("arp.entries", [arp.entries, 1], entry::NEIGHBOUR),
        (
            "arp.entries x arp.queue_packets",
            [arp.entries, arp.queue_packets],
            entry::PENDING,
        ),
        ("icmp.echo_replies", [icmp.echo_replies, 1], entry::QUEUED),
        (
            "stack.resets_per_second / stack.resets_per_source",
            [
                accounts(stack.resets_per_second, stack.resets_per_source),
                1,
            ],
            entry::ACCOUNT,
        ),
        (
            "icmp.errors_per_second / icmp.errors_per_source",
            [accounts(icmp.errors_per_second, icmp.errors_per_source), 1],
            entry::ACCOUNT,
        ),
        ("ip.reassembly_largest", [ip.reassembly_largest, 1], 1),
        (
            "stack.reset_queue + stack.cookie_queue + icmp.errors",
            [answers.iter().sum(), 1],
            entry::ANSWER,
        ),
    ]
}
