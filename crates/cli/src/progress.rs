//! How far a run has come, on a terminal.
//!
//! Rule: it is shown on standard error and only when that is a terminal, so a
//! log never holds half a line of it; and nothing waits for it.

use std::{io::IsTerminal, sync::Mutex};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const STEPS: f64 = 1_000.0;

/// A bar that is gone when it is dropped.
pub struct Progress {
    bar: ProgressBar,
    /// How far each row has come, from 0 to 1; rows run side by side.
    rows: Mutex<Vec<f64>>,
}

impl Progress {
    /// A bar for the rows of one experiment.
    pub fn new(experiment: &str, rows: usize) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(STEPS as u64), target);
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent} % {elapsed}");
        bar.set_style(style.expect("the template is right"));
        bar.set_message(experiment.to_string());
        Self {
            bar,
            rows: Mutex::new(vec![0.0; rows]),
        }
    }

    /// Row number `row` has come so far, from 0 to 1.
    pub fn advance(&self, row: usize, share: f64) {
        let mut rows = self
            .rows
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        rows[row] = share;
        let done = rows.iter().sum::<f64>() / rows.len() as f64;
        self.bar.set_position((done * STEPS) as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
