//! `fullpipe link`: a link with delay, loss and a rate between two devices of this
//! machine.
//!
//! Rule: a wrong request is refused before a device is created, and a device that
//! this command created is always removed. `fullpipe-perf` runs the link.

use std::time::{Duration, Instant};

use fullpipe_host::{DeviceKind, DeviceOptions, DeviceSpec};
use fullpipe_lab::experiment::{LinkPlan, Place};
use fullpipe_perf::{
    Stop,
    live::{LiveEnd, LiveLink, LiveReport},
};
use fullpipe_sim::{LinkModel, link::Direction};

use crate::{
    arguments::LinkArguments,
    failure::{Failure, note},
    files::LiveCapture,
    output::print,
};

/// Default length of the link's queue. An unlimited queue would distort measurements.
const QUEUE: &str = "1000 packets";
/// Time between two lines of output.
const EVERY: Duration = Duration::from_secs(1);

/// Runs the subcommand.
pub fn run(arguments: &LinkArguments) -> Result<(), Failure> {
    let mut link = link(arguments)?;
    let ends = open_ends(arguments, &mut link)?;
    let capture = arguments.pcap.as_deref().map(LiveCapture::create);
    let capture = capture.transpose()?;
    let out = capture
        .as_ref()
        .map(|capture| Box::new(capture.writer()) as _);
    let mut live = LiveLink::new(ends, link, arguments.seed, out).map_err(Failure::failed)?;
    let stop = Stop::on_interrupt()?;
    let began = Instant::now();
    let over = || {
        let time_is_up = arguments.time.is_some_and(|time| began.elapsed() >= time);
        time_is_up || stop.is_raised()
    };
    let mut before: Option<LiveReport> = None;
    let mut told = Ok(());
    let ended = live.run(&over, EVERY, &mut |report| {
        let line = report.line(before.as_ref());
        if let Err(failure) = tell(&line, arguments.json) {
            told = Err(failure);
            stop.raise(); // the output is closed
        }
        before = Some(report.clone());
    });
    let report = live.report();
    drop(live); // completes the capture
    let captured = capture.map_or(Ok(()), LiveCapture::finish);
    told?;
    if arguments.json {
        print(&report.json(fullpipe_lab::JSON_SCHEMA))?;
    } else {
        print(&format!("in all {}", report.line(None)))?;
    }
    ended.map_err(Failure::failed)?;
    captured
}

/// The link that the flags describe.
fn link(arguments: &LinkArguments) -> Result<LinkModel, Failure> {
    let mut plan = LinkPlan::new("link", [Place::Host(0), Place::Host(1)]);
    plan.set("queue", QUEUE).map_err(Failure::failed)?;
    for field in &arguments.fields.0 {
        plan.set(&field.name, &field.value)
            .map_err(|error| Failure::usage(format!("--{}: {error}", field.name)))?;
    }
    match plan.contradiction() {
        Some(why) => Err(Failure::usage(why)),
        // Return one direction only, because the flags set both directions to the same
        // values.
        None => Ok(plan.link(Direction::Forward)),
    }
}

/// Opens both ends. Interfaces that exist are opened first, because their MTU is that of the link
/// unless `--mtu` sets a smaller one.
fn open_ends(arguments: &LinkArguments, link: &mut LinkModel) -> Result<[LiveEnd; 2], Failure> {
    let [first, second] = &arguments.between.0;
    let is_given = arguments.fields.0.iter().any(|field| field.name == "mtu");
    let mut ends = [None, None];
    for is_own in [false, true] {
        for (end, spec) in ends.iter_mut().zip([first, second]) {
            if creates(spec) == is_own {
                let opened = open(spec, link)?;
                if !is_own {
                    let mtu = opened.device.capabilities().mtu;
                    link.mtu = joint_mtu(link.mtu, is_given, &spec.name, mtu)?;
                }
                *end = Some(opened);
            }
        }
        // The first interface that was opened may have a larger MTU than the second one.
        for end in ends.iter().flatten().filter(|_| !is_own && !is_given) {
            link.mtu = link.mtu.min(end.device.capabilities().mtu);
        }
    }
    Ok(ends.map(|end| end.expect("each end is created or exists")))
}

/// Returns the MTU of a link with the MTU `link` whose end is the interface `name` with the MTU
/// `interface`. If the user gave the link's MTU, an interface with a smaller one is refused.
fn joint_mtu(link: usize, is_given: bool, name: &str, interface: usize) -> Result<usize, Failure> {
    match is_given {
        false => Ok(interface),
        true if link <= interface => Ok(link),
        true => Err(Failure::usage(format!(
            "--mtu {link}: the interface {name} has an MTU of {interface}; give a smaller one, or change \
             the interface (`ip link set {name} mtu {link}`)"
        ))),
    }
}

/// Returns true if the command creates the device unless it exists, and sets its MTU.
const fn creates(spec: &DeviceSpec) -> bool {
    matches!(spec.kind, DeviceKind::Tap | DeviceKind::Tun)
}

/// Opens one end, without offloads: each frame is one packet and has a complete checksum. An
/// interface that exists keeps its MTU.
fn open(spec: &DeviceSpec, link: &LinkModel) -> Result<LiveEnd, Failure> {
    let options = DeviceOptions {
        mtu: creates(spec).then_some(link.mtu),
        checksum_offload: false,
        ..DeviceOptions::new(spec.clone())
    };
    Ok(LiveEnd {
        name: spec.name.clone(),
        device: options.open().map_err(Failure::failed)?,
    })
}

/// Prints a line to standard output, or to standard error if the result is JSON.
fn tell(line: &str, for_a_program: bool) -> Result<(), Failure> {
    if for_a_program {
        note(line);
        Ok(())
    } else {
        print(line)
    }
}

#[cfg(test)]
mod tests;
