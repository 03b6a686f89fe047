//! Summarises the results of many twins (simulated copies of captured transfers).

use std::fmt;

use comfy_table::{Table, presets};

use super::{
    twins::{JudgedAdvice, JudgedTwin, NEUTRAL},
    view::View,
};

/// The judged twins, which are printed as a table of their errors and a line about their advice.
#[derive(Debug)]
pub struct TwinTally<'a> {
    judged: &'a [JudgedTwin],
    broken: usize,
}

impl<'a> TwinTally<'a> {
    /// Summarises `judged`. `broken` is the number of cases (captured transfers) that failed and
    /// are not in `judged`.
    pub const fn new(judged: &'a [JudgedTwin], broken: usize) -> Self {
        Self { judged, broken }
    }

    /// Returns the results of each twin's advice, for the twins that have advice.
    pub fn advice(&self) -> Vec<&'a JudgedAdvice> {
        let judged = self.judged.iter();
        judged.filter_map(|one| one.advice.as_ref()).collect()
    }

    /// Absolute errors of the twins' goodput, sorted. If `is_any` is false, only twins that
    /// reproduce their captures count.
    fn errors(&self, view: Option<View>, is_any: bool) -> Vec<f64> {
        let judged = self.of(view);
        let judged = judged.filter(|one| is_any || one.is_reproduced);
        sorted(judged.filter_map(|one| one.goodput_error))
    }

    fn of(&self, view: Option<View>) -> impl Iterator<Item = &'a JudgedTwin> {
        let is_in = move |one: &&JudgedTwin| view.is_none_or(|view| one.view == view);
        self.judged.iter().filter(is_in)
    }
}

/// Sorts absolute errors in ascending order.
fn sorted(errors: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sizes: Vec<f64> = errors.map(f64::abs).collect();
    sizes.sort_by(f64::total_cmp);
    sizes
}

/// The percentile `share` of absolute errors, as text in percent.
fn percentile(sorted: &[f64], share: f64) -> String {
    let place = (sorted.len() as f64 * share) as usize;
    let found = sorted.get(place.min(sorted.len().saturating_sub(1)));
    found.map_or("-".to_string(), |error| format!("{:.1} %", error * 100.0))
}

impl fmt::Display for TwinTally<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header([
            "place",
            "captures",
            "reproduced",
            "median error, reproduced",
            "90th percentile",
            "median error, all",
            "90th percentile",
        ]);
        for view in View::ALL.into_iter().map(Some).chain([None]) {
            let all = self.of(view).count();
            let good = self.of(view).filter(|one| one.is_reproduced).count();
            let [own, any] = [false, true].map(|is_any| self.errors(view, is_any));
            table.add_row([
                view.map_or("all", View::name).to_string(),
                all.to_string(),
                format!("{:.0} %", 100.0 * good as f64 / all.max(1) as f64),
                percentile(&own, 0.5),
                percentile(&own, 0.9),
                percentile(&any, 0.5),
                percentile(&any, 0.9),
            ]);
        }
        writeln!(f, "{table}")?;
        let advice = self.advice();
        let errors = sorted(advice.iter().map(|one| one.error()));
        let harmless = advice.iter().filter(|one| one.is_harmless()).count();
        write!(
            f,
            "Advice: {} captured transfers were run again with the advice of a twin; {harmless} of them kept at least {:.0} % of their goodput; error of the goodput that the twin predicted: {} at the median, {} at the 90th percentile; {} cases could not be judged",
            advice.len(),
            NEUTRAL * 100.0,
            percentile(&errors, 0.5),
            percentile(&errors, 0.9),
            self.broken
        )
    }
}
