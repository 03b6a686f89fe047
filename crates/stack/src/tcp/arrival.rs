//! A segment arrives at this host: whom is it for?
//!
//! Rule: every segment ends with its connection, with a handshake, with what is
//! in TIME-WAIT, with a listener, or with a reset; or it is discarded for a
//! reason that is a counter. Nothing is sent from here. RFC 9293 §3.10.7.

use core::net::SocketAddr;

use fullpipe_tcp::{ActiveOpen, Connection, HalfOpen, IcmpError, Segment, SeqNum};
use fullpipe_wire::{TcpFlags, TcpHeader, WireError, tcp::verify_checksum};

use super::{
    FourTuple, Holder, Host, Owner, Slot, TcpLayer, resets::NoReset, syn_cache::Handshake,
    syn_cache::Verdict, time_wait,
};
use crate::{
    counters::Discard,
    device::RxMeta,
    icmp::{IcmpEvent, PathError},
    ip::Packet,
    slab::Key,
};

/// Somebody who has no connection with this host.
#[derive(Clone, Copy, Debug)]
struct Stranger {
    tuple: FourTuple,
    /// The tuple's hash.
    hash: u32,
    /// Bytes of text without options that one packet to it carries.
    mss_limit: u16,
}

impl TcpLayer {
    /// Takes a TCP segment, whatever its bytes. `mss_limit`: bytes of text
    /// without options that one packet to its sender carries.
    pub(crate) fn on_packet(
        &mut self,
        packet: &Packet<'_>,
        meta: RxMeta,
        mss_limit: u16,
        host: &mut Host<'_>,
    ) {
        if let Err(reason) = self.accept_packet(packet, meta, mss_limit, host) {
            host.counters.discard(reason);
        }
    }

    fn accept_packet(
        &mut self,
        packet: &Packet<'_>,
        meta: RxMeta,
        mss_limit: u16,
        host: &mut Host<'_>,
    ) -> Result<(), Discard> {
        if packet.broadcast {
            return Err(Discard::TcpBroadcast);
        }
        let (header, text) = self.parse(packet, meta)?;
        let segment = Segment {
            ecn: packet.ecn(),
            ..Segment::from_header(&header, text, meta.merged)
        };
        let tuple = FourTuple::new(
            SocketAddr::new(packet.dst(), header.dst_port),
            SocketAddr::new(packet.src(), header.src_port),
        );
        let hash = self.hash(&tuple);
        let owner = self.owner(&tuple, hash);
        if let Some(Owner::Connection(index)) = owner {
            self.run(index, host, |connection, env| {
                connection.on_segment(&segment, env)
            });
            return Ok(());
        }
        self.counters.in_segs += u64::from(meta.merged.max(1));
        match owner {
            Some(Owner::Handshake(index)) => self.on_handshake_segment(index, &segment, host),
            Some(Owner::TimeWait(index)) => {
                self.on_time_wait_segment(index, &segment, mss_limit, host)
            }
            Some(Owner::Connection(_)) => unreachable!("connections were served above"),
            None => {
                let stranger = Stranger {
                    tuple,
                    hash,
                    mss_limit,
                };
                self.on_stranger(stranger, &segment, host)
            }
        }
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
                self.counters.in_errs += 1;
                Err(Discard::TcpMalformed)
            }
            Ok(parsed) => Ok(parsed),
            Err(WireError::BadChecksum) => {
                self.counters.in_errs += 1;
                self.counters.in_csum_errors += 1;
                Err(Discard::TcpBadChecksum)
            }
            Err(_) => {
                self.counters.in_errs += 1;
                Err(Discard::TcpMalformed)
            }
        }
    }

    /// No connection, nor anything that was or will be one.
    fn on_stranger(
        &mut self,
        stranger: Stranger,
        segment: &Segment<'_>,
        host: &mut Host<'_>,
    ) -> Result<(), Discard> {
        let tuple = stranger.tuple;
        let listener = self.listeners.listening_at(tuple.local());
        let Some(listener) = listener.filter(|_| !segment.has(TcpFlags::ACK)) else {
            return self.refuse(tuple, segment, host);
        };
        // RFC 9293 §3.10.7.2: first RST, second ACK, third SYN, fourth the rest.
        if segment.has(TcpFlags::RST) || !segment.has(TcpFlags::SYN) || segment.has(TcpFlags::FIN) {
            return Err(Discard::TcpUselessInListen);
        }
        let iss = self.numbers.sequence(&tuple, host.now);
        self.check_room(listener)?;
        self.begin(listener, stranger, segment, iss, host)
    }

    /// Whether a SYN to `listener` can be answered.
    fn check_room(&self, listener: Key) -> Result<(), Discard> {
        if !self.listeners.has_room(listener) {
            return Err(Discard::TcpBacklogFull);
        }
        if self.syn_cache.is_full() {
            return Err(Discard::TcpHalfOpenFull);
        }
        Ok(())
    }

    /// Begins to answer a SYN. There is room for an entry.
    fn begin(
        &mut self,
        listener: Key,
        stranger: Stranger,
        syn: &Segment<'_>,
        iss: SeqNum,
        host: &mut Host<'_>,
    ) -> Result<(), Discard> {
        let Stranger {
            tuple,
            hash,
            mss_limit,
        } = stranger;
        let tuning = self
            .listeners
            .get(listener)
            .expect("it was found just now")
            .tuning;
        let timestamp_offset = self.numbers.timestamp_offset(&tuple);
        let open = ActiveOpen {
            iss,
            mss_limit,
            timestamp_offset,
            tuning,
        };
        let most_blocks = self.syn_cache.most_blocks();
        let half_open = HalfOpen::from_syn(syn, open, &self.config, host.pool, most_blocks);
        let handshake = Handshake {
            tuple,
            half_open,
            listener,
            hash,
            timeouts: 0,
        };
        // A connection that could not receive what it advertises is not begun.
        let Some(index) = self.syn_cache.add(handshake, host.pool) else {
            return Err(Discard::TcpNoMemory);
        };
        self.demux.insert(hash, Owner::Handshake(index).encode());
        Ok(())
    }

    fn on_handshake_segment(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        host: &mut Host<'_>,
    ) -> Result<(), Discard> {
        match self.syn_cache.at(index).judge(segment) {
            Verdict::Complete => {
                let outcome = self.complete(index, segment, host);
                if let Err(Discard::TcpBacklogFull | Discard::TcpConnectionsFull) = outcome {
                    self.syn_cache.keep_waiting(index);
                }
                outcome
            }
            Verdict::Repeat => {
                self.syn_cache.repeat(index);
                Ok(())
            }
            Verdict::End => {
                self.counters.attempt_fails += 1;
                self.forget_handshake(index, host);
                Ok(())
            }
            Verdict::Refuse => self.refuse(self.syn_cache.at(index).tuple, segment, host),
            Verdict::Ignore => Err(Discard::TcpUselessInHandshake),
        }
    }

    /// The ACK that completes a handshake: it becomes a connection, which waits
    /// to be accepted.
    fn complete(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        host: &mut Host<'_>,
    ) -> Result<(), Discard> {
        let &Handshake {
            tuple,
            half_open,
            listener,
            hash,
            ..
        } = self.syn_cache.at(index);
        let Some(tuning) = self.listeners.get(listener).map(|listener| listener.tuning) else {
            self.forget_handshake(index, host);
            return self.refuse(tuple, segment, host);
        };
        if !self.listeners.has_room(listener) {
            return Err(Discard::TcpBacklogFull);
        }
        if self.slots.is_full() {
            return Err(Discard::TcpConnectionsFull);
        }
        // The memory set aside for its window becomes its own.
        self.forget_handshake(index, host);
        let mut env = self.env(self.slots.next_index(), host);
        let connection = Connection::accepted(&half_open, segment, tuning, &mut env)
            .ok_or(Discard::TcpNoMemory)?;
        let slot = Slot {
            tuple,
            hash,
            holder: Holder::Backlog,
            below: 0,
            is_found: true,
            connection,
        };
        let Ok(key) = self.slots.insert(slot) else {
            unreachable!("room was checked");
        };
        self.demux
            .insert(hash, Owner::Connection(key.index).encode());
        self.listeners.push(listener.index, key.index);
        host.events.accept(listener.index);
        // Counted by the connection from here on.
        self.counters.in_segs -= u64::from(segment.merged.max(1));
        self.run(key.index, host, |connection, env| {
            connection.on_segment(segment, env)
        });
        Ok(())
    }

    fn on_time_wait_segment(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        mss_limit: u16,
        host: &mut Host<'_>,
    ) -> Result<(), Discard> {
        match self
            .time_waits
            .on_segment(index, segment, host.now, &self.config)
        {
            time_wait::Verdict::Restart => {
                let until = self.time_waits.at(index).wait.until;
                self.timers.set(self.time_wait_timer(index), Some(until));
                Ok(())
            }
            time_wait::Verdict::Acknowledge => Err(Discard::TcpOldInTimeWait),
            time_wait::Verdict::Ignore => Ok(()),
            time_wait::Verdict::Reuse => self.reuse(index, segment, mss_limit, host),
        }
    }

    /// A SYN that may begin a new incarnation of a tuple in TIME-WAIT. The old
    /// one stays until the SYN can be answered.
    fn reuse(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        mss_limit: u16,
        host: &mut Host<'_>,
    ) -> Result<(), Discard> {
        let remains = self.time_waits.at(index);
        let (tuple, hash, snd_nxt) = (remains.tuple, remains.hash, remains.wait.snd_nxt);
        let Some(listener) = self.listeners.listening_at(tuple.local()) else {
            self.time_waits.acknowledge(index);
            return Err(Discard::TcpOldInTimeWait);
        };
        self.check_room(listener)?;
        let iss = self.numbers.sequence_after(&tuple, snd_nxt, host.now);
        self.forget_time_wait(index);
        host.counters.mib.tcp_time_wait_recycled += 1;
        let stranger = Stranger {
            tuple,
            hash,
            mss_limit,
        };
        self.begin(listener, stranger, segment, iss, host)
    }

    /// A reset for a segment that belongs to nothing.
    fn refuse(
        &mut self,
        tuple: FourTuple,
        segment: &Segment<'_>,
        host: &mut Host<'_>,
    ) -> Result<(), Discard> {
        match self.resets.answer(tuple, segment, host.now) {
            Ok(()) | Err(NoReset::IsReset) => Err(Discard::TcpNoConnection),
            Err(NoReset::QueueFull) => Err(Discard::TcpResetQueueFull),
            Err(NoReset::RateLimited) => Err(Discard::TcpResetRateLimited),
        }
    }

    /// An ICMP error about a segment of ours; the connection judges whether it
    /// can be true.
    pub(crate) fn on_icmp(&mut self, event: &IcmpEvent, headers_len: u16, host: &mut Host<'_>) {
        let tuple = FourTuple::new(event.local, event.remote);
        let Some(Owner::Connection(index)) = self.owner(&tuple, self.hash(&tuple)) else {
            return host.counters.discard(Discard::IcmpQuoteUnmatched);
        };
        let error = match event.error {
            PathError::Unreachable { hard } => IcmpError::Unreachable { hard },
            PathError::FragmentationNeeded { mtu } => IcmpError::FragmentationNeeded {
                mss_limit: mtu.saturating_sub(headers_len),
            },
            PathError::TimeExceeded => IcmpError::TimeExceeded,
        };
        let seq = SeqNum(event.seq);
        self.run(index, host, |connection, env| {
            connection.on_icmp(error, seq, env)
        });
    }
}
