//! Tests of applications on a fake socket.

use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::SocketOption;

use super::fake::FakeSocket;
use super::*;

const MILLISECOND: Duration = Duration::from_millis(1);

#[test]
fn a_write_that_was_cut_short_is_continued_with_its_rest() {
    let mut app = Transfer::sender(WritePlan::bulk(2_500, 1_000));
    let mut socket = FakeSocket {
        room: 1_400,
        ..FakeSocket::default()
    };
    assert_eq!(app.run(&mut socket), NextRun::OnEvent);
    assert_eq!(socket.writes, [1_000, 1_000, 600]);
    socket.room = 10_000;
    assert_eq!(app.run(&mut socket), NextRun::OnEvent);
    assert_eq!(socket.writes[3..], [600, 500]);
    assert_eq!(socket.endings, ["shutdown"]);
    socket.ended = true;
    assert_eq!(app.run(&mut socket), NextRun::Done);
    assert_eq!(socket.endings, ["shutdown", "close"]);
}

#[test]
fn a_sender_for_a_duration_stops_when_it_is_over_even_if_it_is_stuck() {
    let mut app = Transfer::sender(WritePlan::lasting(Duration::from_secs(30), 16_384));
    let begin = Instant::from_millis(5);
    let mut socket = FakeSocket {
        now: begin,
        room: 40_000,
        ..FakeSocket::default()
    };
    let end = begin + Duration::from_secs(30);
    assert_eq!(app.run(&mut socket), NextRun::At(end));
    socket.now = end;
    app.run(&mut socket);
    assert_eq!(socket.endings, ["shutdown"]);
}

#[test]
fn a_pause_follows_each_whole_write() {
    let plan = WritePlan {
        pause: MILLISECOND,
        ..WritePlan::bulk(20, 10)
    };
    let mut app = Transfer::sender(plan);
    let mut socket = FakeSocket {
        room: 100,
        ..FakeSocket::default()
    };
    assert_eq!(app.run(&mut socket), NextRun::At(Instant::from_millis(1)));
    assert_eq!(
        app.run(&mut socket),
        NextRun::At(Instant::from_millis(1)),
        "woken early"
    );
    assert_eq!(socket.writes, [10]);
    socket.now = Instant::from_millis(1);
    app.run(&mut socket);
    assert_eq!(socket.writes, [10, 10]);
}

#[test]
fn odd_writes_have_many_sizes_and_the_right_sum() {
    let size = WriteSize::Odd {
        max: 3_000,
        seed: 1,
    };
    let plan = WritePlan {
        size,
        ..WritePlan::bulk(200_000, 1)
    };
    let mut app = Transfer::sender(plan);
    let mut socket = FakeSocket {
        room: u64::MAX,
        ..FakeSocket::default()
    };
    app.run(&mut socket);
    assert_eq!(socket.writes.iter().sum::<u64>(), 200_000);
    assert!(socket.writes.iter().all(|size| (1..=3_000).contains(size)));
    assert!(socket.writes.iter().filter(|&&size| size < 100).count() > 10);
    assert!(socket.writes.iter().filter(|&&size| size > 1_000).count() > 10);
}

#[test]
fn a_reader_with_a_rate_reads_no_faster_however_often_it_is_woken() {
    let mut app = Transfer::sink(ReadPlan::Rate {
        bytes: 100,
        every: MILLISECOND,
    });
    let mut socket = FakeSocket {
        unread: 1_000,
        ..FakeSocket::default()
    };
    for step in 0..50 {
        socket.now = Instant::from_micros(step * 100);
        app.run(&mut socket);
    }
    assert_eq!(socket.read, 500);
}

#[test]
fn a_stalled_reader_reads_before_and_after_but_not_during_the_stall() {
    let stall = (Duration::from_millis(10), Duration::from_millis(5));
    let mut app = Transfer::sink(ReadPlan::Stalls(vec![stall]));
    let mut socket = FakeSocket::default();
    for (at_ms, next, expected) in [
        (0, NextRun::OnEvent, 10),
        (9, NextRun::OnEvent, 20),
        (10, NextRun::At(Instant::from_millis(15)), 20),
        (14, NextRun::At(Instant::from_millis(15)), 20),
        (15, NextRun::OnEvent, 50),
    ] {
        socket.now = Instant::from_millis(at_ms);
        socket.unread += 10;
        assert_eq!(app.run(&mut socket), next, "at {at_ms} ms");
        assert_eq!(socket.read, expected, "at {at_ms} ms");
    }
}

#[test]
fn an_early_ending_comes_when_enough_has_moved() {
    for (ending, expected) in [
        (Ending::Abort { after: 150 }, "abort"),
        (Ending::Close { after: 150 }, "close"),
        (Ending::Vanish { after: 150 }, "vanish"),
    ] {
        let mut app = Transfer::new(Some(WritePlan::bulk(1_000, 10)), ReadPlan::Eager, ending);
        let mut socket = FakeSocket {
            room: 100,
            ..FakeSocket::default()
        };
        assert_eq!(app.run(&mut socket), NextRun::OnEvent);
        socket.unread = 50;
        assert_eq!(app.run(&mut socket), NextRun::Done);
        assert_eq!(socket.endings, [expected]);
    }
}

#[test]
fn a_client_asks_again_only_when_it_has_the_whole_answer() {
    let plan = Requests {
        count: 2,
        request_len: 10,
        response_len: 30,
        think: MILLISECOND,
    };
    let mut app = Requester::new(plan);
    let mut socket = FakeSocket {
        room: 1_000,
        ..FakeSocket::default()
    };
    app.run(&mut socket);
    socket.unread = 29;
    app.run(&mut socket);
    assert_eq!(socket.writes, [10]);
    socket.unread = 1;
    assert_eq!(app.run(&mut socket), NextRun::At(Instant::from_millis(1)));
    socket.now = Instant::from_millis(1);
    socket.unread = 30;
    app.run(&mut socket);
    assert_eq!(socket.writes, [10, 10]);
    socket.now = Instant::from_millis(2);
    assert_eq!(app.run(&mut socket), NextRun::OnEvent);
    socket.ended = true;
    assert_eq!(app.run(&mut socket), NextRun::Done);
    assert_eq!(socket.endings, ["shutdown", "close"]);
}

#[test]
fn a_server_answers_whole_requests_and_closes_at_the_end() {
    let plan = Requests {
        count: 2,
        request_len: 10,
        response_len: 30,
        think: Duration::ZERO,
    };
    let mut app = Responder::new(plan);
    let mut socket = FakeSocket {
        unread: 15,
        room: 1_000,
        ..FakeSocket::default()
    };
    assert_eq!(app.run(&mut socket), NextRun::OnEvent);
    assert_eq!(socket.writes, [30]);
    (socket.unread, socket.ended) = (5, true);
    assert_eq!(app.run(&mut socket), NextRun::Done);
    assert_eq!(socket.writes, [30, 30]);
    assert_eq!(socket.endings, ["close"]);
}

#[test]
fn a_query_is_answered_when_it_is_whole_and_thought_about() {
    let answer = Transfer::sender(WritePlan::bulk(5_000, 1_000));
    let mut server = QueryServer::new(300, MILLISECOND * 800, answer);
    let mut socket = FakeSocket {
        room: 10_000,
        unread: 200,
        ..FakeSocket::default()
    };
    assert_eq!(
        server.run(&mut socket),
        NextRun::OnEvent,
        "100 bytes are missing"
    );
    socket.unread = 100;
    let begins = Instant::from_millis(800);
    assert_eq!(server.run(&mut socket), NextRun::At(begins));
    assert_eq!(server.run(&mut socket), NextRun::At(begins), "woken early");
    assert!(socket.writes.is_empty());
    socket.now = begins;
    assert_eq!(server.run(&mut socket), NextRun::OnEvent);
    assert_eq!(socket.writes, [1_000; 5]);
    assert_eq!(socket.endings, ["shutdown"]);
    socket.ended = true;
    assert_eq!(server.run(&mut socket), NextRun::Done);
}

#[test]
fn a_client_asks_once_and_closes_when_the_answer_has_ended() {
    let mut client = QueryClient::new(300, Transfer::sink(ReadPlan::Eager));
    let mut socket = FakeSocket {
        room: 200,
        ..FakeSocket::default()
    };
    assert_eq!(client.run(&mut socket), NextRun::OnEvent);
    socket.room = 1_000;
    socket.unread = 5_000;
    assert_eq!(client.run(&mut socket), NextRun::OnEvent);
    assert_eq!(
        socket.writes,
        [300, 100, 100],
        "the rest when there is room"
    );
    assert_eq!((socket.room, socket.read), (900, 5_000));
    socket.ended = true;
    assert_eq!(client.run(&mut socket), NextRun::Done);
    assert_eq!(socket.endings, ["shutdown", "close"]);
}

#[test]
fn a_server_whose_client_leaves_before_it_has_asked_closes() {
    let answer = Transfer::sender(WritePlan::bulk(5_000, 1_000));
    let mut server = QueryServer::new(300, Duration::ZERO, answer);
    let mut socket = FakeSocket {
        unread: 10,
        ended: true,
        ..FakeSocket::default()
    };
    assert_eq!(server.run(&mut socket), NextRun::Done);
    assert_eq!(socket.endings, ["close"]);
}

#[test]
fn a_writer_that_does_not_push_says_so_first_and_takes_it_back_at_the_end() {
    let plan = WritePlan {
        no_push: true,
        low_water: 5,
        ..WritePlan::bulk(20, 10)
    };
    let mut writer = Writer::new(plan);
    let mut socket = FakeSocket {
        room: 15,
        ..FakeSocket::default()
    };
    assert_eq!(writer.run(&mut socket), (false, NextRun::OnEvent));
    let begun = [SocketOption::SendLowWater(5), SocketOption::Cork(true)];
    assert_eq!(socket.options, begun);
    socket.room = 100;
    for _ in 0..2 {
        assert_eq!(writer.run(&mut socket), (true, NextRun::OnEvent));
        assert_eq!(socket.options[2..], [SocketOption::Cork(false)], "once");
    }
}
