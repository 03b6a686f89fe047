//! Tests with captures that are cut, changed at random, or full of absurd numbers. Each gives an
//! answer or an error. No capture makes the reader panic or allocate without bound.

use std::{fs::File, io::Cursor, io::Read, path::Path, sync::LazyLock};

use flate2::read::GzDecoder;
use fullpipe_diagnose::{
    capture::{BytesRead, CaptureError, CaptureReader, FlowKey, FlowLimits, FlowTable},
    observe::ConnectionObserver,
};
use fullpipe_pool::Rng;

use super::{
    Everything,
    conversation::frames,
    read,
    written::{Blocks, Captured, Order, Variant, pcap},
};

/// Number of captures that are tried for each kind of damage.
const EACH: u64 = 60;
/// Largest number of bytes that may be allocated at one time: the buffer of 2 MiB, and 2 MiB for
/// everything else.
const MEMORY_MAX: u64 = 4 << 20;
/// Largest number of bytes that may be allocated at one time while the connections of such a capture
/// are analysed.
const ANALYSIS_MAX: u64 = 24 << 20;
/// Bytes before the first record of a pcap file.
const HEAD: usize = 24;

/// Twelve connections of kernels that end in different ways (`examples/captures/endings.sh`).
static ENDINGS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let packed = File::open(root.join("examples/captures/endings.pcap.gz")).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    bytes
});

/// A kind of damage: its name, and a function that makes a damaged file.
type Damage = (&'static str, fn(&mut Rng) -> Vec<u8>);

const DAMAGES: [Damage; 7] = [
    ("cut", |rng| {
        let mut file = any_file(rng, &frames(30));
        file.truncate(rng.below(file.len() as u64) as usize);
        file
    }),
    ("flipped bytes", |rng| {
        let mut file = any_file(rng, &frames(30));
        for _ in 0..=rng.below(40) {
            let at = rng.below(file.len() as u64) as usize;
            file[at] ^= rng.between(1, 255) as u8;
        }
        file
    }),
    ("wrong lengths", |rng| {
        let mut file = any_file(rng, &frames(30));
        for _ in 0..=rng.below(6) {
            let at = rng.below((file.len() - 4) as u64) as usize / 4 * 4;
            let lengths = [0, 1, 3, 0x7fff_ffff, u32::MAX, rng.below(70_000) as u32];
            let length = lengths[rng.below(lengths.len() as u64) as usize];
            file[at..at + 4].copy_from_slice(&length.to_le_bytes());
        }
        file
    }),
    ("absurd headers", |rng| {
        let mut damaged = frames(30);
        for frame in &mut damaged {
            // Change a byte inside the IP header, the TCP header or the options.
            let at = rng.between(14, 65) as usize;
            frame.bytes[at] = rng.below(256) as u8;
            if rng.below(3) == 0 {
                frame.original = rng.below(1 << 32) as u32;
            }
        }
        any_file(rng, &damaged)
    }),
    ("times", |rng| {
        let mut damaged = frames(30);
        for frame in &mut damaged {
            match rng.below(4) {
                0 => frame.at_ns = rng.below(1 << 62),
                1 => frame.at_ns -= rng.below(10_000_000_000),
                _ => {}
            }
        }
        any_file(rng, &damaged)
    }),
    ("connections of kernels", |rng| {
        let mut file = ENDINGS.clone();
        for record in records(&file) {
            // Most records stay whole, so that connections go on after a damaged segment.
            if rng.below(20) == 0 {
                let at = record + rng.between(0, 110) as usize;
                if let Some(byte) = file.get_mut(at) {
                    *byte = rng.below(256) as u8;
                }
            }
        }
        file
    }),
    ("noise after the header", |rng| {
        let mut file = any_file(rng, &[]);
        let len = rng.below(20_000);
        file.extend((0..len).map(|_| rng.below(256) as u8));
        file
    }),
];

/// Writes the frames in a format that is drawn at random.
fn any_file(rng: &mut Rng, frames: &[Captured]) -> Vec<u8> {
    let order = match rng.below(2) {
        0 => Order::Little,
        _ => Order::Big,
    };
    match rng.below(4) {
        0 => pcap(order, Variant::Microseconds, 1, frames),
        1 => pcap(order, Variant::Nanoseconds, 1, frames),
        _ => {
            let mut file = Blocks::new(order);
            file.interface(1, Some(9), 0).interface(113, None, 0);
            for frame in frames {
                file.enhanced(0, frame.at_ns, frame, 1);
            }
            file.statistics(0, 3);
            file.bytes
        }
    }
}

/// Reads a file. Returns the result, and the largest number of bytes that were allocated at one
/// time.
fn measured(file: &[u8]) -> (Result<Everything, CaptureError>, u64) {
    let mut result = None;
    let info = allocation_counter::measure(|| result = Some(read(file)));
    (result.expect("it was read"), info.bytes_max)
}

/// Places of the records of a pcap file in this machine's byte order.
fn records(file: &[u8]) -> Vec<usize> {
    let mut places = Vec::new();
    let mut at = HEAD;
    while let Some(len) = file.get(at + 8..at + 12) {
        places.push(at);
        at += 16 + u32::from_le_bytes(len.try_into().unwrap()) as usize;
    }
    places
}

/// Reads a file and analyses its connections. Returns the largest number of bytes that were
/// allocated at one time.
fn analysed(file: Vec<u8>) -> u64 {
    let info = allocation_counter::measure(|| {
        let Ok(mut reader) = CaptureReader::open(Cursor::new(file), BytesRead::default()) else {
            return;
        };
        let mut table =
            FlowTable::new(FlowLimits::DEFAULT, |_: &FlowKey| ConnectionObserver::new());
        let check = |observer: &fullpipe_diagnose::observe::ObservedConnection| {
            let sum: u64 = observer
                .account
                .times()
                .map(|(_, time)| time.as_nanos())
                .sum();
            assert_eq!(sum, observer.lifetime_ns);
        };
        while let Some(found) = reader.next_frame() {
            if let Some((key, segment)) = found {
                table.on_segment(key, &segment, |flow| check(&flow.outcome));
            } else if let Some((key, returned)) = reader.take_returned() {
                table.on_returned(&key, returned);
            }
        }
        table.finish(reader.now_ns(), |flow| check(&flow.outcome));
    });
    info.bytes_max
}

#[test]
fn connections_of_damaged_captures_have_an_account_in_bounded_memory() {
    for (name, make) in DAMAGES {
        for seed in 0..EACH {
            let file = make(&mut Rng::seeded(seed));
            let held = analysed(file);
            assert!(held < ANALYSIS_MAX, "{name}, seed {seed}: {held} bytes");
        }
    }
}

#[test]
fn damaged_captures_give_a_partial_answer_or_a_reason() {
    let (mut partial, mut refused, mut segments) = (0, 0, 0);
    for (name, make) in DAMAGES {
        for seed in 0..EACH {
            let file = make(&mut Rng::seeded(seed));
            let (result, held) = measured(&file);
            // Allow for one copy of the file, which the test itself makes.
            assert!(
                held < MEMORY_MAX + file.len() as u64,
                "{name}, seed {seed}: {held} bytes"
            );
            match result {
                Ok(read) => {
                    partial += 1;
                    segments += read.segments.len();
                    assert_eq!(counted(&read), read.counters.frames, "{name}, seed {seed}");
                    let times = read.segments.iter().map(|(_, segment)| segment.at_ns);
                    assert!(times.is_sorted(), "{name}, seed {seed}");
                }
                Err(error) => {
                    refused += 1;
                    assert!(!error.to_string().is_empty());
                }
            }
        }
    }
    println!("{partial} read, {refused} refused, {segments} segments");
    assert_eq!(partial + refused, DAMAGES.len() as u64 * EACH);
}

/// Sum of the frames over all outcomes, each of which has a counter.
fn counted(read: &Everything) -> u64 {
    let counters = &read.counters;
    counters.segments
        + counters.not_tcp
        + counters.fragments
        + counters.header_cut
        + counters.malformed
        + counters.duplicates
        + counters.other_links
}

#[test]
fn a_length_of_four_gigabytes_allocates_nothing() {
    let mut file = pcap(Order::Little, Variant::Nanoseconds, 1, &frames(3));
    file[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let (result, held) = measured(&file);
    let read = result.expect("a capture");
    assert_eq!(read.segments.len(), 0);
    assert!(read.ending.contains("impossible length"), "{}", read.ending);
    assert!(held < MEMORY_MAX, "{held} bytes");
}
