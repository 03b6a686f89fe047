//! The twin of one connection: an experiment that behaves like the connection, and its verdict (the
//! explanation of its limit).
//!
//! Rule: a twin that does not reproduce the capture gives no advice. `fullpipe-fit` makes the
//! twin and compares it with the capture; `fullpipe-explain` tries changes of its settings.

use fullpipe::presets::Preset;
use fullpipe_explain::{Explanation, Progress};
use fullpipe_fit::{CaptureTwin, FitOptions, RecordedSizes, fit};

use crate::connections::Connections;

/// Seed of the runs.
const SEED: u64 = 1;
/// Share of the whole work that the fit takes, for showing progress.
const FIT: f64 = 0.3;

/// The twin of a connection, or the reason for which it has no twin.
pub struct TwinAnswer {
    /// Preset of the twin's hosts.
    pub preset: &'static str,
    /// The twin with its explanation, or the twin with the reason for which it gives no advice.
    /// Without a twin, the reason for which the connection has no twin.
    pub found: Result<(CaptureTwin, Result<Explanation, String>), String>,
}

/// Fits an experiment to the connection that [`Connections`] kept whole, and explains this twin.
/// For each buffer, `recorded` says if a program set its size or if the system tunes the size up to
/// a cap. Only a recording of the sockets shows this origin; without a recording, `recorded` has
/// `None` for the buffer. Returns `None` if no connection was kept whole. After `progress` returned
/// `ControlFlow::Break`, the answer has no twin or no explanation.
pub fn twin(
    connections: &Connections,
    preset: &'static Preset,
    recorded: RecordedSizes,
    progress: &Progress<'_>,
) -> Option<TwinAnswer> {
    let (flow, log) = connections.full().zip(connections.log())?;
    let seen = &flow.outcome;
    let [sender, receiver] = [seen.sender, seen.sender.other()].map(|end| flow.key.address(end));
    let options = FitOptions {
        preset,
        title: format!("Twin of the connection {sender} > {receiver} in a capture"),
        seed: SEED,
        recorded,
    };
    let fitted = fit(seen, log, &options, &|share| progress(share * FIT));
    let found = match fitted {
        Ok(twin) => twin
            .explain(&|share| progress(FIT + share * (1.0 - FIT)))
            .map(|explanation| (twin, explanation))
            .map_err(|failure| failure.to_string()),
        Err(failure) => Err(failure.to_string()),
    };
    Some(TwinAnswer {
        preset: preset.name,
        found,
    })
}

impl TwinAnswer {
    /// The twin; `None` if the connection has no twin.
    pub fn fitted(&self) -> Option<&CaptureTwin> {
        self.found.as_ref().ok().map(|(twin, _)| twin)
    }

    /// The explanation of the twin; `None` if the explanation does not apply to the connection.
    pub fn explained(&self) -> Option<&Explanation> {
        let (_, explanation) = self.found.as_ref().ok()?;
        explanation.as_ref().ok()
    }

    /// The reason for which there is no explanation, as a sentence; `None` if there is an
    /// explanation.
    pub fn doubt(&self) -> Option<String> {
        match &self.found {
            Err(why) => Some(format!(
                "No simulation (twin) was fitted to this connection: {why}."
            )),
            Ok((_, Err(why))) => Some(format!(
                "The simulation that was fitted to this connection (the twin) gives no advice: {why}."
            )),
            Ok((_, Ok(_))) => None,
        }
    }
}
