//! Searches one knob (setting of the host): doubles its value until it is sufficient, then
//! approaches the smallest sufficient value.
//!
//! Rule: only values that the host's system can express are tried, so that the result can be set.
//! Values are tried in pairs, whatever the number of processors, so that the result does not depend
//! on the machine. With losses, a value runs with more and more seeds until its goodput is known
//! precisely enough, or is certainly sufficient or insufficient.

use fullpipe::presets::alias;
use fullpipe_explain::{NamedSetting, setting};
use fullpipe_scenario::{
    Played, Shares,
    experiment::{Experiment, HostPlan, Setup},
    units::grouped,
};

use super::{
    buffer::Buffer,
    error::{LARGEST, SizeError},
    request::{SEEDS, SizeRequest},
    result::{AmpleResult, CurvePoint, HostRole, KnobSize},
    runs::Runs,
    sample::{Estimate, Sample},
    world::{Length, only},
};

/// A knob that is searched.
pub struct Searched {
    /// Name of the knob.
    knob: &'static str,
    /// The host's role during the search.
    pub role: HostRole,
    /// Kind of the knob.
    pub what: KnobKind,
}

/// Kind of a searched knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobKind {
    /// Payload in a buffer.
    Buffer,
    /// Size of the packet memory, in blocks.
    Memory,
    /// Unacknowledged payload, if the host's system limits it separately.
    Unacknowledged,
    /// Out-of-order payload, if the host's system limits it separately. Searched only with losses:
    /// without losses, no payload is out of order.
    OutOfOrder,
}

/// Every knob for which a path may require a large value.
pub const SEARCHED: &[Searched] = &[
    Searched {
        knob: "tcp.send_buffer",
        role: HostRole::Send,
        what: KnobKind::Buffer,
    },
    Searched {
        knob: "tcp.unacknowledged",
        role: HostRole::Send,
        what: KnobKind::Unacknowledged,
    },
    Searched {
        knob: "tcp.receive_buffer",
        role: HostRole::Receive,
        what: KnobKind::Buffer,
    },
    Searched {
        knob: "tcp.out_of_order",
        role: HostRole::Receive,
        what: KnobKind::OutOfOrder,
    },
    Searched {
        knob: "pool.blocks",
        role: HostRole::Send,
        what: KnobKind::Memory,
    },
    Searched {
        knob: "pool.blocks",
        role: HostRole::Receive,
        what: KnobKind::Memory,
    },
];

/// The first value that is tried is the bandwidth-delay product divided by this number, but at
/// least two segments.
const FIRST_PART: u64 = 32;
/// Payload of two segments, in bytes, rounded up.
const TWO_SEGMENTS: u64 = 3_000;
/// The first amount that is tried as ample (so large that it does not limit) is this multiple of
/// the bandwidth-delay product, but at least `AT_LEAST`.
const AMPLE: u64 = 4;
/// Smallest ample amount of a resource, in bytes: the memory of a small system.
const AT_LEAST: u64 = 128 << 10;
/// Smallest buffer that a search tries, in bytes.
const SMALLEST: u64 = 128;
/// Resources are ample if the host's goodput reaches this share of what the path carries.
const ALL_OF_IT: f64 = 0.99;
/// Smallest gain, as a share, that counts when resources are doubled on a path without losses.
const GAIN: f64 = 0.005;
/// As [`GAIN`], on a path with losses, which make every result uncertain.
const GAIN_WITH_LOSSES: f64 = PRECISE;
/// Goodput is known precisely enough if its 95 % confidence interval is narrower than this share.
pub const PRECISE: f64 = 0.03;
/// Bytes that the runs of a knob's search may carry. After that, no value runs with further seeds.
const MOST_BYTES: u64 = 3_000_000_000;
/// Doubling resources ends after this many consecutive steps without gain. One step does not
/// suffice, because a curve may have a flat part.
const WITHOUT_GAIN: u32 = 2;
/// Number of values that run in parallel.
const SIDE_BY_SIDE: usize = 2;
/// If the bandwidth-delay product is smaller than this number of bytes, one step beyond the first
/// sufficient value is also tried, because that value may be a peak of the goodput.
const FAR: u64 = 1 << 20;
/// Every value larger than the reported one must reach this share of the sufficient goodput, unless
/// no value meets this condition.
const NEARLY: f64 = 0.97;
/// Largest number of steps in which the search approaches the smallest sufficient value. The first
/// step assumes that goodput is proportional to the value, and tries two values near the value that
/// would then be sufficient. The other steps divide the interval into thirds.
const STEPS: u32 = 5;
/// The two values of the first step in [`STEPS`], as percentages of the value that would be
/// sufficient if goodput were proportional to the value.
const AROUND: (u64, u64) = (98, 101);
/// The search ends when the interval between the last insufficient and the first sufficient value
/// is at most the sufficient value divided by this number.
const CLOSE: u64 = 50;
/// As [`CLOSE`], on a path with losses.
const CLOSE_WITH_LOSSES: u64 = 20;

/// Result of a host with ample resources.
pub struct Ample {
    /// The experiment in which the host has ample resources.
    pub world: Experiment,
    /// Results of the run with the first seed.
    first: Played,
    /// Goodput with each seed.
    sample: Sample,
    /// Values for the report.
    pub best: AmpleResult,
}

/// Doubles every resource of the host until goodput grows no further.
///
/// # Errors
/// Fails if a setting is refused, a run fails, or nothing arrives even with ample memory.
pub fn ample(request: &SizeRequest, role: HostRole, runs: &Runs<'_>) -> Result<Ample, SizeError> {
    let mut length = request.length(request.rate_bps as f64, None);
    let mut bytes = (request.bdp() * AMPLE).clamp(AT_LEAST, LARGEST);
    let mut found = measured(request, role, bytes, length, runs)?;
    if found.best.goodput_mbps > 0.0 {
        // Measure again with a suitable length. The length depends on the time until the path is
        // full. On a path with losses, it also depends on the goodput: the run must carry enough
        // bytes for many losses.
        let full_s = found.first.measured.time_to_90_s;
        let better = request.length(found.best.goodput_mbps * 1e6, full_s);
        if better != length {
            length = better;
            found = measured(request, role, bytes, length, runs)?;
        }
    }
    let least = if request.loss > 0.0 {
        GAIN_WITH_LOSSES
    } else {
        GAIN
    };
    let mut without_gain = 0;
    while found.best.of_path < ALL_OF_IT && without_gain < WITHOUT_GAIN && bytes < LARGEST {
        bytes = (bytes * 2).min(LARGEST);
        let more = measured(request, role, bytes, length, runs)?;
        let gain = more.sample.over(&found.sample).value - 1.0;
        without_gain = if gain < least { without_gain + 1 } else { 0 };
        if gain >= least {
            found = more;
        }
    }
    while found.sample.mean().interval > PRECISE && found.sample.mbps.len() < SEEDS.1 {
        let seeds = found.sample.mbps.len() * 2;
        found.extend(seeds, runs)?;
    }
    found.update(request);
    // Require some goodput: a path that loses every frame carries nothing, so a goodput of zero
    // would be sufficient.
    if found.best.reaches_path && found.best.goodput_mbps > 0.0 {
        return Ok(found);
    }
    let explained = runs.explain(&found.world)?;
    if found.best.goodput_mbps > 0.0 {
        found.best.verdict = explained.verdict;
        return Ok(found);
    }
    let host = &only(&found.world).setup.hosts[0];
    Err(SizeError::Nothing(format!(
        "no payload arrives, even with {} bytes of packet memory and no limit from other settings: {}",
        grouped(host.pool_bytes()),
        explained.verdict_parts().line()
    )))
}

fn measured(
    request: &SizeRequest,
    role: HostRole,
    bytes: u64,
    length: Length,
    runs: &Runs<'_>,
) -> Result<Ample, SizeError> {
    let mut world = request.world(role, bytes, length)?;
    request.set_low_water(&mut world.rows[0].setup);
    let seeds = request.fewest_seeds();
    let setup = &only(&world).setup;
    let all: Vec<_> = (0..seeds).map(|number| (setup, number)).collect();
    let mut played = runs.worlds(&all)?;
    let sample = Sample {
        mbps: played.iter().map(goodput_mbps).collect(),
    };
    let mut found = Ample {
        best: AmpleResult::of(role, setup),
        first: played.swap_remove(0),
        sample,
        world,
    };
    found.update(request);
    Ok(found)
}

fn goodput_mbps(played: &Played) -> f64 {
    played.measured.goodput_mbps
}

/// Returns the limit for which the sender waited longest.
fn longest_limit(played: &Played) -> &'static str {
    let longest = Shares::of(played.sender.times()).largest_first();
    longest.first().map_or("none", |(limit, _)| limit.name())
}

impl Ample {
    /// Runs further seeds, up to `seeds` in total.
    fn extend(&mut self, seeds: usize, runs: &Runs<'_>) -> Result<(), SizeError> {
        let setup = &only(&self.world).setup;
        let known = self.sample.mbps.len();
        let all: Vec<_> = (known..seeds).map(|number| (setup, number)).collect();
        if !all.is_empty() {
            let played = runs.worlds(&all)?;
            self.sample.mbps.extend(played.iter().map(goodput_mbps));
        }
        Ok(())
    }

    /// Updates the reported values from the sample.
    pub fn update(&mut self, request: &SizeRequest) {
        self.best.set_goodput(request, self.sample.mean().value);
    }
}

/// Searches a knob of the host while all other resources are `ample`. Returns `None` if the knob
/// is not searched ([`Searched::is_wanted`]).
///
/// # Errors
/// Returns the error of the run that failed.
pub fn search(
    request: &SizeRequest,
    searched: &Searched,
    ample: &mut Ample,
    runs: &Runs<'_>,
) -> Result<Option<KnobSize>, SizeError> {
    if !searched.is_wanted(request) {
        return Ok(None);
    }
    let host = only(&ample.world).setup.hosts[0].clone();
    let of_memory = request.memory.map_or(u64::MAX, |memory| memory / 8);
    let first = (request.bdp() / FIRST_PART)
        .max(TWO_SEGMENTS)
        .min(of_memory)
        .max(SMALLEST);
    let mut curve = Curve {
        request,
        searched,
        ample,
        runs,
        points: Vec::new(),
        carried: 0,
    };
    curve.add_ample();
    curve.double(first)?;
    for step in 0..STEPS {
        let Some(between) = curve.between(step == 0) else {
            break;
        };
        curve.try_all(between)?;
    }
    let smallest = curve.precise_smallest()?;
    let points = curve.reported();
    let ratio = smallest.map(|place| curve.estimate(&curve.points[place]));
    Ok(Some(KnobSize {
        knob: named_setting(&host, searched, first).name,
        direction: searched.role.name(),
        best_mbps: curve.best_mbps(),
        enough_mbps: curve.enough_mbps(),
        reaches_path: request.reaches(curve.best_mbps(), curve.ample.best.path_mbps),
        interval: ratio
            .map(|ratio| ratio.interval)
            .filter(|_| request.loss > 0.0),
        seeds: smallest.map_or(0, |place| curve.sample(&curve.points[place]).mbps.len()),
        smallest: smallest.map(|place| points[place].clone()),
        curve: points,
    }))
}

impl Searched {
    /// Returns true if the knob is searched. Not searched are the memory if its size was given,
    /// out-of-order payload if the path has no losses, and a separate limit if the host's system
    /// has no name for it.
    pub fn is_wanted(&self, request: &SizeRequest) -> bool {
        let has_name = !alias::of_knob(request.preset.name, self.knob).is_empty();
        match self.what {
            KnobKind::Buffer => true,
            KnobKind::Memory => request.memory.is_none(),
            KnobKind::Unacknowledged => has_name,
            KnobKind::OutOfOrder => has_name && request.loss > 0.0,
        }
    }
}

/// Returns the present value in bytes: the payload of a buffer, or the size of the memory.
fn present(host: &HostPlan, searched: &Searched) -> u64 {
    match (searched.what, searched.role) {
        (KnobKind::Memory, _) => host.pool_bytes(),
        (KnobKind::Unacknowledged, _) => host.config.tcp.unacknowledged.into(),
        (KnobKind::OutOfOrder, _) => host.config.tcp.out_of_order.into(),
        (KnobKind::Buffer, HostRole::Send) => Buffer::sending(host).text(),
        (KnobKind::Buffer, HostRole::Receive) => Buffer::receiving(host).text(),
    }
}

/// Returns the setting of the knob for `bytes`, rounded up to a value that the host's system can
/// express.
pub fn named_setting(host: &HostPlan, searched: &Searched, bytes: u64) -> NamedSetting {
    let wanted = match (searched.what, searched.role) {
        (KnobKind::Memory, _) => bytes.div_ceil(host.config.pool.block_size.into()),
        (KnobKind::Unacknowledged | KnobKind::OutOfOrder, _) => bytes,
        (KnobKind::Buffer, HostRole::Send) => Buffer::sending(host).size_for(bytes),
        (KnobKind::Buffer, HostRole::Receive) => Buffer::receiving(host).size_for(bytes),
    };
    setting(host, searched.knob, &wanted.to_string())
}

/// Returns the searched buffer for a role.
pub fn buffer(role: HostRole) -> &'static Searched {
    let knob = SEARCHED
        .iter()
        .find(|known| known.what == KnobKind::Buffer && known.role == role);
    knob.expect("both are searched")
}

/// A value, with its runs.
struct Point {
    /// The value in the form of the host's system.
    value: String,
    /// The value in bytes.
    bytes: u64,
    /// The setup with this value; `None` for the run with ample resources.
    setup: Option<Setup>,
    /// Goodput by seed; empty for the run with ample resources.
    sample: Sample,
    /// The limit for which the sender waited longest.
    limit: &'static str,
}

/// The values tried so far.
struct Curve<'a> {
    request: &'a SizeRequest,
    searched: &'a Searched,
    ample: &'a mut Ample,
    runs: &'a Runs<'a>,
    points: Vec<Point>,
    /// Bytes that all runs of this knob have carried.
    carried: u64,
}

impl Curve<'_> {
    /// Doubles the value from `first` on until a value is sufficient or the ample amount is
    /// reached. If even the first value that the host allows is sufficient, also tries halves of
    /// `first` until a value is insufficient.
    fn double(&mut self, first: u64) -> Result<(), SizeError> {
        let doubled = std::iter::successors(Some(first), |bytes| Some(bytes * 2));
        let host = &only(&self.ample.world).setup.hosts[0];
        let buffers = Buffer::sending(host)
            .text()
            .max(Buffer::receiving(host).text());
        let most = match self.searched.what {
            KnobKind::Buffer | KnobKind::Memory => present(host, self.searched),
            KnobKind::Unacknowledged | KnobKind::OutOfOrder => buffers,
        };
        self.try_until(doubled.take_while(|bytes| *bytes < most), true)?;
        if self.first_enough() == Some(0) {
            let halved = std::iter::successors(Some(first / 2), |bytes| Some(bytes / 2));
            self.try_until(halved.take_while(|bytes| *bytes >= SMALLEST), false)?;
        }
        Ok(())
    }

    /// Tries `sizes` in groups. If `is_enough`, the sizes rise, and the function stops after a
    /// group with a sufficient size; otherwise the sizes fall, and the function stops after a group
    /// with an insufficient size. If the sizes rise and the bandwidth-delay product is below
    /// [`FAR`], the function stops only after two groups with a sufficient size.
    fn try_until(
        &mut self,
        sizes: impl Iterator<Item = u64>,
        is_enough: bool,
    ) -> Result<(), SizeError> {
        let sizes: Vec<_> = sizes.collect();
        let mut beyond = if is_enough && self.request.bdp() < FAR {
            1
        } else {
            0
        };
        for sizes in sizes.chunks(SIDE_BY_SIDE) {
            let reports = self.try_all(sizes.to_vec())?;
            let enough = self.enough_mbps();
            if reports
                .iter()
                .any(|goodput| (*goodput >= enough) == is_enough)
            {
                if beyond == 0 {
                    break;
                }
                beyond -= 1;
            }
        }
        Ok(())
    }

    /// Runs those values of `sizes` that have not run yet and that the host allows. Returns their
    /// goodputs.
    fn try_all(&mut self, sizes: Vec<u64>) -> Result<Vec<f64>, SizeError> {
        let host = only(&self.ample.world).setup.hosts[0].clone();
        let mut new: Vec<Point> = Vec::new();
        for bytes in sizes {
            let setting = named_setting(&host, self.searched, bytes);
            let mut known = self.points.iter().chain(&new);
            if known.any(|point| point.value == setting.wanted) {
                continue;
            }
            let Some(setup) = self.with(&setting) else {
                continue;
            };
            new.push(Point {
                value: setting.wanted,
                bytes: present(&setup.hosts[0], self.searched),
                setup: Some(setup),
                sample: Sample::default(),
                limit: "none",
            });
        }
        let mut seeds = self.request.fewest_seeds();
        self.extend(&mut new, seeds)?;
        while self.may_run_more(seeds) {
            let enough = self.enough_mbps();
            let mut open: Vec<_> = new
                .extract_if(.., |point| !self.is_settled(point, enough))
                .collect();
            seeds *= 2;
            let result = self.extend(&mut open, seeds);
            let is_over = open.is_empty();
            new.append(&mut open);
            result?;
            if is_over {
                break;
            }
        }
        let gave = new.iter().map(|point| self.estimate(point).value).collect();
        self.points.append(&mut new);
        self.points.sort_by_key(|point| point.bytes);
        Ok(gave)
    }

    /// Runs `points` and the setup with ample resources with further seeds, up to `seeds` in total.
    fn extend(&mut self, points: &mut [Point], seeds: usize) -> Result<(), SizeError> {
        if points.is_empty() {
            return Ok(());
        }
        self.ample.extend(seeds, self.runs)?;
        let mut all = Vec::new();
        for point in &*points {
            let setup = point.setup.iter();
            all.extend(setup.flat_map(|setup| {
                (point.sample.mbps.len()..seeds).map(move |number| (setup, number))
            }));
        }
        let mut played = self.runs.worlds(&all)?.into_iter();
        for point in points.iter_mut().filter(|point| point.setup.is_some()) {
            while point.sample.mbps.len() < seeds {
                let played = played.next().expect("one for each seed");
                if point.sample.mbps.is_empty() {
                    point.limit = longest_limit(&played);
                }
                self.carried += played.measured.delivered_bytes;
                point.sample.mbps.push(goodput_mbps(&played));
            }
        }
        Ok(())
    }

    /// Returns true if a value that has run with `seeds` may run with more.
    fn may_run_more(&self, seeds: usize) -> bool {
        seeds < self.request.most_seeds() && self.carried < MOST_BYTES
    }

    /// Returns true if the goodput of `point` is known precisely enough, or certainly above or
    /// below `enough`.
    fn is_settled(&self, point: &Point, enough: f64) -> bool {
        let estimate = self.estimate(point);
        estimate.interval <= PRECISE || estimate.excludes(enough)
    }

    /// Returns the index of the smallest sufficient value. Runs the value with further seeds until
    /// its goodput is known precisely enough or no more runs are allowed.
    fn precise_smallest(&mut self) -> Result<Option<usize>, SizeError> {
        loop {
            let Some(place) = self.first_enough() else {
                return Ok(None);
            };
            let point = &self.points[place];
            let seeds = point.sample.mbps.len();
            let is_precise = self.estimate(point).interval <= PRECISE;
            if is_precise || !self.may_run_more(seeds) || point.setup.is_none() {
                return Ok(Some(place));
            }
            let mut open = vec![self.points.remove(place)];
            let result = self.extend(&mut open, seeds * 2);
            self.points.splice(place..place, open);
            result?;
        }
    }

    /// Returns the sample of `point`.
    fn sample<'b>(&'b self, point: &'b Point) -> &'b Sample {
        match point.setup {
            Some(_) => &point.sample,
            None => &self.ample.sample,
        }
    }

    /// Returns the goodput of `point` in Mbit/s. First computes the ratio to the goodput with ample
    /// resources, then multiplies the ratio by the mean goodput with ample resources, which may
    /// have more seeds than `point`. The interval is the interval of the ratio.
    fn estimate(&self, point: &Point) -> Estimate {
        let base = &self.ample.sample;
        let ratio = self.sample(point).over(base);
        Estimate {
            value: ratio.value * base.mean().value,
            ..ratio
        }
    }

    /// Returns every value in its reported form.
    fn reported(&self) -> Vec<CurvePoint> {
        let best = self.best_mbps();
        let points = self.points.iter().map(|point| {
            let goodput_mbps = self.estimate(point).value;
            CurvePoint {
                value: point.value.clone(),
                bytes: point.bytes,
                goodput_mbps,
                quartiles_mbps: self.sample(point).quartiles(),
                share: goodput_mbps / best,
                of_path: goodput_mbps / self.ample.best.path_mbps,
                limit: point.limit,
            }
        });
        points.collect()
    }

    /// Adds the result with ample resources as the last point of the curve.
    fn add_ample(&mut self) {
        let host = &only(&self.ample.world).setup.hosts[0];
        let bytes = match self.searched.what {
            KnobKind::Buffer | KnobKind::Memory => present(host, self.searched),
            // Add no point for these two kinds: with ample resources, they are unlimited.
            KnobKind::Unacknowledged | KnobKind::OutOfOrder => return,
        };
        self.points.push(Point {
            value: named_setting(host, self.searched, bytes).present,
            bytes,
            setup: None,
            sample: Sample::default(),
            limit: longest_limit(&self.ample.first),
        });
    }

    /// Returns the setup with this value of the knob; `None` if the host refuses the value.
    fn with(&self, setting: &NamedSetting) -> Option<Setup> {
        let mut setup = only(&self.ample.world).setup.clone();
        setup
            .set(&format!("host.{}", setting.name), &setting.wanted)
            .ok()?;
        setup.validate().ok().map(|()| setup)
    }

    /// Returns the largest of several goodputs: the mean with ample resources and, for each setting
    /// that was tried, the lower end of the 95 % confidence interval. The mean with ample resources
    /// need not be the largest: with losses, or with a slow processor, a larger value can be worse.
    fn best_mbps(&self) -> f64 {
        let points = self.points.iter().map(|point| self.estimate(point).least());
        points.fold(self.ample.sample.mean().value, f64::max)
    }

    fn enough_mbps(&self) -> f64 {
        self.request
            .enough_mbps(self.best_mbps(), self.ample.best.path_mbps)
    }

    /// Returns the index of the first sufficient value after which no value is much worse. If no
    /// value has that property, returns the index of the first sufficient value.
    fn first_enough(&self) -> Option<usize> {
        let enough = self.enough_mbps();
        let goodputs = || self.points.iter().map(|point| self.estimate(point).value);
        let last_less = goodputs().rposition(|goodput| goodput < NEARLY * enough);
        let from = last_less.map_or(0, |place| place + 1);
        let lasting = goodputs().skip(from).position(|goodput| goodput >= enough);
        let lasting = lasting.map(|place| from + place);
        lasting.or_else(|| goodputs().position(|goodput| goodput >= enough))
    }

    /// Returns two values between the last insufficient and the first sufficient value; `None` if
    /// these two are already close. The returned values divide the interval into thirds. If
    /// `by_line`, they are instead on both sides of the point at which a straight line reaches the
    /// sufficient goodput, unless they would be outside the interval. The line begins at zero and
    /// passes through the last insufficient result.
    fn between(&self, by_line: bool) -> Option<Vec<u64>> {
        let enough = self.first_enough()?;
        let (last, first) = (
            self.points.get(enough.checked_sub(1)?)?,
            &self.points[enough],
        );
        let space = first.bytes - last.bytes;
        let met = last.bytes as f64 * self.enough_mbps() / self.estimate(last).value.max(1e-9);
        let met = met as u64;
        let (below, above) = AROUND;
        let [below, above] = [
            met.saturating_mul(below) / 100,
            met.saturating_mul(above) / 100,
        ];
        let close = if self.request.loss > 0.0 {
            CLOSE_WITH_LOSSES
        } else {
            CLOSE
        };
        if space <= first.bytes / close {
            None
        } else if by_line && last.bytes < below && above < first.bytes {
            Some(vec![below, above])
        } else {
            Some(vec![last.bytes + space / 3, last.bytes + space * 2 / 3])
        }
    }
}
