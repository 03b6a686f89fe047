//! Progress of a run, on a terminal.
//!
//! Rule: progress is printed to standard error, and only if standard error is a terminal. A log
//! file therefore never contains progress. The progress line is cleared before anything else is
//! printed and when the run ends, even by Ctrl-C.

#[cfg(test)]
mod tests;

use std::{
    fmt::Write,
    io::IsTerminal,
    process,
    sync::{Mutex, MutexGuard},
    thread,
    time::Duration,
};

use fullpipe_perf::Stop;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::{
    failure::{Failure, note},
    output::{Terminal, print},
};

const STEPS: f64 = 1_000.0;
/// Largest number of columns for the names of the run and of the current row.
const NAME_COLUMNS: usize = 34;

/// A progress bar that is cleared when it is dropped.
pub struct Progress {
    bar: ProgressBar,
    /// Name of the run.
    name: String,
    /// Progress of each row (scenario) of the run.
    rows: Mutex<Vec<RowState>>,
}

/// A row's name, and the finished share of its work from 0 to 1. Rows run in parallel.
struct RowState {
    name: String,
    share: f64,
}

impl Progress {
    /// Creates a progress bar for the run `name` with the rows `rows`.
    pub fn new(terminal: &Terminal, name: &str, rows: Vec<String>) -> Self {
        let is_shown = std::io::stderr().is_terminal() && !terminal.quiet;
        let target = if is_shown {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(STEPS as u64), target);
        let style = ProgressStyle::with_template("{msg} {bar:16} {percent:>3} %  {times}")
            .expect("the template is right")
            .with_key("times", |state: &ProgressState, out: &mut dyn Write| {
                // A text in memory accepts every write.
                let _ = out.write_str(&times(state.elapsed(), state.fraction()));
            });
        bar.set_style(style);
        bar.set_message(name.to_string());
        let rows = rows.into_iter().map(|name| RowState { name, share: 0.0 });
        Self {
            bar,
            name: name.to_string(),
            rows: Mutex::new(rows.collect()),
        }
    }

    /// Makes Ctrl-C end the process with exit code 130, for runs that cannot be interrupted in
    /// another way. The bar is cleared first. Then the results that are complete (`so_far`) and
    /// the finished share of the run are printed.
    pub fn ending_on_interrupt(
        self,
        so_far: impl Fn() -> String + Send + 'static,
    ) -> Result<Self, Failure> {
        let (stop, bar, name) = (Stop::on_interrupt()?, self.bar.clone(), self.name.clone());
        thread::spawn(move || {
            while !stop.is_raised() {
                thread::sleep(fullpipe_perf::POLL);
            }
            let percent = bar.position() * 100 / STEPS as u64;
            bar.finish_and_clear();
            // Ignore the error: if standard output is closed, the process ends without this text.
            let _ = print(&so_far());
            note(format_args!("interrupted: {percent} % of {name} is done"));
            process::exit(130);
        });
        Ok(self)
    }

    /// Records that row number `row` has done `share` of its work, from 0 to 1.
    pub fn advance(&self, row: usize, share: f64) {
        let mut rows = self.rows();
        rows[row].share = share;
        let done = rows.iter().map(|row| row.share).sum::<f64>() / rows.len() as f64;
        let running = rows.iter().find(|row| row.share < 1.0);
        let message = match running.filter(|row| !row.name.is_empty()) {
            Some(row) => format!("{}: {}", self.name, row.name),
            None => self.name.clone(),
        };
        self.bar.set_message(cut(&message));
        self.bar.set_position((done * STEPS) as u64);
    }

    /// Clears the bar, runs `print`, and shows the bar again.
    pub fn suspended<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    fn rows(&self) -> MutexGuard<'_, Vec<RowState>> {
        self.rows
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Returns the text about the time since the start of a run that has done `share` of its work, from
/// 0 to 1, and about the time until its end.
fn times(elapsed: Duration, share: f32) -> String {
    let end = match remaining(elapsed, share) {
        Some(remaining) => format!("{:#}", HumanDuration(remaining)),
        None => "unknown".to_string(),
    };
    format!("{:#}, ETA {end}", HumanDuration(elapsed))
}

/// Returns the time until the end of a run that has done `share` of its work in the time `elapsed`,
/// if the rest is done at the same rate. Returns `None` if nothing is done yet.
fn remaining(elapsed: Duration, share: f32) -> Option<Duration> {
    let share = f64::from(share);
    (share > 0.0).then(|| elapsed.mul_f64((1.0 - share).max(0.0) / share))
}

/// Cuts the message to [`NAME_COLUMNS`] columns; the results print the whole name.
fn cut(message: &str) -> String {
    if message.chars().count() <= NAME_COLUMNS {
        return message.to_string();
    }
    let kept: String = message.chars().take(NAME_COLUMNS - 1).collect();
    format!("{}\u{2026}", kept.trim_end())
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
