//! Tests the public interface: a program that uses `fullpipe` alone can name every type that its
//! calls, configuration, events, errors and records contain.
//!
//! Rule: everything is imported from `fullpipe`, every struct is destructured without `..`, and
//! every enum is matched without `_`. A new field or variant stops this file from compiling until
//! its type can be named here, too.

use core::net::{IpAddr, SocketAddr};

use fullpipe::{
    Agreed, CloseReason, Config, ConfigError, ConnectOptions, ConnectionId, Description, Duration,
    Holder, Info, Instant, Interface, InterfaceId, Limit, LimitClock, ListenOptions, ListenerId,
    MacAddress, Nodes, OpenError, PathError, Pool, Pressure, Read, Ready, ReceiveClock,
    ReceiveLimit, RecoveryState, Refusal, Rng, Route, RouteEntry, RouteError, Routes, SettingError,
    SocketEvent, SocketOption, Stack, Subnet, TcpError, TcpState, Tuning, Turn, UdpError, UdpId,
    UdpInfo, UdpQueue, UdpReady, UdpReceived,
    config::{
        ArpConfig, CongestionAlgorithm, EcnMode, IcmpConfig, IpConfig, KnobError, KnobInfo,
        KnobKind, KnobTable, MtuProbing, ParseChoiceError, PoolConfig, PushPolicy, SegmentSizing,
        StackConfig, SynCookieUse, TcpConfig, TraceConfig, UdpConfig,
    },
    congestion::{
        AckSample, CongestionChoice, CongestionControl, CongestionEvent, CongestionStart,
        FastestSample, FlightStart, LostRange, RateSample,
    },
    counters::{Counters, Discard, DiscardReason, Discards, MibCounters, TcpCounters},
    device::{Capabilities, Device, Medium, Received, RxMeta, TxChecksum, TxMeta},
    presets::alias::{Meaning, SetBy},
    trace::{RecoveryEvent, TcpFlags, Trace, TraceEvent, TraceRecord},
    turn,
};

/// Takes a value of the type that the caller names.
fn typed<T>(_value: T) {}

/// A device that nothing is connected to.
struct Unplugged;

impl Device for Unplugged {
    fn capabilities(&self) -> Capabilities {
        Capabilities::plain(Medium::Ip, 1500)
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        None
    }

    fn lend(&mut self, _len: usize) -> Option<&mut [u8]> {
        None
    }

    fn send(&mut self, _len: usize, _meta: TxMeta) {}
}

fn stack() -> Stack {
    let interface = Interface {
        mac: MacAddress([2, 0, 0, 0, 0, 1]),
        address: IpAddr::from([10, 0, 0, 1]),
        prefix_len: 24,
        gateway: None,
        capabilities: Unplugged.capabilities(),
    };
    Stack::new(&Config::default(), interface, [7; 16]).expect("the configuration is sound")
}

/// Names the type of every field of [`Info`].
fn name_info(info: Info) {
    let Info {
        state,
        close_reason,
        born,
        at,
        last_received_at,
        tuning,
        agreed,
        mss,
        iss,
        snd_una,
        snd_nxt,
        in_flight,
        retransmitted,
        sacked,
        lost,
        snd_wnd,
        max_snd_wnd,
        irs,
        rcv_nxt,
        rcv_wnd,
        send_queue,
        unsent,
        receive_queue,
        holes,
        urgent_left,
        send_buffer,
        receive_buffer,
        send_blocks,
        receive_blocks,
        cwnd,
        ssthresh,
        pacing_rate,
        delivery_rate,
        app_limited,
        in_device,
        fastest_sample,
        recovery,
        srtt,
        rttvar,
        min_rtt,
        rto,
        busy,
        bytes_sent,
        bytes_retransmitted,
        bytes_acked,
        bytes_received,
        segments_sent,
        segments_retransmitted,
        full_sized_sent,
        timeouts,
        fast_recoveries,
        zero_window_probes,
        limit,
        receive_limit,
    } = info;
    let _: (TcpState, Option<CloseReason>, Option<Duration>) = (state, close_reason, min_rtt);
    let _: ([Instant; 3], [Duration; 3]) = ([born, at, last_received_at], [srtt, rttvar, rto]);
    let _: (Tuning, Agreed, RecoveryState, [u32; 2]) = (tuning, agreed, recovery, [sacked, lost]);
    let _: [u32; 6] = [mss, iss, snd_una, snd_nxt, in_flight, retransmitted];
    let _: [u32; 6] = [max_snd_wnd, irs, rcv_nxt, rcv_wnd, send_queue, unsent];
    let _: [u32; 5] = [receive_queue, holes, urgent_left, in_device, snd_wnd];
    let _: [u32; 4] = [send_buffer, receive_buffer, send_blocks, receive_blocks];
    let _: (u32, u32, u64, u64, bool) = (cwnd, ssthresh, pacing_rate, delivery_rate, app_limited);
    let _: [u64; 4] = [bytes_sent, bytes_retransmitted, bytes_acked, bytes_received];
    let _: [u64; 3] = [segments_sent, segments_retransmitted, full_sized_sent];
    let _: [u64; 3] = [timeouts, fast_recoveries, zero_window_probes];
    name_clocks(busy, limit, receive_limit, fastest_sample);
}

fn name_clocks(_: Duration, _: LimitClock, _: ReceiveClock, sample: FastestSample) {
    name_sample(sample);
}

fn name_sample(sample: FastestSample) {
    let FastestSample {
        delivered,
        interval_us,
        rtt_us,
    } = sample;
    let _: [u32; 3] = [delivered, interval_us, rtt_us];
}

/// Names the parts of [`Config`], and the choices that are knobs.
fn name_config(config: Config) {
    let Config {
        pool,
        tcp,
        stack,
        ip,
        arp,
        icmp,
        udp,
        trace,
    } = config;
    let _: (PoolConfig, IpConfig, ArpConfig, IcmpConfig) = (pool, ip, arp, icmp);
    let _: (UdpConfig, TraceConfig) = (udp, trace);
    let tcp: TcpConfig = tcp;
    let stack: StackConfig = stack;
    let _: (CongestionAlgorithm, EcnMode) = (tcp.congestion, tcp.ecn);
    let _: (MtuProbing, SegmentSizing) = (tcp.mtu_probing, tcp.segment_sizing);
    let _: PushPolicy = tcp.push;
    let _: (SynCookieUse, Duration) = (stack.syn_cookies, tcp.rto_min);
}

fn name_event(event: SocketEvent) {
    match event {
        SocketEvent::Tcp(id) => typed::<ConnectionId>(id),
        SocketEvent::Accept(id) => typed::<ListenerId>(id),
        SocketEvent::Udp(id) => typed::<UdpId>(id),
    }
}

fn name_record(record: TraceRecord) {
    let TraceRecord {
        at,
        connection,
        event,
    } = record;
    let _: (Instant, u32) = (at, connection);
    match event {
        TraceEvent::Opened { passive, iss, irs } => typed::<(bool, u32, u32)>((passive, iss, irs)),
        TraceEvent::State(state) => typed::<TcpState>(state),
        TraceEvent::SegmentIn {
            flags,
            seq,
            ack,
            window,
            len,
        }
        | TraceEvent::SegmentOut {
            flags,
            seq,
            ack,
            window,
            len,
        } => typed::<(TcpFlags, [u32; 4])>((flags, [seq, ack, window, len])),
        TraceEvent::Sack { left, right } => typed::<[u32; 2]>([left, right]),
        TraceEvent::Retransmission { seq, len } => typed::<[u32; 2]>([seq, len]),
        TraceEvent::Limit(limit) => typed::<Limit>(limit),
        TraceEvent::ReceiveLimit(limit) => typed::<ReceiveLimit>(limit),
        TraceEvent::Recovery(event) => typed::<RecoveryEvent>(event),
        TraceEvent::Window {
            cwnd,
            ssthresh,
            in_flight,
        } => typed::<[u32; 3]>([cwnd, ssthresh, in_flight]),
        TraceEvent::Rtt {
            sample_us,
            srtt_us,
            rttvar_us,
            rto_us,
        } => typed::<[u32; 4]>([sample_us, srtt_us, rttvar_us, rto_us]),
        TraceEvent::Discard(reason) => typed::<DiscardReason>(reason),
        TraceEvent::Timeout(count)
        | TraceEvent::WriterResumed(count)
        | TraceEvent::MemoryPressure(count) => {
            typed::<u32>(count);
        }
        TraceEvent::WriterBlocked { asked, taken } => typed::<[u32; 2]>([asked, taken]),
        TraceEvent::Pressure(level) => typed::<Pressure>(level),
        TraceEvent::Pool {
            holder,
            held,
            promised,
        } => typed::<(Holder, u32, u32)>((holder, held, promised)),
    }
}

fn name_errors(error: TcpError, config: ConfigError, udp: UdpError, path: PathError) {
    match error {
        TcpError::Ended(reason) => typed::<CloseReason>(reason),
        TcpError::Setting(error) => typed::<SettingError>(error),
        TcpError::NoSuchHandle | TcpError::AddressRemoved | TcpError::Shutdown => {}
    }
    match config {
        ConfigError::Knob(error) => typed::<KnobError>(error),
        ConfigError::Interface(why) => typed::<&'static str>(why),
    }
    match udp {
        UdpError::TooLong { most } => typed::<usize>(most),
        UdpError::NoSuchSocket
        | UdpError::TooManySockets
        | UdpError::AddressInUse
        | UdpError::AddressNotOurs
        | UdpError::AddressRemoved
        | UdpError::NoFreePort
        | UdpError::BadSource
        | UdpError::BadDestination => {}
    }
    match path {
        PathError::Unreachable { hard } => typed::<bool>(hard),
        PathError::FragmentationNeeded { mtu, fragment } => {
            typed::<u16>(mtu);
            typed::<bool>(fragment);
        }
        PathError::TimeExceeded => {}
    }
}

fn name_option(option: SocketOption) {
    match option {
        SocketOption::NoDelay(on) | SocketOption::Cork(on) | SocketOption::QuickAck(on) => {
            typed::<bool>(on)
        }
        SocketOption::SendBuffer(bytes)
        | SocketOption::SendLowWater(bytes)
        | SocketOption::UnsentLowWater(bytes)
        | SocketOption::ReceiveBuffer(bytes)
        | SocketOption::ReceiveLowWater(bytes)
        | SocketOption::MaxSegment(bytes)
        | SocketOption::Unacknowledged(bytes)
        | SocketOption::OutOfOrder(bytes) => typed::<u32>(bytes),
        SocketOption::KeepaliveProbes(count) | SocketOption::SynRetries(count) => {
            typed::<u32>(count)
        }
        SocketOption::Keepalive(time)
        | SocketOption::KeepaliveInterval(time)
        | SocketOption::UserTimeout(time) => typed::<Duration>(time),
        SocketOption::Congestion(choice) => typed::<CongestionChoice>(choice),
        SocketOption::Urgent => {}
    }
}

/// A congestion control algorithm that a program defines.
struct Fixed(u32);

impl CongestionControl for Fixed {
    fn start(&mut self, start: &CongestionStart) {
        self.0 = start.cwnd;
    }

    fn cwnd(&self) -> u32 {
        self.0
    }

    fn ssthresh(&self) -> u32 {
        u32::MAX
    }

    fn on_flight_start(&mut self, _start: FlightStart) {}

    fn on_ack(&mut self, sample: &AckSample) {
        let _: RateSample = sample.rate;
    }

    fn on_range_lost(&mut self, _lost: &LostRange) {}

    fn on_loss(&mut self, _event: &CongestionEvent) {}

    fn on_ecn(&mut self, _event: &CongestionEvent) {}

    fn on_timeout(&mut self, _event: &CongestionEvent, _first: bool) {}

    fn on_undo(&mut self) {}

    fn on_idle(&mut self, _restart_window: u32) {}
}

#[test]
fn every_type_in_info_events_and_records_can_be_named() {
    let mut stack = stack();
    let now = Instant::from_secs(1);
    let remote = SocketAddr::from(([10, 0, 0, 2], 80));
    let opened: Result<ConnectionId, OpenError> =
        stack.tcp_connect(remote, None, ConnectOptions::default(), now);
    let id = opened.expect("there is a route");
    let listener: ListenerId = stack
        .tcp_listen(
            SocketAddr::from(([10, 0, 0, 1], 80)),
            ListenOptions::default(),
        )
        .expect("the port is free");
    let turned: Turn = turn(&mut stack, &mut Unplugged, now);
    assert!(turned.device_full);
    let ready: Ready = stack.tcp_ready(id, now).expect("it is open");
    assert!(!ready.connected);
    stack
        .tcp_set(id, SocketOption::NoDelay(true), now)
        .expect("it is open");
    name_option(SocketOption::NoDelay(true));
    name_info(stack.tcp_info(id, now).expect("it is open"));
    let described: Description = stack.describe(id, now).expect("it is open");
    assert!(described.to_string().contains("10.0.0.2:80"));
    let udp: UdpId = stack
        .udp_bind(SocketAddr::from(([0, 0, 0, 0], 53)))
        .expect("the port is free");
    let UdpInfo {
        unread,
        unsent,
        drops,
    } = stack.udp_info(udp).expect("it is open");
    let _: ([UdpQueue; 2], u64) = ([unread, unsent], drops);
    let _: UdpReady = stack.udp_ready(udp).expect("it is open");
    let received: Option<UdpReceived> = stack.udp_receive(udp, &mut []).expect("it is open");
    assert_eq!(received, None);
    stack
        .tcp_abort(id, now)
        .expect("it is open until it is aborted");
    while let Some(event) = stack.next_event() {
        name_event(event);
    }
    let _: u64 = stack.drain_trace(|record| name_record(*record));
    stack
        .tcp_close_listener(listener, now)
        .expect("it is open until it is closed");
    let error = stack.tcp_info(id, now).expect_err("the id is of no use");
    name_errors(
        error,
        ConfigError::Interface("for its type"),
        UdpError::NoSuchSocket,
        PathError::TimeExceeded,
    );
}

#[test]
fn every_account_that_a_stack_keeps_can_be_named() {
    let mut stack = stack();
    let counters: &Counters = stack.counters();
    let _: &MibCounters = &counters.mib;
    assert_eq!(counters.discarded(Discard::IpNoRoute), 0);
    let _: &TcpCounters = stack.tcp_counters();
    let discards: &Discards = stack.tcp_discards();
    assert_eq!(discards.get(DiscardReason::NoMemory), 0);
    let trace: &Trace = stack.trace();
    assert!(!trace.is_on());
    let pool: &Pool = stack.pool();
    assert_eq!(pool.held(Holder::Send), 0);
    let Nodes { ranges, pieces } = stack.nodes_used();
    assert_eq!((ranges, pieces), (0, 0));
    let routes: &mut Routes = stack.routes_mut();
    let network = Subnet {
        address: IpAddr::from([10, 9, 0, 0]),
        prefix_len: 16,
    };
    let gateway = IpAddr::from([10, 0, 0, 9]);
    let added: Result<(), RouteError> = routes.add(RouteEntry::through(network, gateway));
    assert_eq!(added, Ok(()));
    let route: Option<(InterfaceId, Route)> = routes.lookup(IpAddr::from([10, 9, 1, 1]));
    assert_eq!(route, Some((InterfaceId::FIRST, Route::Neighbour(gateway))));
    let RxMeta {
        checksum_verified,
        merged,
        interface,
    } = RxMeta::default();
    let _: (bool, u16, InterfaceId) = (checksum_verified, merged, interface);
    let TxMeta { checksum, .. } = TxMeta::default();
    assert_eq!(checksum, TxChecksum::Complete);
}

#[test]
fn a_configuration_is_set_drawn_and_listed_with_named_types() {
    let mut config = Config::default();
    config.draw(&Rng::seeded(1));
    let refused: Result<(), KnobError> = config.set("tcp.no_such_knob", "1");
    assert!(refused.is_err());
    let rows: Vec<KnobInfo> = Config::rows();
    assert_eq!(rows[0].name, "pool.blocks");
    assert_eq!(<TcpConfig as KnobTable>::GROUP, "tcp");
    name_config(config);
}

#[test]
fn a_congestion_control_can_be_written_outside() {
    let mut fixed = Fixed(14_600);
    fixed.on_ack(&AckSample::default());
    assert_eq!(fixed.limit(), Limit::CwndSlowStart);
    assert_eq!(fixed.pacing_rate(), None);
}

#[test]
fn what_a_connection_read_can_be_named() {
    for read in [Read::Data(1), Read::Empty, Read::End] {
        match read {
            Read::Data(bytes) => assert_eq!(bytes, 1),
            Read::Empty | Read::End => {}
        }
    }
}

#[test]
fn enums_are_displayed_as_people_write_them() {
    let parsed: Result<CongestionAlgorithm, ParseChoiceError> = "bbr".parse();
    assert_eq!(parsed, Ok(CongestionAlgorithm::Bbr));
    let refused = "vegas".parse::<CongestionAlgorithm>();
    assert_eq!(
        refused.expect_err("it is not built in").to_string(),
        "expected newreno, cubic or bbr"
    );
    assert_eq!("20ms".parse(), Ok(Duration::from_millis(20)));
    for (shown, expected) in [
        (CongestionAlgorithm::Cubic.to_string(), "cubic"),
        (EcnMode::Accept.to_string(), "accept"),
        (
            Limit::CwndSlowStart.to_string(),
            "congestion_window_slow_start",
        ),
        (ReceiveLimit::Reader.to_string(), "slow_reader"),
        (TcpState::SynSent.to_string(), "SYN-SENT"),
        (RecoveryState::Recovery.to_string(), "recovery"),
        (CloseReason::Reset.to_string(), "reset by the peer"),
        (Holder::Datagram.to_string(), "datagram"),
        (Pressure::High.to_string(), "high"),
        (Medium::Ethernet.to_string(), "ethernet"),
        (Discard::IpNoRoute.to_string(), "IpNoRoute"),
        (DiscardReason::NoAck.to_string(), "TcpDiscardNoAck"),
        (Duration::from_millis(1_500).to_string(), "1.5s"),
        (KnobKind::Switch.to_string(), "switch"),
        (Refusal::Host.to_string(), "host unreachable"),
        (Read::Data(1_448).to_string(), "1448 bytes"),
        (Read::End.to_string(), "end of the stream"),
        (TxChecksum::Complete.to_string(), "complete"),
        (
            TxChecksum::Partial {
                start: 34,
                offset: 16,
            }
            .to_string(),
            "partial, start 34, offset 16",
        ),
        (SetBy::Sysctl("net.ipv4").to_string(), "sysctl net.ipv4"),
        (Meaning::Pieces(1_448).to_string(), "pieces of 1448 bytes"),
        (
            Meaning::Words(&[("reno", "newreno"), ("cubic", "cubic")]).to_string(),
            "reno for newreno, cubic for cubic",
        ),
    ] {
        assert_eq!(shown, expected);
    }
}

#[test]
fn socket_options_and_events_are_displayed_with_their_values() {
    let cubic = CongestionChoice::from(CongestionAlgorithm::Cubic);
    for (option, expected) in [
        (SocketOption::NoDelay(true), "TCP_NODELAY=true"),
        (SocketOption::SendBuffer(65_536), "SO_SNDBUF=65536"),
        (SocketOption::OutOfOrder(9_000), "tcp.out_of_order=9000"),
        (
            SocketOption::UserTimeout(Duration::from_millis(1_500)),
            "TCP_USER_TIMEOUT=1.5s",
        ),
        (SocketOption::Congestion(cubic), "TCP_CONGESTION=cubic"),
        (SocketOption::Urgent, "urgent"),
    ] {
        assert_eq!(option.to_string(), expected);
    }
    for (event, expected) in [
        (
            TraceEvent::Opened {
                passive: true,
                iss: 1,
                irs: 2,
            },
            "accepted, iss 1, irs 2",
        ),
        (
            TraceEvent::SegmentOut {
                flags: TcpFlags::SYN | TcpFlags::ACK,
                seq: 1,
                ack: 2,
                window: 3,
                len: 4,
            },
            "sent SYN|ACK, seq 1, ack 2, window 3, length 4",
        ),
        (TraceEvent::Limit(Limit::Handshake), "limited by handshake"),
        (
            TraceEvent::Recovery(RecoveryEvent::TailProbe),
            "tail loss probe",
        ),
        (
            TraceEvent::Pool {
                holder: Holder::Send,
                held: 3,
                promised: 1,
            },
            "packet memory of send: 3 blocks held, 1 reserved",
        ),
    ] {
        assert_eq!(event.to_string(), expected);
    }
    let mut stack = stack();
    let outside = stack
        .register_congestion("fixed", || Fixed(0))
        .expect("no other has the name");
    assert_eq!(outside.to_string(), "registered algorithm 0");
    let udp = stack
        .udp_bind(SocketAddr::from(([0, 0, 0, 0], 53)))
        .expect("the port is free");
    assert_eq!(SocketEvent::Udp(udp).to_string(), "UDP socket 0");
}
