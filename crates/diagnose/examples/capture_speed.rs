//! Measures how many packets and bytes of a capture one core reads per second.
//!
//! `cargo run --release -p fullpipe-diagnose --example capture_speed [FILE]` reads FILE. Without
//! FILE, it reads captures that it makes in memory: bulk transfers over one connection and over
//! many, with full segments and with headers only. Each pair of numbers is the rate of reading
//! alone, and the rate of reading with the whole account of each connection (time by limit). Time
//! is this thread's CPU time if Linux reports it, and otherwise elapsed time.

#[path = "../tests/capture/written.rs"]
mod written;

use std::{
    error::Error,
    fs::{self, File},
    io::{Cursor, Read},
    sync::Arc,
    time::Instant,
};

use fullpipe_diagnose::{
    capture::{BytesRead, CaptureReader, FlowLimits, FlowTable},
    observe::ConnectionObserver,
};
use fullpipe_wire::{TcpFlags, TcpHeader, TcpOptions, Timestamps};
use written::{CLIENT, Captured, Order, SERVER, Variant, ethernet, ipv4, pcap, segment};

/// Size of a capture made in memory, in bytes.
const SIZE: usize = 256 << 20;
/// Payload of a segment in such a capture, in bytes.
const MSS: usize = 1_448;

/// A capture that can be read any number of times.
enum Source {
    File(String),
    Memory(Arc<[u8]>),
}

impl Source {
    fn open(&self) -> std::io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::File(path) => Box::new(File::open(path)?),
            Self::Memory(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
        })
    }
}

/// This thread's CPU time, or elapsed time if the CPU time is unknown.
struct Stopwatch {
    on_processor_ns: Option<u64>,
    began: Instant,
}

impl Stopwatch {
    fn start() -> Self {
        Self {
            on_processor_ns: on_processor_ns(),
            began: Instant::now(),
        }
    }

    fn seconds(&self) -> f64 {
        match (self.on_processor_ns, on_processor_ns()) {
            (Some(began), Some(now)) => (now - began) as f64 / 1e9,
            _ => self.began.elapsed().as_secs_f64(),
        }
    }
}

fn on_processor_ns() -> Option<u64> {
    let times = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    times.split(' ').next()?.parse().ok()
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:28} {:>10} {:>16} {:>18} {:>12}",
        "capture", "packets", "Mpacket/s", "GB/s", "connections"
    );
    if let Some(path) = std::env::args().nth(1) {
        return measure(&path.clone(), &Source::File(path));
    }
    for (name, flows, snap_len) in [
        ("full frames, 1 connection", 1, usize::MAX),
        ("full frames, 1000", 1_000, usize::MAX),
        ("96 bytes, 1 connection", 1, 96),
        ("96 bytes, 1000", 1_000, 96),
    ] {
        measure(name, &Source::Memory(made(flows, snap_len)))?;
    }
    Ok(())
}

/// Reads a capture twice, without and with an account of each connection, and prints one line.
fn measure(name: &str, source: &Source) -> Result<(), Box<dyn Error>> {
    let began = Stopwatch::start();
    let mut reader = CaptureReader::open(source.open()?, BytesRead::default())?;
    let segments = reader.by_ref().count();
    let alone = began.seconds();
    let counters = reader.counters();

    let began = Stopwatch::start();
    let mut reader = CaptureReader::open(source.open()?, BytesRead::default())?;
    let mut table = FlowTable::new(FlowLimits::DEFAULT, |_: &_| ConnectionObserver::new());
    let mut connections = 0;
    for (key, segment) in reader.by_ref() {
        table.on_segment(key, &segment, |_| connections += 1);
    }
    table.finish(reader.now_ns(), |_| connections += 1);
    let whole = began.seconds();
    let rate = |amount: f64| format!("{:.2} / {:.2}", amount / alone, amount / whole);
    println!(
        "{name:28} {segments:>10} {:>16} {:>18} {connections:>12}",
        rate(counters.frames as f64 / 1e6),
        rate(counters.captured_bytes as f64 / 1e9),
    );
    Ok(())
}

/// A capture of bulk transfers: the connections send in turn, and every second segment is
/// acknowledged.
fn made(flows: u32, snap_len: usize) -> Arc<[u8]> {
    let frame_len = (14 + 20 + 32 + MSS).min(snap_len) + 16;
    let count = SIZE / (frame_len + (14 + 20 + 32 + 16) / 2);
    let mut file = pcap(Order::Little, Variant::Nanoseconds, 1, &[]);
    for place in 0..count as u32 {
        let (flow, round) = (place % flows, place / flows);
        let at_ns = 1_700_000_000_000_000_000 + u64::from(place) * 12_000;
        let seq = round.wrapping_mul(MSS as u32);
        add(
            &mut file,
            at_ns,
            flow,
            true,
            seq,
            round as u16,
            MSS,
            snap_len,
        );
        if round % 2 == 1 {
            let ack = seq.wrapping_add(MSS as u32);
            add(
                &mut file,
                at_ns + 5_000,
                flow,
                false,
                ack,
                round as u16,
                0,
                snap_len,
            );
        }
    }
    file.into()
}

// A frame has too many properties for the lint's limit on arguments.
#[allow(clippy::too_many_arguments)]
fn add(
    file: &mut Vec<u8>,
    at_ns: u64,
    flow: u32,
    from_client: bool,
    number: u32,
    id: u16,
    payload: usize,
    snap_len: usize,
) {
    let port = 1_024 + flow as u16;
    let (src_port, dst_port) = if from_client { (port, 80) } else { (80, port) };
    let (seq, ack) = if from_client {
        (number, 1)
    } else {
        (1, number)
    };
    let time = (at_ns / 1_000_000) as u32;
    let header = TcpHeader {
        src_port,
        dst_port,
        seq,
        ack,
        flags: TcpFlags::ACK,
        window: 60_000,
        options: TcpOptions {
            timestamps: Some(Timestamps {
                value: time,
                echo: time,
            }),
            ..TcpOptions::NONE
        },
        ..TcpHeader::default()
    };
    let body = segment(&header, payload, (CLIENT.into(), SERVER.into()));
    let frame = ethernet(0x0800, &ipv4(id, from_client, &body));
    let frame = Captured::whole(at_ns, frame).cut(snap_len);
    let record = pcap(Order::Little, Variant::Nanoseconds, 1, &[frame]);
    file.extend(&record[24..]);
}
