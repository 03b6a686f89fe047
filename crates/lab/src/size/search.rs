//! Searches one knob: doubling until it is enough, then halving the difference.
//!
//! Rule: a setting is one that the host's system can say, so what is found can be
//! set. The points of the doubling run side by side.

use crate::{
    experiment::{Experiment, HostPlan, Row, Setup},
    run::{RunOptions, run},
    verdict::{Buffer, Spoken, spoken},
};

use super::{Point, SizeError, Sized, Wish};

/// A knob that is searched.
pub struct Searched {
    /// Its name.
    knob: &'static str,
    /// What the host does meanwhile.
    is_sending: bool,
    /// It is packet memory, in blocks.
    pub is_memory: bool,
}

/// Every knob that a path may need much of.
pub const SEARCHED: &[Searched] = &[
    Searched {
        knob: "tcp.send_buffer",
        is_sending: true,
        is_memory: false,
    },
    Searched {
        knob: "tcp.receive_buffer",
        is_sending: false,
        is_memory: false,
    },
    Searched {
        knob: "pool.blocks",
        is_sending: true,
        is_memory: true,
    },
    Searched {
        knob: "pool.blocks",
        is_sending: false,
        is_memory: true,
    },
];

/// The first setting that is tried is this part of what is on its way, and two
/// segments at least.
const FIRST_PART: u64 = 32;
const TWO_SEGMENTS: u64 = 3_000;
/// The last is so many times of it, because a window may have a part of its memory
/// only, and what a small system has all the same.
const MOST: u64 = 4;
const AT_LEAST: u64 = 128 << 10;
/// The difference is halved this often at most.
const HALVINGS: u32 = 6;

/// Searches a knob.
///
/// # Errors
/// A setting that is refused, or a run's.
pub fn search(wish: &Wish, searched: &Searched) -> Result<Sized, SizeError> {
    let ample = wish.ample(searched.is_sending)?;
    let row = &ample.rows[0];
    let host = &row.setup.hosts[0];
    let first = (wish.bdp() / FIRST_PART).max(TWO_SEGMENTS);
    let most = present(host, searched).min((wish.bdp() * MOST).max(AT_LEAST));
    let mut curve = Curve {
        wish,
        searched,
        ample: &ample,
        best_mbps: goodputs(&ample, vec![row.clone()])?[0],
        points: Vec::new(),
    };
    let doubled = std::iter::successors(Some(first), |bytes| Some(bytes * 2));
    let sizes = doubled.take_while(|bytes| *bytes < most).chain([most]);
    curve.try_all(sizes.collect())?;
    curve.judge();
    for _ in 0..HALVINGS {
        let Some(between) = curve.between() else {
            break;
        };
        curve.try_all(vec![between])?;
        curve.judge();
    }
    let smallest = curve
        .first_enough()
        .map(|place| curve.points[place].clone());
    Ok(Sized {
        knob: said(host, searched, first).name,
        direction: if searched.is_sending {
            "send"
        } else {
            "receive"
        },
        best_mbps: curve.best_mbps,
        smallest,
        curve: curve.points,
    })
}

/// What a host has of it in bytes: a buffer's text, or all of its memory.
fn present(host: &HostPlan, searched: &Searched) -> u64 {
    let pool = &host.config.pool;
    if searched.is_memory {
        u64::from(pool.blocks) * u64::from(pool.block_size)
    } else if searched.is_sending {
        Buffer::sending(host).text()
    } else {
        Buffer::receiving(host).text()
    }
}

/// `bytes` of the knob as the host's system says it, rounded up.
fn said(host: &HostPlan, searched: &Searched, bytes: u64) -> Spoken {
    let block = u64::from(host.config.pool.block_size);
    let wanted = if searched.is_memory {
        bytes.div_ceil(block)
    } else if searched.is_sending {
        Buffer::sending(host).size_for(bytes)
    } else {
        Buffer::receiving(host).size_for(bytes)
    };
    spoken(host, searched.knob, wanted)
}

/// What was tried so far.
struct Curve<'a> {
    wish: &'a Wish,
    searched: &'a Searched,
    ample: &'a Experiment,
    /// The most that any setting gave, ample of everything included.
    best_mbps: f64,
    points: Vec<Point>,
}

impl Curve<'_> {
    /// Runs the settings that were not tried yet and that a host can have.
    fn try_all(&mut self, sizes: Vec<u64>) -> Result<(), SizeError> {
        let row = &self.ample.rows[0];
        let mut rows: Vec<Row> = Vec::new();
        let mut tried: Vec<(String, u64)> = Vec::new();
        for bytes in sizes {
            let said = said(&row.setup.hosts[0], self.searched, bytes);
            let known = self.points.iter().any(|point| point.value == said.wanted)
                || tried.iter().any(|(value, _)| *value == said.wanted);
            let Some(setup) = self.with(&said).filter(|_| !known) else {
                continue;
            };
            tried.push((said.wanted, self.bytes_of(&setup)));
            rows.push(Row {
                setup,
                ..row.clone()
            });
        }
        if rows.is_empty() {
            return Ok(());
        }
        let came = goodputs(self.ample, rows)?;
        self.points.extend(
            tried
                .into_iter()
                .zip(came)
                .map(|((value, bytes), goodput_mbps)| Point {
                    value,
                    bytes,
                    goodput_mbps,
                    share: 0.0,
                }),
        );
        self.points.sort_by_key(|point| point.bytes);
        Ok(())
    }

    /// Compares every setting with the best.
    fn judge(&mut self) {
        let best = self.points.iter().map(|point| point.goodput_mbps);
        self.best_mbps = best.fold(self.best_mbps, f64::max);
        for point in &mut self.points {
            point.share = point.goodput_mbps / self.best_mbps;
        }
    }

    /// The world with a setting; `None` where a host cannot have it.
    fn with(&self, said: &Spoken) -> Option<Setup> {
        let mut setup = self.ample.rows[0].setup.clone();
        setup
            .set(&format!("host.{}", said.name), &said.wanted)
            .ok()?;
        if self.searched.is_sending {
            let buffer = u64::from(setup.hosts[0].config.tcp.send_buffer);
            let free = buffer * u64::from(self.wish.low_water) / 100;
            setup.set("workload.low_water", &free.to_string()).ok()?;
        }
        setup.validate().ok().map(|()| setup)
    }

    /// What the setting of `setup` is in bytes.
    fn bytes_of(&self, setup: &Setup) -> u64 {
        present(&setup.hosts[0], self.searched)
    }

    /// The first of the settings that are enough.
    fn first_enough(&self) -> Option<usize> {
        let is_enough = |point: &Point| point.share >= self.wish.share;
        self.points.iter().position(is_enough)
    }

    /// What is half-way between the last that is not enough and the first that is.
    fn between(&self) -> Option<u64> {
        let enough = self.first_enough()?;
        let [before, after] = [
            self.points.get(enough.checked_sub(1)?)?,
            &self.points[enough],
        ];
        let is_close = after.bytes - before.bytes <= after.bytes / 50;
        (!is_close).then(|| before.bytes.midpoint(after.bytes))
    }
}

/// What each of `rows` gives, in Mbit/s.
fn goodputs(experiment: &Experiment, rows: Vec<Row>) -> Result<Vec<f64>, SizeError> {
    let options = RunOptions::plain(1);
    let experiment = Experiment {
        rows,
        ..experiment.clone()
    };
    let report = run(&experiment, &options).map_err(SizeError::Run)?;
    let rows = report.rows.iter();
    Ok(rows.map(|row| row.measured.goodput_mbps).collect())
}
