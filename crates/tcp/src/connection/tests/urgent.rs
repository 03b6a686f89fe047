//! Tests of the urgent pointer. RFC 9293 §3.8.5.

use super::*;

/// More than half of the sequence space, so that a sequence number this far behind seems to be
/// ahead.
const FAR: u32 = (1 << 31) + 1_000;

#[test]
fn an_acknowledged_urgent_byte_is_not_announced_again_after_2_gib() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    let urgent = SocketOption::Urgent;
    pair.write(CLIENT, b"attention");
    pair.at(CLIENT, |connection, env| {
        connection.set(urgent, env).expect("a legal value")
    });
    pair.run_for(Duration::from_secs(1));
    // Advance the sequence numbers as if another `FAR` bytes had been sent and acknowledged.
    pair.at(CLIENT, |connection, _| {
        let send = &mut connection.send;
        let numbers = [
            &mut send.iss,
            &mut send.first,
            &mut send.snd_una,
            &mut send.snd_nxt,
        ];
        for number in numbers {
            *number += FAR;
        }
    });
    pair.write(CLIENT, b"later");
    let last = pair.sent.last().expect("it left");
    assert_eq!(last.payload, b"later");
    assert!(!last.flags.contains(TcpFlags::URG), "{:?}", last.flags);
}

#[test]
fn an_urgent_pointer_without_new_payload_is_not_kept() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.at(CLIENT, |connection, env| {
        connection
            .set(SocketOption::Urgent, env)
            .expect("a legal value");
        assert_eq!(connection.send.snd_up, None);
    });
}

/// RFC 9293 §3.1: the urgent pointer is read only in segments with URG.
#[test]
fn an_urgent_pointer_without_the_flag_is_ignored() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.write(CLIENT, b"attention");
    let segment = pair.path.pop_front().expect("it left");
    let plain = Segment {
        urgent: 4,
        ..segment.segment()
    };
    pair.at(SERVER, |connection, env| connection.on_segment(&plain, env));
    let urgent = pair.at(SERVER, |connection, env| connection.info(env).urgent_left);
    assert_eq!(urgent, 0);
}

#[test]
fn urgent_bytes_that_were_read_do_not_come_back_after_2_gib() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    pair.write(CLIENT, b"attention");
    let mut segment = pair.path.pop_front().expect("it left");
    segment.flags |= TcpFlags::URG;
    let urgent =
        |pair: &mut Pair| pair.at(SERVER, |connection, env| connection.info(env).urgent_left);
    let now = Segment {
        urgent: 4,
        ..segment.segment()
    };
    pair.at(SERVER, |connection, env| connection.on_segment(&now, env));
    assert_eq!(urgent(&mut pair), 4);
    assert_eq!(pair.read(SERVER), b"attention");
    assert_eq!(urgent(&mut pair), 0);
    // Advance the sequence numbers as if another `FAR` bytes had arrived.
    pair.at(SERVER, |connection, _| {
        let receive = &mut connection.receive;
        for number in [&mut receive.irs, &mut receive.rcv_nxt, &mut receive.rcv_adv] {
            *number += FAR;
        }
    });
    assert_eq!(urgent(&mut pair), 0);
}
