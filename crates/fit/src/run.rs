//! Runs a candidate (an experiment that may behave like the captured connection), and captures the
//! run.
//!
//! Rule: a candidate's run is captured at the same place of the path as the original capture.

use std::ops::ControlFlow;

use fullpipe_diagnose::{
    capture::Segment,
    observe::{ConnectionObserver, ObservedConnection, SegmentLog, Side},
};
use fullpipe_explain::{Progress, TwinFailure};
use fullpipe_scenario::{Played, Scene, Setup, watch::Watch};

use crate::{
    failure::FitFailure,
    frames::{Captured, TapPlace},
    misfit::Figures,
    trace::Trace,
};

/// A candidate after its run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Results as the simulator measures them.
    pub played: Played,
    /// Results as a capture shows them.
    pub figures: Figures,
}

/// Returns the tap in the simulated network that corresponds to the tap of the original capture.
pub fn tap_of(observed: &ObservedConnection) -> TapPlace {
    let vantage = &observed.vantage;
    let [near, far] = [vantage.to_sender_ns, vantage.to_receiver_ns];
    let [near, far] = [near, far].map(|ns| ns.unwrap_or(0) as i64);
    match vantage.side {
        Side::Sender | Side::Unknown => TapPlace::SENDER,
        Side::Receiver => TapPlace::RECEIVER,
        // Measure from the nearer host: the queues are assumed to be on the other, longer side of
        // the tap.
        Side::Middle if near <= far => TapPlace::near(0, near / 2),
        Side::Middle => TapPlace::near(1, far / 2),
    }
}

/// Runs `setup`, and captures the run at `tap`. The figures are those of the first `bytes` bytes
/// of payload.
///
/// # Errors
/// Fails if a checker of the simulator found a violation, or the user interrupted the run.
pub fn run(
    setup: &Setup,
    seed: u64,
    tap: TapPlace,
    bytes: u64,
    progress: &Progress<'_>,
) -> Result<Ran, FitFailure> {
    let mut scene = Scene::new(setup, seed, false, Watch::NONE);
    let captured = Captured::default();
    let refused = |error: std::io::Error| FitFailure::Refused(error.to_string());
    scene
        .capture_hosts(Box::new(captured.clone()))
        .map_err(refused)?;
    let played = scene.play(&|_share| match progress(0.0) {
        ControlFlow::Break(()) => ControlFlow::Break(()),
        ControlFlow::Continue(()) => ControlFlow::Continue(()),
    });
    let played = played.map_err(|failure| TwinFailure::Violation {
        changes: Vec::new(),
        failure,
    })?;
    let played = played.ok_or(TwinFailure::Interrupted)?;
    scene.finish_capture().map_err(refused)?;
    let segments = captured.seen_at(tap);
    let (observed, log) = followed(&segments);
    let trace = Trace::of(&log, &observed);
    Ok(Ran {
        played,
        figures: Figures::of(&observed, &trace, bytes),
    })
}

/// Analyses `segments` as one connection, and keeps them in a log.
pub fn followed(segments: &[Segment]) -> (ObservedConnection, SegmentLog) {
    let mut observer = ConnectionObserver::new();
    let mut log = SegmentLog::new();
    for segment in segments {
        observer.on_segment(segment);
        log.on_segment(segment);
    }
    let end_ns = segments.last().map_or(0, |last| last.at_ns);
    (observer.finish(end_ns), log)
}
