//! Refuses setups that no run could finish, because the run would never end or need too much
//! memory.
//!
//! Rule: the simulator can run every accepted setup to its end. Therefore no flow may send without
//! end at one moment of virtual time, and waiting frames must fit into memory.

use fullpipe_pool::Duration;
use fullpipe_sim::{
    Pace,
    link::{Direction, LinkModel, Queue},
};

use super::{
    flow::{FlowPlan, Stop},
    setting::SettingError,
    setup::{HostPlan, Setup},
};

/// Longest virtual time of a run.
const LONGEST: Duration = Duration::from_secs(30 * 86_400);
/// Largest number of bytes that a flow may send without any virtual time passing.
const MOST_AT_ONCE: u64 = 1 << 20;
/// Largest number of datagrams per second: one per nanosecond, because virtual time has a
/// resolution of one nanosecond.
const MOST_DATAGRAMS: f64 = 1e9;
/// Largest number of bytes of datagrams that one link may hold, waiting or in flight.
const MOST_HELD: f64 = (1_u64 << 30) as f64;
/// Bytes of memory that a datagram takes in addition to its payload, for headers and for the
/// simulator's record of the datagram.
const BESIDE_PAYLOAD: f64 = 128.0;
/// Largest number of senders of datagrams; each sender uses its own ports.
const MOST_SENDERS: u64 = 10_000;

impl Setup {
    /// Checks that the settings do not contradict each other, and that a run can finish.
    ///
    /// # Errors
    /// Returns the first contradiction of a host, a link or a flow, or the first part that no run
    /// could finish.
    pub fn validate(&self) -> Result<(), SettingError> {
        self.check_contradictions()?;
        match refusal(self) {
            Some(why) => Err(SettingError::Contradiction(why)),
            None => Ok(()),
        }
    }
}

/// Returns the error message for the first part of `setup` that no run could finish. The message
/// names the setting to change.
fn refusal(setup: &Setup) -> Option<String> {
    let of_flows = setup.flows.iter().find_map(|plan| {
        too_long(plan)
            .or_else(|| too_fast(setup, plan))
            .or_else(|| too_large(setup, plan))
            .or_else(|| too_many_datagrams(plan))
            .or_else(|| too_much_held(setup, plan))
    });
    of_flows.or_else(|| too_few_sockets(setup))
}

fn too_long(plan: &FlowPlan) -> Option<String> {
    let (end, most) = (plan.latest_end(), LONGEST.as_secs_f64());
    (end > LONGEST).then(|| {
        format!(
            "{} may last {} s, but a run may last at most {most} s (30 days): lower its \
             `duration`, `start`, `at_least` or `give_up`, or give it an `at_most`",
            plan.name,
            end.as_secs_f64()
        )
    })
}

/// Refuses a flow that would send without end in zero virtual time.
fn too_fast(setup: &Setup, plan: &FlowPlan) -> Option<String> {
    let is_few = |bytes: u64| bytes.saturating_mul(plan.count.into()) <= MOST_AT_ONCE;
    let is_small = matches!(plan.stop, Stop::Bytes(bytes) if is_few(bytes))
        && plan.question().is_none_or(|(bytes, _)| is_few(bytes));
    let name = &plan.name;
    if is_small {
        return None;
    }
    if !plan.is_udp() {
        return (!takes_time(setup, plan)).then(|| {
            format!(
                "{name} would never end, because nothing on its path takes time: give a link a \
                 `rate` or a `delay`, or a host a `cpu`"
            )
        });
    }
    let is_paced = plan.datagram_plan().pace != Pace::Unpaced;
    (!is_paced && !is_slowed(setup, plan)).then(|| {
        let host = &setup.hosts[plan.from].name;
        format!(
            "{name} has no rate and would never end, because nothing slows its sender: set \
             {name}.rate or {host}.cpu.call; or set {host}.acquainted = true and also either \
             {host}.cpu.send_packet or, on the link of {host}, a rate and queue = \"device\""
        )
    })
}

/// Returns true if sending a stream takes virtual time.
fn takes_time(setup: &Setup, plan: &FlowPlan) -> bool {
    let is_slow = |link: LinkModel| {
        link.rate_bps > 0 || link.delay_us > 0 || link.token_bucket.is_some() || link.jitter_us > 0
    };
    let route = setup.route(plan.from, plan.to);
    let mut models = route.iter().flat_map(|&(number, _)| {
        let link = &setup.links[number];
        Direction::ALL.map(|direction| link.link(direction))
    });
    let works = |host: usize| !setup.hosts[host].cpu.is_free();
    models.any(is_slow) || works(plan.from) || works(plan.to)
}

/// Returns true if the sender's processor or device slows a flow of datagrams that has no rate. The
/// cost of an application's run always slows the flow. The device and the cost of sending slow it
/// only if no ARP is needed: while ARP is pending, the stack accepts datagrams but sends no frame.
fn is_slowed(setup: &Setup, plan: &FlowPlan) -> bool {
    let HostPlan {
        cpu, acquainted, ..
    } = &setup.hosts[plan.from];
    let first = setup.route(plan.from, plan.to).first().copied();
    let waits = first.is_some_and(|(number, direction)| {
        let link = setup.links[number].link(direction);
        link.queue == Queue::Device && (link.rate_bps > 0 || link.token_bucket.is_some())
    });
    let works = !cpu.send.packet.is_zero() || cpu.send.byte_ps > 0;
    !cpu.call.is_zero() || (*acquainted && (waits || works))
}

/// Datagrams per second of one sender; `None` without a rate.
fn datagrams_per_s(plan: &FlowPlan) -> Option<f64> {
    match plan.datagram_plan().pace {
        Pace::Rate { bps, .. } if plan.is_udp() => Some(bps as f64 / 8.0 / f64::from(plan.write)),
        Pace::Rate { .. } | Pace::Unpaced => None,
    }
}

/// Refuses a datagram that is larger than the sender's stack accepts.
fn too_large(setup: &Setup, plan: &FlowPlan) -> Option<String> {
    let host = &setup.hosts[plan.from];
    let (pool, udp) = (&host.config.pool, &host.config.udp);
    let floors = u64::from(pool.send_floor) + u64::from(pool.receive_floor);
    let memory = u64::from(pool.blocks).saturating_sub(floors) * u64::from(pool.block_size);
    let most = memory.min(udp.send_buffer.into());
    (plan.is_udp() && u64::from(plan.write) > most).then(|| {
        format!(
            "{}.write = {} is a datagram longer than {most} bytes, the most that {} takes: lower \
             it, or raise {}.udp.send_buffer and {}.pool.blocks",
            plan.name, plan.write, host.name, host.name, host.name
        )
    })
}

fn too_many_datagrams(plan: &FlowPlan) -> Option<String> {
    let all = datagrams_per_s(plan)? * f64::from(plan.count);
    (all > MOST_DATAGRAMS).then(|| {
        format!(
            "{}.rate is {all:.3e} datagrams a second, but virtual time resolves at most 1e9 a \
             second: lower the rate or enlarge `write`",
            plan.name
        )
    })
}

/// Refuses a rate of datagrams at which more bytes would wait in an unlimited queue, or be in
/// flight, than a machine can store.
fn too_much_held(setup: &Setup, plan: &FlowPlan) -> Option<String> {
    let mut rate = datagrams_per_s(plan)? * f64::from(plan.count);
    let each = f64::from(plan.write) + BESIDE_PAYLOAD;
    let secs = match plan.stop {
        Stop::After(length) => length.as_secs_f64(),
        Stop::Bytes(bytes) => bytes as f64 * f64::from(plan.count) / f64::from(plan.write) / rate,
    };
    for (number, direction) in setup.route(plan.from, plan.to) {
        let (own, link) = (&setup.links[number], setup.links[number].link(direction));
        let carried = match link.rate_bps {
            0 => rate,
            bps => rate.min(bps as f64 / 8.0 / f64::from(plan.write)),
        };
        let is_unlimited = link.queue == Queue::Unlimited && link.token_bucket.is_none();
        let waiting = if is_unlimited {
            (rate - carried) * secs
        } else {
            0.0
        };
        let delay = (link.delay_us + link.jitter_us) as f64 / 1e6;
        let held = (waiting + carried * delay.min(secs)) * each;
        if held > MOST_HELD {
            return Some(format!(
                "{} would make {} hold {:.1} GB of datagrams: lower {}.rate or its duration, or \
                 give {}.queue a size",
                plan.name,
                own.name,
                held / 1e9,
                plan.name,
                own.name
            ));
        }
        rate = carried;
    }
    None
}

/// Refuses a setup whose datagrams need more UDP sockets than a host has, or more ports than the
/// simulator has.
fn too_few_sockets(setup: &Setup) -> Option<String> {
    let flows = || setup.flows.iter().filter(|plan| plan.is_udp());
    let all: u64 = flows().map(|plan| u64::from(plan.count)).sum();
    if all > MOST_SENDERS {
        return Some(format!(
            "the flows have {all} senders of datagrams, but an experiment may have at most \
             {MOST_SENDERS}: lower their `count`"
        ));
    }
    setup.hosts.iter().enumerate().find_map(|(place, host)| {
        let own = flows().filter(|plan| plan.from == place || plan.to == place);
        let needed: u64 = own.map(|plan| u64::from(plan.count)).sum();
        let sockets = host.config.udp.sockets;
        (needed > sockets.into()).then(|| {
            format!(
                "{} needs {needed} UDP sockets and has {sockets}: raise {}.udp.sockets, or lower \
                 the flows' `count`",
                host.name, host.name
            )
        })
    })
}
