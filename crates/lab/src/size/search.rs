//! Searches one knob: doubling until it is enough, then closing in.
//!
//! Rule: a setting is one that the host's system can say, so what is found can be
//! set. Enough is a share of what the path carries, or of what this host gives with
//! ample of everything where that is less. The points of a step run side by side, two
//! at a time on any machine, so what is found does not depend on it.

use fullpipe::presets::alias;

use crate::{
    experiment::{Experiment, HostPlan, Row, Setup},
    report::RowReport,
    units::grouped,
    verdict::{Buffer, NamedSetting, named, pool_bytes},
};

use super::{
    Advised, AmpleResult, CurvePoint, HostRole, KnobSize, SizeError, SizeRequest,
    runs::Runs,
    world::{Length, only},
};

/// A knob that is searched.
pub struct Searched {
    /// Its name.
    knob: &'static str,
    /// What the host does meanwhile.
    pub way: HostRole,
    /// What it bounds.
    pub what: KnobKind,
}

/// What a knob bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobKind {
    /// Text in a buffer.
    Buffer,
    /// All packet memory, in blocks.
    Memory,
    /// Text that may be unacknowledged, where the host's system counts it apart.
    Unacknowledged,
    /// Text that came ahead of its turn, likewise; only losses bring any.
    OutOfOrder,
}

/// Every knob that a path may need much of.
pub const SEARCHED: &[Searched] = &[
    Searched {
        knob: "tcp.send_buffer",
        way: HostRole::Send,
        what: KnobKind::Buffer,
    },
    Searched {
        knob: "tcp.unacknowledged",
        way: HostRole::Send,
        what: KnobKind::Unacknowledged,
    },
    Searched {
        knob: "tcp.receive_buffer",
        way: HostRole::Receive,
        what: KnobKind::Buffer,
    },
    Searched {
        knob: "tcp.out_of_order",
        way: HostRole::Receive,
        what: KnobKind::OutOfOrder,
    },
    Searched {
        knob: "pool.blocks",
        way: HostRole::Send,
        what: KnobKind::Memory,
    },
    Searched {
        knob: "pool.blocks",
        way: HostRole::Receive,
        what: KnobKind::Memory,
    },
];

/// The first setting that is tried is this part of what is on its way, and two
/// segments at least.
const FIRST_PART: u64 = 32;
const TWO_SEGMENTS: u64 = 3_000;
/// With ample of everything, a host has so many times what is on its way at first,
/// and what a small system has all the same.
const AMPLE: u64 = 4;
const AT_LEAST: u64 = 128 << 10;
/// No buffer is larger.
pub const LARGEST: u64 = 1 << 30;
/// No buffer that a search tries is smaller.
const SMALLEST: u64 = 128;
/// A host that gives this share of what the path carries has ample.
const ALL_OF_IT: f64 = 0.99;
/// Twice as much of everything that gives less than this part more gives nothing,
/// and less than the other where losses make every figure uncertain; twice in a row,
/// because a curve may rest on its way.
const GAIN: f64 = 0.005;
const GAIN_WITH_LOSSES: f64 = 0.03;
const WITHOUT_GAIN: u32 = 2;
/// How many points run side by side.
const SIDE_BY_SIDE: usize = 2;
/// With fewer bytes on their way, what comes beyond the first that is enough is looked
/// at, too: a peak is no plateau.
const FAR: u64 = 1 << 20;
/// What is larger than the smallest gives this share of what is enough at least.
const NEARLY: f64 = 0.97;
/// Steps of closing in at most: the first to this percentage around where a straight
/// line meets what is enough, the others to a third of what is left. Less than this
/// part of a setting is close enough.
const STEPS: u32 = 5;
const AROUND: (u64, u64) = (98, 101);
const CLOSE: u64 = 50;

/// What a host gives that has ample of everything.
pub struct Ample {
    /// The world, in which it has.
    pub world: Experiment,
    /// What came.
    report: RowReport,
    /// That in numbers.
    pub best: AmpleResult,
}

/// Gives the host more of everything until that gives nothing more.
///
/// # Errors
/// A setting that is refused, or a run's; or nothing arrives whatever it has.
pub fn ample(wish: &SizeRequest, way: HostRole, runs: &Runs<'_>) -> Result<Ample, SizeError> {
    let mut length = wish.length(wish.rate_bps as f64, None);
    let mut bytes = (wish.bdp() * AMPLE).clamp(AT_LEAST, LARGEST);
    let mut found = measured(wish, way, bytes, length, runs)?;
    if found.best.goodput_mbps > 0.0 {
        // Only now it is known how long the path takes to fill, and so many losses.
        let full_s = found.report.measured.time_to_90_s;
        let better = wish.length(found.best.goodput_mbps * 1e6, full_s);
        if better != length {
            length = better;
            found = measured(wish, way, bytes, length, runs)?;
        }
    }
    let least = if wish.loss > 0.0 {
        GAIN_WITH_LOSSES
    } else {
        GAIN
    };
    let mut without_gain = 0;
    while found.best.of_path < ALL_OF_IT && without_gain < WITHOUT_GAIN && bytes < LARGEST {
        bytes = (bytes * 2).min(LARGEST);
        let more = measured(wish, way, bytes, length, runs)?;
        let gain = more.best.goodput_mbps / found.best.goodput_mbps.max(1e-9) - 1.0;
        without_gain = if gain < least { without_gain + 1 } else { 0 };
        if gain >= least {
            found = more;
        }
    }
    if found.best.goodput_mbps > 0.0 {
        Ok(found)
    } else {
        let host = &only(&found.world).setup.hosts[0];
        Err(SizeError::Nothing(format!(
            "with {} bytes of packet memory and ample of everything else nothing arrives: {}",
            grouped(pool_bytes(host)),
            found.report.verdict.parts.line()
        )))
    }
}

fn measured(
    wish: &SizeRequest,
    way: HostRole,
    bytes: u64,
    length: Length,
    runs: &Runs<'_>,
) -> Result<Ample, SizeError> {
    let mut world = wish.world(way, bytes, length)?;
    wish.set_low_water(&mut world.rows[0].setup);
    let rows = vec![only(&world).clone()];
    let report = runs.rows(&world, rows)?.swap_remove(0);
    let best = AmpleResult::of(wish, way, only(&world), &report);
    Ok(Ample {
        world,
        report,
        best,
    })
}

/// Searches a knob of the host that has `ample` of everything else; nothing where its
/// system has no such knob.
///
/// # Errors
/// A run's.
pub fn search(
    wish: &SizeRequest,
    searched: &Searched,
    ample: &Ample,
    runs: &Runs<'_>,
) -> Result<Option<KnobSize>, SizeError> {
    if !searched.is_wanted(wish) {
        return Ok(None);
    }
    let host = &only(&ample.world).setup.hosts[0];
    let of_memory = wish.memory.map_or(u64::MAX, |memory| memory / 8);
    let first = (wish.bdp() / FIRST_PART)
        .max(TWO_SEGMENTS)
        .min(of_memory)
        .max(SMALLEST);
    let mut curve = Curve {
        wish,
        searched,
        ample,
        runs,
        points: Vec::new(),
    };
    curve.add_ample();
    curve.double(first)?;
    for step in 0..STEPS {
        let Some(between) = curve.between(step == 0) else {
            break;
        };
        curve.try_all(between)?;
    }
    curve.judge();
    Ok(Some(KnobSize {
        knob: said(host, searched, first).name,
        direction: searched.way.name(),
        best_mbps: curve.best_mbps(),
        enough_mbps: curve.enough_mbps(),
        reaches_path: wish.reaches(curve.best_mbps(), ample.best.path_mbps),
        smallest: curve
            .first_enough()
            .map(|place| curve.points[place].clone()),
        advised: curve.advised(),
        curve: curve.points,
    }))
}

impl Searched {
    /// Whether it is to be searched: memory that was given is not, what came ahead of
    /// its turn is nothing without losses, and a system that has no name of its own for
    /// what it does not count apart has no such knob.
    pub fn is_wanted(&self, wish: &SizeRequest) -> bool {
        let has_name = !alias::of_knob(wish.preset.name, self.knob).is_empty();
        match self.what {
            KnobKind::Buffer => true,
            KnobKind::Memory => wish.memory.is_none(),
            KnobKind::Unacknowledged => has_name,
            KnobKind::OutOfOrder => has_name && wish.loss > 0.0,
        }
    }
}

/// What a host has of it in bytes: a buffer's text, or all of its memory.
fn present(host: &HostPlan, searched: &Searched) -> u64 {
    match (searched.what, searched.way) {
        (KnobKind::Memory, _) => pool_bytes(host),
        (KnobKind::Unacknowledged, _) => host.config.tcp.unacknowledged.into(),
        (KnobKind::OutOfOrder, _) => host.config.tcp.out_of_order.into(),
        (KnobKind::Buffer, HostRole::Send) => Buffer::sending(host).text(),
        (KnobKind::Buffer, HostRole::Receive) => Buffer::receiving(host).text(),
    }
}

/// `bytes` of the knob as the host's system says it, rounded up.
pub fn said(host: &HostPlan, searched: &Searched, bytes: u64) -> NamedSetting {
    let wanted = match (searched.what, searched.way) {
        (KnobKind::Memory, _) => bytes.div_ceil(host.config.pool.block_size.into()),
        (KnobKind::Unacknowledged | KnobKind::OutOfOrder, _) => bytes,
        (KnobKind::Buffer, HostRole::Send) => Buffer::sending(host).size_for(bytes),
        (KnobKind::Buffer, HostRole::Receive) => Buffer::receiving(host).size_for(bytes),
    };
    named(host, searched.knob, wanted)
}

/// The buffer of a direction.
pub fn buffer(way: HostRole) -> &'static Searched {
    let knob = SEARCHED
        .iter()
        .find(|known| known.what == KnobKind::Buffer && known.way == way);
    knob.expect("both are searched")
}

/// What was tried so far.
struct Curve<'a> {
    wish: &'a SizeRequest,
    searched: &'a Searched,
    ample: &'a Ample,
    runs: &'a Runs<'a>,
    points: Vec<CurvePoint>,
}

impl Curve<'_> {
    /// Doubles from `first` on until a setting is enough, or a host can have no more;
    /// halves where the first is.
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

    /// Tries `sizes` until one of them is enough, or is not.
    fn try_until(
        &mut self,
        sizes: impl Iterator<Item = u64>,
        is_enough: bool,
    ) -> Result<(), SizeError> {
        let sizes: Vec<_> = sizes.collect();
        let mut beyond = if is_enough && self.wish.bdp() < FAR {
            1
        } else {
            0
        };
        for sizes in sizes.chunks(SIDE_BY_SIDE) {
            let came = self.try_all(sizes.to_vec())?;
            let enough = self.enough_mbps();
            if came.iter().any(|goodput| (*goodput >= enough) == is_enough) {
                if beyond == 0 {
                    break;
                }
                beyond -= 1;
            }
        }
        Ok(())
    }

    /// Runs the settings that were not tried yet and that a host can have. Returns
    /// what each of them gave.
    fn try_all(&mut self, sizes: Vec<u64>) -> Result<Vec<f64>, SizeError> {
        let row = only(&self.ample.world);
        let mut rows: Vec<Row> = Vec::new();
        let mut tried: Vec<NamedSetting> = Vec::new();
        for bytes in sizes {
            let said = said(&row.setup.hosts[0], self.searched, bytes);
            let known = self.points.iter().any(|point| point.value == said.wanted)
                || tried.iter().any(|other| other.wanted == said.wanted);
            let Some(setup) = self.with(&said).filter(|_| !known) else {
                continue;
            };
            tried.push(said);
            rows.push(Row {
                setup,
                ..row.clone()
            });
        }
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let came = self.runs.rows(&self.ample.world, rows.clone())?;
        for ((said, row), report) in tried.iter().zip(&rows).zip(&came) {
            let point = self.point(said, &row.setup.hosts[0], report);
            self.points.push(point);
        }
        self.points.sort_by_key(|point| point.bytes);
        let gave = came.iter().map(|report| report.measured.goodput_mbps);
        Ok(gave.collect())
    }

    fn point(&self, said: &NamedSetting, host: &HostPlan, report: &RowReport) -> CurvePoint {
        let goodput_mbps = report.measured.goodput_mbps;
        let verdict = &report.verdict;
        // The ample send buffer's low water is no matter of what may be unacknowledged.
        let is_of_it = verdict.knob.as_ref() == Some(&said.name)
            && (self.searched.what == KnobKind::Buffer || self.wish.low_water == 0);
        let advised = verdict.needed.clone().filter(|_| is_of_it);
        CurvePoint {
            value: said.wanted.clone(),
            bytes: present(host, self.searched),
            goodput_mbps,
            quartiles_mbps: report
                .measured
                .spread("goodput_mbps")
                .map(|spread| [spread.q1, spread.q3]),
            share: 0.0,
            of_path: goodput_mbps / self.ample.best.path_mbps,
            limit: verdict.limit,
            advised: advised.map(|value| Advised {
                value,
                formula: verdict.formula.clone().unwrap_or_default(),
            }),
        }
    }

    /// What came with ample of everything is the end of the curve.
    fn add_ample(&mut self) {
        let host = &only(&self.ample.world).setup.hosts[0];
        let bytes = match self.searched.what {
            KnobKind::Buffer | KnobKind::Memory => present(host, self.searched),
            // It was given without end.
            KnobKind::Unacknowledged | KnobKind::OutOfOrder => return,
        };
        let mut said = said(host, self.searched, bytes);
        said.wanted = said.present.clone();
        let point = self.point(&said, host, &self.ample.report);
        self.points.push(point);
    }

    /// The world with a setting; `None` where a host cannot have it.
    fn with(&self, said: &NamedSetting) -> Option<Setup> {
        let mut setup = only(&self.ample.world).setup.clone();
        setup
            .set(&format!("host.{}", said.name), &said.wanted)
            .ok()?;
        setup.validate().ok().map(|()| setup)
    }

    /// The most that any setting gave, ample of everything included: with losses, or a
    /// slow processor, more is not always better.
    fn best_mbps(&self) -> f64 {
        let points = self.points.iter().map(|point| point.goodput_mbps);
        points.fold(self.ample.best.goodput_mbps, f64::max)
    }

    fn enough_mbps(&self) -> f64 {
        self.wish
            .enough_mbps(self.best_mbps(), self.ample.best.path_mbps)
    }

    /// Compares every setting with the best.
    fn judge(&mut self) {
        let best = self.best_mbps();
        for point in &mut self.points {
            point.share = point.goodput_mbps / best;
        }
    }

    /// The first of the settings that are enough, and beyond which none is much less;
    /// where there is no such, the first that is enough.
    fn first_enough(&self) -> Option<usize> {
        let enough = self.enough_mbps();
        let goodputs = || self.points.iter().map(|point| point.goodput_mbps);
        let last_less = goodputs().rposition(|goodput| goodput < NEARLY * enough);
        let from = last_less.map_or(0, |place| place + 1);
        let lasting = goodputs().skip(from).position(|goodput| goodput >= enough);
        let lasting = lasting.map(|place| from + place);
        lasting.or_else(|| goodputs().position(|goodput| goodput >= enough))
    }

    /// What closes in on the place between the last that is not enough and the first
    /// that is: around where a straight line from nothing through the last meets what
    /// is enough, or thirds.
    fn between(&self, by_line: bool) -> Option<Vec<u64>> {
        let enough = self.first_enough()?;
        let (last, first) = (
            self.points.get(enough.checked_sub(1)?)?,
            &self.points[enough],
        );
        let space = first.bytes - last.bytes;
        let met = last.bytes as f64 * self.enough_mbps() / last.goodput_mbps.max(1e-9);
        let met = met as u64;
        let (below, above) = AROUND;
        let [below, above] = [
            met.saturating_mul(below) / 100,
            met.saturating_mul(above) / 100,
        ];
        if space <= first.bytes / CLOSE {
            None
        } else if by_line && last.bytes < below && above < first.bytes {
            Some(vec![below, above])
        } else {
            Some(vec![last.bytes + space / 3, last.bytes + space * 2 / 3])
        }
    }

    /// What a verdict advises that sees the largest setting that is not enough and
    /// about which it has something to say.
    fn advised(&self) -> Option<Advised> {
        let enough = self.first_enough().unwrap_or(self.points.len());
        let too_small = self.points[..enough].iter().rev();
        too_small.filter_map(|point| point.advised.clone()).next()
    }
}
