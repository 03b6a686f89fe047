//! Dispatch of received segments to their owners. RFC 9293 §3.10.7.
//!
//! Rule: each segment goes to a connection, a handshake, a TIME-WAIT entry or a listener, is
//! answered with a reset, or is discarded for a counted reason. Answers are queued; this file sends
//! nothing.

use fullpipe_pool::Count;
use fullpipe_tcp::{ActiveOpen, Connection, Env, HalfOpen, IcmpError, Segment, SeqNum, Tuning};
use fullpipe_wire::{TcpFlags, TcpHeader, WireError, tcp::verify_checksum};

use super::{
    Attachment, ConnectionSlot, FourTuple, HostContext, Owner, TcpLayer,
    answer_queues::Answer,
    resets::NoReset,
    syn_cache::{Decision, Handshake, HandshakeAction},
    syn_cookie::SynSummary,
    time_wait_table::TimeWaitAction,
};
use crate::{
    config::SynCookieUse,
    counters::Discard,
    device::RxMeta,
    icmp::{IcmpEvent, PathError},
    interface_id::InterfaceId,
    ip::Packet,
    link::Station,
    slab::Key,
};

/// The host that a segment came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentSender {
    /// Largest payload of one packet to this host if the header has no options, in bytes.
    pub(crate) mss_limit: u16,
    /// Station that sent the segment's frame.
    pub(crate) station: Station,
}

/// The sender of a segment whose four-tuple has no owner.
#[derive(Clone, Copy, Debug)]
struct UnknownPeer {
    tuple: FourTuple,
    /// The tuple's hash.
    hash: u32,
    sender: SegmentSender,
}

impl TcpLayer {
    /// Processes a TCP segment from `sender`; the segment need not be well-formed. Returns the
    /// connection that received it, if that connection predicts a next segment with the same
    /// headers.
    pub(crate) fn on_packet(
        &mut self,
        packet: &Packet<'_>,
        meta: RxMeta,
        sender: SegmentSender,
        host: &mut HostContext<'_>,
    ) -> Option<u32> {
        match self.accept_packet(packet, meta, sender, host) {
            Ok(predicts) => predicts,
            Err(reason) => {
                host.counters.discard(reason);
                None
            }
        }
    }

    /// Processes a segment that was predicted. The caller updates the queues for the connection
    /// after a run of predicted segments; until then only the connection's receive half changes.
    pub(crate) fn on_predicted(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        host: &mut HostContext<'_>,
    ) {
        let mut env = self.host_state.env(index, host);
        let connection = self.residence.awake(index, &mut self.slots);
        connection.on_predicted(segment, &mut env);
        if connection.waits_for_memory() || self.host_state.trace.is_on() {
            self.settle(index, host);
        }
    }

    fn accept_packet(
        &mut self,
        packet: &Packet<'_>,
        meta: RxMeta,
        sender: SegmentSender,
        host: &mut HostContext<'_>,
    ) -> Result<Option<u32>, Discard> {
        if packet.broadcast {
            return Err(Discard::TcpBroadcast);
        }
        let (header, payload) = self.parse(packet, meta)?;
        let segment = Segment {
            ecn: packet.ecn(),
            ..Segment::from_header(&header, payload, meta.merged)
        };
        let local = (packet.dst(), header.dst_port);
        let tuple = FourTuple::of(local, (packet.src(), header.src_port));
        if self.is_last_receiver(&tuple) {
            return Ok(self.deliver(self.last_receiver, &segment, host));
        }
        let hash = self.hash(&tuple);
        let owner = self.owner(&tuple, hash);
        if let Some(Owner::Connection(index)) = owner {
            self.last_receiver = index;
            return Ok(self.deliver(index, &segment, host));
        }
        self.host_state.counters.in_segs += Count::from(meta.merged.max(1));
        let outcome = match owner {
            Some(Owner::Handshake(index)) => {
                self.on_handshake_segment(index, &segment, sender, host)
            }
            Some(Owner::TimeWait(index)) => {
                self.on_time_wait_segment(index, &segment, sender, host)
            }
            Some(Owner::Connection(_)) => unreachable!("connections were served above"),
            None => {
                let peer = UnknownPeer {
                    tuple,
                    hash,
                    sender,
                };
                self.on_unknown_tuple(peer, &segment, host)
            }
        };
        outcome.map(|()| None)
    }

    /// Passes a segment to connection `index`. Returns the connection if it predicts a next
    /// segment with the same headers.
    fn deliver(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        host: &mut HostContext<'_>,
    ) -> Option<u32> {
        let predicts = self.run(index, host, |connection, env| {
            connection.on_segment_of_run(segment, env)
        });
        predicts.then_some(index)
    }

    /// Returns true if the connection that received the last segment has the four-tuple `tuple`.
    /// The caller then needs no lookup.
    fn is_last_receiver(&self, tuple: &FourTuple) -> bool {
        let slot = self.slots.at(self.last_receiver);
        slot.is_some_and(|slot| slot.in_demux && slot.tuple == *tuple)
    }

    fn parse<'a>(
        &mut self,
        packet: &Packet<'a>,
        meta: RxMeta,
    ) -> Result<(TcpHeader, &'a [u8]), Discard> {
        let sound = if meta.checksum_verified {
            Ok(())
        } else {
            verify_checksum(packet.payload, packet.src(), packet.dst())
        };
        match sound.and_then(|()| TcpHeader::parse(packet.payload)) {
            Ok((header, _)) if header.src_port == 0 || header.dst_port == 0 => {
                self.host_state.counters.in_errs += 1;
                Err(Discard::TcpMalformed)
            }
            Ok(parsed) => Ok(parsed),
            Err(WireError::BadChecksum) => {
                self.host_state.counters.in_errs += 1;
                self.host_state.counters.in_csum_errors += 1;
                Err(Discard::TcpBadChecksum)
            }
            Err(_) => {
                self.host_state.counters.in_errs += 1;
                Err(Discard::TcpMalformed)
            }
        }
    }

    /// Processes a segment whose four-tuple has no owner.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn on_unknown_tuple(
        &mut self,
        peer: UnknownPeer,
        segment: &Segment<'_>,
        host: &mut HostContext<'_>,
    ) -> Result<(), Discard> {
        let tuple = peer.tuple;
        let listener = self.listeners.listening_at(tuple.local());
        let Some(listener) = listener else {
            return self.answer_with_reset(tuple, segment, peer.sender, host);
        };
        let deferred = self.listeners.is_deferred(listener);
        if segment.has(TcpFlags::ACK) {
            // A deferred listener, whose application decides about each SYN, sends no cookies: an
            // ACK with a cookie opens a connection without a decision.
            return match deferred {
                true => self.answer_with_reset(tuple, segment, peer.sender, host),
                false => self.on_cookie(listener, peer, segment, host),
            };
        }
        // Of the segments without an ACK, a listener accepts only a SYN (RFC 9293 §3.10.7.2). An
        // RST with an ACK was refused above, because it cannot return a cookie.
        if segment.has(TcpFlags::RST) || !segment.has(TcpFlags::SYN) || segment.has(TcpFlags::FIN) {
            return Err(Discard::TcpUselessInListen);
        }
        if !self.listeners.has_room(listener) {
            return Err(Discard::TcpBacklogFull);
        }
        let iss = self.initial_numbers.sequence(&tuple, host.now);
        let cookie_use = match deferred {
            true => SynCookieUse::Off,
            false => self.cookie_use,
        };
        let started = match cookie_use {
            SynCookieUse::Always => Err(Discard::TcpHalfOpenFull),
            SynCookieUse::Off | SynCookieUse::WhenFull => {
                self.start_handshake(listener, peer, segment, iss, None, host)
            }
        };
        started.or_else(|reason| match cookie_use {
            SynCookieUse::Off => Err(reason),
            SynCookieUse::WhenFull | SynCookieUse::Always => {
                self.answer_with_cookie(listener, peer, segment, reason, host)
            }
        })
    }

    /// Answers a SYN with a cookie instead of a handshake. Fails with `reason` if the
    /// queue of cookie answers is full.
    fn answer_with_cookie(
        &mut self,
        listener: Key,
        peer: UnknownPeer,
        syn: &Segment<'_>,
        reason: Discard,
        host: &mut HostContext<'_>,
    ) -> Result<(), Discard> {
        if self.cookies.is_full(peer.sender.station.interface) {
            return Err(reason);
        }
        let contents = SynSummary::from_syn(syn, self.host_state.config.timestamps);
        let tuple = peer.tuple;
        let iss = self.cookies.sequence(&tuple, &contents, host.now);
        // Advertise a window of zero, which reserves no memory.
        let mut half_open = self.half_open(listener, peer, &contents.syn(syn), iss, 0, host);
        let answer = Answer {
            tuple,
            segment: half_open.send_syn_ack(host.now),
            station: peer.sender.station,
        };
        self.cookies.answer(answer, &contents, host.now);
        host.counters.mib.tcp_syncookies_sent += 1;
        Ok(())
    }

    /// Processes an ACK to a listener from a peer without state: a valid cookie shows
    /// that this host answered the peer's SYN.
    fn on_cookie(
        &mut self,
        listener: Key,
        peer: UnknownPeer,
        segment: &Segment<'_>,
        host: &mut HostContext<'_>,
    ) -> Result<(), Discard> {
        let UnknownPeer {
            tuple,
            hash,
            sender,
        } = peer;
        let Some(contents) = self.verify_cookie(&tuple, segment, host) else {
            return self.answer_with_reset(tuple, segment, sender, host);
        };
        self.check_room(listener, host)?;
        let (syn, iss) = (contents.syn(segment), segment.ack - 1);
        let half_open = self.half_open(listener, peer, &syn, iss, 0, host);
        // Remove the timestamps, because the echoed timestamp of a cookie encodes options, not a
        // send time.
        let mut unstamped = *segment;
        unstamped.options.timestamps = None;
        let interface = sender.station.interface;
        let at = (tuple, hash, interface);
        let connection = self.open_accepted(at, listener, &half_open, &unstamped, host)?;
        host.counters.mib.tcp_syncookies_recv += 1;
        self.deliver_first(connection, segment, host);
        Ok(())
    }

    /// Returns the contents of the peer's SYN if `segment` acknowledges a valid cookie.
    fn verify_cookie(
        &self,
        tuple: &FourTuple,
        segment: &Segment<'_>,
        host: &mut HostContext<'_>,
    ) -> Option<SynSummary> {
        let can_complete = !segment.flags.intersects(TcpFlags::SYN | TcpFlags::RST);
        if !can_complete || !self.cookies.may_return(host.now) {
            return None;
        }
        let contents = self.cookies.verify(tuple, segment, host.now);
        host.counters.mib.tcp_syncookies_failed += Count::from(contents.is_none());
        contents
    }

    /// Starts a handshake in answer to a SYN. The handshake replaces TIME-WAIT entry `replaced`,
    /// if any; the entry stays if the handshake fails to start.
    fn start_handshake(
        &mut self,
        listener: Key,
        peer: UnknownPeer,
        syn: &Segment<'_>,
        iss: SeqNum,
        replaced: Option<u32>,
        host: &mut HostContext<'_>,
    ) -> Result<(), Discard> {
        let UnknownPeer {
            tuple,
            hash,
            sender,
        } = peer;
        let most_blocks = self.syn_cache.most_blocks();
        let half_open = self.half_open(listener, peer, syn, iss, most_blocks, host);
        let handshake = Handshake {
            tuple,
            half_open,
            station: sender.station,
            listener,
            hash,
            timeouts: 0,
            decision: match self.listeners.is_deferred(listener) {
                true => Decision::Pending,
                false => Decision::Accept,
            },
        };
        let decision = handshake.decision;
        if self.syn_cache.is_full_for(tuple.remote_ip()) {
            return Err(Discard::TcpHalfOpenFull);
        }
        // Without memory for its window, start no handshake.
        let Some(index) = self.syn_cache.add(handshake, host.pool) else {
            self.abort_orphan_for_memory(host);
            return Err(Discard::TcpNoMemory);
        };
        if let Some(replaced) = replaced {
            self.forget_time_wait(replaced);
            host.counters.mib.tcp_time_wait_recycled += 1;
        }
        self.add_owner(hash, Owner::Handshake(index));
        if decision == Decision::Pending {
            let until = host.now + self.request_timeout;
            self.set_timer(Owner::Handshake(index), Some(until));
            host.events.accept(listener.index);
        }
        Ok(())
    }

    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn on_handshake_segment(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        sender: SegmentSender,
        host: &mut HostContext<'_>,
    ) -> Result<(), Discard> {
        match self.syn_cache.at(index).action_for(segment) {
            HandshakeAction::Complete => {
                let outcome = self.complete(index, segment, sender, host);
                if let Err(Discard::TcpBacklogFull | Discard::TcpConnectionsFull) = outcome {
                    self.syn_cache.keep_waiting(index);
                }
                outcome
            }
            HandshakeAction::RepeatSynAck => {
                self.syn_cache.repeat(index);
                Ok(())
            }
            HandshakeAction::Abort => {
                self.host_state.counters.attempt_fails += 1;
                self.forget_handshake(index, host);
                Ok(())
            }
            HandshakeAction::Reset => self.on_unexpected_ack(index, segment, sender, host),
            HandshakeAction::Challenge => {
                let handshake = self.syn_cache.at(index);
                let answer = Answer {
                    tuple: handshake.tuple,
                    segment: handshake.half_open.challenge_ack(host.now),
                    station: sender.station,
                };
                self.host_state.counters.challenge_ack += 1;
                let outcome = self.resets.queue(answer, host.now);
                match outcome {
                    Ok(()) => Ok(()),
                    refused => self.count_refusal(refused),
                }
            }
            HandshakeAction::Wait => Ok(()),
            HandshakeAction::Discard => Err(Discard::TcpUselessInHandshake),
        }
    }

    /// Processes an ACK of a sequence number that this handshake did not send. An earlier SYN of
    /// the same peer may have been answered with a cookie, which this ACK then returns.
    fn on_unexpected_ack(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        sender: SegmentSender,
        host: &mut HostContext<'_>,
    ) -> Result<(), Discard> {
        let &Handshake {
            tuple,
            listener,
            hash,
            ..
        } = self.syn_cache.at(index);
        let listens = self.listeners.get(listener).is_some();
        if !listens || self.verify_cookie(&tuple, segment, host).is_none() {
            return self.answer_with_reset(tuple, segment, sender, host);
        }
        self.forget_handshake(index, host);
        let peer = UnknownPeer {
            tuple,
            hash,
            sender,
        };
        self.on_cookie(listener, peer, segment, host)
    }

    /// Completes a handshake, which becomes a connection in the backlog of its listener.
    fn complete(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        sender: SegmentSender,
        host: &mut HostContext<'_>,
    ) -> Result<(), Discard> {
        let &Handshake {
            tuple,
            half_open,
            listener,
            hash,
            station,
            ..
        } = self.syn_cache.at(index);
        if self.listeners.get(listener).is_none() {
            self.forget_handshake(index, host);
            return self.answer_with_reset(tuple, segment, sender, host);
        }
        self.check_room(listener, host)?;
        // Free the memory that the handshake reserved for the window, because the connection
        // reserves its own.
        self.forget_handshake(index, host);
        let at = (tuple, hash, station.interface);
        let connection = self.open_accepted(at, listener, &half_open, segment, host)?;
        self.deliver_first(connection, segment, host);
        Ok(())
    }

    /// Checks that the backlog of `listener` and the table of slots have room. If no slot is free,
    /// an orphan (a connection whose application has closed it) may be aborted, so that the peer's
    /// next segment finds room.
    fn check_room(&mut self, listener: Key, host: &mut HostContext<'_>) -> Result<(), Discard> {
        if !self.listeners.has_room(listener) {
            return Err(Discard::TcpBacklogFull);
        }
        if self.slots.is_full() {
            self.abort_orphan_for_slot(host);
            return Err(Discard::TcpConnectionsFull);
        }
        Ok(())
    }

    /// Opens the connection whose handshake `ack` completes, and adds it to the
    /// backlog of `listener`. The caller has checked that there is room. The connection sends by
    /// the interface that received the handshake.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn open_accepted(
        &mut self,
        at: (FourTuple, u32, InterfaceId),
        listener: Key,
        half_open: &HalfOpen,
        ack: &Segment<'_>,
        host: &mut HostContext<'_>,
    ) -> Result<u32, Discard> {
        let tuning = self.tuning_of(listener);
        let index = self.add_connection(at, Attachment::Backlog, host, |env| {
            Connection::from_half_open(half_open, tuning, env)
        });
        let mut env = self.host_state.env(index, host);
        let connection = self.residence.awake(index, &mut self.slots);
        if !connection.accept(half_open, ack, &mut env) {
            self.residence.remove(index, &mut self.slots);
            self.slots.discard(index);
            self.abort_orphan_for_memory(host);
            return Err(Discard::TcpNoMemory);
        }
        let (_, hash, _) = at;
        self.add_owner(hash, Owner::Connection(index));
        self.listeners.push(listener.index, index);
        host.events.accept(listener.index);
        Ok(index)
    }

    /// Adds the connection that `make` returns, and returns its slot. The caller has checked that a
    /// slot is free.
    ///
    /// Not inlined, because a connection in a frame of the caller would make every turn need that
    /// much more stack.
    #[inline(never)]
    pub(super) fn add_connection(
        &mut self,
        at: (FourTuple, u32, InterfaceId),
        attachment: Attachment,
        host: &mut HostContext<'_>,
        make: impl FnOnce(&mut Env<'_>) -> Connection,
    ) -> u32 {
        let slot = self.new_slot(at, attachment, host, make);
        let Some(key) = self.slots.insert(slot) else {
            unreachable!("the caller has found a free slot");
        };
        key.index
    }

    // Not inlined, so that the connection is written to the result and nowhere else.
    #[inline(never)]
    fn new_slot(
        &mut self,
        (tuple, hash, interface): (FourTuple, u32, InterfaceId),
        attachment: Attachment,
        host: &mut HostContext<'_>,
        make: impl FnOnce(&mut Env<'_>) -> Connection,
    ) -> ConnectionSlot {
        let index = self.slots.next_index();
        let connection = make(&mut self.host_state.env(index, host));
        ConnectionSlot {
            place: self.residence.add(index, connection, &mut self.slots),
            tuple,
            hash,
            attachment,
            interface,
            in_device: 0,
            in_demux: true,
        }
    }

    /// Passes to connection `index` the segment that completed its handshake.
    fn deliver_first(&mut self, index: u32, segment: &Segment<'_>, host: &mut HostContext<'_>) {
        // Subtract this segment, which was counted already, because the connection will count it
        // again.
        self.host_state.counters.in_segs -= Count::from(segment.merged.max(1));
        self.run(index, host, |connection, env| {
            connection.on_segment(segment, env)
        });
    }

    /// Returns the settings of the connections of `listener`.
    fn tuning_of(&self, listener: Key) -> Tuning {
        self.listeners
            .get(listener)
            .expect("the caller has found it")
            .tuning
    }

    /// Returns the handshake state for `syn`, with a window of at most
    /// `most_blocks`.
    fn half_open(
        &self,
        listener: Key,
        peer: UnknownPeer,
        syn: &Segment<'_>,
        iss: SeqNum,
        most_blocks: u32,
        host: &HostContext<'_>,
    ) -> HalfOpen {
        let open = ActiveOpen {
            iss,
            mss_limit: peer.sender.mss_limit,
            timestamp_offset: self.initial_numbers.timestamp_offset(&peer.tuple),
            tuning: self.tuning_of(listener),
        };
        HalfOpen::from_syn(syn, open, &self.host_state.config, host.pool, most_blocks)
    }

    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn on_time_wait_segment(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        sender: SegmentSender,
        host: &mut HostContext<'_>,
    ) -> Result<(), Discard> {
        match self
            .time_waits
            .on_segment(index, segment, host.now, &self.host_state.config)
        {
            TimeWaitAction::Restart => {
                let until = self.time_waits.at(index).wait.until;
                self.set_timer(Owner::TimeWait(index), Some(until));
                Ok(())
            }
            TimeWaitAction::Acknowledge => Err(Discard::TcpOldInTimeWait),
            TimeWaitAction::Ignore => Ok(()),
            TimeWaitAction::Reuse => self.reuse(index, segment, sender, host),
        }
    }

    /// Starts a new incarnation of a four-tuple in TIME-WAIT for a SYN. The old incarnation stays
    /// while the backlog or the table of handshakes is full, or memory for a window is lacking.
    fn reuse(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        sender: SegmentSender,
        host: &mut HostContext<'_>,
    ) -> Result<(), Discard> {
        let entry = self.time_waits.at(index);
        let (tuple, hash, snd_nxt) = (entry.tuple, entry.hash, entry.wait.snd_nxt);
        let Some(listener) = self.listeners.listening_at(tuple.local()) else {
            self.time_waits.acknowledge(index);
            return Err(Discard::TcpOldInTimeWait);
        };
        if !self.listeners.has_room(listener) {
            return Err(Discard::TcpBacklogFull);
        }
        let iss = self
            .initial_numbers
            .sequence_after(&tuple, snd_nxt, host.now);
        let peer = UnknownPeer {
            tuple,
            hash,
            sender,
        };
        self.start_handshake(listener, peer, segment, iss, Some(index), host)
    }

    /// Returns the reason to count for a segment that belongs to no connection. `outcome` says if
    /// the segment was answered.
    fn count_refusal(&self, outcome: Result<(), NoReset>) -> Result<(), Discard> {
        match outcome {
            Ok(()) | Err(NoReset::IsReset) => Err(Discard::TcpNoConnection),
            Err(NoReset::QueueFull) => Err(Discard::TcpResetQueueFull),
            Err(NoReset::RateLimited) => Err(Discard::TcpResetRateLimited),
        }
    }

    /// Answers a segment without a connection with a reset.
    fn answer_with_reset(
        &mut self,
        tuple: FourTuple,
        segment: &Segment<'_>,
        sender: SegmentSender,
        host: &mut HostContext<'_>,
    ) -> Result<(), Discard> {
        let outcome = self.resets.answer(tuple, segment, sender.station, host.now);
        self.count_refusal(outcome)
    }

    /// Passes an ICMP error to the connection that may have sent the quoted segment. The
    /// connection decides whether the error can be genuine (RFC 5927).
    pub(crate) fn on_icmp(
        &mut self,
        event: &IcmpEvent,
        headers_len: u16,
        host: &mut HostContext<'_>,
    ) {
        let tuple = FourTuple::new(event.local, event.remote);
        let Some(Owner::Connection(index)) = self.owner(&tuple, self.hash(&tuple)) else {
            return host.counters.discard(Discard::IcmpQuoteUnmatched);
        };
        let error = match event.error {
            PathError::Unreachable { hard } => IcmpError::Unreachable { hard },
            PathError::FragmentationNeeded { mtu, fragment } => IcmpError::FragmentationNeeded {
                mss_limit: mtu.saturating_sub(headers_len),
                fragment,
            },
            PathError::TimeExceeded => IcmpError::TimeExceeded,
        };
        let seq = SeqNum(event.seq);
        self.run(index, host, |connection, env| {
            connection.on_icmp(error, seq, env)
        });
    }
}
