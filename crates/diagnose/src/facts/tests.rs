//! Tests of the facts and of their assembly.

use fullpipe_pool::{Holder, Instant};
use fullpipe_tcp::{
    Limit,
    trace::{TraceEvent, TraceRecord},
};
use fullpipe_wire::TcpFlags;

use super::*;

const CLIENT: usize = 0;
const SERVER: usize = 1;
/// Initial sequence number of the sender. Its sequence numbers wrap within the first
/// kilobyte.
const ISS: u32 = u32::MAX - 500;
/// Initial sequence number of the receiver.
const IRS: u32 = 7;

/// Trace records of one connection. Each is a microsecond later than the previous one.
struct Script {
    assembly: Assembly,
    now_us: u64,
}

impl Script {
    fn new() -> Self {
        let host = |name: &str| Host {
            name: name.to_string(),
            ..Host::default()
        };
        let mut script = Self {
            assembly: Assembly::new(vec![host("client"), host("server")], Vec::new()),
            now_us: 0,
        };
        script.says(CLIENT, opened(false, ISS, 0));
        script.out(CLIENT, TcpFlags::SYN, ISS, 0, 0);
        let syn_ack = TcpFlags::SYN | TcpFlags::ACK;
        script.arrives(CLIENT, syn_ack, IRS, ISS.wrapping_add(1), 0);
        script.says(CLIENT, TraceEvent::Limit(Limit::Application));
        script.says(SERVER, opened(true, IRS, ISS));
        script
    }

    fn says(&mut self, host: usize, event: TraceEvent) {
        self.now_us += 1;
        let record = TraceRecord {
            at: Instant::from_micros(self.now_us),
            connection: 3,
            event,
        };
        self.assembly.record(host, &record);
    }

    fn out(&mut self, host: usize, flags: TcpFlags, seq: u32, ack: u32, len: u32) {
        let event = TraceEvent::SegmentOut {
            flags,
            seq,
            ack,
            window: 9_000,
            len,
        };
        self.says(host, event);
    }

    fn arrives(&mut self, host: usize, flags: TcpFlags, seq: u32, ack: u32, len: u32) {
        let event = TraceEvent::SegmentIn {
            flags,
            seq,
            ack,
            window: 9_000,
            len,
        };
        self.says(host, event);
    }

    fn payload(&mut self, offset: u32) {
        let seq = ISS.wrapping_add(1 + offset);
        self.out(CLIENT, TcpFlags::ACK, seq, IRS + 1, 1_000);
    }

    fn payload_arrives(&mut self, offset: u32) {
        let seq = ISS.wrapping_add(1 + offset);
        self.arrives(SERVER, TcpFlags::ACK, seq, IRS + 1, 1_000);
    }

    fn finish(self) -> Connection {
        let end_ns = self.now_us * 1_000;
        let mut observed = self.assembly.finish(end_ns);
        assert_eq!(
            observed.connections.len(),
            1,
            "both ends are one connection"
        );
        observed.connections.remove(0)
    }
}

fn opened(passive: bool, iss: u32, irs: u32) -> TraceEvent {
    TraceEvent::Opened { passive, iss, irs }
}

#[test]
fn two_ends_are_one_connection_by_their_initial_sequence_numbers() {
    let connection = Script::new().finish();
    assert_eq!(connection.first.host, CLIENT);
    assert_eq!(connection.second.map(|end| end.host), Some(SERVER));
}

#[test]
fn sequence_numbers_count_from_the_first_and_do_not_wrap() {
    let mut script = Script::new();
    script.payload(0);
    script.payload(1_000);
    let connection = script.finish();
    assert_eq!(connection.first.sent.seq, [0, 1, 1_001]);
    assert_eq!(connection.first.received.ack, [1]);
}

#[test]
fn outstanding_bytes_are_sent_and_not_acknowledged() {
    let mut script = Script::new();
    script.payload(0);
    script.payload(1_000);
    script.arrives(CLIENT, TcpFlags::ACK, IRS + 1, ISS.wrapping_add(1_001), 0);
    let connection = script.finish();
    assert_eq!(connection.first.sent.outstanding, [1, 1_000, 2_000]);
    assert_eq!(connection.first.received.outstanding, [0, 1_000]);
}

#[test]
fn the_first_of_two_transmissions_is_lost_where_one_arrived() {
    let mut script = Script::new();
    for offset in [0, 1_000, 2_000] {
        script.payload(offset);
    }
    script.payload_arrives(0);
    script.payload_arrives(2_000);
    script.payload(1_000);
    script.says(
        CLIENT,
        TraceEvent::Retransmission {
            seq: ISS.wrapping_add(1_001),
            len: 1_000,
        },
    );
    script.payload_arrives(1_000);
    let sent = script.finish().first.sent;
    let lost: Vec<_> = (0..sent.len()).filter(|at| sent.is_lost(*at)).collect();
    let again: Vec<_> = (0..sent.len())
        .filter(|at| sent.is_retransmission(*at))
        .collect();
    assert_eq!((lost, again), (vec![2], vec![4]));
}

#[test]
fn bands_fill_the_time_and_are_charged_the_bytes_that_waited_in_them() {
    let mut script = Script::new();
    script.payload(0);
    script.says(CLIENT, TraceEvent::Limit(Limit::ReceiveWindow));
    script.payload(1_000);
    // Retransmit bytes, which do not count as new payload.
    script.payload(1_000);
    let limits = script.finish().first.limits;
    let names: Vec<_> = limits
        .reason
        .iter()
        .map(|reason| Limit::ALL[usize::from(*reason)])
        .collect();
    assert_eq!(
        names,
        [Limit::Handshake, Limit::Application, Limit::ReceiveWindow]
    );
    assert_eq!(limits.at_ns[1..], limits.end_ns[..2]);
    assert_eq!(limits.bytes, [0, 1_000, 1_000]);
}

#[test]
fn a_number_that_is_opened_again_is_another_connection() {
    let mut script = Script::new();
    script.says(CLIENT, opened(false, 1, 0));
    script.out(CLIENT, TcpFlags::SYN, 1, 0, 0);
    let observed = script.assembly.finish(1_000_000);
    assert_eq!(observed.connections.len(), 2);
    assert_eq!(observed.connections[1].first.sent.seq, [0]);
}

#[test]
fn a_closed_window_is_marked_when_it_closes_and_when_it_opens() {
    let mut script = Script::new();
    for window in [0, 0, 500] {
        script.says(
            CLIENT,
            TraceEvent::SegmentIn {
                flags: TcpFlags::ACK,
                seq: IRS + 1,
                ack: ISS.wrapping_add(1),
                window,
                len: 0,
            },
        );
    }
    let marks = script.finish().first.marks;
    assert_eq!(
        marks.kind,
        [Mark::ZeroWindow as u8, Mark::WindowOpened as u8]
    );
    assert_eq!(marks.value, [0, 500]);
}

#[test]
fn pool_levels_belong_to_a_host_and_holders_have_the_pools_names() {
    let mut script = Script::new();
    let event = TraceEvent::Pool {
        holder: Holder::Receive,
        held: 2,
        promised: 5,
    };
    script.says(SERVER, event);
    let observed = script.assembly.finish(0);
    let pool = &observed.hosts[SERVER].pool;
    assert_eq!((&pool.held[..], &pool.reserved[..]), (&[2][..], &[5][..]));
    assert_eq!(PoolLevels::HOLDERS, Holder::ALL.map(Holder::name));
}
