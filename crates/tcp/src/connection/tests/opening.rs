//! Tests of handshakes.

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
    // Between SYN and ACK another buffer takes the memory.
    let mut hog = fullpipe_pool::Stream::new(fullpipe_pool::Holder::Send);
    hog.append(&mut pair.ends[SERVER].pool, &[0; 2_048]);
    pair.run_for(Duration::from_millis(100));
    assert!(pair.ends[SERVER].connection.is_none());
    assert_eq!(pair.ends[SERVER].pool.promised(), 0);
    hog.release(&mut pair.ends[SERVER].pool);
}

/// A SYN need not advertise a window yet: the peer sends no payload before it has this side's
/// ACK.
#[test]
fn scarce_memory_is_not_reserved_for_a_peer_that_may_never_answer() {
    let pool = |blocks| PoolConfig {
        blocks,
        block_size: 1_024,
        send_floor: 0,
        receive_floor: 0,
        ..PoolConfig::default()
    };
    let config = TcpConfig {
        receive_buffer: 8_192,
        idle_window_share: 100,
        ..TcpConfig::default()
    };
    // A first window takes nine blocks; a quarter of the free memory may go to it.
    for (blocks, reserves) in [(36, true), (35, false)] {
        let mut pair = Pair::with_pools(
            config.clone(),
            TcpConfig::default(),
            pool(blocks),
            pool(2_048),
        );
        pair.transmit();
        assert_eq!(pair.sent[0].window > 0, reserves, "{blocks} blocks");
        assert_eq!(pair.ends[CLIENT].pool.promised() > 0, reserves);
        pair.run_for(Duration::from_millis(50));
        assert_eq!(pair.states(), [TcpState::Established; 2]);
        pair.transfer(SERVER, 50_000, Duration::from_secs(60));
    }
}

/// RFC 9293 §3.10.7.3: payload that came with the SYN is readable once the connection is
/// established.
#[test]
fn payload_of_a_crossing_syn_is_an_event_when_the_handshake_ends() {
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    pair.transmit();
    let syn = pair.sent[0].clone();
    pair.path.clear();
    let mut crossing = InTransit {
        to: CLIENT,
        seq: SeqNum(5_000),
        payload: b"early".to_vec(),
        ..syn.clone()
    };
    pair.deliver(&crossing);
    assert_eq!(pair.states()[CLIENT], TcpState::SynReceived);
    assert!(
        !pair
            .at(CLIENT, |connection, _| connection.take_events())
            .readable
    );
    crossing.payload.clear();
    crossing.flags = TcpFlags::ACK;
    (crossing.seq, crossing.ack) = (SeqNum(5_006), syn.seq + 1);
    pair.deliver(&crossing);
    let events = pair.at(CLIENT, |connection, _| connection.take_events());
    assert!(events.connected && events.readable);
    assert_eq!(pair.read(CLIENT), b"early");
}

#[test]
fn a_syn_ack_for_which_there_is_no_memory_is_as_good_as_lost() {
    let tight = PoolConfig {
        blocks: 4,
        block_size: 512,
        receive_floor: 0,
        ..PoolConfig::default()
    };
    let roomy = PoolConfig::default();
    let mut pair = Pair::with_pools(TcpConfig::default(), TcpConfig::default(), tight, roomy);
    let mut hog = fullpipe_pool::Stream::new(fullpipe_pool::Holder::Send);
    pair.transmit();
    hog.append(&mut pair.ends[CLIENT].pool, &[0; 2_048]);
    pair.run_for(Duration::from_millis(100));
    assert_eq!(pair.states()[CLIENT], TcpState::SynSent);
    assert_eq!(pair.ends[CLIENT].counters.rcvq_drop, 1);
    hog.release(&mut pair.ends[CLIENT].pool);
    pair.run_for(Duration::from_secs(4));
    assert_eq!(pair.states()[CLIENT], TcpState::Established);
}

/// RFC 3168 §6.1.1. If the SYNs cross, both must request ECN.
#[test]
fn ecn_is_agreed_by_the_flags_of_both_syns() {
    use crate::connection::ecn_state::EcnState;
    let (ack, ece, cwr) = (TcpFlags::ACK, TcpFlags::ECE, TcpFlags::CWR);
    let state = |requested, sent_plain_syn| EcnState {
        requested,
        sent_plain_syn,
        ..EcnState::default()
    };
    for (requested, plain, flags, agreed) in [
        (true, false, ack | ece, true),
        (true, true, ack | ece, true),
        (false, false, ack | ece, false),
        (true, false, ack | ece | cwr, false),
        (true, false, ack | cwr, false),
        (true, false, ack, false),
        (true, false, ece | cwr, true),
        (true, true, ece | cwr, false),
        (false, true, ece | cwr, false),
        (true, false, ece, false),
        (true, false, cwr, false),
        (true, false, TcpFlags::NONE, false),
    ] {
        let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
        pair.transmit();
        pair.sent[0].flags = flags | TcpFlags::SYN;
        let agrees = state(requested, plain).are_agreed_by(&pair.sent[0].segment());
        assert_eq!(agrees, agreed, "{requested} {plain} {flags:?}");
    }
}

/// RFC 9293 §3.7.1: the offer is the smaller of the link's MSS and the socket's MSS.
#[test]
fn the_offered_mss_is_that_of_the_link_or_of_the_socket_if_that_is_less() {
    for (mss_max, expected) in [(700, 700), (1_459, 1_459), (1_460, 1_460), (9_000, 1_460)] {
        let mut end = Endpoint::new(TcpConfig::default(), PoolConfig::default());
        let mut open = open(&end.config, 1);
        open.tuning.mss_max = mss_max;
        let now = Instant::from_secs(1);
        end.connection = Some(Connection::connect(open, &mut end.env(now)));
        let syn = end.with(now, |connection, env| connection.poll_segment(0, env));
        let syn = syn.expect("a SYN");
        assert_eq!(syn.options.mss, Some(expected), "{mss_max}");
    }
}
