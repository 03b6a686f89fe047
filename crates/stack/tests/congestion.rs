//! Tests of a congestion control algorithm that the stack does not contain: it is registered and
//! chosen through the public interface, and connections allocate nothing.

mod pair;

use std::{net::SocketAddr, sync::atomic::AtomicU32, sync::atomic::Ordering};

use fullpipe::{
    ConnectOptions, ConnectionId, ListenOptions, Read, SocketOption, Tuning,
    congestion::{
        AckSample, CongestionChoice, CongestionControl, CongestionEvent, CongestionStart,
        RegisterError,
    },
};
use pair::{B, PORT, Pair, Side, config};

/// Window of [`FewSegments`] in segments.
const WINDOW: u32 = 3;

/// An algorithm with a window of three segments. After a loss, the window is one segment until
/// recovery is over.
#[derive(Default)]
struct FewSegments {
    mss: u32,
    is_reduced: bool,
}

impl CongestionControl for FewSegments {
    fn start(&mut self, start: &CongestionStart) {
        *self = Self {
            mss: start.mss,
            is_reduced: false,
        };
    }

    fn cwnd(&self) -> u32 {
        if self.is_reduced {
            self.mss
        } else {
            WINDOW * self.mss
        }
    }

    fn ssthresh(&self) -> u32 {
        self.cwnd()
    }

    fn controls_recovery(&self) -> bool {
        true
    }

    fn on_ack(&mut self, sample: &AckSample) {
        self.mss = sample.mss;
    }

    fn on_loss(&mut self, _event: &CongestionEvent) {
        self.is_reduced = true;
    }

    fn on_recovery_exit(&mut self) {
        self.is_reduced = false;
    }

    fn on_ecn(&mut self, _event: &CongestionEvent) {}

    fn on_timeout(&mut self, _event: &CongestionEvent, _first: bool) {
        self.is_reduced = true;
    }

    fn on_undo(&mut self) {
        self.is_reduced = false;
    }

    fn on_idle(&mut self, _restart_window: u32) {}
}

/// Connects from A to B and returns both ends.
fn open(pair: &mut Pair, tuning: Option<Tuning>) -> (ConnectionId, ConnectionId) {
    let listener = pair.listen(Side::B, ListenOptions::default());
    let remote = SocketAddr::from((B, PORT));
    let client = pair
        .a
        .stack
        .tcp_connect(remote, None, ConnectOptions { tuning }, pair.now)
        .expect("there is a route");
    pair.settle();
    let accepted = pair.b.stack.tcp_accept(listener, pair.now);
    let (server, _) = accepted.expect("it listens").expect("it is connected");
    pair.b
        .stack
        .tcp_close_listener(listener, pair.now)
        .expect("it is open");
    (client, server)
}

/// Sends `payload` from the client to the server. Returns the largest number of bytes that were in
/// flight.
fn transfer(
    pair: &mut Pair,
    (client, server): (ConnectionId, ConnectionId),
    payload: &[u8],
    out: &mut [u8],
) -> u32 {
    let (mut written, mut read, mut most) = (0, 0, 0);
    pair.until("everything has arrived", |pair| {
        written += pair.write(Side::A, client, &payload[written..]);
        let info = pair.a.stack.tcp_info(client, pair.now).expect("it is open");
        most = most.max(info.in_flight);
        while let Read::Data(count) = pair.read(Side::B, server, out) {
            read += count;
        }
        read == payload.len()
    });
    most
}

/// Closes both ends and waits until their slots are free.
fn close(pair: &mut Pair, (client, server): (ConnectionId, ConnectionId)) {
    pair.a
        .stack
        .tcp_close(client, pair.now)
        .expect("it is open");
    pair.settle();
    pair.b
        .stack
        .tcp_close(server, pair.now)
        .expect("it is open");
    pair.settle();
    while pair.a.stack.next_event().is_some() {}
    while pair.b.stack.next_event().is_some() {}
}

#[test]
fn a_registered_algorithm_sizes_the_window_of_connections_that_choose_it() {
    let mut pair = Pair::new(&config());
    let choice = pair
        .a
        .stack
        .register_congestion("few", FewSegments::default)
        .expect("the name is free");
    assert_eq!(pair.a.stack.congestion("few"), Some(choice));
    assert_eq!(pair.a.stack.congestion_name(choice), Some("few"));
    assert_eq!(
        pair.a
            .stack
            .register_congestion("few", FewSegments::default),
        Err(RegisterError::NameTaken)
    );
    assert_eq!(
        pair.a
            .stack
            .register_congestion("cubic", FewSegments::default),
        Err(RegisterError::NameTaken)
    );

    let payload = vec![7; 60_000];
    let mut out = [0; 4_096];
    // One connection chooses the algorithm by name.
    let tuning = Tuning {
        congestion: pair.a.stack.congestion("few"),
        ..Tuning::from_config(&config().tcp)
    };
    let ends = open(&mut pair, Some(tuning));
    let most = transfer(&mut pair, ends, &payload, &mut out);
    let info = pair.a.stack.tcp_info(ends.0, pair.now).expect("it is open");
    assert_eq!(info.tuning.congestion, Some(choice));
    assert_eq!(info.cwnd, WINDOW * info.mss);
    assert!(most <= WINDOW * info.mss, "{most} bytes in flight");
    close(&mut pair, ends);

    // No algorithm is chosen, so the knob applies.
    let ends = open(&mut pair, None);
    transfer(&mut pair, ends, &payload, &mut out);
    let info = pair.a.stack.tcp_info(ends.0, pair.now).expect("it is open");
    assert_eq!(
        info.tuning.congestion,
        Some(config().tcp.congestion.into()),
        "the knob"
    );
    assert!(info.cwnd > WINDOW * info.mss);

    // An open connection changes to the algorithm and back.
    let set = |pair: &mut Pair, choice: CongestionChoice| {
        let option = SocketOption::Congestion(choice);
        let now = pair.now;
        pair.a
            .stack
            .tcp_set(ends.0, option, now)
            .expect("it is open");
        pair.a.stack.tcp_info(ends.0, now).expect("it is open").cwnd
    };
    let before = info.cwnd;
    assert_eq!(set(&mut pair, choice), WINDOW * info.mss);
    let newreno = pair.a.stack.congestion("newreno").expect("a built-in one");
    assert_eq!(set(&mut pair, newreno), WINDOW * info.mss);
    assert!(before > WINDOW * info.mss);
    transfer(&mut pair, ends, &payload, &mut out);
    close(&mut pair, ends);
    pair.verify();
}

#[test]
fn a_registered_algorithm_hears_of_losses_and_their_repair() {
    let mut pair = Pair::new(&config());
    let choice = pair
        .a
        .stack
        .register_congestion("few", FewSegments::default)
        .expect("the name is free");
    pair.a.stack.set_default_congestion(choice);
    let mut seen = 0;
    pair.watch = Some(Box::new(move |segment| {
        let is_data = segment.from == Side::A && !segment.payload.is_empty();
        seen += u32::from(is_data);
        !(is_data && seen.is_multiple_of(7))
    }));
    let ends = open(&mut pair, None);
    let mut out = [0; 4_096];
    transfer(&mut pair, ends, &[9; 80_000], &mut out);
    let mut info = None;
    pair.until("everything is acknowledged", |pair| {
        info = pair.a.stack.tcp_info(ends.0, pair.now).ok();
        info.as_ref().is_some_and(|info| info.in_flight == 0)
    });
    let info = info.expect("it is open");
    assert!(info.segments_retransmitted >= 5);
    assert_eq!(info.cwnd, WINDOW * info.mss, "recovery is over");
    pair.verify();
}

#[test]
fn connections_take_the_instances_that_registration_made_and_allocate_nothing() {
    static MADE: AtomicU32 = AtomicU32::new(0);

    let mut pair = Pair::new(&config());
    for host in [&mut pair.a, &mut pair.b] {
        let choice = host
            .stack
            .register_congestion("few", || {
                MADE.fetch_add(1, Ordering::Relaxed);
                FewSegments::default()
            })
            .expect("the name is free");
        host.stack.set_default_congestion(choice);
    }
    let made = MADE.load(Ordering::Relaxed);
    assert_eq!(made, 2 * config().stack.connections);
    let payload = vec![1; 20_000];
    let mut out = vec![0; 4_096];
    let connections = 3 * config().stack.connections;
    let info = allocation_counter::measure(|| {
        for _ in 0..connections {
            let ends = open(&mut pair, None);
            transfer(&mut pair, ends, &payload, &mut out);
            close(&mut pair, ends);
        }
    });
    assert_eq!(MADE.load(Ordering::Relaxed), made);
    assert_eq!(info.count_total, 0);
    pair.verify();
}
