//! Output: every frame of this host is written here, into memory that the device
//! lends.
//!
//! Rule: a connection is polled only after the device has lent memory, so a segment for which the
//! device has no room never counts as sent. The exception is a segment without a route: it is
//! discarded and reported to its connection. The sources of output take turns frame by frame, and
//! connections take turns in the same way. Sending needs no packet memory, except to keep a packet
//! for a neighbour that ARP has not resolved.

mod burst;
#[cfg(feature = "loopback")]
mod single;
mod source;
mod write_segment;

use core::net::IpAddr;

use fullpipe_pool::{Count, Instant};
use fullpipe_tcp::{Burst, Connection, Env, IcmpError, SegmentOut, TcpState};
use fullpipe_wire::{MacAddress, TcpFlags, TcpHeader};

use crate::{
    counters::Discard,
    device::{Device, Medium, TxChecksum, TxMeta},
    interface::InterfaceState,
    interface_id::InterfaceId,
    ip::{BuiltPacket, IpSender, Route},
    link::{Asker, Resolution, Station, multicast_station},
    slab::Key,
    stack::Stack,
    tcp::{FourTuple, HostContext, TcpLayer, answer_queues::Answer, transmit_queue::TransmitQueue},
};
#[cfg(feature = "loopback")]
pub(crate) use source::LastSource;
use source::{DueSources, OutputSource};
use write_segment::{complete, shifted, write_ip, write_segment};

/// The outcome of polling a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendOutcome {
    /// This many frames were sent, at least one.
    Sent(usize),
    /// A packet or a connection was processed, but no frame was sent.
    Handled,
    /// The source has nothing to send.
    Idle,
    /// The device lent no memory.
    DeviceFull,
}

/// The next hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextHop {
    /// The station with this MAC address.
    Station(MacAddress),
    /// This neighbour, with the number of its cache entry; ARP has not resolved it yet.
    Unresolved(IpAddr, u32),
    /// A neighbour for which the cache has no room now.
    NoRoom,
    /// There is no next hop: the packet is discarded for this reason.
    None(Discard),
}

impl Stack {
    /// Sends the frames of the interface of `device` that are due, and returns their number. Before that,
    /// offers freed memory to the connections that wait for memory.
    ///
    /// `budget` is the largest number of steps: each frame sent counts as one step, and so does
    /// each packet or connection that is processed without a frame (no route, or ARP is pending).
    ///
    /// Call this after [`receive`](Self::receive) and [`on_timeouts`](Self::on_timeouts),
    /// as [`turn`](crate::turn()) does, and again at once if the budget was used up.
    ///
    /// # Panics
    /// Panics if this stack has no interface that the device can serve.
    pub fn transmit(&mut self, device: &mut impl Device, now: Instant, budget: usize) -> usize {
        self.loop_back(now, budget);
        self.send_by(device, now, budget)
    }

    /// Sends the frames of the interface of `device` that are due.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn send_by(&mut self, device: &mut impl Device, now: Instant, budget: usize) -> usize {
        let interface = device.interface();
        self.begin_output(device, now, budget);
        let (mut sent, mut steps) = (0, 0);
        let mut due = self.due_sources(interface, now);
        loop {
            let before = steps;
            let connections_alone = due.is_only(OutputSource::Connections);
            while let Some(source) = due.take() {
                if steps >= budget {
                    return sent;
                }
                // If several sources may have something to send, they take turns frame by frame.
                let most = match connections_alone {
                    true => budget - steps,
                    false => 1,
                };
                match self.send_from(interface, source, device, now, most) {
                    SendOutcome::Sent(frames) => (sent, steps) = (sent + frames, steps + frames),
                    SendOutcome::Handled => steps += 1,
                    SendOutcome::Idle => {}
                    SendOutcome::DeviceFull => {
                        self.on_device_full(interface, now, budget);
                        return sent;
                    }
                }
            }
            if steps == before {
                return sent;
            }
            due = match connections_alone {
                true => self.due_after_connections(interface, now),
                false => self.due_sources(interface, now),
            };
        }
    }

    /// Does what precedes the frames of a transmission: completed frames leave the backlogs, freed
    /// memory is offered to at most `budget` waiters, and resolved connections are requeued.
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn begin_output(&mut self, device: &mut impl Device, now: Instant, budget: usize) {
        let interface = device.interface();
        self.interfaces[interface.index()].device_full = false;
        self.take_completed(interface, device, now);
        let (tcp, host) = self.tcp_and_host(now);
        tcp.trace_pool(u32::MAX, &host);
        self.share_memory(now, budget);
        self.wake_resolved(interface);
    }

    /// Returns the sources that may have something to send by `interface`.
    fn due_sources(&self, interface: InterfaceId, now: Instant) -> DueSources {
        let of = &self.interfaces[interface.index()];
        DueSources::default()
            .with(OutputSource::Neighbours, has_for_neighbours(of, now))
            .with(OutputSource::Errors, of.errors.wants_output())
            .with(OutputSource::Echo, of.echo.wants_output())
            .with(OutputSource::Resets, self.tcp.resets.has_for(interface))
            .with(OutputSource::SynAcks, self.tcp.has_syn_ack(interface))
            .with(OutputSource::WaitAcks, self.tcp.has_wait_ack(interface))
            .with(OutputSource::Connections, self.tcp.has_ready(interface))
            .with(OutputSource::Udp, self.udp.wants_output(interface))
    }

    /// Returns the sources that may have something to send by `interface`, if only connections had
    /// something before. Neighbours are the only other source that can be in the set: a connection
    /// may have begun to look up a neighbour.
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn due_after_connections(&self, interface: InterfaceId, now: Instant) -> DueSources {
        let neighbours = &self.interfaces[interface.index()].neighbours;
        DueSources::default()
            .with(OutputSource::Neighbours, neighbours.wants_output(now))
            .with(OutputSource::Connections, self.tcp.has_ready(interface))
    }

    /// Calls `on_device_full` of at most `budget` connections in the queue of `interface`, because
    /// its device lent no memory. The device then becomes their limit.
    fn on_device_full(&mut self, interface: InterfaceId, now: Instant, budget: usize) {
        self.interfaces[interface.index()].device_full = true;
        let (tcp, mut host) = self.tcp_and_host(now);
        let mut next = tcp.transmit_queue.first(interface);
        for _ in 0..budget {
            let Some(index) = next else {
                return;
            };
            next = tcp.transmit_queue.next_after(index);
            tcp.run(index, &mut host, |connection, env| {
                connection.on_device_full(env);
            });
        }
    }

    /// Returns true if the last call of [`Device::lend`] of the device of `interface` returned no
    /// memory.
    pub(crate) fn device_is_full(&self, interface: InterfaceId) -> bool {
        self.interfaces[interface.index()].device_full
    }

    /// Removes the frames that the device has completed from the backlogs of their
    /// connections.
    fn take_completed(&mut self, interface: InterfaceId, device: &mut impl Device, now: Instant) {
        let at = interface.index();
        if !self.interfaces[at].device_backlog.is_tracked() {
            return;
        }
        let completed = device.sent_bytes();
        while let Some(frame) = self.interfaces[at].device_backlog.take_completed(completed) {
            self.change_backlog(interface, frame.owner, |held| held - frame.len, now);
        }
    }

    /// Adds a frame of `len` bytes, with payload of connection `owner`, to the device
    /// backlog.
    fn add_to_backlog(&mut self, interface: InterfaceId, len: usize, owner: Key, now: Instant) {
        let backlog = &mut self.interfaces[interface.index()].device_backlog;
        if let Some(forgotten) = backlog.add(len, owner) {
            let left = |held| held - forgotten.len;
            self.change_backlog(interface, forgotten.owner, left, now);
        }
        self.change_backlog(interface, owner, |held| held + len as u32, now);
    }

    /// Changes the device backlog of connection `owner` of `interface`, unless the connection is
    /// gone.
    fn change_backlog(
        &mut self,
        interface: InterfaceId,
        owner: Key,
        change: impl FnOnce(u32) -> u32,
        now: Instant,
    ) {
        let device_max = self.interfaces[interface.index()].device_max();
        let (tcp, mut host) = self.tcp_and_host(now);
        if tcp.slots.get(owner).is_none() {
            return;
        }
        let slot = &mut tcp.slots[owner.index];
        slot.in_device = change(slot.in_device);
        let held = slot.in_device;
        let is_full = tcp.run(owner.index, &mut host, |connection, env| {
            connection.on_device_backlog(held, device_max, env)
        });
        if is_full {
            let backlog = &mut self.interfaces[interface.index()].device_backlog;
            backlog.note_limited();
        }
    }

    /// Returns true if the device backlog of a connection of `interface` may be full (knob
    /// `tcp.small_queue`). If so, the caller must call [`transmit`](Self::transmit) again when the
    /// device has completed a frame.
    ///
    /// # Panics
    /// Panics if this stack has no such interface.
    pub fn waits_for_device(&self, interface: InterfaceId) -> bool {
        let of = &self.interfaces[interface.index()];
        of.device_backlog.is_awaited()
    }

    /// Offers freed memory to connections that wait for it.
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn share_memory(&mut self, now: Instant, budget: usize) {
        if !self.tcp.memory_waiters.is_empty() {
            let (tcp, mut host) = self.tcp_and_host(now);
            tcp.share_memory(&mut host, budget as u32);
        }
    }

    /// Requeues the connections of `interface` whose next hop was resolved, is unreachable or was
    /// removed from the neighbour cache. Of the connections that wait for room in the
    /// cache, requeues as many as the cache has room for.
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn wake_resolved(&mut self, interface: InterfaceId) {
        let neighbours = &self.interfaces[interface.index()].neighbours;
        if neighbours.has_settled() || self.tcp.transmit_queue.awaits_room(interface) {
            self.wake_settled(interface);
        }
    }

    #[cold]
    fn wake_settled(&mut self, interface: InterfaceId) {
        let queue = &mut self.tcp.transmit_queue;
        let neighbours = &mut self.interfaces[interface.index()].neighbours;
        while let Some(entry) = neighbours.take_settled() {
            queue.wake(interface, entry);
        }
        if queue.awaits_room(interface) {
            queue.wake_for_room(interface, neighbours.room());
        }
    }

    /// Sends one frame of `source`, which is due, or up to `most` frames of one connection, by
    /// `interface`.
    fn send_from(
        &mut self,
        interface: InterfaceId,
        source: OutputSource,
        device: &mut impl Device,
        now: Instant,
        most: usize,
    ) -> SendOutcome {
        match source {
            OutputSource::Neighbours => self.send_for_neighbours(interface, device, now),
            OutputSource::Connections => self.send_for_connections(interface, device, now, most),
            OutputSource::Errors
            | OutputSource::Echo
            | OutputSource::Resets
            | OutputSource::SynAcks
            | OutputSource::WaitAcks
            | OutputSource::Udp => self.send_packet(interface, source, device, now),
        }
    }

    /// Writes the next packet of `source`, which is neither neighbours nor connections.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn write_packet(
        &mut self,
        interface: InterfaceId,
        source: OutputSource,
        packet: &mut [u8],
        now: Instant,
    ) -> Option<BuiltPacket> {
        let of = &mut self.interfaces[interface.index()];
        let (pool, counters) = (&mut self.pool, &mut self.counters);
        match source {
            OutputSource::Errors => of
                .errors
                .poll_packet(&mut of.sender, pool, packet, counters),
            OutputSource::Echo => {
                of.sender.expire_path_mtus(now);
                of.echo.poll_packet(&mut of.sender, pool, packet, counters)
            }
            OutputSource::Resets => self.write_reset(interface, packet),
            OutputSource::SynAcks => self.write_syn_ack(interface, packet, now),
            OutputSource::WaitAcks => self.write_wait_ack(interface, packet, now),
            OutputSource::Udp => {
                let sender = &mut of.sender;
                sender.expire_path_mtus(now);
                let udp = &mut self.udp;
                let (built, socket) =
                    udp.poll_datagram(interface, sender, pool, packet, counters)?;
                if let Some(socket) = socket {
                    self.events.udp(socket.index());
                }
                Some(built)
            }
            OutputSource::Neighbours | OutputSource::Connections => None,
        }
    }

    /// Sends ARP packets, messages of autoconfiguration, and the packets that waited for ARP.
    fn send_for_neighbours(
        &mut self,
        interface: InterfaceId,
        device: &mut impl Device,
        now: Instant,
    ) -> SendOutcome {
        let of = &mut self.interfaces[interface.index()];
        if !has_for_neighbours(of, now) {
            return SendOutcome::Idle;
        }
        let Some(frame) = device.lend(of.frame_len()) else {
            return SendOutcome::DeviceFull;
        };
        let (pool, counters) = (&mut self.pool, &mut self.counters);
        let addresses = self.routes.addresses(interface);
        let written = of
            .neighbours
            .poll_packet(addresses, now, pool, frame, counters);
        #[cfg(feature = "slaac")]
        let written = written.or_else(|| {
            let addresses = self.routes.addresses_mut(interface);
            let own = &mut of.autoconfiguration;
            own.poll_message(addresses, now, frame, counters)
        });
        match written {
            Some(len) => {
                device.send(len, TxMeta::default());
                of.device_backlog.add_bare(len);
                SendOutcome::Sent(1)
            }
            None => SendOutcome::Idle,
        }
    }

    /// Sends the next packet of `source` by `interface`, or keeps it until ARP has resolved its next
    /// hop.
    fn send_packet(
        &mut self,
        interface: InterfaceId,
        source: OutputSource,
        device: &mut impl Device,
        now: Instant,
    ) -> SendOutcome {
        let of = &self.interfaces[interface.index()];
        let Some(frame) = device.lend(of.frame_len()) else {
            return SendOutcome::DeviceFull;
        };
        let at = of.link.header_len();
        let Some(built) = self.write_packet(interface, source, &mut frame[at..], now) else {
            return SendOutcome::Idle;
        };
        let hop = match built.answers {
            Some(station) => self.hop_of_answer(interface, built.dst, station, now),
            None => self.next_hop(interface, built.dst, source.asker(), now),
        };
        let of = &mut self.interfaces[interface.index()];
        match hop {
            NextHop::Station(station) => {
                of.link.write_header(frame, station, built.dst);
                let checksum = shifted(built.checksum, at);
                device.send(
                    at + built.len,
                    TxMeta {
                        checksum,
                        ..TxMeta::default()
                    },
                );
                of.device_backlog.add_bare(at + built.len);
                SendOutcome::Sent(1)
            }
            NextHop::Unresolved(neighbour, _) => {
                let packet = &mut frame[at..at + built.len];
                complete(packet, built.checksum);
                of.neighbours
                    .hold(neighbour, packet, &mut self.pool, &mut self.counters);
                SendOutcome::Handled
            }
            NextHop::NoRoom => {
                self.counters.discard(Discard::NeighbourNoRoom);
                SendOutcome::Handled
            }
            NextHop::None(reason) => {
                self.counters.discard(reason);
                SendOutcome::Handled
            }
        }
    }

    fn write_reset(&mut self, interface: InterfaceId, packet: &mut [u8]) -> Option<BuiltPacket> {
        let reset = self.tcp.resets.take(interface)?;
        Some(self.write_answer(&reset, packet))
    }

    fn write_syn_ack(
        &mut self,
        interface: InterfaceId,
        packet: &mut [u8],
        now: Instant,
    ) -> Option<BuiltPacket> {
        let (tcp, mut host) = self.tcp_and_host(now);
        let answer = tcp.take_syn_ack(interface, &mut host)?;
        Some(self.write_answer(&answer, packet))
    }

    fn write_wait_ack(
        &mut self,
        interface: InterfaceId,
        packet: &mut [u8],
        now: Instant,
    ) -> Option<BuiltPacket> {
        let (index, tuple, segment) = self.tcp.first_wait_ack(interface, now)?;
        self.tcp.wait_ack_left(index);
        Some(self.write_bare(interface, &tuple, &segment, None, packet))
    }

    /// Writes the answer to a segment that belongs to no connection.
    fn write_answer(&mut self, answer: &Answer, packet: &mut [u8]) -> BuiltPacket {
        let is_reset = answer.segment.flags.contains(TcpFlags::RST);
        self.tcp.host_state.counters.out_rsts += Count::from(is_reset);
        let Station { interface, mac } = answer.station;
        self.write_bare(interface, &answer.tuple, &answer.segment, Some(mac), packet)
    }

    /// Writes a segment without payload that belongs to no connection.
    fn write_bare(
        &mut self,
        interface: InterfaceId,
        tuple: &FourTuple,
        segment: &SegmentOut,
        answers: Option<MacAddress>,
        packet: &mut [u8],
    ) -> BuiltPacket {
        self.tcp.host_state.counters.out_segs += 1;
        let at = IpSender::header_len(tuple.remote_ip());
        let written = write_segment(&mut packet[at..], tuple, segment, [].into_iter(), false);
        let sender = &mut self.interfaces[interface.index()].sender;
        let len = write_ip(sender, packet, tuple, &written, &mut self.counters);
        BuiltPacket {
            len,
            dst: tuple.remote_ip(),
            answers,
            checksum: TxChecksum::Complete,
        }
    }

    /// Sends a frame of the first connection in the queue of `interface`, or a burst of at most
    /// `most` frames. The connection leaves the queue if ARP has not resolved its next hop,
    /// or if it has nothing more to send.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn send_for_connections(
        &mut self,
        interface: InterfaceId,
        device: &mut impl Device,
        now: Instant,
        most: usize,
    ) -> SendOutcome {
        let Some(index) = self.tcp.transmit_queue.first(interface) else {
            return SendOutcome::Idle;
        };
        if self.poll_idle(index, now) {
            return SendOutcome::Handled;
        }
        let dst = self.tcp.slots[index].tuple.remote_ip();
        let station = match self.next_hop(interface, dst, Asker::Connection, now) {
            NextHop::Station(station) => station,
            NextHop::Unresolved(_, entry) => {
                let queue = self.await_next_hop(index, now);
                queue.wait_for(interface, index, entry);
                return SendOutcome::Handled;
            }
            NextHop::NoRoom => {
                let queue = self.await_next_hop(index, now);
                queue.wait_for_room(interface, index);
                return SendOutcome::Handled;
            }
            NextHop::None(reason) => {
                self.drop_unroutable(index, reason, now);
                return SendOutcome::Handled;
            }
        };
        let of = &self.interfaces[interface.index()];
        let largest = of.frame_len().max(of.super_frame_len(dst));
        let Some(frame) = device.lend(largest) else {
            return SendOutcome::DeviceFull;
        };
        let owner = self.tcp.key(index);
        let may_burst = most > 1 && self.may_burst(interface, now);
        let Some((len, meta, burst)) = self.write_from(index, frame, may_burst, now) else {
            self.requeue(index, now);
            return SendOutcome::Handled;
        };
        let of = &self.interfaces[interface.index()];
        of.link.write_header(frame, station, dst);
        let further = match burst {
            None => {
                device.send(len, meta);
                0
            }
            Some(burst) => {
                let template = self.template(index, &frame[..len], meta);
                device.send(len, meta);
                self.send_burst(index, burst, &template, device, most - 1, now)
            }
        };
        self.requeue(index, now);
        let backlog = &mut self.interfaces[interface.index()].device_backlog;
        if len > usize::from(meta.header_len) && backlog.is_tracked() {
            self.add_to_backlog(interface, len, owner, now);
        } else {
            backlog.add_bare(len);
        }
        SendOutcome::Sent(1 + further)
    }

    /// If connection `index` has nothing to send, polls it, removes it from the transmit queue and
    /// returns true. Otherwise changes nothing and returns false.
    fn poll_idle(&mut self, index: u32, now: Instant) -> bool {
        let (tcp, mut host) = self.tcp_and_host(now);
        let mut env = tcp.host_state.env(index, &mut host);
        let connection = tcp.residence.awake(index, &mut tcp.slots);
        let is_idle = connection.poll_idle(&mut env);
        if is_idle {
            tcp.note_memory(index, &host);
            tcp.transmit_queue.remove(index);
        }
        is_idle
    }

    /// Updates the queues after connection `index` was polled.
    fn requeue(&mut self, index: u32, now: Instant) {
        let (tcp, mut host) = self.tcp_and_host(now);
        tcp.requeue(index, &mut host);
    }

    /// Notes in connection `index` that it waits for its next hop, so that a timer bounds the wait.
    /// Returns the transmit queue. The caller then moves the connection to one of two lists in this
    /// queue: the list for the neighbour's entry, or the list for room in the cache.
    fn await_next_hop(&mut self, index: u32, now: Instant) -> &mut TransmitQueue {
        let (tcp, mut host) = self.tcp_and_host(now);
        tcp.run(index, &mut host, |connection, env| {
            connection.on_next_hop_pending(env);
        });
        &mut tcp.transmit_queue
    }

    /// Polls connection `index` and writes its next segment into `frame`, except the link header.
    /// Returns the frame's length and metadata and, if the segment may begin a burst, that burst.
    /// The caller then updates the queues.
    fn write_from(
        &mut self,
        index: u32,
        frame: &mut [u8],
        may_burst: bool,
        now: Instant,
    ) -> Option<(usize, TxMeta, Option<Burst>)> {
        let slot = &self.tcp.slots[index];
        let (tuple, interface) = (slot.tuple, slot.interface.index());
        let of = &self.interfaces[interface];
        let at = of.link.header_len();
        let tcp_at = at + IpSender::header_len(tuple.remote_ip());
        let offload = of.sender.checksum_tx();
        let device_max = of.device_max();
        let (tcp, mut host) = self.tcp_and_host(now);
        let mut env = tcp.host_state.env(index, &mut host);
        let connection = tcp.residence.awake(index, &mut tcp.slots);
        let snd_nxt = connection.snd_nxt();
        let segment = connection.poll_segment(device_max, &mut env)?;
        let payload = connection.payload(&segment, env.pool);
        let written = write_segment(&mut frame[tcp_at..], &tuple, &segment, payload, offload);
        let burst = match may_burst {
            true => connection.begin_burst(&segment, snd_nxt, &env),
            false => None,
        };
        let packet = &mut frame[at..];
        let sender = &mut self.interfaces[interface].sender;
        let len = write_ip(sender, packet, &tuple, &written, &mut self.counters);
        let meta = TxMeta {
            checksum: shifted(written.checksum, tcp_at),
            segment_size: segment.segment_size,
            header_len: (tcp_at + written.header_len) as u16,
        };
        Some((at + len, meta, burst))
    }

    /// Polls connection `index` and discards the segment, because there is no route. The segment
    /// counts as sent, so the connection retransmits it and finally times out.
    fn drop_unroutable(&mut self, index: u32, reason: Discard, now: Instant) {
        let (tcp, mut host) = self.tcp_and_host(now);
        let device_max = u32::from(u16::MAX);
        let mut env = tcp.host_state.env(index, &mut host);
        let connection = tcp.residence.awake(index, &mut tcp.slots);
        let segment = connection.poll_segment(device_max, &mut env);
        if let Some(segment) = &segment {
            report_unreachable(connection, segment, &mut env);
        }
        tcp.requeue(index, &mut host);
        if segment.is_some() {
            self.counters.discard(reason);
        }
    }

    /// Returns the next hop of an answer to a frame of `station`. If the neighbour cache
    /// does not know the next hop, the answer goes back to `station`. An answer adds no
    /// cache entry and sends no ARP request, because unknown hosts may use any address.
    fn hop_of_answer(
        &mut self,
        interface: InterfaceId,
        dst: IpAddr,
        station: MacAddress,
        now: Instant,
    ) -> NextHop {
        let of = &mut self.interfaces[interface.index()];
        if of.link.medium == Medium::Ip {
            return NextHop::Station(MacAddress::UNSPECIFIED);
        }
        match self.routes.lookup_on(interface, dst) {
            Some(Route::Neighbour(neighbour)) => {
                let known = of.neighbours.known(neighbour, now);
                NextHop::Station(known.unwrap_or(station))
            }
            Some(Route::Broadcast | Route::Multicast(_)) | None => {
                NextHop::None(Discard::IpNoRoute)
            }
        }
    }

    /// Returns the next hop of a packet to `dst` that leaves by `interface`.
    fn next_hop(
        &mut self,
        interface: InterfaceId,
        dst: IpAddr,
        asker: Asker,
        now: Instant,
    ) -> NextHop {
        let of = &mut self.interfaces[interface.index()];
        if of.link.medium == Medium::Ip {
            return NextHop::Station(MacAddress::UNSPECIFIED);
        }
        match self.routes.lookup_on(interface, dst) {
            Some(Route::Neighbour(neighbour)) => {
                let (pool, counters) = (&mut self.pool, &mut self.counters);
                let neighbours = &mut of.neighbours;
                match neighbours.resolve(neighbour, asker, now, pool, counters) {
                    Resolution::Known(station) => NextHop::Station(station),
                    Resolution::Pending(entry) => NextHop::Unresolved(neighbour, entry),
                    Resolution::Full => NextHop::NoRoom,
                    Resolution::Unreachable => NextHop::None(Discard::NeighbourUnreachable),
                }
            }
            Some(Route::Broadcast) => NextHop::Station(MacAddress::BROADCAST),
            Some(Route::Multicast(group)) => NextHop::Station(multicast_station(group)),
            None => NextHop::None(Discard::IpNoRoute),
        }
    }
}

/// Returns true if the neighbour cache or autoconfiguration has something to send.
fn has_for_neighbours(of: &InterfaceState, now: Instant) -> bool {
    of.neighbours.wants_output(now) || of.autoconfiguration.wants_output(now)
}

impl InterfaceState {
    /// Returns the largest TCP payload in bytes of a frame that the device cuts into
    /// segments; 0 if it cuts none.
    fn device_max(&self) -> u32 {
        self.settings.capabilities.super_segment.min(MOST_PAYLOAD) as u32
    }

    /// Returns the length in bytes of the largest frame to `dst` that the device cuts into
    /// segments; 0 if it cuts none.
    fn super_frame_len(&self, dst: IpAddr) -> usize {
        match self.device_max() as usize {
            0 => 0,
            payload => {
                let ip = IpSender::header_len(dst);
                self.link.header_len() + ip + TcpHeader::MAX_LEN + payload
            }
        }
    }
}

/// Largest TCP payload of a frame for a device that cuts segments: the largest IP packet less the
/// longest TCP header and 40 bytes (an IPv6 header; an IPv4 header has 20).
const MOST_PAYLOAD: usize = u16::MAX as usize - 40 - TcpHeader::MAX_LEN;

impl TcpLayer {
    /// Updates the queues after connection `index`, the first in the transmit queue, was
    /// polled, and requeues it if it has more to send.
    fn requeue(&mut self, index: u32, host: &mut HostContext<'_>) {
        self.settle(index, host);
        match self.slots.at(index) {
            Some(slot) => {
                let has_more = slot.place.busy().is_some_and(Connection::wants_output);
                self.transmit_queue.requeue(slot.interface, index, has_more);
            }
            None => self.transmit_queue.remove(index),
        }
    }
}

/// Reports to a connection that `segment` could not be sent, as a router's ICMP error would. Does
/// nothing if the connection has just ended.
fn report_unreachable(connection: &mut Connection, segment: &SegmentOut, env: &mut Env<'_>) {
    if connection.state() != TcpState::Closed && !segment.is_empty() {
        connection.on_icmp(IcmpError::Unreachable { hard: false }, segment.seq, env);
    }
}
