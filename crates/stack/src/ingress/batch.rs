//! Receives the frames of a turn. Consecutive frames of one connection form a run.
//!
//! Rule: a batch has the effect of receiving its frames one by one. A frame continues a run if the
//! connection predicts it and if its headers equal those of the previous frame, except for the IP
//! identification, the sequence number, PSH and the checksums. Only the checksums are then checked,
//! and the queues are updated at the end of the run. All other frames take the long path,
//! [`Stack::receive`].

use fullpipe_pool::{Count, Instant};
use fullpipe_tcp::{Segment, SeqNum};
use fullpipe_wire::{
    Checksum, Ecn, EthernetHeader, Ipv4Header, Protocol, TcpFlags, TcpHeader, tcp,
};

use crate::{device::RxMeta, stack::Stack};

/// Bytes of the longest headers of a frame in a run.
const MOST_HEADERS: usize = EthernetHeader::LEN + Ipv4Header::LEN + TcpHeader::MAX_LEN;

/// Headers without the fields that differ within a run.
type CommonHeaders = [u8; MOST_HEADERS];

/// Receives several frames at the same instant. The batch borrows the stack until it is dropped.
#[derive(Debug)]
pub struct ReceiveBatch<'a> {
    stack: &'a mut Stack,
    now: Instant,
    headers: CommonHeaders,
    run: Option<Run>,
}

/// Consecutive frames of one connection.
#[derive(Debug)]
struct Run {
    /// The connection.
    index: u32,
    meta: RxMeta,
    /// Offset of the TCP header.
    tcp_at: usize,
    /// Offset of the payload.
    payload_at: usize,
    /// Length of a frame without padding.
    len: usize,
    /// Contents that the frames of the run share. They are computed when a second frame arrives,
    /// because many runs have only one frame.
    shared: Option<Shared>,
}

/// Contents of the headers of all frames in a run.
#[derive(Debug)]
struct Shared {
    header: TcpHeader,
    ecn: Ecn,
    /// Sum of the IP header without the fields that differ.
    ip_sum: Checksum,
    /// Sum of the pseudo-header, and of the TCP header without the fields that differ.
    tcp_sum: Checksum,
}

impl Stack {
    /// Begins to receive frames at `now`. Consecutive frames of one connection cost less than with
    /// [`receive`](Self::receive), and have the same effect.
    pub fn receive_batch(&mut self, now: Instant) -> ReceiveBatch<'_> {
        ReceiveBatch {
            stack: self,
            now,
            headers: [0; MOST_HEADERS],
            run: None,
        }
    }
}

impl ReceiveBatch<'_> {
    /// Processes one received frame, which need not be well-formed, as
    /// [`Stack::receive`] does.
    ///
    /// # Panics
    /// Panics if the stack has no interface `meta.interface`.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub fn receive(&mut self, frame: &[u8], meta: RxMeta) {
        if self.continue_run(frame, meta) {
            return;
        }
        self.end_run();
        let predicts = self.stack.receive_frame(frame, meta, self.now);
        if let Some(index) = predicts.filter(|_| self.stack.bursts) {
            self.run = self.begin_run(index, frame, meta);
        }
    }

    /// Returns the run that `frame` begins. Connection `index` has accepted the frame's segment.
    fn begin_run(&mut self, index: u32, frame: &[u8], meta: RxMeta) -> Option<Run> {
        let of = &self.stack.interfaces[meta.interface.index()];
        let ip_at = of.link.header_len();
        let tcp_at = ip_at + Ipv4Header::LEN;
        let (ip, tcp) = frame.split_at_checked(tcp_at)?;
        let ip = &ip[ip_at..];
        let has_options = ip[0] != 0x45;
        // Begin no run with a fragment: the last fragment of a packet may contain no TCP header.
        let is_fragment = field(ip, 6) & 0x3fff != 0;
        if has_options || is_fragment {
            return None;
        }
        let payload_at = tcp_at + usize::from(tcp.get(12)? >> 4) * 4;
        self.headers = common(frame, tcp_at, payload_at)?;
        Some(Run {
            index,
            meta,
            tcp_at,
            payload_at,
            len: ip_at + usize::from(field(ip, 2)),
            shared: None,
        })
    }

    /// Processes `frame` if it continues the run. Otherwise returns false, and nothing
    /// changes.
    fn continue_run(&mut self, frame: &[u8], meta: RxMeta) -> bool {
        let Some(run) = &mut self.run else {
            return false;
        };
        let &mut Run {
            index,
            tcp_at,
            payload_at,
            len,
            ..
        } = run;
        let Some(frame) = frame.get(..len).filter(|_| meta == run.meta) else {
            return false;
        };
        if common(frame, tcp_at, payload_at).as_ref() != Some(&self.headers) {
            return false;
        }
        let ip_at = tcp_at - Ipv4Header::LEN;
        let shared = run
            .shared
            .get_or_insert_with(|| Shared::of(&self.headers[ip_at..payload_at], len - tcp_at));
        let (ip, tcp, payload) = (
            &frame[ip_at..tcp_at],
            &frame[tcp_at..payload_at],
            &frame[payload_at..],
        );
        let segment = shared.segment(tcp, payload);
        let layer = &mut self.stack.tcp;
        let connection = layer.residence.awake(index, &mut layer.slots);
        let is_predicted = connection.predicts(segment.seq, payload.len() as u32);
        if !is_predicted || !shared.is_sound(ip, tcp, payload, meta) {
            return false;
        }
        let mib = &mut self.stack.counters.mib;
        mib.ip_in_receives += 1;
        mib.ip_ext_in_octets += (len - ip_at) as Count;
        *mib.received_with(segment.ecn) += 1;
        mib.ip_in_delivers += 1;
        let (tcp, mut host) = self.stack.tcp_and_host(self.now);
        tcp.on_predicted(index, &segment, &mut host);
        true
    }

    /// Updates the queues for the connection of the run, if any.
    fn end_run(&mut self) {
        if let Some(run) = self.run.take()
            && run.shared.is_some()
        {
            let (tcp, mut host) = self.stack.tcp_and_host(self.now);
            tcp.settle(run.index, &mut host);
        }
    }
}

impl Drop for ReceiveBatch<'_> {
    fn drop(&mut self) {
        self.end_run();
    }
}

impl Shared {
    /// Reads the contents of `headers`, which begin with the IP header of a segment of
    /// `segment_len` bytes.
    fn of(headers: &[u8], segment_len: usize) -> Self {
        let (ip, tcp) = headers.split_at(Ipv4Header::LEN);
        let parsed = Ipv4Header::parse_quoted(ip).expect("the first frame was accepted");
        let (header, _) = TcpHeader::parse(tcp).expect("the first frame was accepted");
        let (src, dst) = (parsed.0.src.into(), parsed.0.dst.into());
        let mut tcp_sum = Checksum::of(tcp);
        tcp_sum.add_pseudo_header(src, dst, Protocol::Tcp.into(), segment_len as u32);
        Self {
            header,
            ecn: parsed.0.ecn,
            ip_sum: Checksum::of(ip),
            tcp_sum,
        }
    }

    /// Returns the segment with TCP header `tcp`.
    fn segment<'a>(&self, tcp: &[u8], payload: &'a [u8]) -> Segment<'a> {
        let seq = tcp::SEQUENCE_OFFSET;
        let (high, low) = (field(tcp, seq), field(tcp, seq + 2));
        let psh = u16::from(tcp[tcp::FLAGS_OFFSET]) & TcpFlags::PSH.bits();
        let header = &self.header;
        Segment {
            seq: SeqNum(u32::from(high) << 16 | u32::from(low)),
            flags: header.flags | TcpFlags::from_bits(psh),
            ecn: self.ecn,
            ..Segment::from_header(header, payload, 0)
        }
    }

    /// Returns true if both checksums of a frame are right.
    fn is_sound(&self, ip: &[u8], tcp: &[u8], payload: &[u8], meta: RxMeta) -> bool {
        let mut ip_sum = self.ip_sum;
        ip_sum.add_u16(field(ip, IDENTIFICATION));
        ip_sum.add_u16(field(ip, IP_CHECKSUM));
        let mut sum = self.tcp_sum;
        sum.add_u16(field(tcp, tcp::SEQUENCE_OFFSET));
        sum.add_u16(field(tcp, tcp::SEQUENCE_OFFSET + 2));
        sum.add_u16(u16::from(tcp[tcp::FLAGS_OFFSET]) & TcpFlags::PSH.bits());
        sum.add_u16(field(tcp, tcp::CHECKSUM_OFFSET));
        ip_sum.is_valid() && (meta.checksum_verified || sum.then(Checksum::of(payload)).is_valid())
    }
}

/// Offset of the identification in the IP header.
const IDENTIFICATION: usize = 4;
/// Offset of the checksum in the IP header.
const IP_CHECKSUM: usize = 10;

/// Returns the 16-bit field at `offset` of `header`.
fn field(header: &[u8], offset: usize) -> u16 {
    u16::from_be_bytes([header[offset], header[offset + 1]])
}

/// Returns the headers of `frame` without the fields that differ within a run; `None` if
/// the frame ends before `payload_at`.
fn common(frame: &[u8], tcp_at: usize, payload_at: usize) -> Option<CommonHeaders> {
    let mut headers = [0; MOST_HEADERS];
    headers[..payload_at].copy_from_slice(frame.get(..payload_at)?);
    let (link_and_ip, tcp) = headers.split_at_mut(tcp_at);
    let ip = &mut link_and_ip[tcp_at - Ipv4Header::LEN..];
    ip[IDENTIFICATION..IDENTIFICATION + 2].fill(0);
    ip[IP_CHECKSUM..IP_CHECKSUM + 2].fill(0);
    tcp::clear_varying(tcp);
    Some(headers)
}
