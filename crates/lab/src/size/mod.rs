//! How much of each knob a path needs, found by searching the simulator.
//!
//! Rule: one knob is searched at a time while a host has ample of everything else,
//! and what it gives is compared with the best that any setting of it gave; so what is
//! found is what that knob needs. Nothing is worked out from a formula but where to begin.

mod search;
mod text;

#[cfg(test)]
mod tests;

use fullpipe::presets::Preset;
use fullpipe_pool::Duration;
use serde::Serialize;

pub use text::size_text;

use crate::{
    experiment::{Experiment, SettingError},
    mistake::Mistake,
    report::pretty,
    run::RunError,
};

/// What is asked.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Bits a second of the path.
    pub rate_bps: u64,
    /// Its round trip, empty.
    pub rtt: Duration,
    /// Frames that it loses, each for itself.
    pub loss: f64,
    /// All packet memory that the host has; ample where it is not said.
    pub memory: Option<u64>,
    /// What the host is like.
    pub preset: &'static Preset,
    /// Settings beside, as `--set` takes them: of the host, and with `peer.`, `link.`
    /// or `workload.` before them of what that names.
    pub settings: Vec<(String, String)>,
    /// Part of the send buffer that must be free before a writer who found it full
    /// goes on, in percent.
    pub low_water: u32,
    /// The share of the best that is enough.
    pub share: f64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Size {
    /// The preset's name.
    pub preset: &'static str,
    /// Bits a second of the path.
    pub rate_bps: u64,
    /// Its round trip, in milliseconds.
    pub rtt_ms: f64,
    /// Frames that it loses, from 0 to 1.
    pub loss: f64,
    /// All packet memory of the host, where it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Rate times round trip, in bytes.
    pub bdp_bytes: u64,
    /// The share of the best that is enough.
    pub share: f64,
    /// Each knob.
    pub knobs: Vec<Sized>,
}

/// One knob.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sized {
    /// Its name in the host's system.
    pub knob: String,
    /// What the host does: `send` or `receive`.
    pub direction: &'static str,
    /// The most that any setting gave, ample of everything included, in Mbit/s.
    pub best_mbps: f64,
    /// The smallest setting that is enough; none where none is.
    pub smallest: Option<Point>,
    /// Every setting that was tried, the smallest first.
    pub curve: Vec<Point>,
}

/// A setting, and what it gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// As the host's system writes it.
    pub value: String,
    /// What that is in bytes: of a buffer, those that text may have.
    pub bytes: u64,
    /// Text over time, in Mbit/s.
    pub goodput_mbps: f64,
    /// The same over the best.
    pub share: f64,
}

/// Why nothing was found.
#[derive(Debug)]
pub enum SizeError {
    /// A setting is refused.
    Setting(SettingError),
    /// The path cannot be.
    Path(Mistake),
    /// A checker found something.
    Run(RunError),
}

impl std::fmt::Display for SizeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Setting(error) => error.fmt(f),
            Self::Path(mistake) => mistake.fmt(f),
            Self::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SizeError {}

/// Searches every knob of a host that sends and receives over a path. `progress` is
/// told the share that is done.
///
/// # Errors
/// A setting that is refused, or a run's.
pub fn size(wish: &Wish, progress: &(dyn Fn(f64) + Sync)) -> Result<Size, SizeError> {
    let mut knobs = Vec::new();
    for (place, searched) in search::SEARCHED.iter().enumerate() {
        if searched.is_memory && wish.memory.is_some() {
            continue;
        }
        knobs.push(search::search(wish, searched)?);
        progress((place + 1) as f64 / search::SEARCHED.len() as f64);
    }
    Ok(Size {
        preset: wish.preset.name,
        rate_bps: wish.rate_bps,
        rtt_ms: wish.rtt.as_secs_f64() * 1e3,
        loss: wish.loss,
        memory: wish.memory,
        bdp_bytes: wish.bdp(),
        share: wish.share,
        knobs,
    })
}

impl Size {
    /// This as JSON, indented.
    pub fn json(&self) -> String {
        pretty(self)
    }
}

impl Wish {
    /// Rate times round trip, in bytes.
    fn bdp(&self) -> u64 {
        (self.rate_bps as f64 * self.rtt.as_secs_f64() / 8.0).ceil() as u64
    }

    /// The path with a host that has ample of everything, and a peer that has, too:
    /// one that acknowledges every second segment from the first on.
    fn ample(&self, is_sending: bool) -> Result<Experiment, SizeError> {
        let ample = (self.bdp() * 4).max(128 << 10);
        let (from, to) = if is_sending {
            ("host", "peer")
        } else {
            ("peer", "host")
        };
        // A second of it at least, so that its end does not count.
        let amount = (self.bdp() * 60).max(self.rate_bps / 8);
        let amount = amount.clamp(1_000_000, 16_000_000);
        let (rate, loss) = (self.rate_bps, self.loss);
        let delay_us = self.rtt.as_micros() / 2;
        let seeds = if loss > 0.0 { 5 } else { 1 };
        let blocks = ample * 8 / 2_048;
        let file = format!(
            r#"
title = "A path"
subject = "host"
hosts.host = {{ preset = "{}" }}
hosts.peer = {{ set.tcp.send_buffer = {ample}, set.tcp.receive_buffer = {ample}, set.tcp.quick_acks = 0, set.pool.blocks = {blocks} }}
links.path = {{ between = ["{from}", "{to}"], rate = "{rate}bit", delay = "{delay_us}us", forward.loss = {loss} }}
workload = {{ from = "{from}", to = "{to}", bytes = {amount}, write = 16384 }}
rows = [{{ label = "path", seeds = {seeds} }}]
"#,
            self.preset.name
        );
        let mut experiment =
            Experiment::parse("size", "size.toml", &file).map_err(SizeError::Path)?;
        let block = u64::from(experiment.rows[0].setup.hosts[0].config.pool.block_size);
        let pool = self.memory.unwrap_or(ample * 8) / block;
        let ample = ample.to_string();
        let mut set = |name: &str, value: &str| {
            let path = match name.split_once('.') {
                Some(("peer" | "link" | "workload", _)) => name.to_string(),
                _ => format!("host.{name}"),
            };
            experiment.set(&path, value).map_err(SizeError::Setting)
        };
        for limit in ["tcp.send_buffer_limit", "tcp.receive_buffer_limit"] {
            set(limit, "1G")?;
        }
        for buffer in ["tcp.send_buffer", "tcp.receive_buffer"] {
            set(buffer, &ample)?;
            set(&format!("{buffer}_max"), "0")?;
        }
        for bound in ["tcp.unacknowledged", "tcp.out_of_order"] {
            set(bound, "1G")?;
        }
        set("pool.blocks", &pool.max(1).to_string())?;
        for (name, value) in &self.settings {
            set(name, value)?;
        }
        experiment.validate().map_err(SizeError::Setting)?;
        Ok(experiment)
    }
}
