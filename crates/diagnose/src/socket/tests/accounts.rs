//! Tests of accounts (time by limit), events, verdicts and recordings, with made-up observations.

use fullpipe_tcp::{Limit, ReceiveLimit};

use super::*;

/// Time between two rounds, in microseconds.
const ROUND_US: u64 = 100_000;

/// Follows one socket through `rounds` and returns it with its events.
fn followed(rounds: &[SocketObservation]) -> (FollowedSocket, Vec<SocketChange>) {
    let mut changes = Vec::new();
    let mut socket = FollowedSocket::start(0, rounds[0]);
    for (place, round) in rounds.iter().enumerate().skip(1) {
        socket.observe(place as u64 * ROUND_US, *round, &mut |change| {
            changes.push(change);
        });
    }
    (socket, changes)
}

/// `socket` with the kernel's counters set to `busy`, `window` and `buffer` milliseconds.
fn counted(socket: SocketObservation, busy: u64, window: u64, buffer: u64) -> SocketObservation {
    with_info(socket, |info| {
        info.busy_time = Some(busy * 1_000);
        info.rwnd_limited = Some(window * 1_000);
        info.sndbuf_limited = Some(buffer * 1_000);
    })
}

fn full_buffer() -> SocketObservation {
    with_memory(sending(13, 0), |memory| {
        memory.sndbuf = 32_768;
        memory.queued = 30_000;
    })
}

fn settings() -> HostSettings {
    HostSettings {
        wmem_max: Some(212_992),
        rmem_max: Some(212_992),
        tcp_wmem: Some([4_096, 16_384, 4_194_304]),
        tcp_rmem: Some([4_096, 131_072, 6_291_456]),
        ..HostSettings::default()
    }
}

#[test]
fn a_full_send_buffer_is_charged_although_the_kernel_counts_none_of_it() {
    let rounds: Vec<_> = (0..=20)
        .map(|round| counted(full_buffer(), round * 100, 0, 0))
        .collect();
    let (socket, _) = followed(&rounds);
    let times = &socket.account.times;
    assert_eq!(times.micros(Some(Limit::SendBuffer)), 2_000_000);
    assert_eq!(times.total_micros(), 2_000_000);
    let verdict = socket_verdict(&socket, None, &settings());
    assert_eq!(verdict.limit, Some(Limit::SendBuffer));
    assert!(verdict.notes.contains(&KernelNote::SendBufferUncounted {
        kernel_s: 0.0,
        seen_s: 2.0
    }));
}

#[test]
fn busy_time_without_backlog_is_the_programs() {
    // Observe a program that writes 10 KB every 20 ms. The kernel counts it as busy all the
    // time, and not as limited.
    let little = with_info(sending(6, 0), |info| info.flags = 1);
    let rounds: Vec<_> = (0..=10)
        .map(|round| counted(little, round * 100, 0, 0))
        .collect();
    let (socket, _) = followed(&rounds);
    assert_eq!(socket.account.times.share(Some(Limit::Application)), 1.0);
    let notes = socket_verdict(&socket, None, &settings()).notes;
    assert!(notes.contains(&KernelNote::BusyWithoutBacklog { seen_s: 1.0 }));
}

#[test]
fn the_kernels_counters_of_idle_time_and_of_the_peers_window_are_charged_as_they_are() {
    let cwnd_full = |round: u64| counted(sending(30, 90_000), round * 80, round * 30, 0);
    let rounds: Vec<_> = (0..=10).map(cwnd_full).collect();
    let (socket, _) = followed(&rounds);
    let times = &socket.account.times;
    assert_eq!(times.micros(Some(Limit::Application)), 200_000);
    assert_eq!(times.micros(Some(Limit::ReceiveWindow)), 300_000);
    assert_eq!(times.micros(Some(Limit::CwndSlowStart)), 500_000);
}

#[test]
fn a_counter_that_advances_by_jiffies_loses_no_time() {
    // Rounds take 10 ms. The busy counter advances by 12 and 8 ms in turn (3 and 2 jiffies). That
    // is 10 ms per round on average: the socket is always busy.
    let mut socket = FollowedSocket::start(0, counted(sending(30, 90_000), 0, 0, 0));
    for round in 1..=100u64 {
        let jiffies = (round * 10).div_ceil(4) * 4;
        let now = counted(sending(30, 90_000), jiffies, 0, 0);
        socket.observe(round * 10_000, now, &mut |_| {});
    }
    let times = &socket.account.times;
    assert_eq!(times.micros(Some(Limit::CwndSlowStart)), 1_000_000);
}

#[test]
fn an_interval_between_two_limits_is_half_of_each() {
    let (socket, _) = followed(&[
        counted(sending(30, 90_000), 0, 0, 0),
        counted(full_buffer(), 100, 0, 0),
    ]);
    let times = &socket.account.times;
    assert_eq!(times.micros(Some(Limit::CwndSlowStart)), ROUND_US / 2);
    assert_eq!(times.micros(Some(Limit::SendBuffer)), ROUND_US / 2);
}

#[test]
fn times_add_up_to_the_time_observed_whatever_the_kernel_says() {
    let mut seed = 7u64;
    let mut draw = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % most
    };
    for _ in 0..200 {
        let rounds: Vec<_> = (0..30)
            .map(|_| {
                let socket = sending(draw(40) as u32, draw(3) as u32 * draw(4_000) as u32);
                let socket = with_memory(socket, |memory| memory.queued = draw(60_000) as u32);
                let socket = with_info(socket, |info| {
                    info.snd_wnd = Some(draw(90_000) as u32);
                    info.ca_state = draw(5) as u8;
                    info.total_retrans = draw(9) as u32;
                });
                counted(socket, draw(5_000), draw(5_000), draw(5_000))
            })
            .collect();
        let (socket, _) = followed(&rounds);
        assert_eq!(socket.account.times.total_micros(), 29 * ROUND_US);
        assert!(socket.account.certain_us <= 29 * ROUND_US);
    }
}

#[test]
fn a_window_reduced_after_idle_time_is_distinguished_from_a_loss() {
    let quiet = with_info(idle(), |info| {
        info.snd_cwnd = 80;
        info.snd_ssthresh = 60;
        info.last_data_sent = 5_000;
    });
    let restarted = |retransmitted: u32| {
        with_info(counted(sending(10, 90_000), 100, 0, 0), |info| {
            info.snd_cwnd = 10;
            info.snd_ssthresh = 60;
            info.total_retrans = retransmitted;
        })
    };
    let (after_idle, _) = followed(&[quiet, restarted(0), counted(restarted(0), 200, 0, 0)]);
    assert_eq!(after_idle.account.now.limit, Some(Limit::CwndAfterIdle));
    let (after_loss, _) = followed(&[quiet, restarted(1), counted(restarted(1), 200, 0, 0)]);
    assert_eq!(after_loss.account.now.limit, Some(Limit::CwndAfterLoss));
}

#[test]
fn a_blocked_writer_a_closed_window_and_a_timeout_are_events() {
    let closed = with_info(sending(0, 9_000), |info| info.snd_wnd = Some(0));
    let timeout = with_info(sending(3, 0), |info| info.retransmits = 2);
    let (_, changes) = followed(&[
        idle(),
        full_buffer(),
        full_buffer(),
        idle(),
        closed,
        closed,
        idle(),
        timeout,
    ]);
    assert_eq!(
        changes,
        [
            SocketChange::WriterBlocked {
                queued: 30_000,
                sndbuf: 32_768
            },
            SocketChange::WriterReleased {
                after_us: 2 * ROUND_US
            },
            SocketChange::PeerWindowClosed,
            SocketChange::PeerWindowOpened {
                after_us: 2 * ROUND_US,
                probes: 0
            },
            SocketChange::Timeout { retransmits: 2 },
        ]
    );
}

/// The lines that the verdict about `socket` offers for pasting.
fn pasted(socket: &FollowedSocket, settings: &HostSettings) -> Vec<String> {
    let verdict = socket_verdict(socket, None, settings);
    verdict
        .steps
        .into_iter()
        .filter_map(|step| step.paste)
        .collect()
}

#[test]
fn the_advice_names_the_option_the_cap_and_the_present_values() {
    let rounds: Vec<_> = (0..=5)
        .map(|round| counted(full_buffer(), round * 100, 0, 0))
        .collect();
    let (socket, _) = followed(&rounds);
    let low_cap = HostSettings {
        wmem_max: Some(32_768),
        ..settings()
    };
    let verdict = socket_verdict(&socket, None, &low_cap);
    assert_eq!(
        verdict.sndbuf,
        Some(super::super::verdict::BufferOrigin::Program)
    );
    assert!(
        verdict.steps[0]
            .what
            .starts_with("Remove setsockopt(SO_SNDBUF)")
    );
    assert_eq!(verdict.steps[0].now.as_deref(), Some("32768 bytes"));
    assert_eq!(
        pasted(&socket, &low_cap),
        [
            "setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){36864}, sizeof(int));",
            "sysctl -w net.core.wmem_max=36864",
        ]
    );
    assert_eq!(verdict.steps[2].now.as_deref(), Some("32768"));
    // The send buffer allows 13 segments of 1,448 bytes in each round trip of 20 ms.
    assert_eq!(verdict.allows.map(f64::round), Some(941_200.0));
}

/// For a program that set `SO_MAX_PACING_RATE`, the verdict has the rate that the program set, and
/// the line of code that removes the bound.
#[test]
fn a_rate_that_the_program_set_is_the_limit_with_its_remedy() {
    let paced = |round: u64| {
        let mut socket = with_info(sending(0, 90_000), |info| {
            info.max_pacing_rate = Some(1_000_000);
            info.pacing_rate = Some(1_000_000);
        });
        socket.timer = SocketTimer::ZeroWindowProbe;
        counted(socket, round * 100, 0, 0)
    };
    let rounds: Vec<_> = (0..=5).map(paced).collect();
    let (socket, changes) = followed(&rounds);
    let verdict = socket_verdict(&socket, None, &settings());
    assert_eq!(verdict.limit, Some(Limit::Pacing));
    assert!(!verdict.is_path);
    let step = &verdict.steps[0];
    assert!(step.what.contains("SO_MAX_PACING_RATE"), "{step:?}");
    assert_eq!(step.now.as_deref(), Some("1000000 bytes/s"));
    assert!(step.paste.as_ref().unwrap().contains("~0U"), "{step:?}");
    assert_eq!(changes, []);
}

/// The cap is `wmem_max` or `rmem_max`. A buffer of exactly twice the cap shows that the program
/// asked for the cap or for more.
#[test]
fn a_buffer_at_the_cap_of_its_option_is_named_with_its_cap() {
    let mut receiver = with_memory(observation("unread-receiver"), |memory| {
        memory.rcvbuf = 2 * 212_992;
    });
    receiver.receive_queue = 0;
    let rounds: Vec<_> = (0..=5u64)
        .map(|round| {
            with_info(receiver, |info| {
                info.rcv_wnd = Some(65_536);
                info.rcv_rtt = 20_000;
                info.bytes_received = info.bytes_received.map(|bytes| bytes + round * 320_000);
            })
        })
        .collect();
    let (socket, _) = followed(&rounds);
    let verdict = socket_verdict(&socket, None, &settings());
    assert!(verdict.receives);
    assert_eq!(
        buffer_origins(&socket, &settings())[1],
        super::super::verdict::BufferOrigin::Program
    );
    let cap = &verdict.steps[1];
    assert!(cap.what.contains("net.core.rmem_max"), "{cap:?}");
    assert_eq!(cap.now.as_deref(), Some("212992"));
    assert_eq!(
        pasted(&socket, &settings())[1],
        "sysctl -w net.core.rmem_max=425984"
    );
    // Autotuning starts at this size, so the size does not show that a program set it.
    let equal = HostSettings {
        rmem_max: Some(212_992),
        tcp_rmem: Some([4_096, 425_984, 6_291_456]),
        ..settings()
    };
    assert_eq!(
        buffer_origins(&socket, &equal)[1],
        super::super::verdict::BufferOrigin::Unclear
    );
}

/// The settings of a peer on another host are unknown, so a command could lower these settings. A
/// peer whose window was closed for long reads slowly, and no size is advised.
#[test]
fn the_advice_for_an_unknown_peer_has_no_command_that_could_lower_its_settings() {
    let full = with_info(sending(22, 60_000), |info| {
        info.snd_wnd = Some(32_356);
        info.options = 7;
        info.wscales = 0;
    });
    let filled = |round: u64| counted(full, round * 100, round * 100, 0);
    let rounds: Vec<_> = (0..=5).map(filled).collect();
    let (small, _) = followed(&rounds);
    let lines = pasted(&small, &settings());
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("setsockopt"), "{lines:?}");
    let closed = |round: u64| {
        let socket = with_info(filled(round), |info| info.snd_wnd = Some(0));
        with_info(socket, |info| info.unacked = 0)
    };
    let both: Vec<_> = (0..=3).map(filled).chain((4..=5).map(closed)).collect();
    let (slow, _) = followed(&both);
    let verdict = socket_verdict(&slow, None, &settings());
    assert!(
        verdict.steps[0].what.contains("reads slowly"),
        "{verdict:?}"
    );
}

#[test]
fn no_value_in_an_advice_is_smaller_than_the_present_one() {
    for sndbuf in [4_608, 32_768, 400_000, 4_194_304, 9_000_000] {
        let rounds: Vec<_> = (0..=3)
            .map(|round| {
                let socket = with_memory(full_buffer(), |memory| {
                    memory.sndbuf = sndbuf;
                    memory.queued = sndbuf;
                });
                counted(socket, round * 100, 0, 0)
            })
            .collect();
        let (socket, _) = followed(&rounds);
        for line in pasted(&socket, &settings()) {
            let number = |text: &str| {
                let digits = |letter: char| !letter.is_ascii_digit();
                let mut numbers = text.split(digits).filter(|part| !part.is_empty());
                numbers.next_back().unwrap().parse::<u64>().unwrap()
            };
            let doubled = if line.starts_with("setsockopt") { 2 } else { 1 };
            let value = number(line.trim_end_matches(", sizeof(int));"));
            assert!(doubled * value >= u64::from(sndbuf), "{sndbuf}: {line}");
        }
    }
}

#[test]
fn a_slow_reader_at_the_peer_is_named_also_just_after_it_read() {
    let full = with_info(sending(22, 60_000), |info| info.snd_wnd = Some(32_356));
    let rounds: Vec<_> = (0..=10)
        .map(|round| counted(full, round * 100, round * 100, 0))
        .collect();
    let (sender, _) = followed(&rounds);
    let step = |unread: [u32; 11]| {
        let at_the_peer = unread.map(|unread| {
            let mut socket = with_info(observation("unread-receiver"), |info| {
                info.rcv_wnd = Some(if unread > 0 { 0 } else { 65_536 });
            });
            socket.receive_queue = unread;
            socket
        });
        let (receiver, _) = followed(&at_the_peer);
        let verdict = socket_verdict(&sender, Some(&receiver), &settings());
        assert_eq!(verdict.limit, Some(Limit::ReceiveWindow));
        verdict.steps[0].what.clone()
    };
    let reader = "The program at the peer reads slowly";
    let mut unread = [100_000; 11];
    unread[10] = 0;
    assert!(step(unread).starts_with(reader));
    // Let most observations show that the program has read everything.
    let mut unread = [0; 11];
    unread[10] = 100_000;
    assert!(!step(unread).starts_with(reader));
}

/// A larger send buffer would only hold more of what the reader leaves unread.
#[test]
fn a_slow_reader_is_named_although_the_send_buffer_is_full() {
    let rounds: Vec<_> = (0..=10)
        .map(|round| counted(sending(22, 60_000), round * 100, 0, round * 100))
        .collect();
    let (sender, _) = followed(&rounds);
    let (receiver, _) = followed(&[(); 11].map(|()| observation("unread-receiver")));
    let alone = socket_verdict(&sender, None, &settings());
    assert_eq!(alone.limit, Some(Limit::SendBuffer));
    assert!(alone.allows.is_some());
    let both = socket_verdict(&sender, Some(&receiver), &settings());
    assert_eq!((both.limit, both.allows), (Some(Limit::SendBuffer), None));
    let what = &both.steps[0].what;
    assert!(
        what.starts_with("The program at the peer reads slowly"),
        "{what}"
    );
}

/// `fullpipe watch --once` has one observation, which covers no time.
#[test]
fn one_observation_of_a_socket_with_unread_payload_names_its_reader() {
    let unread = with_info(observation("unread-receiver"), |info| {
        info.bytes_acked = Some(300);
        info.bytes_received = Some(1_000_000);
    });
    let (socket, _) = followed(&[unread]);
    let verdict = socket_verdict(&socket, None, &settings());
    assert!(verdict.receives);
    assert_eq!(verdict.receive_limit, Some((ReceiveLimit::Reader, 1.0)));
}

#[test]
fn a_socket_is_gone_after_two_rounds_and_not_after_one() {
    let mut table = SocketTable::new();
    let mut names = Vec::new();
    let mut event = |event: SocketEvent| names.push(event.change.name());
    let other = |cookie: u64| {
        let mut socket = idle();
        socket.id.cookie = cookie;
        socket
    };
    for (round, sockets) in [vec![1, 2], vec![2], vec![1, 2, 3], vec![1, 3], vec![1, 3]]
        .into_iter()
        .enumerate()
    {
        let at_us = round as u64 * ROUND_US;
        table.begin_round();
        for cookie in sockets {
            table.observe(at_us, &other(cookie), &mut event);
            table.observe(at_us, &other(cookie), &mut event);
        }
        table.end_round(at_us, &mut event, &mut |_| {});
    }
    assert_eq!(names, ["opened", "closed"]);
    assert_eq!(table.sockets().len(), 2);
    assert_eq!(table.ended().sockets, 1);
    assert!(table.find(1).is_some() && table.find(2).is_none() && table.find(3).is_some());
    assert_eq!(table.find(1).unwrap().observed_us(), 4 * ROUND_US);
}

#[test]
fn a_recording_gives_back_every_observation() {
    let rounds = [
        vec![
            observation("zero-window-sender"),
            observation("unread-receiver"),
        ],
        vec![
            with_info(observation("zero-window-sender"), |info| info.probes = 9),
            observation("unread-receiver"),
        ],
        vec![observation("zero-window-receiver")],
    ];
    let mut writer = SocketWriter::create(Vec::new(), 1.5e9, "6.18.44", &settings()).unwrap();
    for (place, round) in rounds.iter().enumerate() {
        for socket in round {
            writer.observe(socket);
        }
        if place == 2 {
            for socket in &rounds[0] {
                writer.close(socket.id.cookie);
            }
        }
        writer.end_round(place as u64 * ROUND_US).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let mut recording = SocketRecording::open(bytes.as_slice()).unwrap();
    assert_eq!(recording.settings(), &settings());
    assert_eq!(
        (recording.kernel(), recording.unix_time_s()),
        ("6.18.44", 1.5e9)
    );
    for (place, round) in rounds.iter().enumerate() {
        let mut expected = round.clone();
        for socket in &mut expected {
            // The second socket has not changed since the first round, so only its clocks have
            // advanced.
            if place == 1 && socket.id.cookie == rounds[0][1].id.cookie {
                let info = socket.info.as_mut().unwrap();
                info.last_ack_recv += 100;
                info.last_data_recv += 100;
                info.last_data_sent += 100;
            }
        }
        expected.sort_by_key(|socket| socket.id.cookie);
        let read = recording.next_round().unwrap().unwrap();
        assert_eq!(read.at_us, place as u64 * ROUND_US);
        assert_eq!(read.sockets, expected, "round {place}");
    }
    assert!(recording.next_round().unwrap().is_none());
    // A further observation takes space only for values that changed.
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.lines().nth(2).unwrap().len() < 60, "{text}");
}

#[test]
fn a_damaged_or_cut_recording_is_an_error_with_its_line() {
    let mut writer = SocketWriter::create(Vec::new(), 0.0, "", &settings()).unwrap();
    writer.observe(&observation("zero-window-sender"));
    writer.end_round(0).unwrap();
    let whole = writer.finish().unwrap();
    let read = |bytes: &[u8]| -> Result<usize, RecordError> {
        let mut recording = SocketRecording::open(bytes)?;
        let mut rounds = 0;
        while recording.next_round()?.is_some() {
            rounds += 1;
        }
        Ok(rounds)
    };
    assert_eq!(read(&whole).unwrap(), 1);
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for len in 0..whole.len() {
        // A line that lacks only its line end is whole.
        let is_whole = len == header || len + 1 >= whole.len();
        assert_eq!(
            read(&whole[..len]).is_ok(),
            is_whole || len + 1 == header,
            "{len}"
        );
    }
    for (text, line) in [("", "line 1"), ("{}\n", "line 1"), ("not json\n", "line 1")] {
        let error = read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(line), "{error}");
    }
    let mut unknown = whole.clone();
    unknown.extend(b"{\"t_us\":5,\"rows\":[[77,0,1]]}\n");
    let error = read(&unknown).unwrap_err().to_string();
    assert_eq!(
        error,
        "line 3: values of a socket that no earlier line contains under `new`"
    );
}
