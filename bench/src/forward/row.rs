//! All measurements of one forwarder in one case.
//!
//! Rule: a figure is the median over the rounds that have it.

use serde_json::{Value, json};

use super::{cases::ForwardCase, contender::Contender, measure::Measurement};

/// All measurements of one forwarder in one case.
pub struct ForwardRow {
    pub case: ForwardCase,
    pub contender: Contender,
    pub measurements: Vec<Measurement>,
    /// The failures, one for each round that failed.
    pub failures: Vec<String>,
}

impl ForwardRow {
    /// Returns the median over the rounds of a figure; `None` if no round has the figure.
    fn median(&self, figure: impl Fn(&Measurement) -> Option<f64>) -> Option<f64> {
        let mut figures: Vec<f64> = self.measurements.iter().filter_map(figure).collect();
        figures.sort_by(f64::total_cmp);
        let middle = figures.len() / 2;
        match figures.len() {
            0 => None,
            len if len % 2 == 1 => Some(figures[middle]),
            _ => Some((figures[middle - 1] + figures[middle]) / 2.0),
        }
    }

    /// Returns the median goodput in Mbit/s.
    pub fn goodput_mbps(&self) -> Option<f64> {
        self.median(|one| one.goodput_mbps)
    }

    /// Returns the median CPU time of the forwarder for 1 GiB of payload, in seconds.
    pub fn cpu_s_per_gib(&self) -> Option<f64> {
        self.median(|one| one.cpu_s_per_gib)
    }

    /// Returns the median of the resident memory with all flows open, in MiB.
    pub fn resident_mib(&self) -> Option<f64> {
        self.median(|one| one.resident_mib)
    }

    /// Returns the row as JSON.
    pub fn json(&self) -> Value {
        let rounds = |figure: fn(&Measurement) -> Option<f64>| {
            let figures = self.measurements.iter().filter_map(figure);
            figures.collect::<Vec<f64>>()
        };
        json!({
            "case": self.case.name(),
            "forwarder": self.contender.name(),
            "goodput_mbps": self.goodput_mbps(),
            "cpu_s_per_gib": self.cpu_s_per_gib(),
            "resident_mib": self.resident_mib(),
            "rounds": {
                "goodput_mbps": rounds(|one| one.goodput_mbps),
                "cpu_s_per_gib": rounds(|one| one.cpu_s_per_gib),
                "resident_mib": rounds(|one| one.resident_mib),
            },
            "failures": self.failures,
        })
    }
}
