//! The world (the simulated network): its hosts, links and flows, and the calls that add them.
//!
//! Rule: everything here happens between events; no virtual time passes.
//!
//! Events are in `step.rs`, a host's work in `serve.rs` and a run in `run.rs`.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use fullpipe::{Config, Interface, Stack, device::RxMeta};
use fullpipe_pool::{Duration, Instant, Rng};
use fullpipe_tcp::trace::TraceRecord;
use fullpipe_wire::ndp::{self, NeighbourMessage};
use fullpipe_wire::{
    ArpOperation, ArpPacket, EtherType, EthernetHeader, Ipv6Header, MacAddress, Protocol,
};
use rustc_hash::FxHashMap;

use super::demand::OverflowPlace;
use super::host::{Host, SecondPort};
use super::progress::ProgressChecker;
use super::switch_ports::SwitchPorts;
use crate::account::Overflow;
use crate::app::{Application, ReadPlan, Transfer, WritePlan};
use crate::check::{CheckCoverage, Checks};
use crate::datagrams::{DatagramFlow, DatagramFlowId};
use crate::device::{DeviceModel, SimDevice};
use crate::event_queue::{EventQueue, Wakeup};
use crate::failure::WorldFailure;
use crate::flow::{EndId, Flow, FlowEnd, FlowId};
use crate::ids::{Family, HostId, LinkId, Seed, SwitchId};
use crate::link::{Direction, LinkEngine, LinkModel};
use crate::pcapng::{Capture, LinkType, TapId};
use crate::rule::Rule;
use crate::segment::Tuple;
use crate::socket::Scratch;

/// The longest time that a run may take, in virtual time from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(pub Duration);

impl Deadline {
    /// `secs` seconds.
    pub const fn secs(secs: u64) -> Self {
        Self(Duration::from_secs(secs))
    }

    /// `millis` milliseconds.
    pub const fn millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }
}

/// The kind of an event.
#[derive(Debug)]
pub(super) enum WorldEvent {
    /// A link has a frame to put on the wire or to deliver.
    Link(LinkId),
    /// A timer of a host's stack is due.
    Host(HostId),
    /// The device at a port of a host hands merged segments to its stack.
    Interrupt(HostId, usize),
    /// A host must run although none of its timers is due.
    Poke(HostId),
    /// An application's timer is due.
    End(EndId),
    /// Datagrams are due.
    Datagrams(DatagramFlowId),
    /// A client opens its connection.
    Start(FlowId),
    /// A frame that a rule delayed reaches the link at a port of a host.
    Release(HostId, usize, Vec<u8>),
    /// A host loses its address of an IP version.
    Lose(HostId, Family),
    /// A host gets its address of an IP version again.
    Regain(HostId, Family),
}

/// The node at an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// A port of a host.
    Host(HostId, usize),
    Switch(SwitchId),
}

/// A link and the nodes at its ends.
#[derive(Debug)]
pub(super) struct WorldLink {
    pub(super) engine: LinkEngine,
    /// The nodes at the first and the second end of the link.
    pub(super) ends: [Option<Node>; 2],
    pub(super) wakeup: Wakeup,
    pub(super) tap: Option<TapId>,
}

/// A network in virtual time.
#[derive(Debug)]
pub struct World {
    pub(super) seed: Seed,
    pub(super) rng: Rng,
    pub(super) now: Instant,
    pub(super) events: EventQueue<WorldEvent>,
    pub(super) hosts: Vec<Host>,
    pub(super) cables: Vec<WorldLink>,
    pub(super) switches: Vec<SwitchPorts>,
    pub(super) flows: Vec<Flow>,
    pub(super) datagrams: Vec<DatagramFlow>,
    /// Overflows of receive queues and receive rings; `None` if this world does not record them.
    pub(super) overflows: Option<Vec<(HostId, OverflowPlace, Overflow)>>,
    pub(super) done: usize,
    /// The IP version of the flows that are added from now on.
    family: Family,
    /// These flows use the second interfaces of their hosts.
    second_network: bool,
    pub(super) rules: Vec<Rule>,
    /// Maps the addresses and ports of a segment to the end that sends the segment. Never iterated,
    /// because the order is arbitrary.
    pub(super) tuples: FxHashMap<Tuple, EndId>,
    pub(super) capture: Option<Capture>,
    pub(super) capture_error: Option<io::Error>,
    pub(super) scratch: Scratch,
    pub(super) watch: ProgressChecker,
    /// True after [`reset_abandoned_ends`](Self::reset_abandoned_ends): the world resets each open
    /// connection whose peer is gone or whose flow has finished.
    pub(super) resets_abandoned: bool,
    /// A link's model was replaced after the link was added.
    pub(super) links_changed: bool,
    /// The checks that have found something to check so far.
    pub(super) judged: CheckCoverage,
    pub(super) checks: Checks,
    /// A link may have changed bytes of a frame.
    pub(super) damages: bool,
    /// Buffers of frames for reuse.
    pub(super) spare: Vec<Vec<u8>>,
    pub(super) steps: u64,
    pub(super) frames: u64,
}

/// Bytes of one write, if no plan gives another number.
const WRITE_SIZE: u64 = 16 << 10;
/// Port of every server.
pub(super) const SERVER_PORT: u16 = 5_001;
/// Length of the prefix of a host's IPv4 network, in bits.
pub(super) const V4_PREFIX_LEN: u8 = 16;
/// Largest number of frames that a device queues for its link, if no model gives another number.
const DEVICE_QUEUE: usize = 256;

impl World {
    /// Sets the extent of the checks from now on. Once checks of frames were omitted, they cannot
    /// be resumed, because these checks need every frame from the beginning.
    pub fn set_checks(&mut self, checks: Checks) {
        self.checks = checks;
    }

    /// An empty world at time zero.
    pub fn new(seed: Seed) -> Self {
        Self {
            seed,
            rng: Rng::seeded(seed.0),
            now: Instant::ZERO,
            events: EventQueue::default(),
            hosts: Vec::new(),
            cables: Vec::new(),
            switches: Vec::new(),
            flows: Vec::new(),
            datagrams: Vec::new(),
            overflows: None,
            done: 0,
            family: Family::default(),
            second_network: false,
            rules: Vec::new(),
            tuples: FxHashMap::default(),
            capture: None,
            capture_error: None,
            scratch: Scratch::default(),
            watch: ProgressChecker::default(),
            resets_abandoned: false,
            links_changed: false,
            judged: CheckCoverage::default(),
            checks: Checks::Whole,
            damages: false,
            spare: Vec::new(),
            steps: 0,
            frames: 0,
        }
    }

    /// Adds a link that is the same in both directions. Plug hosts into it with
    /// [`pair`](Self::pair) or [`host`](Self::host).
    ///
    /// # Panics
    /// Panics if the description is out of range ([`LinkModel::check`]).
    pub fn link(&mut self, link: LinkModel) -> LinkId {
        self.link_asymmetric(link, link)
    }

    /// Adds a link whose two directions differ.
    ///
    /// # Panics
    /// Panics if a description is out of range ([`LinkModel::check`]).
    pub fn link_asymmetric(&mut self, forward: LinkModel, back: LinkModel) -> LinkId {
        for link in [forward, back] {
            if let Err(error) = link.check() {
                panic!("{error}");
            }
            self.damages |= link.damages();
        }
        let id = LinkId(self.cables.len());
        let rng = self.rng.fork(0x11_0000 + id.0 as u64);
        self.cables.push(WorldLink {
            engine: LinkEngine::asymmetric(forward, back, &rng),
            ends: [None; 2],
            wakeup: Wakeup::default(),
            tap: None,
        });
        id
    }

    /// Adds a host at the first free end of `link`.
    ///
    /// # Panics
    /// Panics if both ends are taken, or the configuration is invalid.
    pub fn host(&mut self, link: &LinkId, config: Config) -> HostId {
        self.host_with(link, config, DeviceModel::plain(DEVICE_QUEUE))
    }

    /// Adds a host with this device.
    ///
    /// # Panics
    /// Panics as [`host`](Self::host) does.
    pub fn host_with(&mut self, link: &LinkId, config: Config, device: DeviceModel) -> HostId {
        let id = HostId(self.hosts.len());
        let (direction, mtu) = self.take_end(link, Node::Host(id, 0));
        let capabilities = device.capabilities(mtu);
        let mut rng = self.rng.fork(0x22_0000 + id.0 as u64);
        let secret = (u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())).to_le_bytes();
        let interface = Interface {
            mac: mac_of(id),
            address: address_of(id, Family::V4),
            prefix_len: V4_PREFIX_LEN,
            gateway: None,
            capabilities,
        };
        let stack = match Stack::new(&config, interface, secret) {
            Ok(stack) => stack,
            Err(error) => panic!("host {}: {error}", id.0),
        };
        let device = SimDevice::new(device, mtu);
        self.hosts
            .push(Host::new(stack, device, config, *link, direction));
        id
    }

    /// Returns the direction of the frames from the first free end of `link`.
    ///
    /// # Panics
    /// Panics if both ends of the link are taken.
    pub(super) fn free_end(&self, link: &LinkId) -> Direction {
        let ends = &self.cables[link.0].ends;
        let mut free = Direction::ALL.into_iter();
        free.find(|direction| ends[direction.index()].is_none())
            .unwrap_or_else(|| panic!("both ends of the link are taken"))
    }

    /// Connects `node` to the first free end of `link`. Returns the direction of the node's frames,
    /// and the link's MTU in bytes.
    ///
    /// # Panics
    /// Panics if both ends of the link are taken.
    fn take_end(&mut self, link: &LinkId, node: Node) -> (Direction, usize) {
        let direction = self.free_end(link);
        let cable = &mut self.cables[link.0];
        cable.ends[direction.index()] = Some(node);
        (direction, cable.engine.link(direction).mtu)
    }

    /// Gives `host` a second interface, with a device at the first free end of `link` and the IPv4
    /// address 10.1.0.1 and up. Flows that are added after
    /// [`use_second_network`](Self::use_second_network) use it.
    ///
    /// # Panics
    /// Panics if both ends of the link are taken, or if the host has two interfaces already or a
    /// processor whose work takes time.
    pub fn second_interface(&mut self, host: HostId, link: &LinkId, device: DeviceModel) {
        let (direction, mtu) = self.take_end(link, Node::Host(host, 1));
        let [.., high, low] = (host.0 as u32).to_be_bytes();
        let interface = Interface {
            mac: MacAddress([0x02, 0, 0, 1, high, low]),
            address: second_address_of(host),
            prefix_len: V4_PREFIX_LEN,
            gateway: None,
            capabilities: device.capabilities(mtu),
        };
        let own = &mut self.hosts[host.0];
        assert!(own.second.is_none(), "a host has at most two interfaces");
        assert!(own.cpu.is_none(), "a processor serves one device");
        let added = match own.stack.add_interface(&own.config, interface) {
            Ok(added) => added,
            Err(error) => panic!("host {}: {error}", host.0),
        };
        let mut device = SimDevice::new(device, mtu);
        device.serve(added);
        own.second = Some(Box::new(SecondPort {
            device,
            link: *link,
            direction,
            interrupt: Wakeup::default(),
        }));
    }

    /// Adds a client and a server with the same configuration at the two ends of
    /// `link`.
    ///
    /// # Panics
    /// Panics as [`host`](Self::host) does.
    pub fn pair(&mut self, link: &LinkId, config: Config) -> (HostId, HostId) {
        (self.host(link, config.clone()), self.host(link, config))
    }

    /// Sets the IP version of the flows that are added from now on. At first it is IPv4. The flows
    /// use the first interfaces of their hosts.
    pub const fn use_family(&mut self, family: Family) {
        self.family = family;
        self.second_network = false;
    }

    /// Makes the flows that are added from now on use IPv4 and the second interfaces of their hosts
    /// ([`second_interface`](Self::second_interface)).
    pub const fn use_second_network(&mut self) {
        self.family = Family::V4;
        self.second_network = true;
    }

    /// Gives two hosts each other's MAC address for the IP version in use, as after earlier
    /// traffic. Without this call, the first connection between them begins with ARP or neighbour
    /// discovery. With IPv6, each host learns the address from a neighbour solicitation, which it
    /// then answers, although the other host does not need the answer.
    pub fn acquaint(&mut self, one: HostId, other: HostId) {
        for (host, peer) in [(one, other), (other, one)] {
            let frame = match [host, peer].map(|host| self.address_in_use(host)) {
                [IpAddr::V4(own), IpAddr::V4(theirs)] => {
                    arp_reply([mac_of(host), mac_of(peer)], [own, theirs])
                }
                [IpAddr::V6(own), IpAddr::V6(theirs)] => {
                    solicitation([mac_of(host), mac_of(peer)], [own, theirs])
                }
                _ => unreachable!("both addresses have the version in use"),
            };
            let stack = &mut self.hosts[host.0].stack;
            stack.receive(&frame, RxMeta::default(), self.now);
        }
    }

    /// Adds a rule after the existing ones. If several rules choose a packet, the first
    /// decides.
    pub fn rule(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    /// Sends `bytes` from `client` to `server`, written as fast as the stack
    /// accepts them.
    pub fn send(&mut self, client: HostId, server: HostId, bytes: u64) -> FlowId {
        self.send_planned(
            client,
            server,
            WritePlan::bulk(bytes, WRITE_SIZE),
            ReadPlan::Eager,
        )
    }

    /// Sends a stream from `client` to `server`, written and read as planned.
    pub fn send_planned(
        &mut self,
        client: HostId,
        server: HostId,
        write: WritePlan,
        read: ReadPlan,
    ) -> FlowId {
        let (writer, reader) = (Transfer::sender(write), Transfer::sink(read));
        self.converse(
            client,
            server,
            Box::new(writer),
            Box::new(reader),
            Duration::ZERO,
        )
    }

    /// Runs two applications over a connection that `client` opens to `server`
    /// after `delay`.
    ///
    /// # Panics
    /// Panics if the server's stack has no room for another listener, or if a flow over IPv6 has an
    /// end whose stack refuses an IPv6 address.
    pub fn converse(
        &mut self,
        client: HostId,
        server: HostId,
        client_app: Box<dyn Application>,
        server_app: Box<dyn Application>,
        delay: Duration,
    ) -> FlowId {
        // The call adds the client's address of the IP version in use, if it is missing.
        self.address_in_use(client);
        let own = SocketAddr::new(self.address_in_use(server), SERVER_PORT);
        self.hosts[server.0].listen(own);
        let id = FlowId(self.flows.len());
        let keys = self.rng.fork(0x33_0000 + id.0 as u64);
        let end = |host, app, label| FlowEnd::new(host, app, keys.fork(label).next_u64());
        self.flows.push(Flow {
            ends: [end(client, client_app, 0), end(server, server_app, 1)],
            server: own,
            arrivals: Default::default(),
            watch: crate::check::windows::WindowChecker::default(),
            started: self.now + delay,
            finished: None,
            last_frame: None,
            longest_silence: Duration::ZERO,
        });
        self.events.add(self.now + delay, WorldEvent::Start(id));
        id
    }

    /// Makes both applications of `flow` write and read in place, in the stack's
    /// own blocks.
    pub fn set_in_place(&mut self, flow: FlowId, in_place: bool) {
        for end in &mut self.flows[flow.0].ends {
            end.ledger.in_place = in_place;
        }
    }

    /// The current time.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Events that have happened so far.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Frames that have left hosts so far.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Every host, in the order of creation.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..self.hosts.len()).map(HostId)
    }

    /// Every link, in the order of creation.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + use<> {
        (0..self.cables.len()).map(LinkId)
    }

    /// The stack of a host, for inspection.
    pub fn stack(&self, host: HostId) -> &Stack {
        &self.hosts[host.0].stack
    }

    /// Passes a host's trace records to `take`, oldest first, and empties the trace. Returns the
    /// number of records that were overwritten before they could be taken.
    pub fn drain_trace(&mut self, host: HostId, take: impl FnMut(&TraceRecord)) -> u64 {
        self.hosts[host.0].stack.drain_trace(take)
    }

    pub(crate) fn stack_mut(&mut self, host: HostId) -> &mut Stack {
        &mut self.hosts[host.0].stack
    }

    /// The knobs of a host.
    pub fn config(&self, host: HostId) -> &Config {
        &self.hosts[host.0].config
    }

    /// The IPv4 address of a host.
    pub fn address(&self, host: HostId) -> IpAddr {
        address_of(host, Family::V4)
    }

    /// Returns the address of `host` for the flows that are added now. An IPv6 address is also
    /// added to the host's stack, unless the host has lost it for a while.
    pub(super) fn address_in_use(&mut self, host: HostId) -> IpAddr {
        if self.second_network {
            return second_address_of(host);
        }
        let address = address_of(host, self.family);
        let host = &mut self.hosts[host.0];
        if self.family == Family::V6 && host.lost[Family::V6.index()].is_none() {
            host.add_v6(address);
        }
        address
    }

    /// The engine of a link, for inspection.
    pub fn link_engine(&self, link: LinkId) -> &LinkEngine {
        &self.cables[link.0].engine
    }

    /// Replaces a link's model, in both directions, from now on.
    pub fn change_link(&mut self, link: LinkId, to: LinkModel) {
        self.links_changed = true;
        self.damages |= to.damages();
        for direction in Direction::ALL {
            self.cables[link.0].engine.change(direction, to);
        }
        self.schedule_link(link);
    }

    /// Plugs `link` in (`up`), or unplugs it: an unplugged link drops every frame that is
    /// offered.
    pub fn set_link_up(&mut self, link: LinkId, up: bool) {
        self.cables[link.0].engine.set_up(up);
    }

    /// Removes every impairment of every link, and all packet rules.
    pub fn remove_impairments(&mut self) {
        self.rules.clear();
        for number in 0..self.cables.len() {
            let engine = &mut self.cables[number].engine;
            engine.set_up(true);
            for direction in Direction::ALL {
                let healed = engine.link(direction).without_impairments();
                engine.change(direction, healed);
            }
            self.schedule_link(LinkId(number));
        }
    }

    /// Number of hosts; they are numbered from 0.
    pub(crate) fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// Starts a capture into `out`, of the hosts and links chosen with
    /// [`tap_host`](Self::tap_host) and [`tap_link`](Self::tap_link).
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn capture(&mut self, out: Box<dyn Write + Send>) -> io::Result<()> {
        self.capture = Some(Capture::new(out)?);
        Ok(())
    }

    /// Captures the frames that leave and enter a host.
    ///
    /// # Errors
    /// Returns an error if no capture was started, or else the writer's error.
    pub fn tap_host(&mut self, host: HostId, name: &str) -> io::Result<()> {
        self.hosts[host.0].tap = Some(self.add_tap(name)?);
        Ok(())
    }

    /// Captures the frames that are put on a link at either end.
    ///
    /// # Errors
    /// Returns an error if no capture was started, or else the writer's error.
    pub fn tap_link(&mut self, link: LinkId, name: &str) -> io::Result<()> {
        self.cables[link.0].tap = Some(self.add_tap(name)?);
        Ok(())
    }

    fn add_tap(&mut self, name: &str) -> io::Result<TapId> {
        let Some(capture) = &mut self.capture else {
            return Err(io::Error::other("no capture was started"));
        };
        capture.tap(name, LinkType::Ethernet)
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// Returns the first error of writing the capture.
    pub fn finish_capture(&mut self) -> io::Result<()> {
        if let Some(error) = self.capture_error.take() {
            return Err(error);
        }
        match self.capture.take() {
            Some(mut capture) => capture.flush(),
            None => Ok(()),
        }
    }

    pub(crate) fn flow(&self, flow: FlowId) -> &Flow {
        &self.flows[flow.0]
    }

    /// Largest IP packet of a host's device, in bytes.
    pub(crate) fn mtu(&self, host: HostId) -> usize {
        let Host {
            link, direction, ..
        } = &self.hosts[host.0];
        self.cables[link.0].engine.link(*direction).mtu
    }

    pub(crate) fn failure(&self, place: String, finding: impl Into<String>) -> WorldFailure {
        WorldFailure {
            seed: self.seed,
            at: self.now,
            place,
            finding: finding.into(),
        }
    }
}

/// A host's address: 10.0.0.1 and up, or fd00::1 and up.
pub(super) fn address_of(host: HostId, family: Family) -> IpAddr {
    let number = host.0 as u32 + 1;
    match family {
        Family::V4 => Ipv4Addr::from_bits(0x0a00_0000 + number).into(),
        Family::V6 => Ipv6Addr::from_bits(0xfd << 120 | u128::from(number)).into(),
    }
}

/// The address of a host's second interface: 10.1.0.1 and up.
fn second_address_of(host: HostId) -> IpAddr {
    Ipv4Addr::from_bits(0x0a01_0000 + host.0 as u32 + 1).into()
}

/// The frame with which a peer tells a host the peer's MAC address. In both arrays, the host comes
/// first and the peer second.
fn arp_reply(macs: [MacAddress; 2], addresses: [Ipv4Addr; 2]) -> Vec<u8> {
    let ([own_mac, their_mac], [own, theirs]) = (macs, addresses);
    let answer = ArpPacket {
        operation: ArpOperation::Reply,
        sender_mac: their_mac,
        sender_ip: theirs,
        target_mac: own_mac,
        target_ip: own,
    };
    let mut frame = vec![0; EthernetHeader::LEN + ArpPacket::LEN];
    ethernet(macs, EtherType::Arp).write(&mut frame);
    answer.write(&mut frame[EthernetHeader::LEN..]);
    frame
}

/// The frame with which a peer asks a host for its MAC address. The frame contains the peer's own
/// MAC address. In both arrays, the host comes first and the peer second.
fn solicitation(macs: [MacAddress; 2], addresses: [Ipv6Addr; 2]) -> Vec<u8> {
    let [own, theirs] = addresses;
    let message = NeighbourMessage::Solicitation {
        target: own,
        source_mac: Some(macs[1]),
    };
    let mut body = [0; NeighbourMessage::MOST_LEN];
    let len = message.write(&mut body, (theirs, own));
    let header = Ipv6Header {
        hop_limit: ndp::HOP_LIMIT,
        ..Ipv6Header::new(theirs, own, Protocol::Icmpv6, len)
    };
    let mut frame = vec![0; EthernetHeader::LEN + Ipv6Header::LEN];
    ethernet(macs, EtherType::Ipv6).write(&mut frame);
    header.write(&mut frame[EthernetHeader::LEN..]);
    frame.extend(&body[..len]);
    frame
}

/// The Ethernet header of a frame from the second station to the first.
const fn ethernet([dst, src]: [MacAddress; 2], ether_type: EtherType) -> EthernetHeader {
    EthernetHeader {
        dst,
        src,
        ether_type,
    }
}

/// A host's MAC address: locally administered, with the host's number in the last two bytes.
fn mac_of(host: HostId) -> MacAddress {
    let [.., high, low] = (host.0 as u32).to_be_bytes();
    MacAddress([0x02, 0, 0, 0, high, low])
}

/// The host that has `mac`.
pub(super) fn host_of(mac: MacAddress) -> Option<HostId> {
    match mac.0 {
        [0x02, 0, 0, 0, high, low] => Some(HostId(usize::from(u16::from_be_bytes([high, low])))),
        _ => None,
    }
}
