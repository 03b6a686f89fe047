//! Two hosts on a cable of 5 ms: a client, and a server of names and of one TCP port.
//!
//! Rule: time passes in steps of the cable's delay; nothing is random.

#[path = "../../../stack/tests/port/mod.rs"]
mod port;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use fullpipe::{
    Config, ConnectOptions, ConnectionId, Duration, Instant, Interface, InterfaceId, ListenOptions,
    ListenerId, MacAddress, Read, Stack, Subnet, UdpId,
    device::{Capabilities, Medium},
    turn,
};
use fullpipe_dns::{DnsName, Finish, Names, RaceError, RaceId, Resolver, Settings};
use port::Port;
use simple_dns::{
    CLASS, Packet, PacketFlag, QTYPE, ResourceRecord, TYPE,
    rdata::{A, AAAA, RData},
};

pub const V4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
pub const V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);
/// An address that no host has.
pub const DEAD_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xdead);

const CAPABILITIES: Capabilities = Capabilities::plain(Medium::Ethernet, 1_500);
const STEP: Duration = Duration::from_millis(5);
const PORT: u16 = 80;
const STEPS_MAX: u32 = 20_000;

/// The server's records, and its faults.
#[derive(Clone, Debug, Default)]
pub struct Zone {
    pub six: Vec<Ipv6Addr>,
    pub four: Vec<Ipv4Addr>,
    pub ignores_aaaa: bool,
    /// Answers over UDP are truncated.
    pub truncates: bool,
    /// Number of queries that the server ignores before it answers one.
    pub ignored: u32,
    /// Forged answers precede each answer: from another port, and with another id.
    pub forges: bool,
    pub has_no_listener: bool,
}

/// A connection to the name server.
struct Client {
    id: ConnectionId,
    received: Vec<u8>,
}

/// The two hosts.
pub struct Network {
    pub client: Stack,
    pub names: Names,
    server: Stack,
    ports: [Port; 2],
    zone: Zone,
    sockets: [UdpId; 2],
    listener: ListenerId,
    clients: Vec<Client>,
    now: Instant,
}

fn host(last: u8) -> Stack {
    let interface = Interface {
        mac: MacAddress([2, 0, 0, 0, 0, last]),
        address: IpAddr::from([10, 0, 0, last]),
        prefix_len: 24,
        gateway: None,
        capabilities: CAPABILITIES,
    };
    let stack = Stack::new(&Config::default(), interface, [last; 16]);
    let mut stack = stack.expect("the configuration is sound");
    let six = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last.into());
    let subnet = Subnet {
        address: six.into(),
        prefix_len: 64,
    };
    stack
        .add_address(InterfaceId::FIRST, subnet)
        .expect("there is room");
    stack
}

impl Network {
    pub fn new(zone: Zone) -> Self {
        let (client, mut server) = (host(1), host(2));
        let bind = |stack: &mut Stack, port| stack.udp_bind((V4, port).into()).expect("free");
        let sockets = [bind(&mut server, 53), bind(&mut server, 54)];
        let any = |port| SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        let options = ListenOptions::default;
        let own = SocketAddr::from((V4, 53));
        let listener = server.tcp_listen(own, options()).expect("free");
        if !zone.has_no_listener {
            server
                .tcp_listen((V4, PORT).into(), options())
                .expect("free");
            server.tcp_listen(any(PORT), options()).expect("free");
        }
        let mut resolver = Resolver::new(Settings::default(), [7; 16]);
        resolver.set_servers([own]);
        Self {
            client,
            names: Names::new(resolver),
            server,
            ports: [Port::new(CAPABILITIES), Port::new(CAPABILITIES)],
            zone,
            sockets,
            listener,
            clients: Vec::new(),
            now: Instant::ZERO,
        }
    }

    pub const fn now(&self) -> Instant {
        self.now
    }

    pub fn elapsed_ms(&self) -> u64 {
        u64::from(self.now.since(Instant::ZERO).as_millis() as u32)
    }

    /// Begins to connect to a name.
    pub fn begin(&mut self, name: &str) -> RaceId {
        let name: DnsName = name.parse().expect("a host name");
        let port = (PORT, ConnectOptions::default());
        let begun = self.names.connect(&name, port, &mut self.client, self.now);
        begun.expect("there is a server")
    }

    /// Connects to a name, and returns the address of the peer.
    pub fn connect(&mut self, name: &str) -> Result<IpAddr, RaceError> {
        let id = self.begin(name);
        match self.finish(id)? {
            Finish::Connected(id) => {
                let ends = self.client.tcp_ends(id).expect("it is open");
                Ok(ends.1.ip())
            }
            Finish::Addresses(_) => panic!("a connection was wanted"),
        }
    }

    pub fn lookup(&mut self, name: &str) -> Result<Finish, RaceError> {
        let name: DnsName = name.parse().expect("a host name");
        let begun = self.names.lookup(&name, &mut self.client, self.now);
        self.finish(begun.expect("there is a server"))
    }

    fn finish(&mut self, id: RaceId) -> Result<Finish, RaceError> {
        for _ in 0..STEPS_MAX {
            if let Some(outcome) = self.names.take(id) {
                return outcome;
            }
            self.run(1);
        }
        panic!("no outcome");
    }

    /// Lets time pass.
    pub fn run(&mut self, steps: u32) {
        for _ in 0..steps {
            self.names.drive(&mut self.client, self.now);
            self.serve();
            let [near, far] = &mut self.ports;
            turn(&mut self.client, near, self.now);
            turn(&mut self.server, far, self.now);
            far.arrived.append(&mut near.sent);
            near.arrived.append(&mut far.sent);
            self.now += STEP;
        }
    }

    fn serve(&mut self) {
        let mut buffer = [0; 2_048];
        while let Ok(Some(query)) = self.server.udp_receive(self.sockets[0], &mut buffer) {
            if self.zone.ignored > 0 {
                self.zone.ignored -= 1;
                continue;
            }
            let Some(answer) = self
                .zone
                .answer(&buffer[..query.copied], self.zone.truncates)
            else {
                continue;
            };
            let [own, other] = self.sockets;
            let mut send = |socket, bytes: &[u8]| {
                let sent = self.server.udp_send(socket, query.from, bytes);
                assert_eq!(sent, Ok(true));
            };
            if self.zone.forges {
                send(other, &answer);
                let mut guess = answer.clone();
                guess[0] ^= 0x55;
                send(own, &guess);
            }
            send(own, &answer);
        }
        self.serve_tcp();
    }

    fn serve_tcp(&mut self) {
        while let Ok(Some((id, _))) = self.server.tcp_accept(self.listener, self.now) {
            let received = Vec::new();
            self.clients.push(Client { id, received });
        }
        for client in &mut self.clients {
            let mut buffer = [0; 512];
            if let Ok(Read::Data(len)) = self.server.tcp_read(client.id, &mut buffer, self.now) {
                client.received.extend_from_slice(&buffer[..len]);
                let answer = self.zone.answer(&client.received[2..], false);
                let answer = answer.expect("a whole query");
                let framed = [&(answer.len() as u16).to_be_bytes()[..], &answer].concat();
                // The answer comes in two pieces.
                for piece in [&framed[..7], &framed[7..]] {
                    let written = self.server.tcp_write(client.id, piece, self.now);
                    assert_eq!(written, Ok(piece.len()));
                }
            }
        }
    }
}

impl Zone {
    fn answer(&self, bytes: &[u8], truncates: bool) -> Option<Vec<u8>> {
        let query = Packet::parse(bytes).expect("a valid query");
        let question = &query.questions[0];
        let is_six = question.qtype == QTYPE::TYPE(TYPE::AAAA);
        if is_six && self.ignores_aaaa {
            return None;
        }
        let mut packet = Packet::new_reply(query.id());
        packet.questions = query.questions.clone();
        let mut add = |data| {
            let name = question.qname.clone();
            let record = ResourceRecord::new(name, CLASS::IN, 60, data);
            packet.answers.push(record);
        };
        if truncates {
            packet.set_flags(PacketFlag::TRUNCATION);
        } else if is_six {
            for ip in &self.six {
                add(RData::AAAA(AAAA {
                    address: ip.to_bits(),
                }));
            }
        } else {
            for ip in &self.four {
                add(RData::A(A {
                    address: ip.to_bits(),
                }));
            }
        }
        Some(packet.build_bytes_vec_compressed().expect("valid"))
    }
}
