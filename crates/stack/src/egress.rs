//! The one way out: whatever leaves this host is written here, straight into
//! the memory that the device lends.
//!
//! Rule: memory is asked for first and a connection is polled second, so that
//! nothing counts as sent that had no place to go. Sources take turns frame by
//! frame, and so do connections. Sending never needs packet memory, except to
//! keep a packet for a neighbour who is not known yet.

mod segment;

use core::net::IpAddr;

use fullpipe_pool::Instant;
use fullpipe_tcp::{Connection, Env, IcmpError, SegmentOut, TcpState};
use fullpipe_wire::{MacAddress, TcpHeader};

use crate::{
    counters::Discard,
    device::{Device, Medium, TxChecksum, TxMeta},
    ip::{Built, Route, Sender},
    link::{Resolution, multicast_station},
    slab::Key,
    stack::Stack,
    tcp::{FourTuple, Host, TcpLayer},
};
use segment::{complete, shifted, write_ip, write_segment};

/// Who may have something to send, in the order in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Neighbours,
    Errors,
    Echo,
    Resets,
    SynAcks,
    WaitAcks,
    Connections,
    Udp,
}

impl Source {
    const ALL: [Self; 8] = [
        Self::Neighbours,
        Self::Errors,
        Self::Echo,
        Self::Resets,
        Self::SynAcks,
        Self::WaitAcks,
        Self::Connections,
        Self::Udp,
    ];
}

/// What came of asking a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// A frame left.
    Sent,
    /// Something was dealt with, and no frame left.
    Dealt,
    /// It has nothing to say.
    Silent,
    /// The device takes no more.
    Full,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextHop {
    /// To this station.
    Station(MacAddress),
    /// To this neighbour, as soon as its station is known.
    Asked(IpAddr),
    /// Nowhere.
    Nowhere(Discard),
}

impl Stack {
    /// Sends what is due, at most `budget` frames. Returns how many left.
    pub fn transmit(&mut self, device: &mut impl Device, now: Instant, budget: usize) -> usize {
        self.device_full = false;
        self.learn_sent(device, now);
        let (tcp, host) = self.tcp_and_host(now);
        tcp.trace_pool(u32::MAX, &host);
        self.share_memory(now, budget);
        self.wake_parked(now);
        let (mut sent, mut steps) = (0, 0);
        loop {
            let before = steps;
            for source in Source::ALL {
                if steps >= budget {
                    return sent;
                }
                match self.send_from(source, device, now) {
                    Outcome::Sent => (sent, steps) = (sent + 1, steps + 1),
                    Outcome::Dealt => steps += 1,
                    Outcome::Silent => {}
                    Outcome::Full => {
                        self.on_device_full(now, budget);
                        return sent;
                    }
                }
            }
            if steps == before {
                return sent;
            }
        }
    }

    /// The device takes no more: whoever is ready learns what holds it back, as
    /// far as the budget goes.
    fn on_device_full(&mut self, now: Instant, budget: usize) {
        self.device_full = true;
        let (tcp, mut host) = self.tcp_and_host(now);
        let mut next = tcp.parking.first();
        for _ in 0..budget {
            let Some(index) = next else {
                return;
            };
            next = tcp.parking.after(index);
            tcp.run(index, &mut host, |connection, env| {
                connection.on_device_full(env);
            });
        }
    }

    /// Whether the device took no more when it was asked last.
    pub(crate) const fn device_is_full(&self) -> bool {
        self.device_full
    }

    /// The device has sent more: whose it was may hand more down.
    fn learn_sent(&mut self, device: &mut impl Device, now: Instant) {
        if !self.below.is_told() {
            return;
        }
        let sent = device.sent_bytes();
        while let Some(frame) = self.below.next_sent(sent) {
            self.change_below(frame.owner, |held| held - frame.len, now);
        }
    }

    /// A frame with text of `owner` was handed to a device that will say when
    /// it has left.
    fn note_below(&mut self, len: usize, owner: Key, now: Instant) {
        if let Some(forgotten) = self.below.push(len, owner) {
            self.change_below(forgotten.owner, |held| held - forgotten.len, now);
        }
        self.change_below(owner, |held| held + len as u32, now);
    }

    /// The device holds more or less of what `owner` sent, if that still is.
    fn change_below(&mut self, owner: Key, change: impl FnOnce(u32) -> u32, now: Instant) {
        let device_max = self.device_max();
        let (tcp, mut host) = self.tcp_and_host(now);
        if tcp.slots.get(owner).is_none() {
            return;
        }
        let slot = &mut tcp.slots[owner.index];
        slot.below = change(slot.below);
        let held = slot.below;
        let is_full = tcp.run(owner.index, &mut host, |connection, env| {
            connection.on_device_backlog(held, device_max, env)
        });
        if is_full {
            self.below.note_full();
        }
    }

    /// Whether some connection sends no more until the device has sent some of
    /// what it holds: turn again when it has.
    pub const fn waits_for_device(&self) -> bool {
        self.below.is_waited_for()
    }

    /// Most text in one frame that the device cuts; 0 where it cuts nothing, and
    /// then no more than a segment leaves.
    fn device_max(&self) -> u32 {
        self.interface.capabilities.super_segment.min(MOST_TEXT) as u32
    }

    /// Memory that became free goes to those who wait for it.
    fn share_memory(&mut self, now: Instant, budget: usize) {
        let (tcp, mut host) = self.tcp_and_host(now);
        tcp.share_memory(&mut host, budget as u32);
    }

    /// Connections whose next hop has settled may be polled again.
    fn wake_parked(&mut self, now: Instant) {
        if !core::mem::take(&mut self.neighbours_changed) {
            return;
        }
        let (neighbours, pool, counters) =
            (&mut self.neighbours, &mut self.pool, &mut self.counters);
        self.tcp
            .parking
            .wake(|hop| match neighbours.resolve(hop, now, pool, counters) {
                Resolution::Known(_) | Resolution::Unreachable => true,
                Resolution::Waiting => false,
            });
    }

    fn send_from(&mut self, source: Source, device: &mut impl Device, now: Instant) -> Outcome {
        match source {
            Source::Neighbours => self.send_for_neighbours(device, now),
            Source::Errors if self.errors.wants_output() => {
                self.send_packet(device, now, |stack, packet| {
                    stack
                        .errors
                        .poll_packet(&mut stack.sender, packet, &mut stack.counters)
                })
            }
            Source::Echo if self.echo.wants_output() => {
                self.send_packet(device, now, |stack, packet| {
                    let Self {
                        echo,
                        sender,
                        pool,
                        counters,
                        ..
                    } = stack;
                    echo.poll_packet(sender, pool, packet, counters)
                })
            }
            Source::Resets if !self.tcp.resets.is_empty() => {
                self.send_packet(device, now, Self::write_reset)
            }
            Source::SynAcks if self.tcp.has_syn_ack() => {
                self.send_packet(device, now, |stack, packet| {
                    stack.write_syn_ack(packet, now)
                })
            }
            Source::WaitAcks if self.tcp.first_wait_ack(now).is_some() => {
                self.send_packet(device, now, |stack, packet| {
                    stack.write_wait_ack(packet, now)
                })
            }
            Source::Connections => self.send_for_connections(device, now),
            Source::Udp if self.udp.wants_output() => {
                self.send_packet(device, now, |stack, packet| {
                    let Self {
                        udp,
                        sender,
                        pool,
                        counters,
                        events,
                        ..
                    } = stack;
                    let (built, socket) = udp.poll_datagram(sender, pool, packet, counters)?;
                    if let Some(socket) = socket {
                        events.udp(socket.0.index);
                    }
                    Some(built)
                })
            }
            Source::Errors
            | Source::Echo
            | Source::Resets
            | Source::SynAcks
            | Source::WaitAcks
            | Source::Udp => Outcome::Silent,
        }
    }

    /// ARP, and packets that waited for it.
    fn send_for_neighbours(&mut self, device: &mut impl Device, now: Instant) -> Outcome {
        if !self.neighbours.wants_output(now) {
            return Outcome::Silent;
        }
        let Some(frame) = device.lend(self.frame_len()) else {
            return Outcome::Full;
        };
        let (pool, counters) = (&mut self.pool, &mut self.counters);
        match self.neighbours.poll_packet(now, pool, frame, counters) {
            Some(len) => {
                device.send(len, TxMeta::default());
                self.below.pass(len);
                Outcome::Sent
            }
            None => Outcome::Silent,
        }
    }

    /// Sends the packet that `build` writes, or keeps it for its neighbour.
    fn send_packet(
        &mut self,
        device: &mut impl Device,
        now: Instant,
        build: impl FnOnce(&mut Self, &mut [u8]) -> Option<Built>,
    ) -> Outcome {
        let Some(frame) = device.lend(self.frame_len()) else {
            return Outcome::Full;
        };
        let at = self.link.header_len();
        let Some(built) = build(self, &mut frame[at..]) else {
            return Outcome::Silent;
        };
        match self.next_hop(built.dst, now) {
            NextHop::Station(station) => {
                self.link.write_header(frame, station, built.dst);
                let checksum = shifted(built.checksum, at);
                device.send(
                    at + built.len,
                    TxMeta {
                        checksum,
                        ..TxMeta::default()
                    },
                );
                self.below.pass(at + built.len);
                Outcome::Sent
            }
            NextHop::Asked(neighbour) => {
                let packet = &mut frame[at..at + built.len];
                complete(packet, built.checksum);
                self.neighbours
                    .hold(neighbour, packet, &mut self.pool, &mut self.counters);
                Outcome::Dealt
            }
            NextHop::Nowhere(reason) => {
                self.counters.discard(reason);
                Outcome::Dealt
            }
        }
    }

    fn write_reset(&mut self, packet: &mut [u8]) -> Option<Built> {
        let reset = self.tcp.resets.first()?.clone();
        self.tcp.resets.pop();
        self.tcp.counters.out_rsts += 1;
        Some(self.write_bare(&reset.tuple, &reset.segment, packet))
    }

    fn write_syn_ack(&mut self, packet: &mut [u8], now: Instant) -> Option<Built> {
        let (tuple, segment) = self.tcp.take_syn_ack(now)?;
        Some(self.write_bare(&tuple, &segment, packet))
    }

    fn write_wait_ack(&mut self, packet: &mut [u8], now: Instant) -> Option<Built> {
        let (index, tuple, segment) = self.tcp.first_wait_ack(now)?;
        self.tcp.wait_ack_left(index);
        Some(self.write_bare(&tuple, &segment, packet))
    }

    /// Writes a segment without text that is of no connection.
    fn write_bare(&mut self, tuple: &FourTuple, segment: &SegmentOut, packet: &mut [u8]) -> Built {
        self.tcp.counters.out_segs += 1;
        let at = Sender::header_len(tuple.remote_ip);
        let written = write_segment(&mut packet[at..], tuple, segment, [].into_iter(), false);
        let len = write_ip(
            &mut self.sender,
            packet,
            tuple,
            &written,
            &mut self.counters,
        );
        Built {
            len,
            dst: tuple.remote_ip,
            checksum: TxChecksum::Complete,
        }
    }

    /// One frame of the connection whose turn it is; those that cannot go on or
    /// have nothing to say are passed over.
    fn send_for_connections(&mut self, device: &mut impl Device, now: Instant) -> Outcome {
        let Some(index) = self.tcp.parking.first() else {
            return Outcome::Silent;
        };
        let dst = self.tcp.slots[index].tuple.remote_ip;
        let hop = self.next_hop(dst, now);
        let station = match hop {
            NextHop::Station(station) => station,
            NextHop::Asked(neighbour) => {
                let (tcp, mut host) = self.tcp_and_host(now);
                tcp.run(index, &mut host, |connection, env| {
                    connection.on_device_full(env)
                });
                tcp.parking.park(index, neighbour);
                return Outcome::Dealt;
            }
            NextHop::Nowhere(reason) => {
                self.send_nowhere(index, reason, now);
                return Outcome::Dealt;
            }
        };
        let largest = self.frame_len().max(self.super_frame_len());
        let Some(frame) = device.lend(largest) else {
            return Outcome::Full;
        };
        let owner = self.tcp.key(index);
        let Some((len, meta)) = self.write_from(index, frame, now) else {
            return Outcome::Dealt;
        };
        self.link.write_header(frame, station, dst);
        device.send(len, meta);
        if len > usize::from(meta.header_len) && self.below.is_told() {
            self.note_below(len, owner, now);
        } else {
            self.below.pass(len);
        }
        Outcome::Sent
    }

    /// Writes the next segment of connection `index` into `frame`, all but the
    /// link header. Returns the frame's length.
    fn write_from(
        &mut self,
        index: u32,
        frame: &mut [u8],
        now: Instant,
    ) -> Option<(usize, TxMeta)> {
        let at = self.link.header_len();
        let tuple = self.tcp.slots[index].tuple;
        let tcp_at = at + Sender::header_len(tuple.remote_ip);
        let offload = self.sender.checksum_tx();
        let device_max = self.device_max();
        let (tcp, mut host) = self.tcp_and_host(now);
        let segment = tcp.poll(index, &mut host, |connection, env| {
            let segment = connection.poll_segment(device_max, env)?;
            let text = connection.payload(&segment, env.pool);
            let room = &mut frame[tcp_at..];
            let written = write_segment(room, &tuple, &segment, text, offload);
            Some((written, segment.segment_size))
        });
        let (written, segment_size) = segment?;
        let packet = &mut frame[at..];
        let len = write_ip(
            &mut self.sender,
            packet,
            &tuple,
            &written,
            &mut self.counters,
        );
        let meta = TxMeta {
            checksum: shifted(written.checksum, tcp_at),
            segment_size,
            header_len: (tcp_at + written.header_len) as u16,
        };
        Some((at + len, meta))
    }

    /// Lets connection `index` send into the void: it must learn that its
    /// segments do not arrive, and give up in its own time.
    fn send_nowhere(&mut self, index: u32, reason: Discard, now: Instant) {
        let (tcp, mut host) = self.tcp_and_host(now);
        let device_max = u32::from(u16::MAX);
        let said = tcp.poll(index, &mut host, |connection, env| {
            let segment = connection.poll_segment(device_max, env)?;
            report_unreachable(connection, &segment, env);
            Some(())
        });
        if said.is_some() {
            self.counters.discard(reason);
        }
    }

    fn next_hop(&mut self, dst: IpAddr, now: Instant) -> NextHop {
        if self.link.medium == Medium::Ip {
            return NextHop::Station(MacAddress::UNSPECIFIED);
        }
        match self.routes.lookup(dst) {
            Some(Route::Neighbour(neighbour)) => {
                let (pool, counters) = (&mut self.pool, &mut self.counters);
                match self.neighbours.resolve(neighbour, now, pool, counters) {
                    Resolution::Known(station) => NextHop::Station(station),
                    Resolution::Waiting => NextHop::Asked(neighbour),
                    Resolution::Unreachable => NextHop::Nowhere(Discard::NeighbourUnreachable),
                }
            }
            Some(Route::Broadcast) => NextHop::Station(MacAddress::BROADCAST),
            Some(Route::Multicast(group)) => NextHop::Station(multicast_station(group)),
            None => NextHop::Nowhere(Discard::IpNoRoute),
        }
    }

    /// Bytes of the largest frame on the wire.
    fn frame_len(&self) -> usize {
        self.link.header_len() + self.interface.capabilities.mtu
    }

    /// Bytes of the largest frame that the device cuts; 0 when it cuts none.
    fn super_frame_len(&self) -> usize {
        match self.device_max() as usize {
            0 => 0,
            text => {
                let ip = Sender::header_len(self.interface.address);
                self.link.header_len() + ip + TcpHeader::MAX_LEN + text
            }
        }
    }
}

/// Most text in one IP packet, whatever a device could cut.
const MOST_TEXT: usize = u16::MAX as usize - 40 - TcpHeader::MAX_LEN;

impl TcpLayer {
    /// Polls connection `index`, whose turn it is, and ends its turn.
    fn poll<R>(
        &mut self,
        index: u32,
        host: &mut Host<'_>,
        poll: impl FnOnce(&mut Connection, &mut Env<'_>) -> Option<R>,
    ) -> Option<R> {
        let result = self.run(index, host, poll);
        let wants_more = self
            .slots
            .at(index)
            .is_some_and(|slot| slot.connection.wants_output());
        self.parking.had_its_turn(index, wants_more);
        result
    }
}

/// What is known at once of a segment that cannot be sent. Not news to a
/// connection that has just ended.
fn report_unreachable(connection: &mut Connection, segment: &SegmentOut, env: &mut Env<'_>) {
    if connection.state() != TcpState::Closed && !segment.is_empty() {
        connection.on_icmp(IcmpError::Unreachable { hard: false }, segment.seq, env);
    }
}
