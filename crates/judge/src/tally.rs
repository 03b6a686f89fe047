//! Figures over many judged worlds (random transfers), each with a threshold.
//!
//! Rule: every answer and every advice is counted. An answer that names nothing is counted,
//! too.

use std::{collections::BTreeMap, fmt};

use comfy_table::{Cell, CellAlignment, Table, presets::UTF8_FULL_CONDENSED};

use crate::{
    family::OTHERS,
    judged::{Judged, Verdict, engine_seed},
};

/// Number of the worst worlds that are listed.
const WORST: usize = 10;
/// Dimension of the worlds of which the engine runs only a part.
const LONG: &str = "long";

/// A figure and its threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name of the figure.
    pub name: &'static str,
    /// Value of the figure, a share or a number.
    pub value: f64,
    /// Number of items that were examined to find `value`: worlds, predictions, pieces of advice,
    /// or levers (changes) that were said not to help.
    pub of: usize,
    /// Threshold.
    pub limit: f64,
    /// True if the value must be at least the threshold; false if it must be at most the
    /// threshold.
    pub is_least: bool,
    /// True if the value is a share, which is printed in percent.
    pub is_share: bool,
}

impl Figure {
    /// Returns true if the value satisfies its threshold.
    pub fn is_met(&self) -> bool {
        match self.is_least {
            true => self.value >= self.limit,
            false => self.value <= self.limit,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = |value: f64| match self.is_share {
            true => format!("{:.1} %", value * 100.0),
            false => format!("{value:.0}"),
        };
        let word = if self.is_least { "at least" } else { "at most" };
        let (value, limit) = (form(self.value), form(self.limit));
        let mark = if self.is_met() { "" } else { "   MISSED" };
        write!(
            f,
            "{:<44} {value:>8}  of {:<6} ({word} {limit}){mark}",
            self.name, self.of
        )
    }
}

/// Many judged worlds.
#[derive(Clone, Debug, Default)]
pub struct Tally<'a> {
    judged: &'a [Judged],
    /// Number of worlds that broke the stack, the simulator or the engine.
    broken: usize,
}

impl<'a> Tally<'a> {
    /// Summarises `judged`. `broken` is the number of worlds that failed and are not in `judged`.
    pub const fn new(judged: &'a [Judged], broken: usize) -> Self {
        Self { judged, broken }
    }

    /// Every figure that has a threshold.
    pub fn figures(&self) -> Vec<Figure> {
        let worlds = self.judged.len();
        let of = |verdict: Verdict| {
            let equal = self.judged.iter().filter(|world| world.verdict == verdict);
            share(equal.count(), worlds)
        };
        let advice = || self.judged.iter().filter_map(|world| world.advice.as_ref());
        let missed = errors(self.judged.iter());
        let refuted = self.judged.iter().map(|world| world.answer.refuted.len());
        let judged = self.judged.iter();
        let falsely = judged.map(|world| world.false_refutations.len());
        let worse = advice().filter(|advice| advice.is_worse).count();
        let figure = |name, value, of, limit| Figure {
            name,
            value,
            of,
            limit,
            is_least: false,
            is_share: true,
        };
        let count = |name, value: usize, of| Figure {
            is_share: false,
            ..figure(name, value as f64, of, 0.0)
        };
        vec![
            Figure {
                is_least: true,
                ..figure(
                    "named cause has at least 80 % of the best gain",
                    of(Verdict::Right),
                    worlds,
                    0.98,
                )
            },
            figure(
                "verdicts that are confident and wrong",
                of(Verdict::Wrong),
                worlds,
                0.01,
            ),
            count(
                "levers that help, although the verdict says that they gain nothing",
                falsely.sum(),
                refuted.sum(),
            ),
            count(
                "advice that is refused or makes the transfer worse",
                worse,
                advice().count(),
            ),
            figure(
                "prediction error, median",
                quantile(&missed, 0.5),
                missed.len(),
                0.03,
            ),
            figure(
                "prediction error, 90th percentile",
                quantile(&missed, 0.9),
                missed.len(),
                0.15,
            ),
            count(
                "worlds that could not be judged",
                self.broken,
                worlds + self.broken,
            ),
        ]
    }

    /// Returns true if every result satisfies its threshold.
    pub fn is_met(&self) -> bool {
        self.figures().iter().all(Figure::is_met)
    }

    /// At most ten worlds with mistakes, the worst first.
    pub fn worst(&self) -> Vec<&'a Judged> {
        let mut worst: Vec<_> = self
            .judged
            .iter()
            .filter(|world| fault(world) > 0.0)
            .collect();
        worst.sort_by(|a, b| fault(b).total_cmp(&fault(a)));
        worst.truncate(WORST);
        worst
    }

    /// A line for each lever that the engine lacks: the number of worlds that it limits, its largest
    /// gain there, and the world of this gain.
    fn missing_levers(&self) -> Vec<String> {
        let mut found: BTreeMap<&str, Vec<&Judged>> = BTreeMap::new();
        for world in self.judged {
            for lever in &world.best.missing {
                found.entry(lever).or_default().push(world);
            }
        }
        let line = |(lever, worlds): (&str, Vec<&Judged>)| {
            let most = |a: &&&Judged, b: &&&Judged| a.best.gain.total_cmp(&b.best.gain);
            let best = worlds.iter().max_by(most).expect("a lever has a world");
            let gain = best.best.gain * 100.0;
            let number = best.number;
            format!(
                "{lever} in {} worlds, at most {gain:+.1} % (world {number})",
                worlds.len()
            )
        };
        found.into_iter().map(line).collect()
    }

    /// A line about the long worlds, whose answers come from runs of a part of the transfer.
    fn long_worlds(&self) -> String {
        let long = || {
            let all = self.judged.iter();
            all.filter(|world| world.dimensions.contains(&LONG))
        };
        let right = long().filter(|world| world.verdict == Verdict::Right);
        let missed = errors(long());
        format!(
            "long worlds: {}, of which right: {}; prediction error of {}: median {:.1} %, 90th percentile {:.1} %",
            long().count(),
            right.count(),
            missed.len(),
            quantile(&missed, 0.5) * 100.0,
            quantile(&missed, 0.9) * 100.0,
        )
    }

    /// Number of worlds, by the family of the best lever (rows) and by the family of the named
    /// lever (columns).
    fn confusion(&self) -> Table {
        let mut families: Vec<&str> = self
            .judged
            .iter()
            .flat_map(|world| [world.best.family.as_str(), world.named_family.as_str()])
            .collect();
        families.sort_unstable();
        families.dedup();
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        let heads = families.iter().map(|family| family.replace(' ', "\n"));
        table.set_header(std::iter::once("best \\ named".to_string()).chain(heads));
        for best in &families {
            let own: Vec<_> = self
                .judged
                .iter()
                .filter(|world| world.best.family == *best)
                .collect();
            if own.is_empty() {
                continue;
            }
            let mut row = vec![Cell::new(best)];
            row.extend(families.iter().map(|named| {
                let count = own
                    .iter()
                    .filter(|world| world.named_family == *named)
                    .count();
                let text = if count > 0 {
                    count.to_string()
                } else {
                    String::new()
                };
                Cell::new(text).set_alignment(CellAlignment::Right)
            }));
            table.add_row(row);
        }
        table
    }
}

impl fmt::Display for Tally<'_> {
    /// Writes the table of best and named levers, the worst worlds, and the figures.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.confusion())?;
        for line in self.missing_levers() {
            writeln!(f, "missing lever: {line}")?;
        }
        for world in self.worst() {
            writeln!(f, "{world}")?;
        }
        let advice = self.judged.iter().filter_map(|world| world.advice.as_ref());
        let helped = advice.filter(|advice| advice.gain > 0.02).count();
        let runs: usize = self.judged.iter().map(|world| world.runs).sum();
        writeln!(
            f,
            "advice that gains more than 2 %: {helped}; runs for the judgement: {runs}"
        )?;
        writeln!(f, "{}", self.long_worlds())?;
        for (place, figure) in self.figures().iter().enumerate() {
            let end = if place > 0 { "\n" } else { "" };
            write!(f, "{end}{figure}")?;
        }
        Ok(())
    }
}

impl Judged {
    /// Writes the advice and its result on a line, if there is advice.
    fn write_advice(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(advice) = &self.advice else {
            return Ok(());
        };
        let set = self.answer.advice.iter().map(ToString::to_string);
        let word = if advice.is_worse {
            ", worse than before"
        } else {
            ""
        };
        let predicted = self
            .answer
            .predicted_mbps
            .map(|mbps| format!(", predicted {mbps:.4}"));
        writeln!(
            f,
            "  advice: {}: {:.4} to {:.4} Mbit/s{word}{}",
            set.collect::<Vec<_>>().join(" "),
            advice.mbps[0],
            advice.mbps[1],
            predicted.unwrap_or_default()
        )
    }
}

impl fmt::Display for Judged {
    /// Writes the verdict on the world, the best and the named levers, wrong refutations, the
    /// result of the advice, and the commands that repeat the runs, each on a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number,
            best,
            answer,
            ..
        } = self;
        let percent = |share: f64| format!("{:+.1} %", share * 100.0);
        let names = |levers: &[String]| match levers {
            [] => "nothing".to_string(),
            some => some.join(" with "),
        };
        writeln!(
            f,
            "world {number} ({}): {:?}",
            self.dimensions.join(", "),
            self.verdict
        )?;
        let set = best.changes.iter().map(ToString::to_string);
        writeln!(
            f,
            "  best: {} {} (± {:.1} %) {}",
            names(&best.levers),
            percent(best.gain),
            best.error * 100.0,
            set.take(6).collect::<Vec<_>>().join(" ")
        )?;
        if !best.missing.is_empty() {
            writeln!(
                f,
                "  the engine has no lever for: {}",
                best.missing.join(", ")
            )?;
        }
        let rival = match &answer.rival[..] {
            [] => String::new(),
            rival => format!(" or {}", names(rival)),
        };
        let named = match answer.names_others {
            true => OTHERS.to_string(),
            false => names(&answer.levers),
        };
        writeln!(f, "  named: {named}{rival} {}", percent(self.named_gain))?;
        for (lever, gain) in &self.false_refutations {
            writeln!(
                f,
                "  helps, although the verdict says that it gains nothing: {lever} {}",
                percent(*gain)
            )?;
        }
        self.write_advice(f)?;
        write!(
            f,
            "  to repeat this world: cargo xtask soak --verdicts --world {number} --save world-{number}.toml; \
             fullpipe lab explain ./world-{number}.toml --matrix --seed {}",
            engine_seed(*number)
        )
    }
}

/// Severity of the mistakes in the answer about a world; 0 without mistakes.
fn fault(world: &Judged) -> f64 {
    let advice = world.advice.as_ref();
    let worse = advice
        .filter(|advice| advice.is_worse)
        .map_or(0.0, |advice| 100.0 - advice.gain);
    let falsely = world
        .false_refutations
        .iter()
        .map(|(_, gain)| 10.0 + gain.min(1.0));
    let regret = match world.verdict {
        Verdict::Right => 0.0,
        Verdict::Missed => 1.0,
        Verdict::Wrong => 5.0 + (world.best.gain - world.named_gain).min(4.0),
    };
    let missed = advice.and_then(|advice| advice.missed).unwrap_or(0.0);
    let missed = if missed > 0.15 { missed.min(4.0) } else { 0.0 };
    worse + falsely.sum::<f64>() + regret + missed
}

/// The sorted errors of the predictions.
fn errors<'a>(worlds: impl Iterator<Item = &'a Judged>) -> Vec<f64> {
    let advice = worlds.filter_map(|world| world.advice.as_ref());
    let mut missed: Vec<f64> = advice.filter_map(|advice| advice.missed).collect();
    missed.sort_by(f64::total_cmp);
    missed
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// The quantile `q` of the sorted `values`; 0 without values.
fn quantile(values: &[f64], q: f64) -> f64 {
    let rank = (values.len() as f64 * q).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
