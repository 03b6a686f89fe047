//! Handshakes.

use super::*;

#[test]
fn a_handshake_agrees_on_options_and_measures_the_round_trip() {
    let mut pair = Pair::established(TcpConfig::default(), TcpConfig::default());
    for end in [CLIENT, SERVER] {
        let info = pair.at(end, |connection, env| connection.info(env));
        assert!(
            info.agreed.timestamps && info.agreed.sack && info.agreed.scaling,
            "end {end}"
        );
        assert_eq!(info.srtt, Duration::from_millis(20), "end {end}");
        assert_eq!(info.mss, 1_448, "end {end}");
    }
}

#[test]
fn a_lost_syn_is_sent_again_after_the_initial_timeout() {
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    let mut lost = false;
    pair.lose = Box::new(move |_| !core::mem::replace(&mut lost, true));
    pair.run_for(Duration::from_millis(900));
    assert_eq!(pair.states()[CLIENT], TcpState::SynSent);
    pair.run_for(Duration::from_millis(200));
    assert_eq!(pair.states(), [TcpState::Established; 2]);
}

#[test]
fn a_syn_without_an_answer_is_given_up_after_three_minutes_or_more() {
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    pair.lose = Box::new(|_| true);
    pair.run_for(Duration::from_secs(180));
    assert_eq!(pair.states()[CLIENT], TcpState::SynSent);
    pair.run_for(Duration::from_secs(180));
    let ready = pair.at(CLIENT, |connection, env| connection.ready(env));
    assert_eq!(ready.closed, Some(CloseReason::TimedOut));
}

#[test]
fn a_reset_that_acknowledges_the_syn_refuses_and_any_other_is_discarded() {
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    pair.lose = Box::new(|_| true);
    pair.transmit();
    let syn = pair.sent[0].clone();
    let reset = |ack: SeqNum| InTransit {
        to: CLIENT,
        seq: SeqNum(0),
        ack,
        flags: TcpFlags::RST | TcpFlags::ACK,
        ..syn.clone()
    };
    pair.deliver(&reset(syn.seq + 7));
    assert_eq!(pair.states()[CLIENT], TcpState::SynSent);
    pair.deliver(&reset(syn.seq + 1));
    let ready = pair.at(CLIENT, |connection, env| connection.ready(env));
    assert_eq!(ready.closed, Some(CloseReason::Refused));
}

#[test]
fn a_simultaneous_open_makes_one_connection() {
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    let now = pair.now;
    let server = &mut pair.ends[SERVER];
    let open = open(&server.config, 9_999);
    server.connection = Some(Connection::connect(open, &mut server.env(now)));
    pair.run_for(Duration::from_secs(3));
    assert_eq!(pair.states(), [TcpState::Established; 2]);
    pair.transfer(CLIENT, 50_000, Duration::from_secs(5));
    pair.transfer(SERVER, 50_000, Duration::from_secs(5));
}

#[test]
fn the_first_window_has_the_configured_segments_and_the_first_payload_opens_it() {
    let config = TcpConfig {
        initial_receive_window: 3,
        receive_buffer: 60_000,
        ..TcpConfig::default()
    };
    let mut pair = Pair::established(config.clone(), config);
    for end in [CLIENT, SERVER] {
        let info = pair.at(end, |connection, env| connection.info(env));
        let segments = (info.rcv_wnd + info.mss / 2) / info.mss;
        assert_eq!(segments, 3, "{} bytes", info.rcv_wnd);
    }
    pair.transfer(CLIENT, 10_000, Duration::from_secs(5));
    let info = pair.at(SERVER, |connection, env| connection.info(env));
    assert!(info.rcv_wnd > 20_000, "{}", info.rcv_wnd);
}

#[test]
fn the_last_ack_of_a_handshake_without_memory_is_ignored() {
    let tight = PoolConfig {
        blocks: 4,
        block_size: 512,
        receive_floor: 0,
        ..PoolConfig::default()
    };
    let roomy = PoolConfig {
        blocks: 64,
        ..PoolConfig::default()
    };
    let mut pair = Pair::with_pools(TcpConfig::default(), TcpConfig::default(), roomy, tight);
    pair.transmit();
    pair.step(pair.now + Duration::from_millis(15));
    // Between SYN and ACK another holder takes the memory.
    let mut hog = fullpipe_pool::Stream::new(fullpipe_pool::Holder::Send);
    hog.append(&mut pair.ends[SERVER].pool, &[0; 2_048]);
    pair.run_for(Duration::from_millis(100));
    assert!(pair.ends[SERVER].connection.is_none());
    assert_eq!(pair.ends[SERVER].pool.promised(), 0);
    hog.release(&mut pair.ends[SERVER].pool);
}
