//! The flows that a forwarder carries, and for each the side that it waits for.
//!
//! Rule: a flow is listed from its admission until its relay ends. A report copies the clocks
//! of the relay and of the connection, and measures nothing itself.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    ops::AddAssign,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use fullpipe::{ConnectionId, Limit};
use fullpipe_host::Runtime;

use crate::relay_clock::{RelayClock, RelayReport, RelaySide};

/// The protocol of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// The side for which a direction waited longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitSide {
    /// The host whose packets come from the device. The cause of the wait may be the host's
    /// application or the path to the host.
    Client,
    /// The host behind the kernel socket or the proxy. The cause of the wait may be the host's
    /// application or the path to the host.
    Target,
}

impl WaitSide {
    /// Returns the side's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Target => "target",
        }
    }
}

/// The account of one direction of a flow: its bytes, and the time for which it waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionReport {
    /// Bytes carried.
    pub bytes: u64,
    /// Time for which the direction waited for the client.
    pub waited_for_client: Duration,
    /// Time for which the direction waited for the target.
    pub waited_for_target: Duration,
}

impl AddAssign for DirectionReport {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.waited_for_client += other.waited_for_client;
        self.waited_for_target += other.waited_for_target;
    }
}

impl DirectionReport {
    /// Returns the side for which the direction waited longest; `None` if both waits are equal,
    /// for example if it has not waited yet.
    pub fn waited_longest_for(&self) -> Option<WaitSide> {
        let (client, target) = (self.waited_for_client, self.waited_for_target);
        match client.cmp(&target) {
            std::cmp::Ordering::Greater => Some(WaitSide::Client),
            std::cmp::Ordering::Less => Some(WaitSide::Target),
            std::cmp::Ordering::Equal => None,
        }
    }
}

/// The account of a flow since it was opened.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowReport {
    /// The flow's number; flows are numbered from 1.
    pub number: u64,
    /// The protocol.
    pub protocol: Protocol,
    /// Address and port of the client.
    pub client: SocketAddr,
    /// Address and port of the target.
    pub target: SocketAddr,
    /// Time since the flow was opened.
    pub age: Duration,
    /// From the client to the target.
    pub up: DirectionReport,
    /// From the target to the client.
    pub down: DirectionReport,
    /// The limit (the bound that stopped sending) with the longest time on the stack's connection
    /// to the client, and this time as a share of the connection's age; `None` for UDP.
    pub client_limit: Option<(Limit, f64)>,
}

/// Numbers of open flows, and counts of all flows since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowTotals {
    /// TCP flows that are open.
    pub tcp_open: u64,
    /// UDP flows that are open.
    pub udp_open: u64,
    /// Flows opened.
    pub opened: u64,
    /// Flows refused, because the target could not be reached.
    pub refused: u64,
    /// Sums over closed and open flows, from clients to targets. The waits are those of TCP flows.
    pub up: DirectionReport,
    /// The same, from targets to clients.
    pub down: DirectionReport,
}

/// The flows that are open.
#[derive(Debug, Default)]
pub struct FlowTable {
    flows: Mutex<BTreeMap<u64, Arc<Listed>>>,
    opened: AtomicU64,
    refused: AtomicU64,
    /// Sums over closed flows, up and down.
    closed: Mutex<[DirectionReport; 2]>,
    runtime: OnceLock<Arc<Runtime>>,
}

#[derive(Debug)]
struct Listed {
    protocol: Protocol,
    client: SocketAddr,
    target: SocketAddr,
    id: Option<ConnectionId>,
    since: Instant,
    clock: Arc<RelayClock>,
}

impl Listed {
    /// Returns the accounts of both directions, up and down.
    fn directions(&self) -> [DirectionReport; 2] {
        let up = self.clock.report(RelaySide::Up);
        let down = self.clock.report(RelaySide::Down);
        let direction = |report: RelayReport, [client, target]: [Duration; 2]| DirectionReport {
            bytes: report.bytes,
            waited_for_client: client,
            waited_for_target: target,
        };
        [
            direction(up, [up.waited_for_source, up.waited_for_sink]),
            direction(down, [down.waited_for_sink, down.waited_for_source]),
        ]
    }

    /// Returns what this flow adds to the totals. A UDP flow always waits for its next datagram, so
    /// its waits say nothing.
    fn sums(&self) -> [DirectionReport; 2] {
        let directions = self.directions();
        match self.protocol {
            Protocol::Tcp => directions,
            Protocol::Udp => directions.map(|direction| DirectionReport {
                bytes: direction.bytes,
                ..DirectionReport::default()
            }),
        }
    }
}

impl FlowTable {
    /// Returns the accounts of all open flows, oldest first.
    pub fn reports(&self) -> Vec<FlowReport> {
        let flows: Vec<_> = self
            .flows()
            .iter()
            .map(|(number, flow)| (*number, Arc::clone(flow)))
            .collect();
        flows
            .into_iter()
            .map(|(number, flow)| self.report(number, &flow))
            .collect()
    }

    /// Returns the numbers of open flows, and the counts of all flows since the start.
    pub fn totals(&self) -> FlowTotals {
        let flows = self.flows();
        let [up, down] = *self.closed();
        let mut totals = FlowTotals {
            opened: self.opened.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            up,
            down,
            ..FlowTotals::default()
        };
        for flow in flows.values() {
            match flow.protocol {
                Protocol::Tcp => totals.tcp_open += 1,
                Protocol::Udp => totals.udp_open += 1,
            }
            let [up, down] = flow.sums();
            totals.up += up;
            totals.down += down;
        }
        totals
    }

    /// Resets every open TCP flow, so that its client learns at once that the forwarder ends. Waits
    /// until the resets have left, but at most for `patience`.
    pub fn reset_flows(&self, patience: Duration) {
        let Some(runtime) = self.runtime.get() else {
            return;
        };
        let ids: Vec<_> = self.flows().values().filter_map(|flow| flow.id).collect();
        runtime.with_stack(|stack, now| {
            for id in ids {
                // A flow that has just ended has no connection.
                let _ = stack.tcp_abort(id, now);
            }
        });
        let until = Instant::now() + patience;
        let is_open = || runtime.with_stack(|stack, _| stack.tcp_counts().0 > 0);
        while is_open() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Sets the stack that has the connections of the listed flows.
    pub(super) fn set_runtime(&self, runtime: Arc<Runtime>) {
        // A table is meant for one forwarder. A second forwarder does not replace the stack.
        let _ = self.runtime.set(runtime);
    }

    pub(super) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    fn closed(&self) -> MutexGuard<'_, [DirectionReport; 2]> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flows(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Listed>>> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, number: u64, flow: &Listed) -> FlowReport {
        let [up, down] = flow.directions();
        FlowReport {
            number,
            protocol: flow.protocol,
            client: flow.client,
            target: flow.target,
            age: flow.since.elapsed(),
            up,
            down,
            client_limit: flow.id.and_then(|id| self.limit_of(id)),
        }
    }

    /// Returns the limit with the longest time on a connection, and this time as a share of the
    /// connection's age.
    fn limit_of(&self, id: ConnectionId) -> Option<(Limit, f64)> {
        let runtime = self.runtime.get()?;
        let (info, now) = runtime
            .with_stack(|stack, now| stack.tcp_info(id, now).map(|info| (info, now)))
            .ok()?;
        let longest = info.limit.shares(now).max_by_key(|(_, time, _)| *time)?;
        let age = info.age().as_nanos().max(1) as f64;
        Some((longest.0, longest.1.as_nanos() as f64 / age))
    }
}

/// A listed flow. Dropping this value removes the flow from the table.
pub(super) struct Entry {
    table: Arc<FlowTable>,
    number: u64,
    /// The clock of the flow's relay.
    pub(super) clock: Arc<RelayClock>,
}

impl Entry {
    /// Adds a TCP flow to the table.
    pub(super) fn tcp(
        table: &Arc<FlowTable>,
        client: SocketAddr,
        target: SocketAddr,
        id: ConnectionId,
    ) -> Self {
        Self::new(table, Protocol::Tcp, (client, target), Some(id))
    }

    /// Adds a UDP flow to the table.
    pub(super) fn udp(table: &Arc<FlowTable>, client: SocketAddr, target: SocketAddr) -> Self {
        Self::new(table, Protocol::Udp, (client, target), None)
    }

    fn new(
        table: &Arc<FlowTable>,
        protocol: Protocol,
        (client, target): (SocketAddr, SocketAddr),
        id: Option<ConnectionId>,
    ) -> Self {
        let number = 1 + table.opened.fetch_add(1, Ordering::Relaxed);
        let clock = Arc::new(RelayClock::default());
        let listed = Listed {
            protocol,
            client,
            target,
            id,
            since: Instant::now(),
            clock: Arc::clone(&clock),
        };
        table.flows().insert(number, Arc::new(listed));
        Self {
            table: Arc::clone(table),
            number,
            clock,
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // A caller of `totals` counts the flow once: it holds the lock of the flows meanwhile.
        let mut flows = self.table.flows();
        if let Some(flow) = flows.remove(&self.number) {
            let [up, down] = flow.sums();
            let mut closed = self.table.closed();
            closed[0] += up;
            closed[1] += down;
        }
    }
}
