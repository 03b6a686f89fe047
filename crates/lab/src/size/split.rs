//! Finds the best division of the given memory between sending and receiving.
//!
//! Rule: the host sends and receives at the same time, as a server does. The result of a direction
//! is its goodput, as a share of its goodput when it has all memory and the other direction is
//! idle. A division is as good as the result of its worse direction.

use fullpipe_explain::NamedSetting;
use fullpipe_scenario::experiment::{Row, Setup};

use super::{
    error::SizeError,
    request::SizeRequest,
    result::{Divided, HostRole, Split},
    runs::Runs,
    search::{Ample, buffer, named_setting},
    world::only,
};
use crate::report::RowReport;

/// Number of parts into which the memory is divided.
const PARTS: u64 = 10;

/// Tries divisions in tenths. `alone` contains the result of each direction while the other
/// direction is idle.
///
/// # Errors
/// Fails if a run fails, or the memory cannot be divided.
pub fn split(request: &SizeRequest, alone: &[Ample], runs: &Runs<'_>) -> Result<Split, SizeError> {
    let world = &alone[HostRole::Send as usize].world;
    let row = only(world);
    let both = both_ways(request, &row.setup)?;
    let memory = both.hosts[0].pool_bytes();
    let named = |buffers: [u64; 2]| {
        HostRole::ALL
            .map(|role| named_setting(&both.hosts[0], buffer(role), buffers[role as usize]))
    };
    let all_to_both = named([memory, memory]);
    let [send_knob, receive_knob] = all_to_both.each_ref().map(|setting| setting.name.clone());
    let tried = |settings: [NamedSetting; 2]| {
        let setup = with(&both, &settings)?;
        let row = Row {
            setup,
            ..row.clone()
        };
        Some((settings, row))
    };
    let parts = (1..PARTS).filter_map(|part| {
        let send = memory * part / PARTS;
        tried(named([send, memory - send]))
    });
    let (mut settings, mut rows): (Vec<_>, Vec<_>) = parts.unzip();
    let (Some((all_to_both, undivided)), false) = (tried(all_to_both), rows.is_empty()) else {
        let why = format!(
            "{memory} bytes of packet memory cannot be divided between {send_knob} and \
             {receive_knob}, because the host refuses each division: give another \
                     --memory"
        );
        return Err(SizeError::Nothing(why));
    };
    // In the same batch, run the setting in which each buffer may use all memory.
    settings.push(all_to_both);
    rows.push(undivided);
    let reports = runs.rows(world, rows)?;
    let reports = settings.iter().zip(&reports);
    let mut curve: Vec<_> = reports
        .map(|(settings, report)| divided(settings, report, alone))
        .collect();
    let undivided = curve.pop().expect("it was put there");
    let places = 0..curve.len();
    let best = places.max_by(|a, b| curve[*a].kept.total_cmp(&curve[*b].kept));
    Ok(Split {
        send_knob,
        receive_knob,
        best: best.unwrap_or_default(),
        curve,
        undivided,
    })
}

/// Returns the setup in which the host sends and receives at the same time.
fn both_ways(request: &SizeRequest, setup: &Setup) -> Result<Setup, SizeError> {
    let mut setup = setup.clone();
    let mut back = setup.flows[0].clone();
    back.name = "back".to_string();
    std::mem::swap(&mut back.from, &mut back.to);
    // Let the peer's writer continue as soon as any space is free, because the requested
    // `low_water` applies only to the host.
    back.set("low_water", "0")
        .map_err(SizeError::of_setting("low_water=0"))?;
    setup.flows.push(back);
    let loss = request.loss.to_string();
    setup
        .set("path.back.loss", &loss)
        .map_err(SizeError::of_setting(&format!("loss={loss}")))?;
    Ok(setup)
}

fn with(both: &Setup, settings: &[NamedSetting; 2]) -> Option<Setup> {
    let mut setup = both.clone();
    for NamedSetting { name, wanted, .. } in settings {
        setup.set(&format!("host.{name}"), wanted).ok()?;
    }
    setup.validate().ok().map(|()| setup)
}

fn divided([send, receive]: &[NamedSetting; 2], report: &RowReport, alone: &[Ample]) -> Divided {
    let flows = &report.measured.flows;
    let [sent_mbps, received_mbps] = [0, 1].map(|place| flows[place].goodput_mbps);
    let kept = HostRole::ALL.map(|role| {
        let best = alone[role as usize].best.goodput_mbps;
        flows[role as usize].goodput_mbps / best
    });
    Divided {
        send: send.wanted.clone(),
        receive: receive.wanted.clone(),
        sent_mbps,
        received_mbps,
        kept: kept[0].min(kept[1]),
    }
}
