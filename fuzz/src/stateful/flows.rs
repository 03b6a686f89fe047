//! The model of every connection: the bytes that its peer sent, and the segments that the stack may
//! send.
//!
//! The one rule: the model is computed only from frames and the application's calls. Each byte that
//! the application reads must be one that a true peer (one that follows the protocol) could have
//! sent at that time. No segment of the stack may acknowledge a byte that did not arrive, shrink
//! the window, or carry a byte that was not written.
//!
//! The payload of a true peer is a function of the sequence number, so the model stores only bytes
//! that differ from it.

use std::collections::HashMap;

use fullpipe::{Info, TcpState};
use fullpipe_wire::{TcpFlags, TcpHeader};

use super::streams::Stream;
use super::tuple::{Tuple, byte_of};

/// A connection of a tuple (addresses and ports), as its segments show it.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Addresses and ports of the connection.
    pub tuple: Tuple,
    /// Initial sequence number of the stack.
    pub iss: u32,
    /// Initial sequence number of the peer, once known.
    pub irs: Option<u32>,
    /// Window scale of the stack.
    pub scale: u8,
    /// True while the right edge of the window is unknown: the options came back in a SYN cookie,
    /// and the stack has not reported them yet.
    is_returned: bool,
    /// True if a SYN cookie opened the connection, so that SYN-ACKs with cookies may still be
    /// queued.
    is_of_cookie: bool,
    /// Largest window scale that the peer offered.
    peer_scale: u8,
    /// Last acknowledgment number of the stack.
    pub acked: Option<u32>,
    /// Right edge of the window that the stack advertised.
    pub edge: Option<u32>,
    /// Sequence number after the last byte that the stack sent.
    pub sent_end: u32,
    /// Right edge of the largest window that the peer can have advertised.
    peer_edge: Option<u32>,
    /// Last timestamp of the stack.
    pub timestamp: Option<u32>,
    /// Bytes that the stack had received when the application closed the connection.
    received: u32,
    /// True if the stack has sent a segment other than a SYN.
    is_open: bool,
    /// True if the connection may have ended: the stack may have accepted a reset or has sent one,
    /// or the application has closed the connection.
    may_be_over: bool,
    /// Sequence number of a SYN that arrived when the connection may have ended.
    next_irs: Option<u32>,
    /// True if the stack opened the connection.
    is_active: bool,
}

/// The model of all connections.
#[derive(Default)]
pub struct Flows {
    flows: Vec<Flow>,
    streams: HashMap<(Tuple, u32), Stream>,
    written: HashMap<(Tuple, u32), Written>,
    /// True if a segment of the stack may wait for ARP, or be lost while it waits. The model then
    /// does not see every window that the stack advertises.
    hides_answers: bool,
    /// Bytes of packet memory, an upper bound of the payload that a connection can receive while
    /// nothing is read.
    memory: u32,
}

/// The number of bytes that the application has written to a connection, and a flag that is true if
/// the application has closed its direction.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    bytes: u32,
    ended: bool,
}

/// Returns the length of a segment in the sequence space: its payload, SYN and FIN.
fn len_of(header: &TcpHeader, payload: &[u8]) -> u32 {
    let marks = [TcpFlags::SYN, TcpFlags::FIN];
    let marks = marks.iter().filter(|&&mark| header.flags.contains(mark));
    (payload.len() + marks.count()) as u32
}

impl Flow {
    fn new(tuple: Tuple, iss: u32) -> Flow {
        Flow {
            tuple,
            iss,
            irs: None,
            scale: 0,
            is_returned: false,
            is_of_cookie: false,
            peer_scale: 0,
            acked: None,
            edge: None,
            sent_end: iss,
            peer_edge: None,
            timestamp: None,
            received: 0,
            is_open: false,
            may_be_over: false,
            next_irs: None,
            is_active: false,
        }
    }

    /// Returns the sequence number that the stack expects next, as far as its segments show.
    pub fn expected(&self) -> u32 {
        self.acked
            .or(self.irs.map(|irs| irs.wrapping_add(1)))
            .unwrap_or(0)
    }

    /// Returns true if the stack has sent everything below `ack`.
    fn has_sent(&self, ack: u32) -> bool {
        ack.wrapping_sub(self.iss) <= self.sent_end.wrapping_sub(self.iss)
    }

    /// Returns true if the stack has acknowledged more than `ack`.
    fn has_acked_beyond(&self, ack: u32) -> bool {
        self.acked
            .is_some_and(|acked| (ack.wrapping_sub(acked) as i32) < 0)
    }

    /// Returns the window in which the stack accepts payload: its first sequence number and its
    /// length. If the model does not see the window, `hidden` is the number of bytes that the stack
    /// can store; all of them may have arrived without an answer.
    fn window(&self, info: Option<&Info>, hidden: Option<u32>) -> Option<(u32, u32)> {
        match (info, hidden) {
            (Some(info), _) if Some(info.irs) == self.irs => Some((info.rcv_nxt, info.rcv_wnd)),
            (_, Some(bytes)) => Some((self.irs?.wrapping_add(1), self.received + bytes)),
            (_, None) => {
                let (acked, edge) = (self.acked?, self.edge?);
                // Add one unit of the scale, because the window field is rounded down.
                Some((acked, edge.wrapping_sub(acked) + (1 << self.scale)))
            }
        }
    }

    /// Returns the sequence number after the last byte or FIN that the stack may have sent. If
    /// segments may be lost before the model sees them, `most` is the number of bytes that the
    /// application wrote.
    fn last_sent(&self, info: Option<&Info>, most: Option<u32>) -> u32 {
        match (info, most) {
            (Some(info), _) if Some(info.irs) == self.irs => info.snd_nxt,
            (_, Some(bytes)) => self.iss.wrapping_add(2).wrapping_add(bytes),
            (_, None) => self.sent_end,
        }
    }

    /// Returns true if the stack may accept the acknowledgment number `ack` (RFC 5961 §5).
    fn believes(&self, ack: u32, info: Option<&Info>) -> bool {
        let Some(info) = info else {
            return true;
        };
        let oldest = info.snd_una.wrapping_sub(info.max_snd_wnd);
        ack.wrapping_sub(oldest) <= info.snd_nxt.wrapping_sub(oldest)
    }
}

impl Flows {
    /// Creates a model without connections. `hides_answers` is true if segments may wait for ARP;
    /// `memory` is the size of the pool in bytes.
    pub fn new(hides_answers: bool, memory: u32) -> Flows {
        Flows {
            hides_answers,
            memory,
            ..Flows::default()
        }
    }

    /// Returns every connection, the oldest first.
    pub fn all(&self) -> &[Flow] {
        &self.flows
    }

    /// Returns the newest connection of `tuple`.
    pub fn find(&self, tuple: Tuple) -> Option<&Flow> {
        self.flows.iter().rfind(|flow| flow.tuple == tuple)
    }

    fn find_mut(&mut self, tuple: Tuple) -> Option<&mut Flow> {
        self.flows.iter_mut().rfind(|flow| flow.tuple == tuple)
    }

    /// Adds a connection. Keeps the previous connection of the same tuple, because one of its
    /// segments may still be queued.
    fn start(&mut self, tuple: Tuple, iss: u32) -> &mut Flow {
        if self
            .flows
            .iter()
            .any(|flow| flow.tuple == tuple && flow.iss == iss)
        {
            self.written.remove(&(tuple, iss));
        }
        if let Some(at) = self.flows.iter().rposition(|flow| flow.tuple == tuple) {
            let last = self.flows.remove(at);
            // Forget the bytes written to older connections, except those with the same initial
            // sequence number as `last` or the new connection: a repeated cookie may later open a
            // connection with that number.
            for old in self.flows.extract_if(.., |flow| flow.tuple == tuple) {
                if old.iss != last.iss && old.iss != iss {
                    self.written.remove(&(tuple, old.iss));
                }
            }
            self.flows.push(last);
        }
        let mut flow = Flow::new(tuple, iss);
        if let Some(last) = self.find(tuple).filter(|last| last.iss == iss) {
            // Take over the peer's window: segments of the peer may have reached this connection
            // before the connection sent a segment.
            (flow.peer_edge, flow.peer_scale) = (last.peer_edge, last.peer_scale);
        }
        self.flows.push(flow);
        self.flows.last_mut().expect("the flow was just added")
    }

    /// Finds the connection to which a segment of the stack belongs, and makes it the newest.
    fn choose(&mut self, tuple: Tuple, header: &TcpHeader) {
        let newest = self.flows.iter().rposition(|flow| flow.tuple == tuple);
        let newest = newest.filter(|&at| self.may_send(&self.flows[at], header));
        if newest.is_none() && self.starts_next(tuple, header) {
            let flow = self.start(tuple, header.seq.wrapping_sub(1));
            return flow.irs = Some(header.ack.wrapping_sub(1));
        }
        let is_of = |flow: &Flow| {
            let acked = |irs: u32| header.ack.wrapping_sub(irs) < 1 << 30;
            flow.tuple == tuple && flow.has_sent(header.seq) && flow.irs.is_some_and(acked)
        };
        if let Some(at) = newest.or_else(|| self.flows.iter().rposition(is_of)) {
            let chosen = self.flows.remove(at);
            self.flows.push(chosen);
        }
    }

    /// Returns true if the segment is the first one of a new connection after a reset. Such a
    /// segment may be a challenge ACK.
    fn starts_next(&self, tuple: Tuple, header: &TcpHeader) -> bool {
        let irs = header.ack.wrapping_sub(1);
        let is_fin = header.flags.contains(TcpFlags::FIN);
        let is_next = |flow: &Flow| flow.next_irs == Some(irs) && !is_fin;
        let is_known = |flow: &Flow| {
            let is_of = flow.tuple == tuple && flow.irs == Some(irs);
            is_of && !flow.has_acked_beyond(header.ack)
        };
        self.find(tuple).is_some_and(is_next) && !self.flows.iter().any(is_known)
    }

    /// Returns true if `flow` may send a segment with this header, provided that no reset has ended
    /// it. The segment must acknowledge only bytes that arrived, and no less than earlier segments.
    /// Its sequence number must not exceed the end of the written bytes.
    fn may_send(&self, flow: &Flow, header: &TcpHeader) -> bool {
        let Flow { tuple, iss, .. } = *flow;
        let written = self.written.get(&(tuple, iss)).copied().unwrap_or_default();
        let offset = header.seq.wrapping_sub(iss).wrapping_sub(1);
        let stream = flow.irs.and_then(|irs| self.streams.get(&(tuple, irs)));
        offset <= written.bytes + u32::from(written.ended)
            && !flow.has_acked_beyond(header.ack)
            && stream.is_some_and(|stream| stream.has_arrived_to(header.ack))
    }

    fn stream(&mut self, tuple: Tuple, irs: u32) -> &mut Stream {
        let stream = || Stream::new(tuple, irs);
        self.streams.entry((tuple, irs)).or_insert_with(stream)
    }

    /// Records a segment that the stack will receive next. `info` is the stack's information about
    /// the connection, if it is one of the application's.
    pub fn arrives(
        &mut self,
        tuple: Tuple,
        header: &TcpHeader,
        payload: &[u8],
        info: Option<&Info>,
    ) {
        let has = |flag| header.flags.contains(flag);
        if has(TcpFlags::SYN) && !has(TcpFlags::RST) {
            // Record a new stream: every SYN may begin one.
            let stream = self.stream(tuple, header.seq);
            stream.arrives(header.seq.wrapping_add(1), payload, has(TcpFlags::FIN));
            stream.offer(header.options.window_scale);
        }
        let Some(at) = self.flows.iter().rposition(|flow| flow.tuple == tuple) else {
            return;
        };
        let flow = &mut self.flows[at];
        // The window is unknown before the first segment: a connection may be accepted and closed
        // without one.
        let is_hidden = self.hides_answers || flow.edge.is_none();
        let hidden = is_hidden.then_some(self.memory);
        let written = self.written.get(&(tuple, flow.iss)).copied();
        let written = written.unwrap_or_default().bytes;
        let most = self.hides_answers.then_some(written);
        if flow.may_be_over && has(TcpFlags::SYN) && !has(TcpFlags::ACK) && !has(TcpFlags::RST) {
            flow.next_irs = Some(header.seq);
        }
        flow.may_be_over |= has(TcpFlags::RST) && flow.acked == Some(header.seq);
        if has(TcpFlags::ACK) && flow.has_sent(header.ack) {
            let scale = match has(TcpFlags::SYN) {
                true => 0,
                false => flow.peer_scale,
            };
            let edge = header.ack.wrapping_add(u32::from(header.window) << scale);
            let reach = |edge: u32| edge.wrapping_sub(flow.iss);
            flow.peer_edge = Some(match flow.peer_edge {
                Some(known) if reach(known) >= reach(edge) => known,
                _ => edge,
            });
        }
        let may_carry = has(TcpFlags::ACK) && !has(TcpFlags::RST) && !has(TcpFlags::SYN);
        let is_old = header.ack.wrapping_sub(flow.last_sent(info, most)) as i32 <= 0;
        if !may_carry || !is_old || !flow.believes(header.ack, info) {
            return;
        }
        let (window, irs, next) = (flow.window(info, hidden), flow.irs, flow.next_irs);
        let (seq, fin) = (header.seq, has(TcpFlags::FIN));
        if let Some(next) = next {
            // Also record the payload for the next connection. If that connection begins when the
            // reset arrives, it has the same initial sequence number.
            let window = (next.wrapping_add(1), self.memory);
            let stream = self.stream(tuple, next);
            stream.arrives_within(seq, payload, fin, window);
        }
        if let (Some(window), Some(irs)) = (window, irs) {
            let stream = self.stream(tuple, irs);
            stream.arrives_within(seq, payload, fin, window);
        }
    }

    /// Records that the stack has accepted a segment that returned one of its SYN cookies.
    pub fn on_cookie(&mut self, tuple: Tuple, header: &TcpHeader, payload: &[u8]) {
        // Find the peer's initial sequence number by the cookie, if possible. The sequence number
        // of the segment alone is not enough, because the sequence number of a keepalive probe is
        // lower by one.
        let iss = header.ack.wrapping_sub(1);
        let answered = self
            .flows
            .iter()
            .rfind(|flow| flow.tuple == tuple && flow.iss == iss);
        let irs = answered.and_then(|flow| flow.irs);
        let irs = irs.unwrap_or(header.seq.wrapping_sub(1));
        let stream = self.stream(tuple, irs);
        stream.arrives(header.seq, payload, header.flags.contains(TcpFlags::FIN));
        // Assume the largest window scale, because the model does not know the options in the
        // cookie.
        let flow = self.start(tuple, iss);
        (flow.irs, flow.acked) = (Some(irs), Some(irs.wrapping_add(1)));
        (flow.is_returned, flow.is_of_cookie) = (true, true);
        flow.peer_scale = 14;
        flow.sent_end = header.ack;
        flow.peer_edge = Some(header.ack.wrapping_add(u32::from(header.window) << 14));
    }

    /// Records the options of a connection, as the stack reports them.
    pub fn agreed(&mut self, tuple: Tuple, info: &Info) {
        // Make this connection the newest: a late SYN-ACK with another cookie may have added a
        // connection that seems newer.
        let is_it = |flow: &Flow| flow.tuple == tuple && flow.iss == info.iss;
        if let Some(at) = self.flows.iter().rposition(is_it)
            && !matches!(info.state, TcpState::SynSent | TcpState::Closed)
        {
            if self.flows[at + 1..].iter().any(|flow| flow.tuple == tuple) {
                let chosen = self.flows.remove(at);
                self.flows.push(chosen);
            }
            let flow = self.find_mut(tuple).expect("the flow exists");
            if flow.irs == Some(info.irs) {
                // The connection is open, so the stack has not accepted a reset.
                (flow.may_be_over, flow.next_irs) = (false, None);
            }
            flow.irs = Some(info.irs);
            flow.scale = info.agreed.rcv_wscale;
            flow.is_returned = false;
            flow.peer_scale = flow.peer_scale.max(info.agreed.snd_wscale);
        }
    }

    /// Records that the application has written `bytes` in total.
    pub fn wrote(&mut self, tuple: Tuple, iss: u32, bytes: u32) {
        let written = self.written.entry((tuple, iss)).or_default();
        written.bytes = written.bytes.max(bytes);
    }

    /// Records that the application closes a connection and reads nothing that arrives later.
    /// `info` is the stack's information about the connection.
    pub fn let_go(&mut self, tuple: Tuple, info: &Info) {
        let of_it = |flow: &&mut Flow| flow.tuple == tuple && flow.iss == info.iss;
        if let Some(flow) = self.flows.iter_mut().rfind(of_it) {
            flow.received = info.rcv_nxt.wrapping_sub(info.irs);
            flow.may_be_over = true;
        }
    }

    /// Records that the application has closed its direction.
    pub fn ended(&mut self, tuple: Tuple, iss: u32) {
        self.written.entry((tuple, iss)).or_default().ended = true;
    }

    /// Checks bytes that the application read from offset `at` of the peer's stream.
    ///
    /// # Panics
    /// Panics if no true peer can have sent one of these bytes.
    pub fn check_read(&mut self, tuple: Tuple, irs: u32, at: u32, bytes: &[u8]) {
        let first = irs.wrapping_add(1).wrapping_add(at);
        self.stream(tuple, irs).check_read(first, bytes);
    }

    /// Checks a segment that the stack sent.
    ///
    /// # Panics
    /// Panics if the segment breaks the rule of this file.
    pub fn leaves(&mut self, tuple: Tuple, header: &TcpHeader, payload: &[u8]) {
        if header.flags.contains(TcpFlags::RST) {
            // A reset with ACK and the connection's next sequence number ends the connection. Other
            // resets answer segments without a connection.
            if header.flags.contains(TcpFlags::ACK)
                && let Some(flow) = self.find_mut(tuple)
            {
                flow.may_be_over |= header.seq == flow.sent_end;
            }
            return;
        }
        match header.flags.contains(TcpFlags::SYN) {
            true if self.repeats_cookie(tuple, header) => return,
            true => self.on_syn(tuple, header),
            false => self.choose(tuple, header),
        }
        let flow = self
            .find(tuple)
            .unwrap_or_else(|| {
                panic!("the stack sent a segment that belongs to no connection: {header:?}")
            })
            .clone();
        self.check_sent(&flow, header, payload);
        if header.flags.contains(TcpFlags::ACK) {
            self.check_acknowledged(&flow, header);
        }
        let flow = self.find_mut(tuple).expect("the flow exists");
        let end = header.seq.wrapping_add(len_of(header, payload));
        if end.wrapping_sub(flow.iss) > flow.sent_end.wrapping_sub(flow.iss) {
            flow.sent_end = end;
        }
        flow.timestamp = header.options.timestamps.map(|stamps| stamps.value);
        flow.is_open |= !header.flags.contains(TcpFlags::SYN);
        if header.flags.contains(TcpFlags::ACK) {
            let scale = match header.flags.contains(TcpFlags::SYN) {
                true => 0,
                false => flow.scale,
            };
            flow.acked = Some(header.ack);
            let edge = header.ack.wrapping_add(u32::from(header.window) << scale);
            flow.edge = (!flow.is_returned).then_some(edge);
        }
    }

    /// Returns true for a SYN-ACK that was queued before its cookie returned.
    fn repeats_cookie(&self, tuple: Tuple, header: &TcpHeader) -> bool {
        self.find(tuple).is_some_and(|flow| {
            let repeats = flow.iss == header.seq && flow.irs == Some(header.ack.wrapping_sub(1));
            flow.is_of_cookie && repeats && !flow.may_be_over
        })
    }

    fn on_syn(&mut self, tuple: Tuple, header: &TcpHeader) {
        let irs = header.ack.wrapping_sub(1);
        let answers = header.flags.contains(TcpFlags::ACK);
        // A SYN that is repeated after a reset opens a new connection. If the clock has not
        // advanced since, the new connection has the same initial sequence number.
        let is_known = self.find(tuple).is_some_and(|flow| {
            // In a simultaneous open, the SYN-ACK may also acknowledge payload of the peer's SYN.
            let reach = if flow.is_active { 1 << 16 } else { 1 };
            let same_peer =
                !answers || flow.irs.is_none_or(|known| irs.wrapping_sub(known) < reach);
            flow.iss == header.seq && same_peer && !flow.is_open && !flow.may_be_over
        });
        if !is_known {
            self.start(tuple, header.seq).is_active = !answers;
        }
        if answers {
            let known = self.find(tuple).and_then(|flow| flow.irs).unwrap_or(irs);
            let peer_scale = self.stream(tuple, known).scale;
            let flow = self.find_mut(tuple).expect("the flow exists");
            flow.irs = Some(known);
            flow.scale = header.options.window_scale.unwrap_or(0).min(14);
            flow.peer_scale = flow.peer_scale.max(peer_scale);
        }
    }

    /// Checks that the stack sends only written bytes, within the peer's window, and a FIN only
    /// after the last of them.
    fn check_sent(&self, flow: &Flow, header: &TcpHeader, payload: &[u8]) {
        let Flow { tuple, iss, .. } = *flow;
        let written = self.written.get(&(tuple, iss)).copied().unwrap_or_default();
        let first = iss.wrapping_add(1);
        let end = header.seq.wrapping_add(payload.len() as u32);
        // Also accept the sequence number of the SYN, which the stack's probes of a silent peer
        // repeat.
        let reach = end.wrapping_sub(first) as i32;
        assert!(
            reach <= written.bytes as i32 + i32::from(written.ended) && reach >= -1,
            "the application wrote {} bytes, and the stack sent {reach}: {header:?} of {flow:?}",
            written.bytes
        );
        for (at, &byte) in payload.iter().enumerate() {
            let seq = header.seq.wrapping_add(at as u32);
            let offset = seq.wrapping_sub(first);
            // Do not check that the byte is unacknowledged: a keepalive probe may carry an
            // acknowledged byte.
            let known = offset < written.bytes;
            assert!(
                known && byte == byte_of(tuple, iss, seq, false),
                "the stack sent a byte at offset {offset} that the application did not write: {header:?} of {flow:?}"
            );
        }
        if header.flags.contains(TcpFlags::FIN) {
            assert!(
                written.ended,
                "the stack sent a FIN before the application ended the stream: {header:?}"
            );
            assert_eq!(
                end.wrapping_sub(first),
                written.bytes,
                "the FIN does not follow the last written byte"
            );
        }
        if let (Some(edge), false) = (flow.peer_edge, payload.is_empty()) {
            let beyond = end.wrapping_sub(edge) as i32;
            assert!(
                beyond <= 1,
                "the stack sent {beyond} bytes beyond the peer's window: {header:?} of {flow:?}"
            );
        }
    }

    /// Checks that the stack acknowledges only bytes that arrived, and that neither the
    /// acknowledgment number nor the right edge of the window decreases.
    fn check_acknowledged(&mut self, flow: &Flow, header: &TcpHeader) {
        let Some(irs) = flow.irs else {
            panic!(
                "the stack acknowledges bytes of a peer that has sent no SYN: {header:?} of {flow:?}"
            );
        };
        let is_syn = header.flags.contains(TcpFlags::SYN);
        let stream = self.stream(flow.tuple, irs);
        stream.check_ack(header.ack);
        let above = |left: u32| left.wrapping_sub(header.ack) as i32 >= 0;
        for block in header.options.sack.iter().filter(|block| above(block.left)) {
            stream.check_sack(block.left, block.right);
        }
        let (Some(acked), Some(edge)) = (flow.acked, flow.edge) else {
            return;
        };
        let back = acked.wrapping_sub(header.ack) as i32;
        assert!(
            back <= 0,
            "the acknowledgment number decreases by {back}: {header:?} of {flow:?}"
        );
        let scale = if is_syn { 0 } else { flow.scale };
        let now = header.ack.wrapping_add(u32::from(header.window) << scale);
        let back = edge.wrapping_sub(now) as i32;
        assert!(
            back < 1 << flow.scale,
            "the right edge of the receive window moves back by {back} bytes: {header:?} of {flow:?}"
        );
    }
}
