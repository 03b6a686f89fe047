//! Requests and responses: the ends send payload in turns.
//!
//! Rule: a run is consecutive payload of one end. A run answers the previous run, which the other
//! end sent, if its first segment acknowledges all of the previous run. The runs of two
//! simultaneous streams do not answer each other.

use fullpipe_wire::TcpFlags;

use super::observed::Exchange;
use crate::capture::{End, Segment};

/// The ends send in turns if at least this many of ten runs answer the previous run.
const OF_TEN: u64 = 9;

/// Counts the runs of both ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turns {
    last: Option<End>,
    first: Option<End>,
    /// Sequence number after the highest byte of each end.
    next: [Option<u32>; 2],
    /// Number of runs of each end.
    runs: [u64; 2],
    answers: u64,
}

impl Turns {
    /// Takes the next segment.
    pub fn on_segment(&mut self, segment: &Segment) {
        if segment.payload == 0 {
            return;
        }
        let from = segment.from;
        if self.last != Some(from) {
            let asked = self.next[from.other().index()];
            let has_ack = segment.flags.contains(TcpFlags::ACK);
            let is_answer =
                has_ack && asked.is_some_and(|next| segment.ack.wrapping_sub(next) as i32 >= 0);
            self.answers += u64::from(is_answer);
            self.runs[from.index()] += 1;
            self.first.get_or_insert(from);
            self.last = Some(from);
        }
        let end = segment.seq.wrapping_add(segment.payload);
        let next = self.next[from.index()].get_or_insert(end);
        if (end.wrapping_sub(*next) as i32) > 0 {
            *next = end;
        }
    }

    /// Returns the exchange; `None` if too few runs answer the previous run.
    pub fn exchange(&self) -> Option<Exchange> {
        let asker = self.first?;
        let [requests, responses] = [asker, asker.other()].map(|end| self.runs[end.index()]);
        let turns = requests + responses - 1;
        let is_exchange = turns > 0 && self.answers * 10 >= turns * OF_TEN;
        is_exchange.then_some(Exchange {
            asker,
            requests,
            responses,
        })
    }
}
