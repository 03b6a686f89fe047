//! The plan for running a row (one scenario of an experiment file) on hosts of this machine's
//! kernel: the settings to apply, or the reasons for refusing the row.
//!
//! Rule: nothing is opened here. A refused row lists every reason at once.

use fullpipe_pool::Duration;
use fullpipe_scenario::{
    HostPlan, Setup,
    experiment::{FlowPlan, HostStack, LowWater, Place},
};
use fullpipe_sim::{
    Family, LinkModel,
    app::Ending,
    link::{Direction, Queue},
};

use crate::settings::KernelSettings;

/// Largest number of connections of a row.
const CONNECTIONS: u32 = 64;

/// The plan of a row: two kernel hosts and the link between them.
#[derive(Clone, Debug)]
pub struct KernelPlan {
    /// Names of the hosts at the link's ends, in the order of the link.
    pub hosts: [String; 2],
    /// For each host of the setup, the index of the host's end of the link.
    ends: Vec<usize>,
    /// Settings of the host at each end.
    pub settings: [KernelSettings; 2],
    /// Largest number of segments of a super-segment (a frame that is cut into segments later) at
    /// each end; `None` keeps the kernel's value.
    pub gso_max_segs: [Option<u32>; 2],
    /// Length in frames of the device queue at each end.
    pub device_queue: [u32; 2],
    /// True if the hosts know each other's MAC addresses from the start.
    pub acquainted: bool,
    /// The models of the link: first forward, then back.
    pub links: [LinkModel; 2],
    /// For each connection, the flow to which it belongs.
    pub connections: Vec<FlowPlan>,
    /// Time after the start that results exclude.
    pub omit: Duration,
    /// Settings that are not applied.
    pub not_applied: Vec<String>,
    /// Notes about the run for readers of its result.
    pub notes: Vec<String>,
}

impl KernelPlan {
    /// Plans `setup`.
    ///
    /// # Errors
    /// Returns the reasons for which the row cannot run on kernel hosts, in one line.
    pub fn of(setup: &Setup) -> Result<Self, String> {
        let refusals = refusals(setup);
        if !refusals.is_empty() {
            return Err(refusals.join("; "));
        }
        let link = &setup.links[0];
        let places = link.between.map(|place| match place {
            Place::Host(host) => host,
            Place::Switch(_) => unreachable!("a switch was refused"),
        });
        let hosts = places.map(|place| &setup.hosts[place]);
        let ends = (0..setup.hosts.len()).map(|host| usize::from(places[1] == host));
        let settings = hosts.map(KernelSettings::of);
        let mut not_applied: Vec<_> = settings
            .iter()
            .flat_map(|settings| settings.not_applied.clone())
            .collect();
        not_applied.extend(flows_not_applied(setup));
        let links = Direction::ALL.map(|direction| link.link(direction));
        Ok(Self {
            hosts: hosts.map(|host| host.name.clone()),
            ends: ends.collect(),
            gso_max_segs: hosts.map(|host| host.gso_max_segs),
            device_queue: hosts.map(|host| host.device_queue),
            acquainted: hosts.iter().any(|host| host.acquainted),
            notes: notes(&hosts, &links),
            links,
            connections: connections(setup),
            omit: fullpipe_scenario::experiment::omitted_until(&setup.flows).unwrap_or_default(),
            not_applied,
            settings,
        })
    }

    /// Returns the index of the end of the link at which the setup's host number `host` is.
    pub fn end_of(&self, host: usize) -> usize {
        self.ends[host]
    }
}

/// Lists the flow of every connection.
fn connections(setup: &Setup) -> Vec<FlowPlan> {
    let flows = setup.flows.iter();
    let each = flows.flat_map(|flow| (0..flow.count).map(move |_| flow.clone()));
    each.collect()
}

/// Reasons for which a row cannot run on kernel hosts.
fn refusals(setup: &Setup) -> Vec<String> {
    let mut reasons = Vec::new();
    let own: Vec<_> = setup
        .hosts
        .iter()
        .filter(|host| host.stack == HostStack::Fullpipe)
        .map(|host| host.name.as_str())
        .collect();
    if !own.is_empty() {
        reasons.push(format!(
            "these hosts have fullpipe's own stack: {}. Either all hosts of a row are kernel hosts \
             (--hosts kernel), or none is",
            own.join(", ")
        ));
    }
    if !setup.switches.is_empty() || setup.links.len() != 1 {
        reasons.push("kernel hosts need exactly one link between them, and no switch".to_string());
    }
    for host in &setup.hosts {
        reasons.extend(host_refusal(host));
    }
    for link in &setup.links {
        if link.link(Direction::Forward).radio.is_some() {
            reasons.push(format!(
                "{}.radio: kernel hosts send frames without waiting for a free radio channel",
                link.name
            ));
        }
    }
    for flow in &setup.flows {
        if flow.is_udp() {
            reasons.push(format!("{} carries datagrams (UDP)", flow.name));
        }
        if flow.family == Family::V6 {
            reasons.push(format!(
                "{} has family = 6: kernel hosts have IPv4 only",
                flow.name
            ));
        }
        let vanishes = |ending| matches!(ending, Ending::Vanish { .. });
        if vanishes(flow.ending()) || vanishes(flow.reader_ending()) {
            reasons.push(format!(
                "{}: an application on a kernel host cannot vanish, because the kernel closes the connections of a program that ends",
                flow.name
            ));
        }
    }
    let count: u32 = setup.flows.iter().map(|flow| flow.count).sum();
    if count > CONNECTIONS {
        reasons.push(format!(
            "the row has {count} connections, but kernel hosts run at most {CONNECTIONS}"
        ));
    }
    reasons
}

fn host_refusal(host: &HostPlan) -> Option<String> {
    let name = &host.name;
    if !host.cpu.is_free() {
        return Some(format!(
            "{name}.cpu: the processor of a kernel host is this machine's, and its speed cannot be set"
        ));
    }
    host.registered_congestion().map(|own| {
        format!(
            "{name}.tcp.congestion = {}: the kernel does not have this algorithm",
            own.name
        )
    })
}

fn flows_not_applied(setup: &Setup) -> Vec<String> {
    let mut lines = Vec::new();
    for flow in &setup.flows {
        if flow.low_water() != LowWater::Bytes(0) {
            lines.push(format!(
                "{}.low_water: Linux wakes a writer when a third of the send buffer is free",
                flow.name
            ));
        }
    }
    lines
}

/// Notes that a reader of the result must know.
fn notes(hosts: &[&HostPlan; 2], links: &[LinkModel; 2]) -> Vec<String> {
    let mut notes = Vec::new();
    if links.iter().any(|link| link.queue == Queue::Device) {
        let [a, b] = hosts.map(|host| host.device_queue);
        let frames = if a == b {
            a.to_string()
        } else {
            format!("{a} and {b}")
        };
        notes.push(format!(
            "The queue before the link is that of the TAP device, {frames} frames. A full queue of a TAP \
             device drops frames; fullpipe's device refuses them."
        ));
    }
    notes
}
