//! The setup of one row (scenario of an experiment): hosts with every knob (setting of the stack),
//! switches, links, and flows.
//!
//! Rule: files and flags change a setup only through [`Setup::set`], path by path, so a setting has
//! the same meaning in a file and in a flag. Nothing is run here.

use fullpipe::{
    config::Config,
    presets::{
        Preset,
        alias::{self, ALIASES},
    },
};
use fullpipe_pool::knobs::parse_count;
use fullpipe_sim::{CpuModel, DeviceModel, Family};

use fullpipe_sim::link::Direction;

use super::{
    congestion::{CONGESTION, OutsideCongestion},
    cpu::{self, CPU_FIELDS},
    device::{DEVICE_FIELDS, DevicePlan},
    flow::{self, FLOW_FIELDS, FlowPlan},
    kernel::{self, GSO_MAX_SEGS, HostStack, STACK},
    link::{LINK_FIELDS, LinkPlan, Place},
    other_names::{self, OTHER_NAMES},
    setting::SettingError,
};

/// First part of a path that addresses every link.
pub const LINK: &str = "link";
/// First part of a path that addresses every flow.
pub const WORKLOAD: &str = "workload";

/// Key for the length of a device's transmit ring.
pub const DEVICE_QUEUE: &str = "device_queue";
/// Prefix of the fields of a host's device.
pub const DEVICE: &str = "device";
/// Prefix of the costs of a host's processor.
pub const CPU: &str = "cpu";
/// Key for hosts that know each other's MAC addresses from the start.
pub const ACQUAINTED: &str = "acquainted";

/// Bytes of packet memory (the pool of blocks for packets) that [`Setup::allowed_bps`] does not
/// count as available for payload.
const MEMORY_KEPT: u64 = 512;

/// A host, its knobs, and its device.
#[derive(Clone, Debug, PartialEq)]
pub struct HostPlan {
    /// The host's name in the file.
    pub name: String,
    /// The preset from which the host's knobs started.
    pub preset: &'static Preset,
    /// Every knob.
    pub config: Config,
    /// Frames that the device queues before it refuses further frames from the stack.
    pub device_queue: u32,
    /// The host's network device.
    pub device: DevicePlan,
    /// The costs of the host's processor.
    pub cpu: CpuModel,
    /// True if this host and all other hosts know each other's MAC addresses from the start.
    pub acquainted: bool,
    /// The stack that runs the host. A run in virtual time ignores this field.
    pub stack: HostStack,
    /// Largest number of segments in a super-segment (a frame that the device cuts into segments)
    /// if the kernel runs the host; `None` for the kernel's default.
    pub gso_max_segs: Option<u32>,
    /// Congestion controls from other crates that are registered for the host.
    registered: Vec<OutsideCongestion>,
    /// The registered algorithm that the host uses; `None` if the host uses the built-in algorithm
    /// of its knob.
    congestion: Option<OutsideCongestion>,
}

impl HostPlan {
    /// Creates a host with the knobs of `preset` and a device without offloads.
    pub fn new(name: &str, preset: &'static Preset) -> Self {
        Self {
            name: name.to_string(),
            preset,
            config: preset.config(),
            device_queue: 256,
            device: DevicePlan::PLAIN,
            cpu: CpuModel::FREE,
            acquainted: false,
            stack: HostStack::Fullpipe,
            gso_max_segs: None,
            registered: Vec::new(),
            congestion: None,
        }
    }

    /// Adds a congestion control from another crate. `tcp.congestion` of this host accepts its
    /// name from now on.
    pub fn register_congestion(&mut self, congestion: OutsideCongestion) {
        self.registered.push(congestion);
    }

    /// The congestion control from another crate that the host uses; `None` if the host uses a
    /// built-in algorithm.
    pub fn registered_congestion(&self) -> Option<&OutsideCongestion> {
        self.congestion.as_ref()
    }

    /// Returns the value of a knob as text; `None` if no knob has that name.
    pub fn get(&self, name: &str) -> Option<String> {
        let registered = self.congestion.as_ref().filter(|_| name == CONGESTION);
        registered.map_or_else(
            || self.config.get(name),
            |registered| Some(registered.name.clone()),
        )
    }

    /// Size of the packet memory, in bytes.
    pub fn pool_bytes(&self) -> u64 {
        u64::from(self.config.pool.blocks) * u64::from(self.config.pool.block_size)
    }

    /// Largest payload, in bytes, that fits into a connection's send buffer. With autotuning, the
    /// buffer can grow to `send_buffer_max`; otherwise it has its configured size, capped by
    /// `send_buffer_limit`.
    pub fn send_capacity(&self) -> u64 {
        let tcp = &self.config.tcp;
        let size = if tcp.send_buffer_max > tcp.send_buffer {
            tcp.send_buffer_max
        } else {
            tcp.send_buffer.min(tcp.send_buffer_limit)
        };
        u64::from(size) * u64::from(tcp.send_payload_share) / 100
    }

    /// Returns the simulator's model of the host's device.
    pub fn device_model(&self) -> DeviceModel {
        self.device.model(self.device_queue)
    }

    /// Sets one value from text: a knob, `device_queue` (frames that the device queues), a field
    /// of `device` or `cpu`, `acquainted`, `stack`, or `gso_max_segs`.
    ///
    /// # Errors
    /// Fails if the name is unknown or the value is refused. The error for an unknown name contains
    /// the most similar known name.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), SettingError> {
        let other = other_names::find(name).filter(|other| other.is_of_host());
        let name = other.map_or(name, |other| other.path);
        if let Some((DEVICE, field)) = name.split_once('.') {
            return self.device.set(field, text);
        }
        if let Some((CPU, field)) = name.split_once('.') {
            return cpu::set(&mut self.cpu, field, text);
        }
        if name == ACQUAINTED {
            let refused = |_| self.refused(name, text, "true or false");
            self.acquainted = text.trim().parse().map_err(refused)?;
            return Ok(());
        }
        if name == STACK {
            self.stack = HostStack::parse(text)
                .ok_or_else(|| self.refused(name, text, HostStack::EXPECTED))?;
            return Ok(());
        }
        if name == GSO_MAX_SEGS {
            let segments = kernel::parse_gso_max_segs(text);
            let expected = "a number of segments, 1 to 65535";
            self.gso_max_segs = Some(segments.ok_or_else(|| self.refused(name, text, expected))?);
            return Ok(());
        }
        if name == CONGESTION || alias::of_knob(self.preset.name, CONGESTION).contains(&name) {
            let mut registered = self.registered.iter();
            self.congestion = registered.find(|own| own.name == text.trim()).cloned();
            if self.congestion.is_some() {
                return Ok(());
            }
        }
        if name != DEVICE_QUEUE {
            return Ok(self.config.set(name, text)?);
        }
        let frames = parse_count(text).and_then(|frames| u32::try_from(frames).ok());
        let expected = "a number of frames, at least 1";
        self.device_queue = frames
            .filter(|frames| *frames > 0)
            .ok_or_else(|| self.refused(name, text, expected))?;
        Ok(())
    }

    /// Returns the error for a value that the setting `name` does not take.
    fn refused(&self, name: &str, given: &str, expected: &'static str) -> SettingError {
        SettingError::NotAValue {
            name: format!("{}.{name}", self.name),
            given: given.to_string(),
            expected,
        }
    }
}

/// All input of a run except its seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The hosts, in the order of the file.
    pub hosts: Vec<HostPlan>,
    /// Names of the switches, in the order of the file.
    pub switches: Vec<String>,
    /// The links, in the order of the file.
    pub links: Vec<LinkPlan>,
    /// The flows, in the order of the file; at least one. Results and explanations concern the
    /// first flow.
    pub flows: Vec<FlowPlan>,
    /// Index in `hosts` of the host under study. A path that names a knob and no host means the
    /// knob of this host.
    pub subject: usize,
}

impl Setup {
    /// Sets the setting at `path`, which is one of:
    /// - `HOST.group.knob`, or `group.knob` for the host under study
    /// - `LINKNAME.field`, or `link.field` for every link
    /// - `FLOWNAME.field`, or `workload.field` for every flow
    /// - another system's name for a knob, a device field or a `workload` field; if `HOST.`
    ///   precedes the name of a `workload` field, the field is set for the flows that this host
    ///   sends.
    ///
    /// # Errors
    /// Fails if the name is unknown or the value is refused. The error for an unknown name contains
    /// the most similar known name.
    pub fn set(&mut self, path: &str, text: &str) -> Result<(), SettingError> {
        let other = other_names::find(path);
        // Set a knob by another system's name before hosts are looked up by name: the knob's path
        // may begin with `device`, and `device` may also be the name of a host.
        if let Some(other) = other.filter(|other| other.is_of_host()) {
            return self.hosts[self.subject].set(other.path, text);
        }
        let path = other.map_or(path, |other| other.path);
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        if let Some(place) = self.hosts.iter().position(|host| host.name == first) {
            let other = other_names::find(rest).and_then(|other| other.path.split_once('.'));
            if let Some((WORKLOAD, field)) = other {
                let mut own = self.flows.iter_mut().filter(|flow| flow.from == place);
                return own.try_for_each(|flow| flow.set(field, text));
            }
            let host = &mut self.hosts[place];
            return host.set(rest, text).map_err(|error| located(error, first));
        }
        if let Some(link) = self.links.iter_mut().find(|link| link.name == first) {
            return link.set(rest, text).map_err(|error| located(error, first));
        }
        if let Some(flow) = self.flows.iter_mut().find(|flow| flow.name == first) {
            return flow.set(rest, text).map_err(|error| located(error, first));
        }
        match first {
            LINK => {
                for link in &mut self.links {
                    link.set(rest, text).map_err(|error| located(error, LINK))?;
                }
                Ok(())
            }
            WORKLOAD => {
                for flow in &mut self.flows {
                    flow.set(rest, text)
                        .map_err(|error| located(error, WORKLOAD))?;
                }
                Ok(())
            }
            _ if [DEVICE_QUEUE, DEVICE, CPU, GSO_MAX_SEGS].contains(&first)
                || is_knob_group(first)
                || alias::find(path).is_some()
                || alias::find_not_expressible(path).is_some() =>
            {
                self.hosts[self.subject].set(path, text)
            }
            _ => {
                let paths = self.paths();
                Err(SettingError::unknown(
                    "setting",
                    path,
                    near_paths(path, &paths),
                ))
            }
        }
    }

    /// Checks that the settings do not contradict each other. Accepts missing settings, because a
    /// row may add them.
    ///
    /// # Errors
    /// Returns the first contradiction of a host, a link or a flow.
    pub fn check_contradictions(&self) -> Result<(), SettingError> {
        for host in &self.hosts {
            host.config
                .validate()
                .and_then(|()| host.config.check_memory())
                .map_err(|error| located(error.into(), &host.name))?;
        }
        if let Some((place, why)) = flow::mixed_protocols(&self.flows) {
            let name = &self.flows[place].name;
            return Err(SettingError::Contradiction(format!("{name} {why}")));
        }
        let links = self.links.iter().filter_map(LinkPlan::contradiction);
        let flows = self.flows.iter().filter_map(FlowPlan::contradiction);
        let mut all = links
            .chain(flows)
            .chain(flow::ends_before_measuring(&self.flows))
            .chain(self.flows.iter().filter_map(|flow| self.lack_for_v6(flow)));
        match all.next() {
            Some(why) => Err(SettingError::Contradiction(why)),
            None => Ok(()),
        }
    }

    /// Returns the error message if `flow` has IPv6 and something on its path does not carry IPv6.
    fn lack_for_v6(&self, flow: &FlowPlan) -> Option<String> {
        if flow.family == Family::V4 {
            return None;
        }
        let name = &flow.name;
        let ends = [flow.from, flow.to].map(|place| &self.hosts[place]);
        if let Some(host) = ends.iter().find(|host| host.config.ip.addresses < 2) {
            let host = &host.name;
            return Some(format!(
                "{name}.family = 6 gives {host} an IPv6 address beside its IPv4 address: \
                 {host}.ip.addresses must be at least 2"
            ));
        }
        let least = Family::V6.min_mtu();
        self.route(flow.from, flow.to)
            .into_iter()
            .find_map(|(number, _)| {
                let plan = &self.links[number];
                let mtu_of = |way| {
                    let link = plan.link(way);
                    link.hop
                        .map_or(link.mtu, |hop| link.mtu.min(hop.mtu.into()))
                };
                let mtu = Direction::ALL.map(mtu_of).into_iter().min()?;
                let link = &plan.name;
                (mtu < least).then(|| {
                    format!(
                        "{name}.family = 6 needs an MTU of at least {least} bytes (RFC 8200 §5), \
                     and {link} has {mtu}"
                    )
                })
            })
    }

    /// The first flow, which results and explanations concern.
    pub fn flow(&self) -> &FlowPlan {
        &self.flows[0]
    }

    /// Free space in bytes that a blocked writer of `flow` waits for; 0 if the stack chooses. A
    /// percentage refers to the send buffer, or to the packet memory if the memory is smaller.
    pub fn low_water(&self, flow: &FlowPlan) -> u64 {
        let sender = &self.hosts[flow.from];
        flow.low_water()
            .of(sender.send_capacity().min(sender.pool_bytes()))
    }

    /// Returns the links from one host to another, in order, with the direction of each. The list
    /// is empty if there is no route.
    pub fn route(&self, from: usize, to: usize) -> Vec<(usize, Direction)> {
        let mut route = Vec::new();
        self.extend_route(Place::Host(from), Place::Host(to), &mut route);
        route
    }

    /// Returns the name of a host or of a switch.
    pub fn place_name(&self, place: Place) -> &str {
        match place {
            Place::Host(number) => &self.hosts[number].name,
            Place::Switch(number) => &self.switches[number],
        }
    }

    /// Appends the route from `here` to `goal`. Returns false if there is no route. Because links
    /// form no loop, the search only has to avoid the link over which it came.
    fn extend_route(&self, here: Place, goal: Place, route: &mut Vec<(usize, Direction)>) -> bool {
        if here == goal {
            return true;
        }
        for (number, link) in self.links.iter().enumerate() {
            let direction = Direction::ALL
                .into_iter()
                .find(|direction| link.between[direction.index()] == here);
            let Some(direction) =
                direction.filter(|_| route.last().is_none_or(|last| last.0 != number))
            else {
                continue;
            };
            route.push((number, direction));
            if self.extend_route(link.between[direction.reverse().index()], goal, route) {
                return true;
            }
            route.pop();
        }
        false
    }

    /// Rate of the first flow's path in bit/s (infinite if no link has a rate), and its
    /// propagation delay in both directions in seconds.
    pub fn bare_path(&self) -> (f64, f64) {
        let flow = self.flow();
        let mut path = (f64::INFINITY, 0.0);
        for (number, direction) in self.route(flow.from, flow.to) {
            let link = &self.links[number];
            let delays = Direction::ALL.map(|direction| link.link(direction).delay_us as f64);
            path.1 += delays.iter().sum::<f64>() / 1e6;
            if let rate @ 1.. = link.link(direction).rate_bps {
                path.0 = path.0.min(rate as f64);
            }
        }
        path
    }

    /// Returns the highest goodput in bit/s that the path and the hosts' memory allow. The first
    /// bound is the path's rate. The second bound is the packet memory of the host that has least,
    /// less `MEMORY_KEPT` bytes, divided by the round-trip time. Returns `None` if the path has
    /// neither a rate nor a delay.
    pub fn allowed_bps(&self) -> Option<f64> {
        let (rate_bps, rtt_s) = self.bare_path();
        let memory = self.hosts.iter().map(HostPlan::pool_bytes).min()?;
        let by_rate = rate_bps.is_finite().then_some(rate_bps);
        let by_memory =
            (rtt_s > 0.0).then(|| memory.saturating_sub(MEMORY_KEPT) as f64 * 8.0 / rtt_s);
        [by_rate, by_memory].into_iter().flatten().reduce(f64::min)
    }

    /// Returns the paths, and other systems' names, to suggest for an unknown path.
    fn paths(&self) -> Vec<String> {
        let knobs: Vec<_> = Config::rows().into_iter().map(|row| row.name).collect();
        let of_hosts = self.hosts.iter().flat_map(|host| {
            let names = knobs.iter().map(String::as_str).chain([
                DEVICE_QUEUE,
                ACQUAINTED,
                STACK,
                GSO_MAX_SEGS,
            ]);
            let fields = DEVICE_FIELDS
                .iter()
                .map(|(name, _)| format!("{}.{DEVICE}.{name}", host.name));
            let costs = CPU_FIELDS
                .iter()
                .map(|row| format!("{}.{CPU}.{}", host.name, row.name));
            names
                .map(move |name| format!("{}.{name}", host.name))
                .chain(fields)
                .chain(costs)
        });
        let names = self
            .links
            .iter()
            .map(|link| link.name.as_str())
            .chain([LINK]);
        let of_links = names.flat_map(|name| {
            LINK_FIELDS
                .iter()
                .map(move |row| format!("{name}.{}", row.name))
        });
        let names = self.flows.iter().map(|flow| flow.name.as_str());
        let of_flows = names
            .filter(|name| *name != WORKLOAD)
            .chain([WORKLOAD])
            .flat_map(|name| {
                FLOW_FIELDS
                    .iter()
                    .map(move |row| format!("{name}.{}", row.name))
            });
        let aliases = ALIASES.iter().map(|alias| alias.name);
        let others = OTHER_NAMES.iter().map(|other| other.name);
        knobs
            .iter()
            .cloned()
            .chain(aliases.chain(others).map(str::to_string))
            .chain(of_hosts)
            .chain(of_links)
            .chain(of_flows)
            .collect()
    }
}

/// Returns true if a knob's name starts with the group `name`.
pub fn is_knob_group(name: &str) -> bool {
    Config::rows()
        .iter()
        .any(|row| row.name.split('.').next() == Some(name))
}

/// Returns the names from which to suggest one for the unknown `path`. If one of `paths` is similar
/// to `path`, returns all of `paths`. Otherwise returns only the part of each path before the first
/// dot.
fn near_paths<'a>(path: &str, paths: &'a [String]) -> impl Iterator<Item = &'a str> + Clone {
    let near = fullpipe_pool::knobs::nearest(path, paths.iter().map(String::as_str)).is_some();
    paths
        .iter()
        .filter(move |known| near || known.contains('.'))
        .map(move |known| {
            if near {
                known
            } else {
                known.split('.').next().unwrap_or(known)
            }
        })
        .scan("", |last, known| {
            let repeats = *last == known;
            *last = known;
            Some((!repeats).then_some(known))
        })
        .flatten()
}

/// Adds `name` to the error of an unknown name, of a contradiction or of a knob whose value is too
/// large. Returns other errors unchanged.
fn located(error: SettingError, name: &str) -> SettingError {
    use fullpipe_pool::knobs::KnobError;
    match error {
        SettingError::Unknown {
            what,
            name: field,
            hint,
        } => SettingError::Unknown {
            what,
            name: format!("{name}.{field}"),
            hint,
        },
        SettingError::Knob(
            error @ (KnobError::Unavailable { .. }
            | KnobError::TooLarge { .. }
            | KnobError::Contradiction { .. }),
        ) => SettingError::Contradiction(format!("{name}: {error}")),
        other @ (SettingError::NotAValue { .. }
        | SettingError::Ambiguous { .. }
        | SettingError::Knob(_)
        | SettingError::Contradiction(_)) => other,
    }
}
