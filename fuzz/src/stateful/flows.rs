//! The model of every connection: what peers sent, and what the stack may say of it.
//!
//! The one rule: the model believes frames and the application's calls alone. It tells of each
//! byte whether a true peer could have sent it at that moment; of each segment of the stack
//! whether it acknowledges, promises or sends more than is true.
//!
//! A true peer's payload is a function of its sequence number, so the model stores only
//! what others sent and a true peer might have.

use std::collections::HashMap;

use fullpipe::{Info, TcpState};
use fullpipe_wire::{TcpFlags, TcpHeader};

use super::streams::Stream;
use super::tuple::{Tuple, byte_of};

/// The newest connection of a tuple, as its segments show it.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its ends.
    pub tuple: Tuple,
    /// Initial sequence number of the stack.
    pub iss: u32,
    /// Initial sequence number of the peer, once known.
    pub irs: Option<u32>,
    /// Window scale of the stack.
    pub scale: u8,
    /// The options came back in a SYN cookie, and the stack has not said yet which: no edge
    /// is known.
    is_returned: bool,
    /// It was opened by a SYN cookie: SYN-ACKs with cookies may still be queued.
    is_of_cookie: bool,
    /// Largest window scale that the peer offered.
    peer_scale: u8,
    /// Last acknowledgment number of the stack.
    pub acked: Option<u32>,
    /// Right edge of its window.
    pub edge: Option<u32>,
    /// Sequence number behind everything it sent.
    pub sent_end: u32,
    /// Right edge of the largest window that the peer can have advertised.
    peer_edge: Option<u32>,
    /// Last timestamp of the stack.
    pub timestamp: Option<u32>,
    /// Bytes that the stack had received when the application let go of it.
    received: u32,
    /// It has sent more than a SYN.
    is_open: bool,
    /// A reset has arrived that the stack may have believed, the stack has sent one, or the
    /// application has let go.
    may_be_over: bool,
    /// Number of a SYN that arrived after that.
    next_irs: Option<u32>,
    /// Its first segment was a SYN.
    is_active: bool,
}

/// The model.
#[derive(Default)]
pub struct Flows {
    flows: Vec<Flow>,
    streams: HashMap<(Tuple, u32), Stream>,
    written: HashMap<(Tuple, u32), Written>,
    /// A segment that the stack has sent may wait, or be lost, until ARP finds the neighbour: only the
    /// application knows its windows.
    hides_answers: bool,
    /// Bytes of packet memory: what a connection holds that no application reads.
    memory: u32,
}

/// The application's side of the direction to the peer.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    bytes: u32,
    ended: bool,
}

/// Bytes that a segment of the stack takes of the sequence space.
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

    /// The next byte that the stack expects, as far as it has said so.
    pub fn expected(&self) -> u32 {
        self.acked
            .or(self.irs.map(|irs| irs.wrapping_add(1)))
            .unwrap_or(0)
    }

    /// Returns true if a true peer may acknowledge `ack`.
    fn has_sent(&self, ack: u32) -> bool {
        ack.wrapping_sub(self.iss) <= self.sent_end.wrapping_sub(self.iss)
    }

    /// Returns true if the stack has acknowledged more than `ack`.
    fn has_acked_beyond(&self, ack: u32) -> bool {
        self.acked
            .is_some_and(|acked| (ack.wrapping_sub(acked) as i32) < 0)
    }

    /// The sequence numbers at which the stack takes payload: first, and how many. `hidden`
    /// is given where the edges are not known: bytes that the stack can hold, all of which
    /// may have arrived without an answer.
    fn window(&self, info: Option<&Info>, hidden: Option<u32>) -> Option<(u32, u32)> {
        match (info, hidden) {
            (Some(info), _) if Some(info.irs) == self.irs => Some((info.rcv_nxt, info.rcv_wnd)),
            (_, Some(bytes)) => Some((self.irs?.wrapping_add(1), self.received + bytes)),
            (_, None) => {
                let (acked, edge) = (self.acked?, self.edge?);
                // The field leaves out less than a unit of the scale.
                Some((acked, edge.wrapping_sub(acked) + (1 << self.scale)))
            }
        }
    }

    /// Sequence number behind all that the stack may have sent, FIN included. `most` is given where
    /// segments may be lost before they are seen: bytes that the application wrote.
    fn last_sent(&self, info: Option<&Info>, most: Option<u32>) -> u32 {
        match (info, most) {
            (Some(info), _) if Some(info.irs) == self.irs => info.snd_nxt,
            (_, Some(bytes)) => self.iss.wrapping_add(2).wrapping_add(bytes),
            (_, None) => self.sent_end,
        }
    }

    /// Returns true if the stack must believe an acknowledgment (RFC 5961 §5).
    fn believes(&self, ack: u32, info: Option<&Info>) -> bool {
        let Some(info) = info else {
            return true;
        };
        let oldest = info.snd_una.wrapping_sub(info.max_snd_wnd);
        ack.wrapping_sub(oldest) <= info.snd_nxt.wrapping_sub(oldest)
    }
}

impl Flows {
    /// The model before any segment. `hides_answers`: a neighbour may have to be found first.
    /// `memory`: bytes of the pool.
    pub fn new(hides_answers: bool, memory: u32) -> Flows {
        Flows {
            hides_answers,
            memory,
            ..Flows::default()
        }
    }

    /// Every flow, oldest first.
    pub fn all(&self) -> &[Flow] {
        &self.flows
    }

    /// The newest connection of `tuple`.
    pub fn find(&self, tuple: Tuple) -> Option<&Flow> {
        self.flows.iter().rfind(|flow| flow.tuple == tuple)
    }

    fn find_mut(&mut self, tuple: Tuple) -> Option<&mut Flow> {
        self.flows.iter_mut().rfind(|flow| flow.tuple == tuple)
    }

    /// Adds a connection. The one before it is kept: an answer of it may still be queued.
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
            // A replayed cookie may open one of the same number later.
            for old in self.flows.extract_if(.., |flow| flow.tuple == tuple) {
                if old.iss != last.iss && old.iss != iss {
                    self.written.remove(&(tuple, old.iss));
                }
            }
            self.flows.push(last);
        }
        let mut flow = Flow::new(tuple, iss);
        if let Some(last) = self.find(tuple).filter(|last| last.iss == iss) {
            // Segments of the peer may have reached this connection before it sent any.
            (flow.peer_edge, flow.peer_scale) = (last.peer_edge, last.peer_scale);
        }
        self.flows.push(flow);
        self.flows.last_mut().expect("it was just added")
    }

    /// Makes the connection to which a segment of the stack belongs the newest.
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

    /// Returns true if this is the first segment of a handshake after a reset: it may be a
    /// challenge ACK.
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

    /// Returns true if a connection may say this, had no reset ended it: it acknowledges what
    /// arrived, no less than before, at a number up to the end of what was written.
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

    /// A segment is about to reach the stack, which would say `info` of the connection if the
    /// application holds it.
    pub fn arrives(
        &mut self,
        tuple: Tuple,
        header: &TcpHeader,
        payload: &[u8],
        info: Option<&Info>,
    ) {
        let has = |flag| header.flags.contains(flag);
        if has(TcpFlags::SYN) && !has(TcpFlags::RST) {
            // Whoever sends a SYN decides on the stream that follows.
            let stream = self.stream(tuple, header.seq);
            stream.arrives(header.seq.wrapping_add(1), payload, has(TcpFlags::FIN));
            stream.offer(header.options.window_scale);
        }
        let Some(at) = self.flows.iter().rposition(|flow| flow.tuple == tuple) else {
            return;
        };
        let flow = &mut self.flows[at];
        // A connection may be accepted and closed before a segment shows its window.
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
            // At the moment of a reset the next connection has the same number.
            let window = (next.wrapping_add(1), self.memory);
            let stream = self.stream(tuple, next);
            stream.arrives_within(seq, payload, fin, window);
        }
        if let (Some(window), Some(irs)) = (window, irs) {
            let stream = self.stream(tuple, irs);
            stream.arrives_within(seq, payload, fin, window);
        }
    }

    /// The stack has taken the segment that returned one of its SYN cookies.
    pub fn on_cookie(&mut self, tuple: Tuple, header: &TcpHeader, payload: &[u8]) {
        // A keepalive probe, which repeats the last number, returns a cookie too.
        let iss = header.ack.wrapping_sub(1);
        let answered = self
            .flows
            .iter()
            .rfind(|flow| flow.tuple == tuple && flow.iss == iss);
        let irs = answered.and_then(|flow| flow.irs);
        let irs = irs.unwrap_or(header.seq.wrapping_sub(1));
        let stream = self.stream(tuple, irs);
        stream.arrives(header.seq, payload, header.flags.contains(TcpFlags::FIN));
        // Its options came back in the cookie; the model allows the largest scale.
        let flow = self.start(tuple, iss);
        (flow.irs, flow.acked) = (Some(irs), Some(irs.wrapping_add(1)));
        (flow.is_returned, flow.is_of_cookie) = (true, true);
        flow.peer_scale = 14;
        flow.sent_end = header.ack;
        flow.peer_edge = Some(header.ack.wrapping_add(u32::from(header.window) << 14));
    }

    /// The stack says of a connection what was agreed.
    pub fn agreed(&mut self, tuple: Tuple, info: &Info) {
        // A late SYN-ACK with another cookie may look newer.
        let is_it = |flow: &Flow| flow.tuple == tuple && flow.iss == info.iss;
        if let Some(at) = self.flows.iter().rposition(is_it)
            && !matches!(info.state, TcpState::SynSent | TcpState::Closed)
        {
            if self.flows[at + 1..].iter().any(|flow| flow.tuple == tuple) {
                let chosen = self.flows.remove(at);
                self.flows.push(chosen);
            }
            let flow = self.find_mut(tuple).expect("it was just there");
            if flow.irs == Some(info.irs) {
                // It lives, so the stack has believed no reset.
                (flow.may_be_over, flow.next_irs) = (false, None);
            }
            flow.irs = Some(info.irs);
            flow.scale = info.agreed.rcv_wscale;
            flow.is_returned = false;
            flow.peer_scale = flow.peer_scale.max(info.agreed.snd_wscale);
        }
    }

    /// The application has written `bytes` in all.
    pub fn wrote(&mut self, tuple: Tuple, iss: u32, bytes: u32) {
        let written = self.written.entry((tuple, iss)).or_default();
        written.bytes = written.bytes.max(bytes);
    }

    /// The application lets go of a connection, of which the stack says `info`: nobody reads
    /// what arrives from now on.
    pub fn let_go(&mut self, tuple: Tuple, info: &Info) {
        let of_it = |flow: &&mut Flow| flow.tuple == tuple && flow.iss == info.iss;
        if let Some(flow) = self.flows.iter_mut().rfind(of_it) {
            flow.received = info.rcv_nxt.wrapping_sub(info.irs);
            flow.may_be_over = true;
        }
    }

    /// The application has closed its direction.
    pub fn ended(&mut self, tuple: Tuple, iss: u32) {
        self.written.entry((tuple, iss)).or_default().ended = true;
    }

    /// Checks bytes that the application read from offset `at` of the peer's stream.
    ///
    /// # Panics
    /// If no true peer can have sent one of them.
    pub fn check_read(&mut self, tuple: Tuple, irs: u32, at: u32, bytes: &[u8]) {
        let first = irs.wrapping_add(1).wrapping_add(at);
        self.stream(tuple, irs).check_read(first, bytes);
    }

    /// Checks a segment that the stack sent.
    ///
    /// # Panics
    /// If it is not true.
    pub fn leaves(&mut self, tuple: Tuple, header: &TcpHeader, payload: &[u8]) {
        if header.flags.contains(TcpFlags::RST) {
            // With ACK and its next number it ends the connection; others answer strays.
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
            .unwrap_or_else(|| panic!("a segment of no connection: {header:?}"))
            .clone();
        self.check_sent(&flow, header, payload);
        if header.flags.contains(TcpFlags::ACK) {
            self.check_acknowledged(&flow, header);
        }
        let flow = self.find_mut(tuple).expect("it was just there");
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

    /// Returns true for a SYN-ACK that was queued before its cookie came back.
    fn repeats_cookie(&self, tuple: Tuple, header: &TcpHeader) -> bool {
        self.find(tuple).is_some_and(|flow| {
            let repeats = flow.iss == header.seq && flow.irs == Some(header.ack.wrapping_sub(1));
            flow.is_of_cookie && repeats && !flow.may_be_over
        })
    }

    fn on_syn(&mut self, tuple: Tuple, header: &TcpHeader) {
        let irs = header.ack.wrapping_sub(1);
        let answers = header.flags.contains(TcpFlags::ACK);
        // A SYN repeated after a reset is answered by a new connection, at the same
        // moment with the same number.
        let is_known = self.find(tuple).is_some_and(|flow| {
            // Payload of a SYN that crossed ours is acknowledged with it.
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
            let flow = self.find_mut(tuple).expect("it was just there");
            flow.irs = Some(known);
            flow.scale = header.options.window_scale.unwrap_or(0).min(14);
            flow.peer_scale = flow.peer_scale.max(peer_scale);
        }
    }

    /// The stack sends what was written, inside the peer's window, and FIN at its end.
    fn check_sent(&self, flow: &Flow, header: &TcpHeader, payload: &[u8]) {
        let Flow { tuple, iss, .. } = *flow;
        let written = self.written.get(&(tuple, iss)).copied().unwrap_or_default();
        let first = iss.wrapping_add(1);
        let end = header.seq.wrapping_add(payload.len() as u32);
        // Before the first byte lies the SYN; probes of a silent peer repeat it.
        let reach = end.wrapping_sub(first) as i32;
        assert!(
            reach <= written.bytes as i32 + i32::from(written.ended) && reach >= -1,
            "{} bytes were written, and {reach} sent: {header:?} of {flow:?}",
            written.bytes
        );
        for (at, &byte) in payload.iter().enumerate() {
            let seq = header.seq.wrapping_add(at as u32);
            let offset = seq.wrapping_sub(first);
            // The probe of a keepalive may carry a byte that was acknowledged.
            let known = offset < written.bytes;
            assert!(
                known && byte == byte_of(tuple, iss, seq, false),
                "byte {offset} was not written: {header:?} of {flow:?}"
            );
        }
        if header.flags.contains(TcpFlags::FIN) {
            assert!(written.ended, "FIN before the end: {header:?}");
            assert_eq!(end.wrapping_sub(first), written.bytes, "FIN elsewhere");
        }
        if let (Some(edge), false) = (flow.peer_edge, payload.is_empty()) {
            let beyond = end.wrapping_sub(edge) as i32;
            assert!(
                beyond <= 1,
                "{beyond} bytes beyond the peer's window: {header:?} of {flow:?}"
            );
        }
    }

    /// The stack acknowledges what arrived, and takes no promise back.
    fn check_acknowledged(&mut self, flow: &Flow, header: &TcpHeader) {
        let Some(irs) = flow.irs else {
            panic!("it acknowledges a peer that it does not know: {header:?} of {flow:?}");
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
        assert!(back <= 0, "the ACK falls by {back}: {header:?} of {flow:?}");
        let scale = if is_syn { 0 } else { flow.scale };
        let now = header.ack.wrapping_add(u32::from(header.window) << scale);
        let back = edge.wrapping_sub(now) as i32;
        assert!(
            back < 1 << flow.scale,
            "the right edge retreats by {back}: {header:?} of {flow:?}"
        );
    }
}
