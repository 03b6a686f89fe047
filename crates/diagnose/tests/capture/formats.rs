//! Tests that the same transfer is read from every file format.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use fullpipe_diagnose::capture::{CaptureError, Passage, Segment};

use super::{
    conversation::{BEGAN_NS, frames},
    read, whole,
    written::{Blocks, Captured, Order, Variant, pcap},
};

const ETHERNET: u32 = 1;
const ORDERS: [Order; 2] = [Order::Little, Order::Big];

fn plain(frames: &[Captured]) -> Vec<u8> {
    pcap(Order::Little, Variant::Nanoseconds, ETHERNET, frames)
}

/// The segments with their times rounded down to a microsecond.
fn in_microseconds(segments: &[Segment]) -> Vec<Segment> {
    let rounded = segments.iter().map(|segment| Segment {
        at_ns: segment.at_ns / 1_000 * 1_000,
        ..*segment
    });
    rounded.collect()
}

fn segments(bytes: &[u8]) -> Vec<Segment> {
    whole(bytes)
        .segments
        .into_iter()
        .map(|(_, segment)| segment)
        .collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a vector takes all");
    encoder.finish().expect("a vector takes all")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

#[test]
fn pcap_of_both_byte_orders_and_every_variant_gives_the_same_segments() {
    let frames = frames(20);
    let reference = segments(&plain(&frames));
    assert_eq!(reference.len(), frames.len());
    assert_eq!(reference[0].at_ns as u64, BEGAN_NS + 123_456);
    for order in ORDERS {
        let nanoseconds = pcap(order, Variant::Nanoseconds, ETHERNET, &frames);
        assert_eq!(segments(&nanoseconds), reference, "{order:?}");
        for variant in [Variant::Microseconds, Variant::Modified] {
            let read = segments(&pcap(order, variant, ETHERNET, &frames));
            assert_eq!(read, in_microseconds(&reference), "{order:?} {variant:?}");
        }
    }
}

#[test]
fn pcapng_interfaces_have_their_own_time_units_and_offsets() {
    let frames = frames(20);
    let reference = segments(&plain(&frames));
    for order in ORDERS {
        for (resolution, offset, ticks) in [
            (Some(9), 0, 1),
            (Some(9), 3_600, 1),
            (Some(12), 0, 0),
            (Some(6), 0, 1_000),
            (None, -7, 1_000),
        ] {
            let mut file = Blocks::new(order);
            file.interface(113, None, 0)
                .interface(1, resolution, offset);
            for frame in &frames {
                let at_ns = frame.at_ns.wrapping_sub((offset * 1_000_000_000) as u64);
                let ticks = match ticks {
                    // Skip picoseconds: the present time in picoseconds exceeds 64 bits.
                    0 => continue,
                    unit => at_ns / unit,
                };
                file.enhanced(1, ticks, frame, 0).block(0x0bad, b"unknown");
            }
            if ticks != 0 {
                let read = in_microseconds(&segments(&file.bytes));
                assert_eq!(
                    read,
                    in_microseconds(&reference),
                    "{order:?} {resolution:?}"
                );
            }
        }
    }
}

#[test]
fn pcapng_times_in_binary_and_fine_units_are_read() {
    let frame = &frames(1)[0];
    for (resolution, ticks, wanted_ns) in [
        (0x80 | 10, 5 << 10 | 512, 5_500_000_000),
        (0x80 | 32, 1 << 31, 500_000_000),
        (0x80 | 70, 1 << 62, 500_000_000),
        (0, 12, 12_000_000_000),
        (3, 12, 12_000_000),
        (12, 5_000_000, 5_000),
        (100, 5, 0),
        (6, u64::MAX, i64::MAX),
    ] {
        let mut file = Blocks::new(Order::Little);
        file.interface(1, Some(resolution), 0)
            .enhanced(0, ticks, frame, 0);
        assert_eq!(
            segments(&file.bytes)[0].at_ns,
            wanted_ns,
            "{resolution} {ticks}"
        );
    }
}

#[test]
fn simple_and_obsolete_packet_blocks_are_read() {
    let frames = frames(5);
    let mut file = Blocks::new(Order::Big);
    file.interface(1, None, 0);
    for frame in &frames {
        file.simple(frame);
    }
    let everything = whole(&file.bytes);
    assert_eq!(everything.segments.len(), frames.len());
    assert_eq!(everything.counters.times.missing, frames.len() as u64);
    let mut file = Blocks::new(Order::Little);
    file.interface(1, None, 0);
    for frame in &frames {
        file.obsolete(frame.at_ns / 1_000, frame);
    }
    assert_eq!(
        segments(&file.bytes),
        in_microseconds(&segments(&plain(&frames)))
    );
}

#[test]
fn sections_may_have_different_byte_orders_and_forget_interfaces() {
    let frames = frames(2);
    let mut little = Blocks::new(Order::Little);
    little
        .interface(1, Some(9), 0)
        .enhanced(0, frames[0].at_ns, &frames[0], 0);
    let mut big = Blocks::new(Order::Big);
    big.interface(1, Some(9), 0)
        .enhanced(0, frames[1].at_ns, &frames[1], 0);
    let both = [&little.bytes[..], &big.bytes].concat();
    assert_eq!(segments(&both).len(), 2);
    let mut forgotten = Blocks::new(Order::Little);
    forgotten.interface(1, Some(9), 0).section();
    forgotten.enhanced(0, 1, &frames[0], 0);
    let ending = read(&forgotten.bytes).expect("a capture").ending;
    assert!(
        ending.contains("an interface that its section does not describe"),
        "{ending}"
    );
}

#[test]
fn a_packets_direction_and_the_drops_of_an_interface_are_known() {
    let frames = frames(3);
    let mut file = Blocks::new(Order::Little);
    file.interface(1, Some(9), 0).interface(1, Some(9), 0);
    for (frame, flags) in frames.iter().zip([1, 2, 1 | 0b100 << 2]) {
        file.enhanced(0, frame.at_ns, frame, flags);
    }
    // The latest statistics replace earlier ones, because statistics count from the beginning of
    // the section.
    file.statistics(0, 5).statistics(0, 12).statistics(1, 3);
    let everything = whole(&file.bytes);
    let passages = everything
        .segments
        .iter()
        .map(|(_, segment)| segment.passage);
    let wanted = [Passage::Received, Passage::Sent, Passage::Overheard].map(Some);
    assert_eq!(passages.take(3).collect::<Vec<_>>(), wanted);
    assert_eq!(everything.counters.dropped, 15);
}

#[test]
fn compressed_captures_are_recognised_by_their_first_bytes() {
    // Write enough frames for several zstd blocks, each of at most 128 KiB.
    let frames = frames(400);
    let file = plain(&frames);
    let reference = segments(&file);
    let (first, second) = file.split_at(file.len() / 3);
    // A skippable zstd frame: its 5 bytes are not part of the data.
    let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"notes"].concat();
    for (name, packed) in [
        ("gzip", gzip(&file)),
        ("two gzip members", [gzip(first), gzip(second)].concat()),
        ("zstd", zstd(&file)),
        ("zstd frames", [zstd(first), skipped, zstd(second)].concat()),
    ] {
        assert_eq!(segments(&packed), reference, "{name}");
        let cut = read(&packed[..packed.len() - 20]).expect(name);
        let share = cut.segments.len() * 100 / reference.len();
        assert!((50..100).contains(&share), "{name}: {share} %");
        assert!(cut.ending.starts_with("Cut"), "{name}: {}", cut.ending);
    }
}

#[test]
fn a_capture_that_is_cut_gives_every_packet_before_the_cut() {
    let frames = frames(20);
    let files = [plain(&frames), {
        let mut file = Blocks::new(Order::Little);
        file.interface(1, Some(9), 0);
        for frame in &frames {
            file.enhanced(0, frame.at_ns, frame, 0);
        }
        file.bytes
    }];
    for file in files {
        let cut = read(&file[..file.len() - 3]).expect("a capture");
        assert_eq!(cut.segments.len(), frames.len() - 1);
        assert!(cut.ending.starts_with("Cut"), "{}", cut.ending);
    }
}

#[test]
fn a_file_that_is_no_capture_is_refused_in_words() {
    for (bytes, wanted) in [
        (&b""[..], "the file is empty"),
        (b"%PDF-1.4", "a PDF file"),
        (
            b"12:00:01.5 IP 10.0.0.1",
            "a text file; capture with tcpdump -w FILE",
        ),
        (b"snoop\0\0\0", "a snoop file; convert it"),
        (
            &[0xfd, b'7', b'z', b'X', b'Z', 0],
            "xz -dc FILE | fullpipe why -",
        ),
        (&[1, 2, 3], "a file that begins with the bytes 01 02 03"),
        (
            &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0],
            "it has fewer than 24 bytes",
        ),
        (&[0x0a, 0x0d, 0x0d, 0x0a, 28, 0], "the file ends inside it"),
        (&gzip(b"hello world"), "a text file"),
        (
            &zstd(b"hello world")[..9],
            "the compressed file ends too early",
        ),
        (
            &gzip(&plain(&frames(1)))[..12],
            "the compressed file ends too early",
        ),
    ] {
        let error = read(bytes).err().expect("no capture").to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let mut file = plain(&[]);
    file[4] = 9;
    assert!(matches!(
        read(&file),
        Err(CaptureError::Version { major: 9, minor: 4 })
    ));
}
