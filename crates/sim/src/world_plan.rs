//! The full description of a world (a simulated network with its traffic), and the file that
//! contains it.
//!
//! Rule: a plan contains everything that decides how a world runs. The same plan gives the same
//! frames at the same nanoseconds, even if the drawing of random worlds changes later. A plan is
//! drawn from a seed (`random_world.rs`) or read from a file; `soak.rs` runs it.
//!
//! A file lists only the knobs and link settings that differ from their defaults. A name
//! that no longer exists is an error, so a file never loses a setting unnoticed.

use std::fmt;

use fullpipe::Config;
use fullpipe_pool::Duration;
use serde::{Deserialize, Serialize};

use crate::app::{
    Application, Ending, ReadPlan, Requester, Requests, Responder, Transfer, WritePlan,
};
use crate::cpu::CpuModel;
use crate::device::DeviceModel;
use crate::flow::FlowId;
use crate::ids::{Family, HostId, LinkId, Seed};
use crate::link::{Direction, LinkModel};
use crate::rule::{Rule, RuleAction};
use crate::world::World;

/// A world at time zero, and the impairments that occur later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldPlan {
    /// Seed of the randomness while the world runs: losses, backoffs, initial sequence
    /// numbers, payload.
    #[serde(with = "crate::text_forms::seed")]
    pub seed: u64,
    /// Time for which impairments last. After this time impairments stop, and every transfer
    /// must end.
    #[serde(with = "crate::text_forms::duration")]
    pub impaired_for: Duration,
    /// A link that is unplugged for a while, inside `impaired_for`.
    pub outage: Option<OutagePlan>,
    /// Addresses that hosts lose for a while, inside `impaired_for`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absences: Vec<AbsencePlan>,
    /// Packets, chosen by their number, that are dropped, delayed or duplicated.
    #[serde(default)]
    pub rules: Vec<RulePlan>,
    /// The links. A single link joins two hosts; several links are joined by one switch.
    pub links: Vec<LinkPlan>,
    /// A second link between the two hosts of a single link. Each host then has a second interface
    /// on it, with the device of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<LinkPlan>,
    /// The hosts, each on one link.
    pub hosts: Vec<HostPlan>,
    /// The connections.
    pub flows: Vec<FlowPlan>,
}

/// A link that is unplugged for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutagePlan {
    /// Index of the link.
    pub link: usize,
    /// Time at which the link is unplugged.
    #[serde(with = "crate::text_forms::duration")]
    pub begin: Duration,
    /// Time until the link is plugged in again.
    #[serde(with = "crate::text_forms::duration")]
    pub length: Duration,
}

/// An address that a host loses for a while, as when a lease ends and is renewed late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbsencePlan {
    /// Index of the host.
    pub host: usize,
    /// The IP version of the address.
    #[serde(default, skip_serializing_if = "Family::is_default")]
    pub family: Family,
    /// Time at which the host loses the address.
    #[serde(with = "crate::text_forms::duration")]
    pub begin: Duration,
    /// Time until the host has the address again.
    #[serde(with = "crate::text_forms::duration")]
    pub length: Duration,
}

/// TCP segments to which an action applies, counted over all hosts in the order in which
/// they leave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulePlan {
    /// The action.
    pub action: RuleAction,
    /// Number of the first segment, counted from 1.
    pub first: u64,
    /// Number of segments.
    pub count: u64,
}

/// A link's two directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkPlan {
    /// From the link's first end to its second end. The first host of the link is at the first
    /// end.
    pub forward: LinkModel,
    /// From the second end to the first; `None` if it equals `forward`.
    pub back: Option<LinkModel>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostPlan {
    /// Index of the host's link.
    pub link: usize,
    /// The host's network device.
    pub device: DeviceModel,
    /// The host's processor; `None` if work takes no time.
    pub cpu: Option<CpuModel>,
    /// The host's knobs.
    #[serde(with = "crate::text_forms::knobs", rename = "knobs", default)]
    pub config: Config,
}

/// A connection and the applications at its two ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowPlan {
    /// Index of the host that opens the connection.
    pub client: usize,
    /// Index of the host that accepts the connection.
    pub server: usize,
    /// The IP version: 4, or 6 if both hosts' links have an MTU of at least 1,280 bytes.
    #[serde(default, skip_serializing_if = "Family::is_default")]
    pub family: Family,
    /// The connection uses the second interfaces of the hosts, over IPv4.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parallel: bool,
    /// Time at which the client opens the connection.
    #[serde(with = "crate::text_forms::duration")]
    pub start: Duration,
    /// The applications write and read in the stack's blocks, without a copy.
    pub in_place: bool,
    /// The applications.
    pub apps: AppsPlan,
}

/// The applications of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AppsPlan {
    /// The client sends requests and the server answers each.
    Requests(Requests),
    /// Each end writes a stream, reads one, or both.
    Transfer {
        /// The client.
        client: TransferPlan,
        /// The server.
        server: TransferPlan,
    },
}

/// An application that writes a stream, reads one, or both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferPlan {
    /// The stream that the application writes, if any.
    pub write: Option<WritePlan>,
    /// The pace at which the application reads.
    pub read: ReadPlan,
    /// The way in which the transfer ends.
    pub ending: Ending,
}

/// The reason why a text is not a world file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldFileError(String);

impl fmt::Display for WorldFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WorldFileError {}

impl LinkPlan {
    /// The model of one direction.
    pub fn model(&self, direction: Direction) -> LinkModel {
        match direction {
            Direction::Forward => self.forward,
            Direction::Back => self.back.unwrap_or(self.forward),
        }
    }
}

impl RulePlan {
    fn rule(&self) -> Rule {
        let chosen = self.first..self.first.saturating_add(self.count);
        let mut seen = 0;
        Rule::new(self.action, move |packet| {
            seen += u64::from(packet.tcp.is_some());
            packet.tcp.is_some() && chosen.contains(&seen)
        })
    }
}

impl AppsPlan {
    fn applications(&self) -> (Box<dyn Application>, Box<dyn Application>) {
        match self {
            Self::Requests(plan) => (
                Box::new(Requester::new(*plan)),
                Box::new(Responder::new(*plan)),
            ),
            Self::Transfer { client, server } => {
                (Box::new(client.transfer()), Box::new(server.transfer()))
            }
        }
    }
}

impl TransferPlan {
    fn transfer(&self) -> Transfer {
        Transfer::new(self.write.clone(), self.read.clone(), self.ending)
    }
}

impl WorldPlan {
    /// Builds the world at time zero.
    ///
    /// # Panics
    /// Panics if the plan contradicts itself; see [`check`](Self::check).
    pub fn build(&self) -> World {
        let mut world = World::new(Seed(self.seed));
        let links: Vec<LinkId> = self
            .links
            .iter()
            .map(|plan| {
                let [forward, back] = Direction::ALL.map(|direction| plan.model(direction));
                world.link_asymmetric(forward, back)
            })
            .collect();
        let hosts: Vec<HostId> = self
            .hosts
            .iter()
            .map(|plan| {
                let host = world.host_with(&links[plan.link], plan.config.clone(), plan.device);
                world.set_cpu(host, plan.cpu.unwrap_or(CpuModel::FREE));
                host
            })
            .collect();
        if links.len() > 1 {
            let switch = world.switch();
            for link in &links {
                world.plug(link, switch);
            }
        }
        if let Some(plan) = &self.parallel {
            let [forward, back] = Direction::ALL.map(|direction| plan.model(direction));
            let link = world.link_asymmetric(forward, back);
            for (host, plan) in hosts.iter().zip(&self.hosts) {
                world.second_interface(*host, &link, plan.device);
            }
        }
        for plan in &self.flows {
            let (client, server) = plan.apps.applications();
            let (from, to) = (hosts[plan.client], hosts[plan.server]);
            world.use_family(plan.family);
            if plan.parallel {
                world.use_second_network();
            }
            let flow: FlowId = world.converse(from, to, client, server, plan.start);
            world.set_in_place(flow, plan.in_place);
        }
        for rule in &self.rules {
            world.rule(rule.rule());
        }
        for absence in &self.absences {
            let host = hosts[absence.host];
            world.lose_address_for(host, absence.family, absence.begin, absence.length);
        }
        world
    }

    /// Checks that the parts of the plan fit together, and that link settings and knobs are in
    /// range. Does not check the values of devices, processors and applications.
    ///
    /// # Errors
    /// Returns the first contradiction, in words.
    pub fn check(&self) -> Result<(), WorldFileError> {
        let refuse = |words: String| Err(WorldFileError(words));
        for (number, link) in self.links.iter().enumerate() {
            for direction in Direction::ALL {
                if let Err(error) = link.model(direction).check() {
                    return refuse(format!("links[{number}]: {error}"));
                }
            }
            let ends = self.hosts.iter().filter(|host| host.link == number).count();
            let free = if self.links.len() > 1 { 1 } else { 2 };
            if ends > free {
                return refuse(format!(
                    "links[{number}]: at most {free} of the hosts may be on this link"
                ));
            }
        }
        for (number, host) in self.hosts.iter().enumerate() {
            if host.link >= self.links.len() {
                return refuse(format!("hosts[{number}]: there is no link {}", host.link));
            }
            if let Err(error) = host.config.validate() {
                return refuse(format!("hosts[{number}]: {error}"));
            }
        }
        for (number, flow) in self.flows.iter().enumerate() {
            if flow.client.max(flow.server) >= self.hosts.len() || flow.client == flow.server {
                return refuse(format!(
                    "flows[{number}]: client and server must be the numbers of two different hosts"
                ));
            }
            if flow.family == Family::V6
                && let Err(words) = self.check_v6(flow)
            {
                return refuse(format!("flows[{number}]: {words}"));
            }
        }
        self.check_parallel()?;
        if let Some(OutagePlan {
            link,
            begin,
            length,
        }) = self.outage
            && (link >= self.links.len() || begin + length > self.impaired_for)
        {
            return refuse("outage: link must be the number of a link, and the outage must end within impaired_for".into());
        }
        for (number, absence) in self.absences.iter().enumerate() {
            let end = absence.begin + absence.length;
            if absence.host >= self.hosts.len() || end > self.impaired_for {
                return refuse(format!(
                    "absences[{number}]: host must be the number of a host, and the absence must end within impaired_for"
                ));
            }
        }
        Ok(())
    }

    /// Checks that the second link and its flows fit the hosts.
    fn check_parallel(&self) -> Result<(), WorldFileError> {
        let refuse = |words: String| Err(WorldFileError(words));
        let mut on_it = self
            .flows
            .iter()
            .enumerate()
            .filter(|(_, flow)| flow.parallel);
        let Some(link) = &self.parallel else {
            return match on_it.next() {
                Some((number, _)) => refuse(format!("flows[{number}]: there is no second link")),
                None => Ok(()),
            };
        };
        for direction in Direction::ALL {
            if let Err(error) = link.model(direction).check() {
                return refuse(format!("parallel: {error}"));
            }
        }
        if self.links.len() != 1 || self.hosts.len() != 2 {
            return refuse("parallel: only two hosts on one link can have a second link".into());
        }
        if self.hosts.iter().any(|host| host.cpu.is_some()) {
            return refuse("parallel: a host with a processor has one interface".into());
        }
        for (number, flow) in on_it {
            if flow.family != Family::V4 {
                return refuse(format!("flows[{number}]: the second link carries IPv4"));
            }
            // One listener for each IP version and one for the second interface.
            if self.hosts[flow.server].config.stack.listeners < 3 {
                return refuse(format!(
                    "flows[{number}]: the server needs stack.listeners = 3"
                ));
            }
        }
        Ok(())
    }

    /// Checks that both hosts of a flow over IPv6 can have an IPv6 address.
    fn check_v6(&self, flow: &FlowPlan) -> Result<(), String> {
        for host in [flow.client, flow.server] {
            let HostPlan { link, config, .. } = &self.hosts[host];
            let least = Family::V6.min_mtu();
            let mut models = Direction::ALL
                .map(|way| self.links[*link].model(way))
                .into_iter();
            if models.any(|model| model.mtu < least) {
                return Err(format!(
                    "IPv6 needs links with an MTU of at least {least} bytes"
                ));
            }
            if config.ip.addresses < 2 {
                return Err(format!("hosts[{host}] needs ip.addresses = 2 for IPv6"));
            }
        }
        let listeners = self.hosts[flow.server].config.stack.listeners;
        let mut served = self
            .flows
            .iter()
            .filter(|other| other.server == flow.server);
        if listeners < 2 && served.any(|other| other.family == Family::V4) {
            let server = flow.server;
            return Err(format!(
                "hosts[{server}] needs stack.listeners = 2 for both IP versions"
            ));
        }
        Ok(())
    }

    /// Reads a world file.
    ///
    /// # Errors
    /// Returns an error in the text, or the error of [`check`](Self::check).
    pub fn from_toml(text: &str) -> Result<Self, WorldFileError> {
        let plan: Self = toml::from_str(text).map_err(|error| WorldFileError(error.to_string()))?;
        plan.check()?;
        Ok(plan)
    }

    /// Returns the text of a world file. The text begins with the lines of `comment`, each as a
    /// comment line.
    pub fn to_toml(&self, comment: &str) -> String {
        let comment: String = comment
            .lines()
            .map(|line| format!("# {line}").trim_end().to_owned() + "\n")
            .collect();
        let table = toml::Table::try_from(self).map(|mut table| {
            omit_link_defaults(&mut table);
            toml::to_string(&table)
        });
        match table {
            Ok(Ok(text)) => format!("{comment}\n{text}"),
            Ok(Err(error)) | Err(error) => unreachable!("a plan is a TOML table: {error}"),
        }
    }
}

/// Removes link settings that equal those of an ideal link.
fn omit_link_defaults(table: &mut toml::Table) {
    let Ok(ideal) = toml::Table::try_from(LinkModel::ideal()) else {
        return;
    };
    let links = table.get_mut("links").and_then(toml::Value::as_array_mut);
    for link in links.into_iter().flatten() {
        for direction in ["forward", "back"] {
            let model = link.get_mut(direction);
            if let Some(model) = model.and_then(toml::Value::as_table_mut) {
                model.retain(|key, value| ideal.get(key) != Some(value));
            }
        }
    }
}

#[cfg(test)]
mod tests;
