//! The experiment of a search for sufficient settings: a host, its peer, and the path between them.
//!
//! Rule: only the resource that the searched knob (setting of the host) bounds is scarce. The host
//! has ample amounts (amounts that do not limit) of every other resource, except those that the
//! request gives. Its peer has ample buffers and memory. Slow start is excluded from the
//! measurement.

use fullpipe_scenario::experiment::{Experiment, HostPlan, Row};

use super::{error::SizeError, request::SizeRequest, result::HostRole};

/// A full frame, in bits.
const FRAME_BITS: f64 = 1_514.0 * 8.0;
/// Payload of a full segment, in bytes.
const SEGMENT: f64 = 1_460.0;
/// Segments of the initial window (RFC 6928). The time to transmit them is also excluded, because
/// it is long on a slow path.
const INITIAL_SEGMENTS: f64 = 10.0;
/// Round trips in which a window doubles in slow start, rounded up: with an ACK for every second
/// segment, the window grows by half in one round trip (RFC 5681 §3.1).
const TRIPS_TO_DOUBLE: f64 = 2.0;
/// This number of bytes, divided by the bandwidth-delay product, is the number of round trips that
/// are measured, within the bounds of [`ROUND_TRIPS`].
const BYTES: f64 = 8e6;
/// Largest number of bytes that a run measures to reach [`LOSSES`] losses.
const BYTES_WITH_LOSSES: f64 = 40e6;
/// Losses in one run. With fewer losses, the window at the end of slow start would still affect
/// the result.
const LOSSES: f64 = 50.0;
/// Losses before the measurement, so that the measurement begins with a typical window.
const SETTLING: f64 = 5.0;
/// Number of seeds of an explained run with losses. Without losses nothing is random, and one seed
/// suffices.
const SEEDS: u32 = 9;
/// Smallest and largest number of round trips that are measured.
const ROUND_TRIPS: (f64, f64) = (8.0, 500.0);
/// Smallest number of frames that are measured.
const FRAMES: f64 = 300.0;

/// Ample packet memory, as a multiple of the size of the buffers. It is larger than the buffers
/// because a window gets only a part of the memory.
const MEMORY: u64 = 4;
/// Size of a block of the peer's pool, in bytes.
const BLOCK: u64 = 2_048;

/// Longest excluded time if the path was full at some time: the first number, multiplied by the
/// time until the path was full, plus the second number of round trips. On a path with losses,
/// [`SETTLING`] may require more.
const AFTER_FULL: (f64, f64) = (1.25, 3.0);

/// Length of a run with one value of the searched knob.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length {
    /// Excluded time, in seconds.
    pub omit_s: f64,
    /// Measured time after the excluded time, in seconds.
    pub measure_s: f64,
}

impl SizeRequest {
    /// Bandwidth-delay product, in bytes.
    pub(super) fn bdp(&self) -> u64 {
        (self.rate_bps as f64 * self.rtt.as_secs_f64() / 8.0).ceil() as u64
    }

    /// Returns the length of a run on a path with a goodput of at most `goodput_bps`. The path was
    /// full after `full_s` seconds; `None` if it was never full.
    pub(super) fn length(&self, goodput_bps: f64, full_s: Option<f64>) -> Length {
        let (rate, rtt_s) = (self.rate_bps as f64, self.rtt.as_secs_f64());
        let frame_s = FRAME_BITS / rate;
        let initial_window = INITIAL_SEGMENTS * SEGMENT;
        let doublings = (self.bdp() as f64 / initial_window).max(1.0).log2();
        let rounds = ROUND_TRIPS.0 + TRIPS_TO_DOUBLE * doublings;
        let trips = BYTES / self.bdp() as f64;
        let by_trips = rtt_s * trips.clamp(ROUND_TRIPS.0, ROUND_TRIPS.1);
        let a_second = (BYTES * 8.0 / rate).min(1.0);
        let mut measure_s = by_trips.max(frame_s * FRAMES).max(a_second);
        if self.loss > 0.0 {
            let bytes = (LOSSES / self.loss * SEGMENT).min(BYTES_WITH_LOSSES);
            measure_s = measure_s.max(bytes * 8.0 / goodput_bps);
        }
        let mut omit_s = (rtt_s + frame_s) * rounds + INITIAL_SEGMENTS * frame_s;
        if let Some(full_s) = full_s {
            let (part, trips) = AFTER_FULL;
            omit_s = omit_s.min(full_s * part + trips * rtt_s);
        }
        if self.loss > 0.0 {
            omit_s = omit_s.max(measure_s * SETTLING / LOSSES);
        }
        Length { omit_s, measure_s }
    }

    /// Returns an experiment with a host and a peer, each with resources of `ample` bytes. The
    /// peer acknowledges every second segment from the start.
    pub(super) fn world(
        &self,
        role: HostRole,
        ample: u64,
        length: Length,
    ) -> Result<Experiment, SizeError> {
        let mut experiment =
            Experiment::parse("size", "size.toml", &self.file(role, ample, length))
                .map_err(SizeError::Path)?;
        // Apply the settings here, because the ample resources depend on some of them. Apply them
        // again at the end, because they take precedence.
        self.apply_settings(&mut experiment)?;
        let [host, peer] = &experiment.rows[0].setup.hosts[..] else {
            unreachable!("the file has two hosts");
        };
        let block = u64::from(host.config.pool.block_size);
        // Limit the window to what the ends can advertise.
        let window = ample.min(most_window(host, peer));
        for limit in ["tcp.send_buffer_limit", "tcp.receive_buffer_limit"] {
            set(&mut experiment, &format!("host.{limit}"), "1G")?;
        }
        for (buffer, size) in [("tcp.send_buffer", ample), ("tcp.receive_buffer", window)] {
            set(
                &mut experiment,
                &format!("host.{buffer}"),
                &size.to_string(),
            )?;
            set(&mut experiment, &format!("host.{buffer}_max"), "0")?;
        }
        for bound in ["tcp.unacknowledged", "tcp.out_of_order"] {
            set(&mut experiment, &format!("host.{bound}"), "1G")?;
        }
        let blocks = |bytes: u64| (bytes / block).max(1).to_string();
        set(&mut experiment, "host.pool.blocks", &blocks(ample * MEMORY))?;
        self.apply_settings(&mut experiment)?;
        experiment.validate().map_err(SizeError::of_setting(""))?;
        if let Some(memory) = self.memory {
            let set = experiment.set("host.pool.blocks", &blocks(memory));
            set.and_then(|()| experiment.validate())
                .map_err(SizeError::Memory)?;
        }
        Ok(experiment)
    }

    fn apply_settings(&self, experiment: &mut Experiment) -> Result<(), SizeError> {
        let mut settings = self.settings.iter();
        settings.try_for_each(|(name, value)| set(experiment, name, value))
    }

    fn file(&self, role: HostRole, ample: u64, length: Length) -> String {
        let (from, to) = match role {
            HostRole::Send => ("host", "peer"),
            HostRole::Receive => ("peer", "host"),
        };
        let Self {
            rate_bps,
            loss,
            preset,
            ..
        } = self;
        let rtt_us = self.rtt.as_micros();
        let (there, back) = (rtt_us / 2, rtt_us - rtt_us / 2);
        let micros = |seconds: f64| (seconds * 1e6).ceil() as u64;
        let omit = micros(length.omit_s);
        let all = omit + micros(length.measure_s);
        let blocks = ample * MEMORY / BLOCK;
        let seeds = if self.loss > 0.0 { SEEDS } else { 1 };
        format!(
            r#"
title = "A path"
subject = "host"
hosts.host = {{ preset = "{}" }}
hosts.peer = {{ set.tcp.send_buffer = {ample}, set.tcp.receive_buffer = {ample}, set.tcp.quick_acks = 0, set.pool.blocks = {blocks} }}
links.path = {{ between = ["{from}", "{to}"], rate = "{rate_bps}bit", forward.delay = "{there}us", back.delay = "{back}us", forward.loss = {loss} }}
workload = {{ from = "{from}", to = "{to}", duration = "{all}us", omit = "{omit}us", write = 16384 }}
rows = [{{ label = "path", seeds = {seeds} }}]
"#,
            preset.name
        )
    }
}

fn set(experiment: &mut Experiment, name: &str, value: &str) -> Result<(), SizeError> {
    experiment
        .set(name, value)
        .map_err(SizeError::of_setting(&format!("{name}={value}")))
}

/// Returns the only row (scenario) of `experiment`.
pub fn only(experiment: &Experiment) -> &Row {
    &experiment.rows[0]
}

/// Returns the largest window that the ends can advertise. RFC 7323 §2.3.
fn most_window(host: &HostPlan, peer: &HostPlan) -> u64 {
    let mut ends = [host, peer].into_iter();
    match ends.all(|end| end.config.tcp.window_scaling) {
        true => u64::MAX,
        false => u16::MAX.into(),
    }
}
