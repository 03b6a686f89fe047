//! Tests of requests and filters, and of parsing answers of every length, also cut ones.

use super::*;

/// The answer called `name`, as a kernel whose `tcp_info` has `len` bytes would send it: `tcp_info`
/// is cut, or padded with bytes 0xee.
fn with_info_of(name: &str, len: usize) -> Vec<u8> {
    const INFO: u16 = 2;
    let whole = answer(name);
    let mut made = whole[..HEADER_LEN].to_vec();
    let mut at = HEADER_LEN;
    while at < whole.len() {
        let size = u16::from_ne_bytes([whole[at], whole[at + 1]]);
        let kind = u16::from_ne_bytes([whole[at + 2], whole[at + 3]]);
        let mut value = whole[at + 4..at + usize::from(size)].to_vec();
        if kind == INFO {
            value.resize(len, 0xee);
        }
        made.extend((4 + value.len() as u16).to_ne_bytes());
        made.extend(kind.to_ne_bytes());
        made.extend(&value);
        made.resize(made.len().next_multiple_of(4), 0);
        at += usize::from(size.next_multiple_of(4));
    }
    made
}

#[test]
fn an_answer_has_the_identity_the_queues_and_the_memory() {
    let socket = observation("zero-window-sender");
    assert_eq!(socket.id.local.to_string(), "127.0.0.1:49218");
    assert_eq!(socket.id.peer.to_string(), "127.0.0.1:52903");
    assert_eq!(socket.id.cookie, 0xf1);
    assert_eq!(socket.state, SocketState::Established);
    assert_eq!(socket.timer, SocketTimer::ZeroWindowProbe);
    assert_eq!((socket.receive_queue, socket.send_queue), (0, 94_208));
    assert_eq!(socket.cgroup, Some(1));
    assert_eq!(socket.congestion.as_str(), "cubic");
    let memory = socket.memory.unwrap();
    assert_eq!((memory.sndbuf, memory.queued), (131_072, 129_152));
    let info = socket.info.unwrap();
    assert_eq!((info.probes, info.snd_wnd), (1, Some(0)));
    assert_eq!(info.rwnd_limited, Some(1_204_000));
    let receiver = observation("zero-window-receiver");
    assert!(matches!(receiver.model, Some(CongestionModel::Bbr { .. })));
    assert_eq!(receiver.memory.unwrap().drops, 2);
}

#[test]
fn each_kernel_gives_the_fields_that_it_has() {
    let known = |len: usize| {
        let bytes = with_info_of("zero-window-sender", len);
        let info = SocketObservation::parse(&bytes).unwrap().info?;
        Some(info.values().filter(Option::is_some).count())
    };
    // Use the lengths of Linux 2.6.32, 3.15, 4.1, 4.2, 4.6, 4.9, 4.10, 4.18, 4.19, 5.4, 6.2, 6.7
    // and 6.18, and of a future kernel.
    let lengths = [
        104, 120, 136, 144, 160, 168, 192, 200, 224, 232, 240, 248, 280, 320,
    ];
    let fields: Vec<_> = lengths.iter().map(|&len| known(len).unwrap()).collect();
    assert_eq!(
        fields,
        [32, 34, 36, 38, 42, 43, 46, 48, 52, 54, 56, 59, 59, 59]
    );
    assert_eq!(known(103), None, "shorter than any kernel's");
    let old = SocketObservation::parse(&with_info_of("zero-window-sender", 104)).unwrap();
    assert_eq!(old.unsent(), 94_208, "none of it is in flight");
    assert_eq!(old.info.unwrap().snd_wnd, None);
}

#[test]
fn a_field_that_is_cut_in_the_middle_is_absent() {
    for len in 104..280 {
        let bytes = with_info_of("zero-window-sender", len);
        let info = SocketObservation::parse(&bytes).unwrap().info.unwrap();
        assert_eq!(info.snd_wnd.is_some(), len >= 232, "{len}");
        assert_eq!(info.busy_time.is_some(), len >= 176, "{len}");
    }
}

#[test]
fn an_answer_cut_anywhere_is_read_as_far_as_it_goes() {
    for name in ["zero-window-sender", "zero-window-receiver"] {
        let whole = answer(name);
        for len in 0..whole.len() {
            let socket = SocketObservation::parse(&whole[..len]);
            assert_eq!(socket.is_some(), len >= HEADER_LEN, "{len}");
        }
    }
    // Change each byte in turn.
    let whole = answer("zero-window-receiver");
    for at in 0..whole.len() {
        for flip in [0xff, 0x80, 0x01] {
            let mut wrong = whole.clone();
            wrong[at] ^= flip;
            let _ = SocketObservation::parse(&wrong);
        }
    }
}

#[test]
fn the_values_of_a_tcp_info_make_it_again() {
    let info = observation("unread-receiver").info.unwrap();
    assert_eq!(TcpInfo::from_values(info.values()), info);
    assert_eq!(info.values().count(), TcpInfo::NAMES.len());
}

/// Runs the byte code as the kernel does (`inet_diag_bc_run`). Only conditions about addresses and
/// ports are supported.
fn accepts(code: &[u8], socket: &SocketObservation) -> bool {
    let mut left = code.len() as i64;
    let mut at = 0usize;
    while left > 0 {
        let (kind, yes) = (code[at], i64::from(code[at + 1]));
        let no = i64::from(u16::from_ne_bytes([code[at + 2], code[at + 3]]));
        let end = match kind {
            7 => Some(socket.id.local),
            8 => Some(socket.id.peer),
            1 => None,
            other => panic!("operation {other}"),
        };
        let holds = end.is_some_and(|end| {
            let condition = &code[at + 4..];
            let port = i32::from_ne_bytes(condition[4..8].try_into().unwrap());
            let bits = condition[1];
            let octets = |len: usize| condition[8..8 + len].to_vec();
            let prefix = match condition[0] {
                0 => None,
                2 => <[u8; 4]>::try_from(octets(4))
                    .ok()
                    .map(|octets| (octets.into(), bits)),
                10 => <[u8; 16]>::try_from(octets(16))
                    .ok()
                    .map(|octets| (octets.into(), bits)),
                family => panic!("family {family}"),
            };
            let port = u16::try_from(port).ok();
            EndFilter { prefix, port }.matches(end)
        });
        let jump = if holds { yes } else { no };
        assert!(
            jump >= 4 && jump % 4 == 0 && jump <= left + 4,
            "jump of {jump}"
        );
        left -= jump;
        at += jump as usize;
    }
    left == 0
}

#[test]
fn the_byte_code_accepts_what_the_filter_matches() {
    let ends = [
        "10.0.0.1:80",
        "10.0.0.2:443",
        "10.1.0.1:5001",
        "[2001:db8::1]:443",
    ];
    let filter = |ports: &[u16], peers: &[&str], locals: &[&str]| SocketFilter {
        ports: ports.to_vec(),
        peers: peers.iter().map(|text| text.parse().unwrap()).collect(),
        locals: locals.iter().map(|text| text.parse().unwrap()).collect(),
    };
    let filters = [
        filter(&[], &[], &[]),
        filter(&[80], &[], &[]),
        filter(&[80, 5001, 7], &[], &[]),
        filter(&[443], &["10.0.0.0/16"], &[]),
        filter(
            &[443, 80],
            &["10.1.0.1", "2001:db8::/32"],
            &["10.0.0.0/31", ":443"],
        ),
        filter(&[], &["10.0.0.0/0"], &[]),
        filter(&[], &["10.0.0.2:443"], &[]),
    ];
    let mut matched = 0;
    for filter in &filters {
        let code = filter.bytecode();
        for local in ends {
            for peer in ends {
                let mut socket = idle();
                socket.id.local = local.parse().unwrap();
                socket.id.peer = peer.parse().unwrap();
                let expected = filter.matches(&socket);
                assert_eq!(
                    accepts(&code, &socket),
                    expected,
                    "{filter:?} {local} {peer}"
                );
                matched += usize::from(expected);
            }
        }
    }
    assert_eq!(matched, 16 + 7 + 12 + 6 + 6 + 12 + 4, "of {} pairs", 7 * 16);
}

#[test]
fn a_request_is_laid_out_as_the_kernel_reads_it() {
    let filter = SocketFilter {
        ports: vec![80],
        ..SocketFilter::default()
    };
    let states = [SocketState::Established, SocketState::CloseWait];
    let request = filter.request(DiagFamily::V6, &states);
    assert_eq!(request.len(), 16 + 56 + 4 + 12 + 4 + 12);
    assert_eq!(request[..4], (request.len() as u32).to_ne_bytes());
    assert_eq!(request[16..20], [10, 6, 0b1100_1110, 0]);
    assert_eq!(request[20..24], (1u32 << 1 | 1 << 8).to_ne_bytes());
}

#[test]
fn a_request_for_one_socket_has_the_identity_of_its_answer() {
    let bytes = answer("zero-window-sender");
    let mut socket = SocketObservation::parse(&bytes).unwrap();
    let mut request = Vec::new();
    request_one(&mut request, &socket, 77);
    assert_eq!(request.len(), REQUEST_ONE_LEN);
    assert_eq!(request[8..12], 77u32.to_ne_bytes());
    assert_eq!(
        request[24..],
        bytes[4..52],
        "ports, addresses, interface, cookie"
    );
    // A filter compares the mapped IPv4 addresses of an IPv6 socket with IPv4 addresses.
    socket.family = DiagFamily::V6;
    request.clear();
    request_one(&mut request, &socket, 1);
    assert_eq!(
        request[28..44],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1]
    );
}

#[test]
fn an_address_that_cannot_be_is_refused() {
    for text in [
        "10.0.0.0/33",
        "10.0.0",
        ":x",
        "",
        "2001:db8::/129",
        "10.0.0.1:70000",
    ] {
        assert!(text.parse::<EndFilter>().is_err(), "{text}");
    }
}

#[test]
fn a_line_is_that_of_ss() {
    let line = ss_line(&observation("zero-window-sender"));
    for words in [
        "skmem:(r0,rb131072,t0,tb131072,f1920,w129152,o0,bl0,d0) ts sack cubic wscale:0,10 rto:208",
        " backoff:2 rtt:5.5/10.963 mss:2048 ",
        " cwnd:10 ",
        " busy:1204ms rwnd_limited:1204ms(100.0%)",
        " notsent:94208 ",
    ] {
        assert!(line.contains(words), "{words} in {line}");
    }
    assert!(!line.contains("snd_wnd"), "0 is left out: {line}");
}

#[test]
fn numbers_have_six_digits_as_in_c() {
    use crate::socket::ss::six_digits;
    for (number, text) in [
        (0.0, "0"),
        (0.016, "0.016"),
        (204.0, "204"),
        (2.886_718_75, "2.88672"),
        (1_234_567.8, "1.23457e+06"),
        (0.000_012_3, "1.23e-05"),
        (999_999.6, "1e+06"),
        (100_000.0, "100000"),
    ] {
        assert_eq!(six_digits(number), text);
    }
}
