//! The client: from no address to a lease, and from a lease to the next.
//!
//! Rule: an answer counts only in the state that waits for it, with the transaction id of the
//! running exchange (a request and its retransmissions) and, where a server was chosen, from that
//! server. Everything else is counted as ignored and changes nothing.
//!
//! ```text
//! Init → Selecting → Requesting → Probing → Bound → Renewing → (Bound | Rebinding | Init)
//!        Rebooting ──────────────↗
//! ```
//! The states are those of RFC 2131 §4.4, figure 5. `Probing` checks with ARP that no other host
//! has the address (RFC 5227 §2.1).

mod answers;

use std::{collections::VecDeque, net::Ipv4Addr};

use fullpipe::{Duration, Instant, MacAddress, Rng};
use fullpipe_wire::ArpPacket;

use crate::{
    frame::{self, Received},
    lease::Lease,
    message::{Answer, Request, RequestKind},
    retry::Exchange,
};

/// Wait after an address was declined. RFC 2131 §3.1.
const DECLINE_WAIT: Duration = Duration::from_secs(10);
/// Number of transmissions of a request before the client starts again.
const REQUESTS: u32 = 4;
/// Number of transmissions of a request for the previous address.
const REBOOT_REQUESTS: u32 = 2;
/// Number of ARP probes. RFC 5227 §1.1.
const PROBES: u32 = 3;
/// Shortest and longest interval between ARP probes, in milliseconds.
const PROBE_INTERVAL_MS: (u64, u64) = (200, 400);
/// Wait for conflicts after the last probe.
const PROBE_WAIT: Duration = Duration::from_millis(400);
/// Shortest interval between announcements that defend an address. RFC 5227 §1.1.
const DEFEND_INTERVAL: Duration = Duration::from_secs(10);
/// Largest exponent of the wait before the client starts again: 2^6 s.
const RESTART_DOUBLINGS: u32 = 6;
/// Largest number of frames that wait for [`Client::poll_frame`].
const FRAMES_MAX: usize = 8;
/// Largest number of events that wait for [`Client::poll_event`].
const EVENTS_MAX: usize = 8;

/// The identity of a client.
#[derive(Clone, Debug)]
pub struct Settings {
    /// MAC address of the interface.
    pub mac: MacAddress,
    /// Name of this host, for the server's records.
    pub host_name: Option<String>,
    /// Address of an earlier lease, to be asked for first (INIT-REBOOT). RFC 2131 §3.2.
    pub previous: Option<Ipv4Addr>,
}

impl Settings {
    /// Returns the settings of a host without a name and without an earlier lease.
    pub const fn new(mac: MacAddress) -> Self {
        Self {
            mac,
            host_name: None,
            previous: None,
        }
    }
}

/// A change of this host's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The host has this lease: add the address and the routes.
    Bound(Lease),
    /// The lease was extended. Address and prefix are the same as in the last [`Event::Bound`];
    /// other parameters may have changed.
    Renewed(Lease),
    /// The host no longer has an address: remove the address at once.
    Lost(Loss),
}

/// The reason that a lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// No server extended the lease in time.
    Expired,
    /// A server refused to extend the lease (DHCPNAK).
    Refused,
    /// [`Client::release`] returned the lease.
    Released,
}

/// Counts of a client's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCounters {
    /// Messages sent, retransmissions included.
    pub sent: u64,
    /// Answers that changed the client's state.
    pub accepted: u64,
    /// Messages to port 68 that were malformed, for another client, of another exchange, from
    /// another server, or out of turn.
    pub ignored: u64,
    /// Addresses that were declined because another host has them.
    pub declined: u64,
    /// ARP packets from other hosts that use this host's address.
    pub conflicts: u64,
}

/// A lease, and the MAC address from which its DHCPACK came.
#[derive(Clone, Debug)]
struct Grant {
    lease: Lease,
    station: MacAddress,
}

#[derive(Debug)]
enum State {
    /// Waits until the time `until`, and then sends a DHCPDISCOVER.
    Init { until: Instant },
    /// Waits for offers.
    Selecting { exchange: Exchange },
    /// Has asked `server` for the offered `address`.
    Requesting {
        exchange: Exchange,
        server: Ipv4Addr,
        address: Ipv4Addr,
    },
    /// Has asked for the address of an earlier lease.
    Rebooting {
        exchange: Exchange,
        address: Ipv4Addr,
    },
    /// Checks that no other host has the address. `left` is the number of probes still to be sent,
    /// and `next` is the time of the next one.
    Probing {
        grant: Grant,
        left: u32,
        next: Instant,
    },
    /// Has a lease.
    Bound { grant: Grant },
    /// Has a lease, and has asked its server for a longer one (T1).
    Renewing { grant: Grant, exchange: Exchange },
    /// Has a lease, and has asked every server for a longer one (T2).
    Rebinding { grant: Grant, exchange: Exchange },
    /// Asks for nothing.
    Stopped,
}

/// A DHCPv4 client of one Ethernet interface.
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    rng: Rng,
    state: State,
    frames: VecDeque<Vec<u8>>,
    events: VecDeque<Event>,
    counters: ClientCounters,
    /// Time at which the client began to ask for an address.
    begun: Instant,
    /// Number of restarts since the last lease; the wait before the next start grows with this
    /// number.
    restarts: u32,
    /// The server whose last offer led to no lease. The offer of another server is preferred.
    failed_server: Option<Ipv4Addr>,
    /// Time of the last announcement that defended the address.
    defended: Option<Instant>,
}

impl Client {
    /// Creates a client that asks for an address at once, in the first
    /// [`on_timeout`](Self::on_timeout). `rng` must be seeded with a value that other hosts cannot
    /// guess, because `rng` makes the transaction ids.
    pub fn new(settings: Settings, mut rng: Rng, now: Instant) -> Self {
        let state = match settings.previous {
            Some(address) => State::Rebooting {
                exchange: Exchange::new(&mut rng, now),
                address,
            },
            None => State::Init { until: now },
        };
        Self {
            settings,
            rng,
            state,
            frames: VecDeque::new(),
            events: VecDeque::new(),
            counters: ClientCounters::default(),
            begun: now,
            restarts: 0,
            failed_server: None,
            defended: None,
        }
    }

    /// Returns the lease that the host has now.
    pub const fn lease(&self) -> Option<&Lease> {
        match &self.state {
            State::Bound { grant }
            | State::Renewing { grant, .. }
            | State::Rebinding { grant, .. } => Some(&grant.lease),
            State::Init { .. }
            | State::Selecting { .. }
            | State::Requesting { .. }
            | State::Rebooting { .. }
            | State::Probing { .. }
            | State::Stopped => None,
        }
    }

    /// Returns the counts of messages.
    pub const fn counters(&self) -> ClientCounters {
        self.counters
    }

    /// Processes a received Ethernet frame, which need not be well-formed. `checksum_verified` is
    /// true if the device verified the UDP checksum. Returns true if the frame has a message to the
    /// port of DHCP clients. The host's stack need not see such a frame.
    pub fn on_frame(&mut self, frame: &[u8], checksum_verified: bool, now: Instant) -> bool {
        match frame::parse(frame, self.settings.mac, checksum_verified) {
            None => false,
            Some(Received::Arp(packet)) => {
                self.on_arp(&packet, now);
                false
            }
            Some(Received::Message(message, station)) => {
                let answer = Answer::parse(message, self.settings.mac);
                let accepted = answer.is_some_and(|answer| self.on_answer(&answer, station, now));
                match accepted {
                    true => self.counters.accepted += 1,
                    false => self.counters.ignored += 1,
                }
                true
            }
        }
    }

    /// Does what is due at `now`: transmissions, the end of a lease.
    pub fn on_timeout(&mut self, now: Instant) {
        // The loop ends: a step sets a later timeout, or only changes the state, and a following
        // step then sets a later timeout.
        while self.next_timeout().is_some_and(|at| at <= now) {
            self.step(now);
        }
    }

    /// Returns the time at which [`on_timeout`](Self::on_timeout) is due; `None` if never.
    pub fn next_timeout(&self) -> Option<Instant> {
        match &self.state {
            State::Init { until } => Some(*until),
            State::Selecting { exchange }
            | State::Requesting { exchange, .. }
            | State::Rebooting { exchange, .. } => Some(exchange.next),
            State::Probing { next, .. } => Some(*next),
            State::Bound { grant } => grant.lease.renews_at,
            State::Renewing { grant, exchange } => {
                grant.lease.rebinds_at.map(|at| at.min(exchange.next))
            }
            State::Rebinding { grant, exchange } => {
                grant.lease.expires_at.map(|at| at.min(exchange.next))
            }
            State::Stopped => None,
        }
    }

    /// Removes and returns the next frame to send.
    pub fn poll_frame(&mut self) -> Option<Vec<u8>> {
        self.frames.pop_front()
    }

    /// Removes and returns the next change of the host's configuration.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Asks for a longer lease before T1. Nothing happens without a lease, or if the lease has no
    /// end.
    pub fn renew(&mut self, now: Instant) {
        if let State::Bound { grant } = &mut self.state
            && grant.lease.renews_at.is_some_and(|at| at > now)
        {
            grant.lease.renews_at = Some(now);
        }
    }

    /// Returns the address, if the host has one, to its server (DHCPRELEASE), and stops. The
    /// message waits for [`poll_frame`](Self::poll_frame).
    pub fn release(&mut self, now: Instant) {
        let state = std::mem::replace(&mut self.state, State::Stopped);
        if let State::Bound { grant }
        | State::Renewing { grant, .. }
        | State::Rebinding { grant, .. } = state
        {
            let (address, server) = (grant.lease.address, grant.lease.server);
            let xid = self.rng.next_u64() as u32;
            let message = Request {
                current: address,
                server: Some(server),
                ..self.request(RequestKind::Release, xid, now)
            }
            .bytes();
            self.send(grant.station, (address, server), &message);
            self.event(Event::Lost(Loss::Released));
        }
    }

    /// Does what is due in the present state.
    fn step(&mut self, now: Instant) {
        match std::mem::replace(&mut self.state, State::Stopped) {
            State::Init { .. } => {
                self.state = State::Selecting {
                    exchange: Exchange::new(&mut self.rng, now),
                };
            }
            State::Selecting { exchange } => self.discover(exchange, now),
            State::Requesting {
                exchange, server, ..
            } if exchange.sent == REQUESTS => {
                self.failed_server = Some(server);
                self.restart(now);
            }
            State::Requesting {
                exchange,
                server,
                address,
            } => self.ask(exchange, Some(server), address, now),
            State::Rebooting { exchange, .. } if exchange.sent == REBOOT_REQUESTS => {
                self.restart(now);
            }
            State::Rebooting { exchange, address } => self.ask(exchange, None, address, now),
            State::Probing { grant, left: 0, .. } => self.bind(grant),
            State::Probing { grant, left, .. } => self.probe(grant, left, now),
            State::Bound { grant } => {
                let exchange = Exchange::new(&mut self.rng, now);
                self.begun = now;
                self.state = State::Renewing { grant, exchange };
            }
            State::Renewing { grant, exchange } => self.ask_server(grant, exchange, now),
            State::Rebinding { grant, exchange } => self.ask_every_server(grant, exchange, now),
            State::Stopped => {}
        }
    }

    fn discover(&mut self, mut exchange: Exchange, now: Instant) {
        let request = self.request(RequestKind::Discover, exchange.xid, now);
        let message = request.bytes();
        self.broadcast(Ipv4Addr::UNSPECIFIED, &message);
        exchange.on_sent(&mut self.rng, now);
        self.state = State::Selecting { exchange };
    }

    /// Broadcasts a request for `address`, which `server` offered or an earlier lease had.
    fn ask(
        &mut self,
        mut exchange: Exchange,
        server: Option<Ipv4Addr>,
        address: Ipv4Addr,
        now: Instant,
    ) {
        let message = Request {
            wanted: Some(address),
            server,
            ..self.request(RequestKind::Request, exchange.xid, now)
        }
        .bytes();
        self.broadcast(Ipv4Addr::UNSPECIFIED, &message);
        exchange.on_sent(&mut self.rng, now);
        self.state = match server {
            Some(server) => State::Requesting {
                exchange,
                server,
                address,
            },
            None => State::Rebooting { exchange, address },
        };
    }

    /// Sends an ARP probe.
    fn probe(&mut self, grant: Grant, left: u32, now: Instant) {
        let (mac, address) = (self.settings.mac, grant.lease.address);
        self.push(frame::arp_request(mac, Ipv4Addr::UNSPECIFIED, address));
        let (least, most) = PROBE_INTERVAL_MS;
        let next = match left {
            1 => now + PROBE_WAIT,
            _ => now + Duration::from_millis(self.rng.between(least, most)),
        };
        let left = left - 1;
        self.state = State::Probing { grant, left, next };
    }

    /// Takes the lease, and announces the address.
    fn bind(&mut self, grant: Grant) {
        let (mac, address) = (self.settings.mac, grant.lease.address);
        self.push(frame::arp_request(mac, address, address));
        self.event(Event::Bound(grant.lease.clone()));
        (self.restarts, self.failed_server) = (0, None);
        self.state = State::Bound { grant };
    }

    /// Asks the lease's server for a longer lease; at T2, begins to ask every server.
    fn ask_server(&mut self, grant: Grant, mut exchange: Exchange, now: Instant) {
        let end = grant.lease.rebinds_at.unwrap_or(now);
        if end <= now {
            let exchange = Exchange::new(&mut self.rng, now);
            self.state = State::Rebinding { grant, exchange };
            return;
        }
        let (address, server) = (grant.lease.address, grant.lease.server);
        let message = Request {
            current: address,
            ..self.request(RequestKind::Request, exchange.xid, now)
        }
        .bytes();
        self.send(grant.station, (address, server), &message);
        exchange.on_renewal_sent(end, now);
        self.state = State::Renewing { grant, exchange };
    }

    /// Asks every server for a longer lease; gives up the lease at its end.
    fn ask_every_server(&mut self, grant: Grant, mut exchange: Exchange, now: Instant) {
        let end = grant.lease.expires_at.unwrap_or(now);
        if end <= now {
            self.event(Event::Lost(Loss::Expired));
            self.restart(now);
            return;
        }
        let message = Request {
            current: grant.lease.address,
            ..self.request(RequestKind::Request, exchange.xid, now)
        }
        .bytes();
        self.broadcast(grant.lease.address, &message);
        exchange.on_renewal_sent(end, now);
        self.state = State::Rebinding { grant, exchange };
    }

    /// Begins again with a DHCPDISCOVER: at once the first time, later after a wait that doubles
    /// with each restart.
    fn restart(&mut self, now: Instant) {
        let wait = match self.restarts {
            0 => Duration::ZERO,
            again => Duration::from_secs(1) * (1 << (again - 1).min(RESTART_DOUBLINGS)),
        };
        self.restarts += 1;
        self.begun = now + wait;
        self.state = State::Init { until: now + wait };
    }

    /// Handles an ARP packet of another host that uses this host's address, or that probes the
    /// address while this host still probes it.
    fn on_arp(&mut self, packet: &ArpPacket, now: Instant) {
        if packet.sender_mac == self.settings.mac {
            return;
        }
        match &self.state {
            State::Probing { grant, .. } => {
                let address = grant.lease.address;
                let is_probe = packet.sender_ip.is_unspecified() && packet.target_ip == address;
                if packet.sender_ip == address || is_probe {
                    self.decline(now);
                }
            }
            State::Bound { grant }
            | State::Renewing { grant, .. }
            | State::Rebinding { grant, .. } => {
                let address = grant.lease.address;
                if packet.sender_ip == address {
                    self.defend(address, now);
                }
            }
            State::Init { .. }
            | State::Selecting { .. }
            | State::Requesting { .. }
            | State::Rebooting { .. }
            | State::Stopped => {}
        }
    }

    /// Tells the server that another host has the address. RFC 2131 §4.4.4.
    fn decline(&mut self, now: Instant) {
        let State::Probing { grant, .. } = std::mem::replace(&mut self.state, State::Stopped)
        else {
            return;
        };
        let xid = self.rng.next_u64() as u32;
        let message = Request {
            wanted: Some(grant.lease.address),
            server: Some(grant.lease.server),
            ..self.request(RequestKind::Decline, xid, now)
        }
        .bytes();
        self.broadcast(Ipv4Addr::UNSPECIFIED, &message);
        self.counters.declined += 1;
        self.failed_server = Some(grant.lease.server);
        self.begun = now + DECLINE_WAIT;
        self.state = State::Init {
            until: now + DECLINE_WAIT,
        };
    }

    /// Announces the address again, at most every ten seconds. RFC 5227 §2.4 (c): the host keeps
    /// its address, so another host cannot take the address away with ARP packets.
    fn defend(&mut self, address: Ipv4Addr, now: Instant) {
        self.counters.conflicts += 1;
        let is_recent = |at: Instant| now.since(at) < DEFEND_INTERVAL;
        if !self.defended.is_some_and(is_recent) {
            self.defended = Some(now);
            self.push(frame::arp_request(self.settings.mac, address, address));
        }
    }

    /// Returns a message without addresses.
    fn request(&self, kind: RequestKind, xid: u32, now: Instant) -> Request<'_> {
        Request {
            kind,
            xid,
            secs: now.since(self.begun).as_secs().min(u16::MAX.into()) as u16,
            mac: self.settings.mac,
            current: Ipv4Addr::UNSPECIFIED,
            wanted: None,
            server: None,
            host_name: self.settings.host_name.as_deref(),
        }
    }

    /// Sends a message to every station.
    fn broadcast(&mut self, from: Ipv4Addr, message: &[u8]) {
        self.send(MacAddress::BROADCAST, (from, Ipv4Addr::BROADCAST), message);
    }

    fn send(&mut self, station: MacAddress, ends: (Ipv4Addr, Ipv4Addr), message: &[u8]) {
        self.counters.sent += 1;
        let stations = (self.settings.mac, station);
        self.push(frame::with_message(stations, ends, message));
    }

    /// Queues a frame. If the queue is full, because the program sends no frames, the oldest frame
    /// is dropped.
    fn push(&mut self, frame: Vec<u8>) {
        if self.frames.len() == FRAMES_MAX {
            self.frames.pop_front();
        }
        self.frames.push_back(frame);
    }

    /// Queues an event. If the queue is full, because the program takes no events, the oldest event
    /// is dropped.
    fn event(&mut self, event: Event) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}
