//! Plays a script against one stack, in virtual time.
//!
//! Rule: time moves from deadline to deadline, and everything that the stack sends is compared in
//! order. A segment that no line expects is reported as a mistake at the next line. The script
//! plays the peer.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use fullpipe::{
    Config, ConnectOptions, ConnectionId, Duration, Instant, Interface, ListenOptions, ListenerId,
    MacAddress, Read, SocketOption, Stack,
    device::{Capabilities, Device, Medium},
    turn,
};
use fullpipe_wire::{
    Checksum, Ecn, Icmpv4Message, Ipv4Header, Protocol, TcpFlags, TcpHeader, TcpOptions,
    TimeExceededCode, Timestamps, UnreachableCode,
};

use crate::port::Port;
use crate::script::{Action, IcmpKind, Mistake, Reading, Script, Step};
use crate::segment::{Segment, Stamp};

const OURS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// The port on which the listening side waits: the stack or, if the stack connects, the peer.
const SERVICE: u16 = 80;
/// The port of a peer that connects.
const PEER_PORT: u16 = 40_000;
/// The peer's timestamp clock at the start of a script. It is not 0, so that 0 has no special
/// meaning.
const PEER_CLOCK: u32 = 1_000_000;
/// Largest number of deadlines that may pass while a script waits for one line.
const MOST_DEADLINES: usize = 100_000;

/// A segment that the stack sent.
struct Sent {
    at_us: u64,
    segment: Segment,
}

struct Player {
    stack: Stack,
    wire: Port,
    start: Instant,
    now_us: u64,
    sent: VecDeque<Sent>,
    /// Unreachable messages that the stack sent, with their times.
    errors: VecDeque<(u64, IcmpKind)>,
    peer_isn: u32,
    /// The stack's initial sequence number, once a SYN has left.
    iss: Option<u32>,
    /// First timestamp that the stack sent.
    first_stamp: Option<u32>,
    /// Last timestamp that the stack sent.
    last_stamp: u32,
    /// The stack's port, and the peer's.
    ports: (u16, u16),
    listener: Option<ListenerId>,
    connection: Option<ConnectionId>,
    /// Bytes that the application has written so far.
    written: usize,
    /// Bytes that the application has read so far.
    read: usize,
}

/// Plays `script`. Returns the first difference as an error.
pub fn play(script: &Script) -> Result<(), Mistake> {
    let mut player = Player::new(script)?;
    let mut last_line = 0;
    for step in &script.steps {
        last_line = step.line;
        player
            .step(step, script.tolerance_us)
            .map_err(|what| Mistake {
                line: step.line,
                what,
            })?;
    }
    if let Some(error) = player.errors.front() {
        return Err(Mistake {
            line: last_line,
            what: format!("at the end of the script, not expected: {error:?}"),
        });
    }
    match player.sent.front() {
        None => Ok(()),
        Some(sent) => Err(Mistake {
            line: last_line,
            what: format!(
                "at the end of the script, not expected: {}",
                sent.describe()
            ),
        }),
    }
}

impl Sent {
    fn describe(&self) -> String {
        format!("{:.6} > {}", self.at_us as f64 / 1e6, self.segment)
    }
}

/// Knobs that keep scripts short: no options, pacing or probes, unless the script sets a knob to
/// another value.
const PLAIN: [(&str, &str); 10] = [
    ("tcp.timestamps", "false"),
    ("tcp.sack", "false"),
    ("tcp.window_scaling", "false"),
    ("tcp.pacing", "false"),
    ("tcp.congestion", "newreno"),
    ("tcp.fit_segments", "0"),
    ("tcp.mtu_probing", "off"),
    ("tcp.ecn", "off"),
    ("stack.connections", "16"),
    ("pool.blocks", "1024"),
];

impl Player {
    fn new(script: &Script) -> Result<Self, Mistake> {
        let mut config = Config::default();
        for (name, value) in PLAIN {
            config.set(name, value).expect("a knob");
        }
        for (line, name, value) in &script.knobs {
            config.set(name, value).map_err(|error| Mistake {
                line: *line,
                what: error.to_string(),
            })?;
        }
        let wire = Port::new(Capabilities::plain(Medium::Ip, script.mtu));
        let interface = Interface {
            mac: MacAddress([2, 0, 0, 0, 0, 1]),
            address: IpAddr::V4(OURS),
            prefix_len: 24,
            gateway: Some(IpAddr::V4(PEER)),
            capabilities: wire.capabilities(),
        };
        let stack = Stack::new(&config, interface, [7; 16]).map_err(|error| Mistake {
            line: 1,
            what: error.to_string(),
        })?;
        Ok(Self {
            stack,
            wire,
            start: Instant::from_secs(1_000),
            now_us: 0,
            sent: VecDeque::new(),
            errors: VecDeque::new(),
            peer_isn: script.peer_isn,
            iss: None,
            first_stamp: None,
            last_stamp: 0,
            ports: (SERVICE, PEER_PORT),
            listener: None,
            connection: None,
            written: 0,
            read: 0,
        })
    }

    fn now(&self) -> Instant {
        self.start + Duration::from_micros(self.now_us)
    }

    fn step(&mut self, step: &Step, tolerance_us: u64) -> Result<(), String> {
        if let Action::Expect(wanted) = &step.action {
            return self.expect(wanted, step.at_us, tolerance_us);
        }
        self.advance(step.at_us, false);
        match &step.action {
            Action::Quiet => match (self.sent.front(), self.errors.front()) {
                (None, None) => Ok(()),
                (Some(sent), _) => Err(format!("not expected: {}", sent.describe())),
                (None, Some(error)) => Err(format!("not expected: {error:?}")),
            },
            Action::ExpectIcmp(wanted) => match self.errors.pop_front() {
                Some((at_us, kind)) if kind == *wanted && at_us == self.now_us => Ok(()),
                other => Err(format!("expected ICMP {wanted:?}, got {other:?}")),
            },
            Action::Skip => {
                self.errors.clear();
                self.sent.clear();
                Ok(())
            }
            action => {
                self.act(action)?;
                self.turn();
                Ok(())
            }
        }
    }

    /// Compares the next segment that the stack sends with `wanted`.
    fn expect(&mut self, wanted: &Segment, at_us: u64, tolerance_us: u64) -> Result<(), String> {
        self.advance(at_us + tolerance_us, true);
        let Some(sent) = self.sent.pop_front() else {
            return Err(format!("expected {wanted}, but nothing was sent"));
        };
        let difference = if sent.at_us.abs_diff(at_us) > tolerance_us {
            Some("time")
        } else {
            wanted.differs_from(&sent.segment)
        };
        match difference {
            None => Ok(()),
            Some(name) => Err(format!(
                "{name} differs: expected {:.6} > {wanted}, got {}",
                at_us as f64 / 1e6,
                sent.describe()
            )),
        }
    }

    /// Lets time pass up to `until_us`; if `until_sent` is true, stops when something was sent.
    fn advance(&mut self, until_us: u64, until_sent: bool) {
        for _ in 0..MOST_DEADLINES {
            self.turn();
            if until_sent && !self.sent.is_empty() {
                return;
            }
            let until = self.start + Duration::from_micros(until_us);
            match self.stack.next_timeout() {
                Some(next) if next <= until => {
                    let passed = next.since(self.start).as_nanos().div_ceil(1_000);
                    self.now_us = self.now_us.max(passed).max(self.now_us);
                }
                _ => {
                    self.now_us = self.now_us.max(until_us);
                    return;
                }
            }
        }
        panic!("the stack never comes to rest");
    }

    fn turn(&mut self) {
        for _ in 0..1_000 {
            let now = self.now();
            let turned = turn(&mut self.stack, &mut self.wire, now);
            while let Some(packet) = self.wire.sent.pop_front() {
                self.note_sent(&packet);
            }
            if !turned.more_work {
                break;
            }
        }
        self.stack.verify(self.now());
    }

    /// Records one packet that the stack sent.
    fn note_sent(&mut self, packet: &[u8]) {
        let (ip, payload) = Ipv4Header::parse(packet, Default::default()).expect("a sound packet");
        if ip.protocol == Protocol::Icmp {
            return self.note_error(payload);
        }
        if ip.protocol != Protocol::Tcp {
            return;
        }
        fullpipe_wire::tcp::verify_checksum(payload, ip.src.into(), ip.dst.into())
            .expect("a sound checksum");
        let (header, text) = TcpHeader::parse(payload).expect("a sound segment");
        if header.flags.contains(TcpFlags::SYN) {
            self.iss = Some(header.seq);
            self.ports.0 = header.src_port;
        }
        let base = self.iss.unwrap_or(0);
        let seq = header.seq.wrapping_sub(base);
        for (index, byte) in text.iter().enumerate() {
            let offset = seq.wrapping_sub(1) as usize + index;
            assert_eq!(*byte, pattern(offset), "payload byte {offset}");
        }
        if let Some(stamps) = header.options.timestamps {
            self.first_stamp.get_or_insert(stamps.value);
            self.last_stamp = stamps.value;
        }
        let ours = |stamps: Timestamps| Stamp {
            value: Some(stamps.value.wrapping_sub(self.first_stamp.unwrap_or(0))),
            echo: Some(match stamps.echo {
                0 => 0,
                echo => echo.wrapping_sub(PEER_CLOCK),
            }),
        };
        let blocks = header.options.sack.iter().map(|block| {
            let relative = |seq: u32| seq.wrapping_sub(self.peer_isn);
            (relative(block.left), relative(block.right))
        });
        let acks = header.flags.contains(TcpFlags::ACK);
        let segment = Segment {
            flags: header.flags,
            push: None,
            seq,
            len: text.len() as u32,
            ack: acks.then(|| header.ack.wrapping_sub(self.peer_isn)),
            window: Some(header.window),
            mss: header.options.mss,
            window_scale: header.options.window_scale,
            sack_permitted: header.options.sack_permitted,
            timestamps: header.options.timestamps.map(ours),
            sack: blocks.collect(),
            urgent: Some(header.urgent),
            ecn: Some(ip.ecn),
            dont_fragment: Some(ip.dont_fragment),
            src: None,
            ip_options: Vec::new(),
            port: Some(header.dst_port),
            absent: Vec::new(),
        };
        self.sent.push_back(Sent {
            at_us: self.now_us,
            segment,
        });
    }

    /// Records one ICMP message that the stack sent, if it is an error.
    fn note_error(&mut self, payload: &[u8]) {
        let (message, _) =
            Icmpv4Message::parse(payload, Default::default()).expect("a sound message");
        let kind = match message {
            Icmpv4Message::Unreachable {
                code: UnreachableCode::Port,
                ..
            } => IcmpKind::Port,
            Icmpv4Message::Unreachable {
                code: UnreachableCode::Protocol,
                ..
            } => IcmpKind::Protocol,
            _ => return,
        };
        self.errors.push_back((self.now_us, kind));
    }

    /// Checks that the connection has ended for `reason`.
    fn check_closed(&mut self, reason: &str) -> Result<(), String> {
        let id = self.connection()?;
        let ready = self.stack.tcp_ready(id, self.now());
        let ready = ready.map_err(|error| error.to_string())?;
        let actual = ready
            .closed
            .map_or_else(|| "open".to_string(), |why| format!("{why:?}"));
        if actual.eq_ignore_ascii_case(reason) {
            Ok(())
        } else {
            Err(format!("the connection is {actual}, expected {reason}"))
        }
    }

    fn act(&mut self, action: &Action) -> Result<(), String> {
        let now = self.now();
        match action {
            Action::Listen => {
                let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, SERVICE));
                let listener = self.stack.tcp_listen(any, ListenOptions::default());
                self.listener = Some(listener.map_err(|error| error.to_string())?);
            }
            Action::Connect => {
                let remote = SocketAddr::from((PEER, SERVICE));
                let options = ConnectOptions::default();
                let connection = self.stack.tcp_connect(remote, None, options, now);
                self.connection = Some(connection.map_err(|error| error.to_string())?);
                self.ports.1 = SERVICE;
            }
            Action::Accept => {
                let listener = self.listener.ok_or("accept before listen")?;
                let accepted = self.stack.tcp_accept(listener, now);
                let accepted = accepted.map_err(|error| error.to_string())?;
                self.connection = Some(accepted.ok_or("no connection to accept")?.0);
            }
            Action::Write(bytes, taken) => self.write(*bytes, *taken)?,
            Action::Read(reading) => self.read(reading, true)?,
            Action::Peek(reading) => self.read(reading, false)?,
            Action::ShutdownRead => {
                let id = self.connection()?;
                let closed = self.stack.tcp_shutdown_read(id, now);
                closed.map_err(|error| error.to_string())?;
            }
            Action::Shutdown => {
                let id = self.connection()?;
                self.stack
                    .tcp_shutdown(id, now)
                    .map_err(|error| error.to_string())?;
            }
            Action::Close | Action::Abort => {
                let id = self.connection()?;
                let ended = match action {
                    Action::Close => self.stack.tcp_close(id, now),
                    _ => self.stack.tcp_abort(id, now),
                };
                ended.map_err(|error| error.to_string())?;
                self.connection = None;
            }
            Action::Option(name, value) => self.set_option(name, value)?,
            Action::Inject(segment) => self.inject(segment),
            Action::Icmp(kind, seq) => self.inject_icmp(*kind, *seq),
            Action::Datagram(protocol, len) => {
                self.inject_packet((PEER, &[]), (*protocol).into(), Ecn::NotEct, &vec![7; *len]);
            }
            Action::Check(name, comparison) => {
                let actual = self.value_of(name)?;
                if !comparison.holds(&actual) {
                    return Err(format!("{name} is {actual}, expected {comparison:?}"));
                }
            }
            Action::Closed(reason) => self.check_closed(reason)?,
            Action::Expect(_) | Action::ExpectIcmp(_) | Action::Quiet | Action::Skip => {
                unreachable!("handled by `step`")
            }
        }
        Ok(())
    }

    fn connection(&self) -> Result<ConnectionId, String> {
        self.connection
            .ok_or_else(|| "no connection yet, or no more".to_string())
    }

    fn write(&mut self, bytes: usize, expected: usize) -> Result<(), String> {
        let payload: Vec<u8> = (self.written..self.written + bytes).map(pattern).collect();
        let now = self.now();
        let taken = self.stack.tcp_write(self.connection()?, &payload, now);
        let taken = taken.map_err(|error| error.to_string())?;
        self.written += taken;
        if taken == expected {
            Ok(())
        } else {
            Err(format!("{taken} bytes were accepted"))
        }
    }

    /// Reads; peeks if `consume` is false.
    fn read(&mut self, reading: &Reading, consume: bool) -> Result<(), String> {
        let mut out = vec![0; 1 << 20];
        let wanted = match reading {
            Reading::Bytes(bytes) => *bytes,
            Reading::Empty | Reading::End | Reading::Error => out.len(),
        };
        let now = self.now();
        let (id, out) = (self.connection()?, &mut out[..wanted]);
        let got = match consume {
            true => self.stack.tcp_read(id, out, now),
            false => self.stack.tcp_peek(id, out, now),
        };
        match (reading, got) {
            (Reading::Bytes(bytes), Ok(Read::Data(got))) if got == *bytes => {
                for (at, byte) in (self.read..).zip(&out[..got]) {
                    if *byte != pattern(at) {
                        return Err(format!("byte {at} of the stream is wrong"));
                    }
                }
                if consume {
                    self.read += got;
                }
                Ok(())
            }
            (Reading::Empty, Ok(Read::Empty))
            | (Reading::End, Ok(Read::End))
            | (Reading::Error, Err(_)) => Ok(()),
            (wanted, got) => Err(format!("expected {wanted:?}, got {got:?}")),
        }
    }

    fn set_option(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = || {
            value
                .parse::<u32>()
                .map_err(|_| format!("{value}: not a number"))
        };
        let truth = || {
            value
                .parse::<bool>()
                .map_err(|_| format!("{value}: true or false"))
        };
        let time = || number().map(|ms| Duration::from_millis(ms.into()));
        let option = match name {
            "nodelay" => SocketOption::NoDelay(truth()?),
            "cork" => SocketOption::Cork(truth()?),
            "quick_ack" => SocketOption::QuickAck(truth()?),
            "keepalive" => SocketOption::Keepalive(time()?),
            "keepalive_interval" => SocketOption::KeepaliveInterval(time()?),
            "keepalive_probes" => SocketOption::KeepaliveProbes(number()?),
            "syn_retries" => SocketOption::SynRetries(number()?),
            "user_timeout" => SocketOption::UserTimeout(time()?),
            "max_segment" => SocketOption::MaxSegment(number()?),
            "send_buffer" => SocketOption::SendBuffer(number()?),
            "unsent_low_water" => SocketOption::UnsentLowWater(number()?),
            "receive_buffer" => SocketOption::ReceiveBuffer(number()?),
            "receive_low_water" => SocketOption::ReceiveLowWater(number()?),
            "urgent" => SocketOption::Urgent,
            other => return Err(format!("{other}: no such socket option")),
        };
        let now = self.now();
        let set = self.stack.tcp_set(self.connection()?, option, now);
        set.map_err(|error| error.to_string())
    }

    /// Puts a segment of the peer on the wire.
    fn inject(&mut self, segment: &Segment) {
        let clock = PEER_CLOCK.wrapping_add((self.now_us / 1_000) as u32);
        let timestamps = segment.timestamps.map(|stamp| Timestamps {
            value: stamp
                .value
                .map_or(clock, |value| PEER_CLOCK.wrapping_add(value)),
            echo: stamp.echo.map_or(self.last_stamp, |echo| {
                self.first_stamp.unwrap_or(0).wrapping_add(echo)
            }),
        });
        let acks = segment.flags.contains(TcpFlags::ACK);
        let ours = self.iss.unwrap_or(0);
        let header = TcpHeader {
            src_port: segment.port.unwrap_or(self.ports.1),
            dst_port: self.ports.0,
            seq: segment.seq.wrapping_add(self.peer_isn),
            ack: if acks {
                segment.ack.unwrap_or(0).wrapping_add(ours)
            } else {
                segment.ack.unwrap_or(0)
            },
            flags: segment.flags,
            window: segment.window.unwrap_or(u16::MAX),
            urgent: segment.urgent.unwrap_or(0),
            options: TcpOptions {
                mss: segment.mss,
                window_scale: segment.window_scale,
                sack_permitted: segment.sack_permitted,
                timestamps,
                sack: segment.sack_blocks(ours),
            },
            options_malformed: false,
        };
        let syn = u32::from(segment.flags.contains(TcpFlags::SYN));
        let first = (segment.seq + syn).wrapping_sub(1) as usize;
        let payload: Vec<u8> = (0..segment.len as usize)
            .map(|index| pattern(first.wrapping_add(index)))
            .collect();
        let mut bytes = vec![0; header.header_len() + payload.len()];
        let header_len = header.write(&mut bytes);
        bytes[header_len..].copy_from_slice(&payload);
        let sum = Checksum::of(&payload);
        let src = segment.src.unwrap_or(PEER);
        fullpipe_wire::tcp::set_checksum(&mut bytes[..header_len], src.into(), OURS.into(), sum);
        let ecn = segment.ecn.unwrap_or(Ecn::NotEct);
        self.inject_packet((src, &segment.ip_options), Protocol::Tcp, ecn, &bytes);
    }

    /// Puts on the wire an ICMP error that quotes the stack's segment at `seq`.
    fn inject_icmp(&mut self, kind: IcmpKind, seq: u32) {
        let message = match kind {
            IcmpKind::TooBig(mtu) => Icmpv4Message::Unreachable {
                code: UnreachableCode::FragmentationNeeded,
                next_hop_mtu: mtu,
            },
            IcmpKind::Port => Icmpv4Message::Unreachable {
                code: UnreachableCode::Port,
                next_hop_mtu: 0,
            },
            IcmpKind::Protocol => Icmpv4Message::Unreachable {
                code: UnreachableCode::Protocol,
                next_hop_mtu: 0,
            },
            IcmpKind::Host => Icmpv4Message::Unreachable {
                code: UnreachableCode::Host,
                next_hop_mtu: 0,
            },
            IcmpKind::TimeExceeded => Icmpv4Message::TimeExceeded {
                code: TimeExceededCode::Ttl,
            },
        };
        let quoted_len = 1_000;
        let mut quoted = vec![0; 28];
        let mut ip = Ipv4Header::new(OURS, PEER, Protocol::Tcp, quoted_len);
        ip.dont_fragment = true;
        ip.write(&mut quoted);
        quoted[20..22].copy_from_slice(&self.ports.0.to_be_bytes());
        quoted[22..24].copy_from_slice(&self.ports.1.to_be_bytes());
        let absolute = seq.wrapping_add(self.iss.unwrap_or(0));
        quoted[24..28].copy_from_slice(&absolute.to_be_bytes());
        let mut bytes = vec![0; Icmpv4Message::LEN + quoted.len()];
        message.write(&mut bytes, Checksum::of(&quoted));
        bytes[Icmpv4Message::LEN..].copy_from_slice(&quoted);
        self.inject_packet((PEER, &[]), Protocol::Icmp, Ecn::NotEct, &bytes);
    }

    /// Sends a packet with IP options, which are padded to a multiple of four bytes.
    fn inject_packet(
        &mut self,
        (src, options): (Ipv4Addr, &[u8]),
        protocol: Protocol,
        ecn: Ecn,
        payload: &[u8],
    ) {
        let header_len = 20 + options.len().next_multiple_of(4);
        let behind = header_len - 20 + payload.len();
        let mut ip = Ipv4Header::new(src, OURS, protocol, behind);
        ip.ecn = ecn;
        let mut packet = vec![0; header_len];
        ip.write(&mut packet);
        packet[0] = 0x40 | (header_len / 4) as u8;
        packet[20..20 + options.len()].copy_from_slice(options);
        packet[10..12].fill(0);
        let sum = Checksum::of(&packet).finish();
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend_from_slice(payload);
        self.wire.arrived.push_back(packet);
    }

    /// A field of the connection, or a counter, as text.
    fn value_of(&mut self, name: &str) -> Result<String, String> {
        if let Some(counter) = name.strip_prefix("counter ") {
            let stack = &self.stack;
            let mut all = stack
                .tcp_counters()
                .iter()
                .chain(stack.tcp_discards().iter())
                .chain(stack.counters().iter())
                .chain(stack.counters().discards());
            let found = all.find(|(known, _)| *known == counter);
            return found
                .map(|(_, value)| value.to_string())
                .ok_or_else(|| format!("{counter}: no such counter"));
        }
        let now = self.now();
        let ready = self.stack.tcp_ready(self.connection()?, now);
        let ready = ready.map_err(|error| error.to_string())?;
        let info = self.stack.tcp_info(self.connection()?, now);
        let info = info.map_err(|error| error.to_string())?;
        let ms = |time: Duration| (time.as_micros() as f64 / 1e3).to_string();
        Ok(match name {
            "readable" => ready.readable.to_string(),
            "writable" => ready.writable.to_string(),
            "state" => info.state.name().to_string(),
            "cwnd" => info.cwnd.to_string(),
            "ssthresh" => info.ssthresh.to_string(),
            "mss" => info.mss.to_string(),
            "srtt_ms" => ms(info.srtt),
            "rto_ms" => ms(info.rto),
            "in_flight" => info.in_flight.to_string(),
            "retransmitted_in_flight" => info.retransmitted.to_string(),
            "sacked" => info.sacked.to_string(),
            "lost" => info.lost.to_string(),
            "busy_ms" => ms(info.busy),
            "rwnd_limited_ms" => ms(info.receive_window_limited()),
            "sndbuf_limited_ms" => ms(info.send_buffer_limited()),
            "snd_wnd" => info.snd_wnd.to_string(),
            "rcv_wnd" => info.rcv_wnd.to_string(),
            "unsent" => info.unsent.to_string(),
            "send_queue" => info.send_queue.to_string(),
            "receive_queue" => info.receive_queue.to_string(),
            "holes" => info.holes.to_string(),
            "timeouts" => info.timeouts.to_string(),
            "fast_recoveries" => info.fast_recoveries.to_string(),
            "retransmitted" => info.segments_retransmitted.to_string(),
            "zero_window_probes" => info.zero_window_probes.to_string(),
            "recovery" => info.recovery.name().to_string(),
            "limit" => info.limit.current().name().to_string(),
            other => return Err(format!("{other}: no such field")),
        })
    }
}

/// The byte at `offset` of every stream, in both directions.
fn pattern(offset: usize) -> u8 {
    (offset.wrapping_mul(31) ^ (offset >> 8)) as u8
}
