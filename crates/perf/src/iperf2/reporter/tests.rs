//! Tests of the printed lines and their order, for streams with given times.

use super::*;
use crate::iperf2::tally::DatagramLoss;

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn flow(id: u32, kind: StreamKind, bytes: usize) -> Arc<Flow> {
    let flow = Flow::new(id, kind, false, Instant::now());
    flow.count(|tally| match kind {
        StreamKind::Bytes | StreamKind::DatagramsSent => tally.moved(bytes),
        StreamKind::DatagramsReceived => tally.received(2, bytes, None),
    });
    Arc::new(flow)
}

fn lines(events: Vec<ReportEvent>) -> (Vec<String>, String, Summary) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let (sender, receiver) = mpsc::channel();
    for event in events {
        sender.send(event).expect("the receiver is alive");
    }
    drop(sender);
    let mut screen = Screen {
        out: &mut out,
        err: &mut err,
    };
    let summary = Reporter::new(&mut screen, None)
        .run(&receiver)
        .expect("a vector accepts every line");
    let out = String::from_utf8(out).expect("lines are text");
    (
        out.lines().map(Into::into).collect(),
        String::from_utf8(err).expect("lines are text"),
        summary,
    )
}

fn ended(id: u32, limits: ReportedLimits) -> ReportEvent {
    ReportEvent::Ended(id, Duration::from_secs(1), limits)
}

#[test]
fn one_tcp_stream_prints_a_heading_its_result_and_its_limits() {
    let times = vec![LimitTime {
        name: "receive_window",
        time: Duration::from_secs(1),
    }];
    let (lines, errors, summary) = lines(vec![
        ReportEvent::Line("connected".into()),
        ReportEvent::Started(flow(1, StreamKind::Bytes, 1 << 20), HERE),
        ended(1, ReportedLimits::Times("sender", times)),
    ]);
    assert_eq!(
        lines,
        [
            "connected",
            text::HEADING,
            "[  1] 0.0000-1.0000 sec  1.00 MBytes  8.39 Mbits/sec",
            "limits (sender): receive_window 100.0%",
        ]
    );
    assert_eq!((errors.as_str(), summary.streams.len()), ("", 1));
}

#[test]
fn several_streams_print_their_sum_last_and_the_heading_once_a_test() {
    let two = |first: u32| {
        vec![
            ReportEvent::Started(flow(first, StreamKind::Bytes, 1 << 19), HERE),
            ReportEvent::Started(flow(first + 1, StreamKind::Bytes, 1 << 19), HERE),
            ended(first + 1, ReportedLimits::Unknown),
            ended(first, ReportedLimits::Unknown),
        ]
    };
    let (lines, _, _) = lines(two(1).into_iter().chain(two(3)).collect());
    let test = |first: u32| {
        [
            text::HEADING.to_string(),
            format!(
                "[  {}] 0.0000-1.0000 sec   512 KBytes  4.19 Mbits/sec",
                first + 1
            ),
            format!("[  {first}] 0.0000-1.0000 sec   512 KBytes  4.19 Mbits/sec"),
            "[SUM] 0.0000-1.0000 sec  1.00 MBytes  8.39 Mbits/sec".to_string(),
            "limits: unknown (kernel socket)".to_string(),
        ]
    };
    assert_eq!(lines, [test(1), test(3)].concat());
}

#[test]
fn streams_of_two_peers_have_no_sum() {
    let other = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    let (lines, _, _) = lines(vec![
        ReportEvent::Started(flow(1, StreamKind::Bytes, 10), HERE),
        ReportEvent::Started(flow(2, StreamKind::Bytes, 10), other),
        ended(1, ReportedLimits::None),
        ended(2, ReportedLimits::None),
    ]);
    assert!(!lines.iter().any(|line| line.contains("SUM")), "{lines:?}");
}

#[test]
fn a_sender_of_datagrams_prints_the_server_s_report() {
    let report = Span {
        end: Duration::from_secs(1),
        bytes: 1_470,
        loss: DatagramLoss {
            lost: 1,
            total: 2,
            out_of_order: 1,
            jitter: Duration::ZERO,
        },
        ..Span::default()
    };
    let (lines, _, summary) = lines(vec![
        ReportEvent::Started(flow(1, StreamKind::DatagramsSent, 1_470), HERE),
        ended(1, ReportedLimits::None),
        ReportEvent::Report(1, Ok(report)),
    ]);
    assert_eq!(
        lines,
        [
            text::HEADING,
            "[  1] 0.0000-1.0000 sec  1.44 KBytes  11.8 Kbits/sec",
            "[  1] Sent 1 datagrams",
            "[  1] Server Report:",
            text::HEADING_LOSS,
            "[  1] 0.0000-1.0000 sec  1.44 KBytes  11.8 Kbits/sec   0.000 ms 1/2 (50%)",
            "[  1] 0.0000-1.0000 sec  1 datagrams received out-of-order",
        ]
    );
    assert_eq!(summary.streams[0].server_report, Some(report));
}

#[test]
fn a_missing_report_prints_a_warning_and_counts_as_an_error() {
    let (_, errors, summary) = lines(vec![
        ReportEvent::Started(flow(3, StreamKind::DatagramsSent, 1_470), HERE),
        ended(3, ReportedLimits::None),
        ReportEvent::Report(3, Err(10)),
    ]);
    assert_eq!(
        errors,
        "[  3] WARNING: did not receive ack of last datagram after 10 tries.\n"
    );
    assert_eq!(summary.errors, 1);
}

#[test]
fn a_receiver_of_datagrams_prints_the_lost_ones() {
    let (lines, _, _) = lines(vec![
        ReportEvent::Started(flow(1, StreamKind::DatagramsReceived, 1_000), HERE),
        ended(1, ReportedLimits::None),
    ]);
    assert_eq!(
        lines[1],
        "[  1] 0.0000-1.0000 sec  1000 Bytes  8.00 Kbits/sec   0.000 ms 1/2 (50%)"
    );
}
