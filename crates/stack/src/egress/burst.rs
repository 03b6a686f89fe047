//! Frames of a burst: full segments of one connection that leave in succession.
//!
//! Rule: the frames and their order are the same as if the connection were polled for each segment.
//! A burst begins only if a single connection is queued. A burst ends when the connection ends it,
//! the device is full, or the budget of the turn (knob `stack.turn_budget`) is used up. Headers are
//! written once, and each frame gets a copy with its own sequence number, PSH and checksum.

use core::net::IpAddr;

use fullpipe_pool::{Count, Instant};
use fullpipe_tcp::{Burst, SegmentOut};
use fullpipe_wire::{Checksum, EthernetHeader, Protocol, TcpFlags, TcpHeader, tcp};

use crate::{
    device::{Device, TxChecksum, TxMeta},
    interface_id::InterfaceId,
    ip::{IpSender, MOST_IP_HEADER},
    stack::Stack,
};

/// Bytes of the longest headers.
const MOST_HEADERS: usize = EthernetHeader::LEN + MOST_IP_HEADER + TcpHeader::MAX_LEN;

/// The headers of the frames of a burst.
#[derive(Debug)]
pub(super) struct FrameTemplate {
    headers: [u8; MOST_HEADERS],
    meta: TxMeta,
    /// Offset of the TCP header.
    tcp_at: usize,
    /// Sum of the pseudo-header and of the TCP header without sequence number, PSH and
    /// checksum; `None` if the device completes the checksum.
    sum: Option<Checksum>,
}

impl FrameTemplate {
    /// Copies the headers of `frame`. Its TCP header is at `tcp_at`, and `meta` is its metadata.
    pub(super) fn of(
        frame: &[u8],
        meta: TxMeta,
        tcp_at: usize,
        (src, dst): (IpAddr, IpAddr),
    ) -> Self {
        let len = usize::from(meta.header_len);
        let mut headers = [0; MOST_HEADERS];
        headers[..len].copy_from_slice(&frame[..len]);
        let sum = match meta.checksum {
            TxChecksum::Partial { .. } => None,
            TxChecksum::Complete => {
                let segment_len = (frame.len() - tcp_at) as u32;
                Some(fixed_sum(&mut headers[tcp_at..len], segment_len, src, dst))
            }
        };
        Self {
            headers,
            meta,
            tcp_at,
            sum,
        }
    }

    /// Writes the frame of `segment`, and returns its length.
    fn write<'a>(
        &self,
        frame: &mut [u8],
        segment: &SegmentOut,
        payload: impl Iterator<Item = &'a [u8]>,
    ) -> usize {
        let (head, room) = frame.split_at_mut(self.meta.header_len.into());
        head.copy_from_slice(&self.headers[..head.len()]);
        let header = &mut head[self.tcp_at..];
        header[tcp::SEQUENCE_OFFSET..tcp::SEQUENCE_OFFSET + 4]
            .copy_from_slice(&segment.seq.0.to_be_bytes());
        header[tcp::FLAGS_OFFSET] = segment.flags.bits() as u8;
        let (mut sum, mut filled) = (Checksum::new(), 0);
        for slice in payload {
            let place = &mut room[filled..filled + slice.len()];
            match self.sum {
                Some(_) => sum.copy(place, slice),
                None => place.copy_from_slice(slice),
            }
            filled += slice.len();
        }
        if let Some(mut all) = self.sum {
            all.add_u16((segment.seq.0 >> 16) as u16);
            all.add_u16(segment.seq.0 as u16);
            all.add_u16((segment.flags & TcpFlags::PSH).bits());
            header[tcp::CHECKSUM_OFFSET..tcp::CHECKSUM_OFFSET + 2]
                .copy_from_slice(&all.then(sum).finish().to_be_bytes());
        }
        head.len() + filled
    }
}

/// Clears the fields of `header` that differ within a burst. Returns the sum of the other fields
/// and of the pseudo-header.
fn fixed_sum(header: &mut [u8], segment_len: u32, src: IpAddr, dst: IpAddr) -> Checksum {
    tcp::clear_varying(header);
    let mut sum = Checksum::of(header);
    sum.add_pseudo_header(src, dst, Protocol::Tcp.into(), segment_len);
    sum
}

impl Stack {
    /// Returns true if the first connection of the queue of `interface` may send a burst: no other
    /// connection is in the queue, the device neither cuts frames nor reports completions, and ARP has
    /// nothing to send in between.
    pub(super) fn may_burst(&self, interface: InterfaceId, now: Instant) -> bool {
        let of = &self.interfaces[interface.index()];
        self.bursts
            && self.tcp.transmit_queue.has_one(interface)
            && of.device_max() == 0
            && !of.device_backlog.is_tracked()
            && !of.neighbours.wants_output(now)
    }

    /// Returns the headers of `frame`, which connection `index` sends.
    pub(super) fn template(&self, index: u32, frame: &[u8], meta: TxMeta) -> FrameTemplate {
        let slot = &self.tcp.slots[index];
        let (tuple, of) = (&slot.tuple, &self.interfaces[slot.interface.index()]);
        let tcp_at = of.link.header_len() + IpSender::header_len(tuple.remote_ip());
        FrameTemplate::of(frame, meta, tcp_at, (tuple.local_ip(), tuple.remote_ip()))
    }

    /// Sends at most `most` further frames of `burst`, which connection `index` has begun,
    /// and returns their number.
    pub(super) fn send_burst(
        &mut self,
        index: u32,
        mut burst: Burst,
        template: &FrameTemplate,
        device: &mut impl Device,
        most: usize,
        now: Instant,
    ) -> usize {
        let interface = self.tcp.slots[index].interface.index();
        let of = &self.interfaces[interface];
        let (frame_len, link_len) = (of.frame_len(), of.link.header_len());
        let (tcp, mut host) = self.tcp_and_host(now);
        let mut env = tcp.host_state.env(index, &mut host);
        let connection = tcp.residence.awake(index, &mut tcp.slots);
        let (mut frames, mut bytes) = (0, 0);
        while frames < most {
            let Some(frame) = device.lend(frame_len) else {
                break;
            };
            let Some(segment) = connection.poll_burst(&mut burst, &mut env) else {
                break;
            };
            let payload = connection.payload(segment, env.pool);
            let len = template.write(frame, segment, payload);
            device.send(len, template.meta);
            (frames, bytes) = (frames + 1, bytes + len);
        }
        connection.end_burst(&mut env);
        self.interfaces[interface].device_backlog.add_bare(bytes);
        self.counters.mib.ip_out_requests += frames as Count;
        self.counters.mib.ip_ext_out_octets += (bytes - frames * link_len) as Count;
        frames
    }
}
