//! One measurement: a new network, a new forwarder, and the flows of a case.
//!
//! Rule: the CPU time is that of the forwarder's process alone. The time of a transfer begins before
//! its first connection and ends with the last verified byte. A transfer that takes longer than
//! [`LONGEST_TRANSFER`] is cut off; its goodput is that of the time until then.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, ensure};

use super::{
    cases::{Direction, ForwardCase, Plan},
    contender::Contender,
    network::{Network, SERVER},
    traffic::{Flow, Server},
};
use crate::payload::Payload;

/// Longest time of a transfer.
const LONGEST_TRANSFER: Duration = Duration::from_secs(10);
/// Time that the forwarder has to become idle before its memory is read.
const SETTLE: Duration = Duration::from_millis(500);
/// Payload of one flow of [`ForwardCase::Open1000`] in each direction, in bytes.
const PING: u64 = 1 << 10;

/// Figures of one measurement.
pub struct Measurement {
    /// Verified payload per second, in Mbit/s.
    pub goodput_mbps: Option<f64>,
    /// CPU time of the forwarder for 1 GiB of payload, in seconds.
    pub cpu_s_per_gib: Option<f64>,
    /// Resident memory of the forwarder with all flows open, in MiB.
    pub resident_mib: Option<f64>,
}

impl Measurement {
    /// Returns the figures for a line of progress.
    pub fn line(&self) -> String {
        let figures = [
            (self.goodput_mbps, "Mbit/s"),
            (self.cpu_s_per_gib, "s of CPU time per GiB"),
            (self.resident_mib, "MiB"),
        ];
        let figures = figures.into_iter();
        let texts = figures.filter_map(|(figure, unit)| Some(format!("{:.2} {unit}", figure?)));
        texts.collect::<Vec<_>>().join(", ")
    }
}

/// Measures one forwarder in one case.
///
/// # Errors
/// Fails if the forwarder does not start, ends, or does not carry every byte.
pub fn measure(contender: Contender, case: ForwardCase, round: u32) -> Result<Measurement> {
    let plan = case.plan();
    let mut network = Network::with(contender, plan.loss, 1 + u64::from(round))?;
    let _server = network.server.enter(Server::start)??;
    let measured = match case {
        ForwardCase::Open1000 => open(&network, &plan),
        ForwardCase::Up1
        | ForwardCase::Down1
        | ForwardCase::Up64
        | ForwardCase::Down64
        | ForwardCase::UpFarLoss
        | ForwardCase::DownFarLoss
        | ForwardCase::UpNearLoss
        | ForwardCase::DownNearLoss => transfer(&network, &plan),
    };
    measured.map_err(|error| match network.forwarder.last_words() {
        Some(words) => anyhow!("the forwarder {words}"),
        None => error,
    })
}

/// Measures the transfer of a plan.
fn transfer(network: &Network, plan: &Plan) -> Result<Measurement> {
    let payload = Arc::new(Payload::new());
    let cpu_before = network.forwarder.cpu_s()?;
    let began = Instant::now();
    let until = began + LONGEST_TRANSFER;
    let bytes = plan.bytes / plan.flows;
    let carry = || -> Result<u64> {
        let mut flow = Flow::open(SERVER, &payload).context("connecting")?;
        flow.transfer(plan.direction, bytes, Some(until))
    };
    let carried = network.client.enter(|| {
        thread::scope(|scope| {
            let flows: Vec<_> = (0..plan.flows).map(|_| scope.spawn(carry)).collect();
            let joined = flows.into_iter().map(|flow| {
                flow.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.sum::<Result<u64>>()
        })
    })??;
    let seconds = began.elapsed().as_secs_f64();
    ensure!(carried > 0, "no byte arrived");
    let cpu_s = network.forwarder.cpu_s()? - cpu_before;
    Ok(Measurement {
        goodput_mbps: Some(carried as f64 * 8.0 / seconds / 1e6),
        cpu_s_per_gib: Some(cpu_s / carried as f64 * (1u64 << 30) as f64),
        resident_mib: None,
    })
}

/// Opens the flows of a plan, uses each once in each direction, and measures the memory while all
/// are open.
fn open(network: &Network, plan: &Plan) -> Result<Measurement> {
    let payload = Arc::new(Payload::new());
    let flows = network.client.enter(|| {
        let open = |number: u64| -> Result<Flow> {
            let numbered = || format!("flow {} of {}", number + 1, plan.flows);
            let mut flow = Flow::open(SERVER, &payload).with_context(numbered)?;
            for direction in [Direction::Up, Direction::Down] {
                flow.transfer(direction, PING, None)
                    .with_context(numbered)?;
            }
            Ok(flow)
        };
        (0..plan.flows).map(open).collect::<Result<Vec<Flow>>>()
    })??;
    thread::sleep(SETTLE);
    let resident_kib = network.forwarder.resident_kib()?;
    drop(flows);
    Ok(Measurement {
        goodput_mbps: None,
        cpu_s_per_gib: None,
        resident_mib: Some(resident_kib as f64 / 1024.0),
    })
}
