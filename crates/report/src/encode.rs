//! Encodes columns of numbers as text inside a page.
//!
//! Rule: a column is stored as differences between consecutive values. Each difference is a zigzag
//! number in groups of seven bits, lowest group first. The columns of a blob follow each other; the
//! blob is deflated and written in base64. `page/decode.js` decodes the blob and expects the
//! columns in the same order.

use fullpipe_diagnose::facts::{
    Bands, BusyPeriods, Endpoint, LinkUsage, Marks, PoolLevels, QueueLevels, RttSamples,
    SackBlocks, Segments, Windows,
};
use miniz_oxide::deflate::compress_to_vec;

/// Compression level of deflate, from 0 to 10.
const LEVEL: u8 = 6;
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encoded tables for a page.
#[derive(Debug, Default)]
pub struct Blob {
    bytes: Vec<u8>,
    /// Name and length of each table, in the order in which the blob stores the tables. The length
    /// is the number of entries in each column.
    pub tables: Vec<(&'static str, usize)>,
}

impl Blob {
    /// Encodes the series of an end of a connection, without its limits and without its episodes.
    /// Limits are the reasons for which the end did not send.
    pub fn of_series(end: &Endpoint) -> Self {
        let mut blob = Self::default();
        blob.segments("sent", &end.sent);
        blob.segments("received", &end.received);
        blob.sacks("sacksReceived", &end.sacks_received);
        blob.sacks("sacksSent", &end.sacks_sent);
        blob.windows(&end.windows);
        blob.rtts(&end.rtts);
        blob.marks(&end.marks);
        blob
    }

    /// Encodes the limits of an end. The limits have their own blob, because the page shows the
    /// limits of both ends, but the other series of only one end.
    pub fn of_bands(end: &Endpoint) -> Self {
        let mut blob = Self::default();
        blob.bands("limits", &end.limits);
        blob.bands("receiveLimits", &end.receive_limits);
        blob
    }

    /// Encodes two series: the number of blocks that each holder (kind of buffer) of a host's pool
    /// has, and the times in which the host's processor works.
    pub fn of_host(pool: &PoolLevels, cpu: &BusyPeriods) -> Self {
        let mut blob = Self::default();
        blob.tables.push(("pool", pool.len()));
        blob.column(pool.at_ns.iter().copied());
        blob.column(pool.holder.iter().copied());
        blob.column(pool.held.iter().copied());
        blob.column(pool.reserved.iter().copied());
        blob.busy("cpu", cpu);
        blob
    }

    /// Encodes both directions of a link.
    pub fn of_link(link: &LinkUsage) -> Self {
        let mut blob = Self::default();
        blob.busy("forwardBusy", &link.forward.busy);
        blob.queue("forwardQueue", &link.forward.queue);
        blob.busy("backBusy", &link.back.busy);
        blob.queue("backQueue", &link.back.queue);
        blob
    }

    /// Returns the blob as base64.
    pub fn text(&self) -> String {
        base64(&compress_to_vec(&self.bytes, LEVEL))
    }

    fn column<T: Into<u64>>(&mut self, values: impl Iterator<Item = T>) {
        let mut before = 0;
        for value in values {
            let value: u64 = value.into();
            let difference = value.wrapping_sub(before) as i64;
            before = value;
            let mut zigzag = (difference << 1 ^ difference >> 63) as u64;
            while zigzag > 127 {
                self.bytes.push(zigzag as u8 | 128);
                zigzag >>= 7;
            }
            self.bytes.push(zigzag as u8);
        }
    }

    fn segments(&mut self, name: &'static str, table: &Segments) {
        self.tables.push((name, table.len()));
        self.column(table.at_ns.iter().copied());
        self.column(table.seq.iter().copied());
        self.column(table.len.iter().copied());
        self.column(table.ack.iter().copied());
        self.column(table.window.iter().copied());
        self.column(table.flags.iter().copied());
        self.column(table.status.iter().copied());
        self.column(table.outstanding.iter().copied());
    }

    fn busy(&mut self, name: &'static str, table: &BusyPeriods) {
        self.tables.push((name, table.len()));
        self.column(table.at_ns.iter().copied());
        self.column(table.end_ns.iter().copied());
    }

    fn queue(&mut self, name: &'static str, table: &QueueLevels) {
        self.tables.push((name, table.len()));
        self.column(table.at_ns.iter().copied());
        self.column(table.frames.iter().copied());
    }

    fn sacks(&mut self, name: &'static str, table: &SackBlocks) {
        self.tables.push((name, table.len()));
        self.column(table.at_ns.iter().copied());
        self.column(table.left.iter().copied());
        self.column(table.right.iter().copied());
    }

    fn windows(&mut self, table: &Windows) {
        self.tables.push(("windows", table.len()));
        self.column(table.at_ns.iter().copied());
        self.column(table.cwnd.iter().copied());
        self.column(table.ssthresh.iter().copied());
        self.column(table.in_flight.iter().copied());
    }

    fn rtts(&mut self, table: &RttSamples) {
        self.tables.push(("rtts", table.len()));
        self.column(table.at_ns.iter().copied());
        self.column(table.sample_us.iter().copied());
        self.column(table.srtt_us.iter().copied());
        self.column(table.rto_us.iter().copied());
    }

    fn bands(&mut self, name: &'static str, table: &Bands) {
        self.tables.push((name, table.len()));
        self.column(table.at_ns.iter().copied());
        self.column(table.end_ns.iter().copied());
        self.column(table.reason.iter().copied());
        self.column(table.bytes.iter().copied());
    }

    fn marks(&mut self, table: &Marks) {
        self.tables.push(("marks", table.len()));
        self.column(table.at_ns.iter().copied());
        self.column(table.kind.iter().copied());
        self.column(table.value.iter().copied());
    }
}

/// Returns `bytes` in base64 with padding. RFC 4648 §4.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    text
}
