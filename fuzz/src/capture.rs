//! Checks of the capture reader with arbitrary bytes: it does not panic, counts every frame once,
//! and returns times that do not decrease.
//!
//! Rule: the first byte of the input selects the form of the following bytes. They are a whole
//! file, the records after a valid header of a pcap or pcapng file, or frames. Four bytes precede
//! each frame: its link type, its length, the number of bytes that were cut off (in units of
//! eight), and the time step from the previous frame, forwards or backwards.

use std::io::Cursor;

use fullpipe_diagnose::{
    capture::{
        BytesRead, CaptureCounters, CaptureReader, CaptureWarning, Dissector, FlowFilter, FlowKey,
        FlowLimits, FlowTable, Frame, LinkType, Segment,
    },
    observe::ConnectionObserver,
};

/// Largest number of connections that are tracked at once. The number is small, so that some
/// connections are ended early.
const OPEN_MAX: usize = 8;

const PCAP: [u8; 24] = [
    0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0,
];
/// Beginning of a pcapng file: a section header, and an interface with Ethernet frames.
const PCAPNG: [u8; 48] = [
    0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255,
    255, 255, 255, 255, 28, 0, 0, 0, 1, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0,
];

/// Reads arbitrary bytes as a capture, and computes the account of each connection: the share of
/// time of each limit.
pub fn capture(bytes: &[u8]) {
    let Some((way, rest)) = bytes.split_first() else {
        return;
    };
    match way % 4 {
        0 => file(rest.to_vec()),
        1 => file([&PCAP, rest].concat()),
        2 => file([&PCAPNG, rest].concat()),
        _ => frames(rest),
    }
    if let Ok(text) = std::str::from_utf8(rest)
        && let Ok(filter) = text.parse::<FlowFilter>()
    {
        let (one, other) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        filter.chooses(&FlowKey::of((one, 80).into(), (other, 5_000).into()).0);
    }
}

/// The accounts of connections, and a check of the times.
struct Accounts<N> {
    table: FlowTable<ConnectionObserver, N>,
    at_ns: i64,
}

fn accounts() -> Accounts<impl FnMut(&FlowKey) -> ConnectionObserver> {
    let limits = FlowLimits {
        open_max: OPEN_MAX,
        ..FlowLimits::DEFAULT
    };
    Accounts {
        table: FlowTable::new(limits, |_: &FlowKey| ConnectionObserver::new()),
        at_ns: i64::MIN,
    }
}

impl<N: FnMut(&FlowKey) -> ConnectionObserver> Accounts<N> {
    fn take(&mut self, key: FlowKey, segment: &Segment) {
        assert!(
            segment.at_ns >= self.at_ns,
            "the times of segments may not decrease"
        );
        self.at_ns = segment.at_ns;
        self.table.on_segment(key, segment, |flow| {
            assert!(
                flow.outcome
                    .shares()
                    .largest_first()
                    .iter()
                    .all(|(_, share)| *share <= 1.0)
            );
        });
    }
}

fn file(bytes: Vec<u8>) {
    let count = BytesRead::default();
    let mut reader = match CaptureReader::open(Cursor::new(bytes), count) {
        Ok(reader) => reader,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut accounts = accounts();
    for (key, segment) in reader.by_ref() {
        accounts.take(key, &segment);
    }
    accounts.table.finish(reader.now_ns(), |_| {});
    let counters = reader.counters();
    check(&counters);
    for warning in CaptureWarning::all(&counters, reader.ending()) {
        assert!(!warning.to_string().is_empty());
    }
}

fn frames(mut rest: &[u8]) {
    let mut dissector = Dissector::new();
    let mut accounts = accounts();
    let mut at_ns = 1_000_000_000_000_i64;
    while let [link, len, more, step, after @ ..] = rest {
        let (link, _) = LinkType::READ[usize::from(*link) % LinkType::READ.len()];
        let (bytes, after) = after.split_at(after.len().min((*len).into()));
        rest = after;
        // Step the time by 2^0 to 2^62 ns, forwards or backwards.
        let size = 1_i64 << (step & 63).min(62);
        at_ns = match step & 64 {
            0 => at_ns.saturating_add(size),
            _ => at_ns.saturating_sub(size),
        };
        let frame = Frame {
            at_ns: (step & 128 == 0).then_some(at_ns),
            link,
            bytes,
            original_len: bytes.len() as u32 + u32::from(*more) * 8,
            passage: None,
        };
        if let Some((key, segment)) = dissector.on_frame(&frame) {
            accounts.take(key, &segment);
        }
    }
    accounts.table.finish(dissector.now_ns(), |_| {});
    check(&dissector.counters());
}

/// Checks that every frame was counted once.
fn check(counters: &CaptureCounters) {
    let counted = counters.segments
        + counters.not_tcp
        + counters.fragments
        + counters.header_cut
        + counters.malformed
        + counters.duplicates
        + counters.other_links;
    assert_eq!(counted, counters.frames);
}
