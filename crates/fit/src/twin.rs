//! The candidates (experiments that may behave like the captured connection), the choice among
//! them, and the explanation of the chosen candidate.
//!
//! Rule: the twin is the candidate whose capture differs least from the original. A candidate that
//! was tried later must differ clearly less than the best earlier candidate ([`SIMPLER`]). All
//! candidates run with the same first seed. The number of simulator events bounds their work.

use fullpipe::presets::Preset;
use fullpipe_diagnose::observe::{ObservedConnection, SegmentLog};
use fullpipe_explain::{Effort, Explanation, Progress, TwinFailure, explain_played};
use fullpipe_scenario::{Played, Setup, experiment::HostStack};
use serde::Serialize;

use crate::{
    estimate::estimate,
    evidence::{Evidence, RecordedSizes},
    failure::FitFailure,
    frames::TapPlace,
    misfit::{Compared, Figures, Verdict},
    plan::{Basis, FittedValue, Plan, RECEIVER, SENDER},
    run::{Ran, run, tap_of},
    sizes,
    variants::{self, Best},
};

/// Largest number of simulator events of all runs of a fit; only the last run may exceed this
/// number.
const WORK: u64 = 2_000_000;
/// Number of runs, each with another seed, if a candidate's link drops frames at random.
const SEEDS: u64 = 3;
/// If a candidate's score is worse by this difference, the candidate is e times less likely.
const EVIDENCE: f64 = 0.05;

/// A change becomes advice only if its gain is at least this plus the twin's error of goodput.
const WORTH: f64 = 0.1;
/// A later candidate, which has one more change, must have a score that is better by more than this
/// to replace the best candidate so far.
const SIMPLER: f64 = 0.02;

/// Note for the user: how to find out the present congestion control.
const ALGORITHM: &str = "The capture does not show the present congestion control; `ss -ti` on the \
                         host prints it. If the host already uses the advised congestion control, no \
                         setting of a host helps.";

/// Words beside a present value that the capture does not contain.
const ESTIMATED: &str = "estimated from the capture";

/// Options of a fit.
#[derive(Clone, Debug)]
pub struct FitOptions {
    /// Preset of both hosts.
    pub preset: &'static Preset,
    /// Title of the experiment.
    pub title: String,
    /// First seed of the runs.
    pub seed: u64,
    /// Origins of the sizes of buffers, as far as recorded sockets show them.
    pub recorded: RecordedSizes,
}

/// A candidate after its run.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// Name of the last change that made this candidate; empty for the first estimate.
    pub name: String,
    /// Likelihood among the candidates, from 0 to 1; a smaller misfit (difference from the capture)
    /// gives a larger likelihood.
    pub odds: f64,
    /// Differences between the candidate and the capture.
    pub compared: Compared,
}

/// The experiment whose behaviour is closest to a connection in a capture.
#[derive(Debug)]
pub struct CaptureTwin {
    /// The experiment.
    pub plan: Plan,
    /// Setup of the experiment.
    pub setup: Setup,
    /// Results of the connection, computed from the capture.
    pub capture: Figures,
    /// Results of the twin, computed from captures of its runs at the place of the original
    /// capture. Results are means over the seeds.
    pub twin: Figures,
    /// Differences between twin and capture.
    pub compared: Compared,
    /// Every candidate that was run: first the twin, then the others by likelihood.
    pub candidates: Vec<Candidate>,
    /// True if the capture has the handshake, which contains the options and the window scale.
    has_handshake: bool,
    seed: u64,
    played: Played,
}

/// Fits an experiment to a connection.
///
/// # Errors
/// Fails if the connection has too little payload or only one direction, a value is outside the
/// range of its setting, a checker of the simulator finds a violation, or the user interrupts.
pub fn fit(
    observed: &ObservedConnection,
    log: &SegmentLog,
    options: &FitOptions,
    progress: &Progress<'_>,
) -> Result<CaptureTwin, FitFailure> {
    let evidence = Evidence {
        recorded: options.recorded,
        ..Evidence::of(log, observed)?
    };
    let plan = estimate(&evidence, options.preset, options.title.clone());
    let bytes = plan.get("workload.bytes");
    let bytes = bytes.and_then(|value| value.to.parse().ok());
    let bytes: u64 = bytes.unwrap_or(u64::MAX);
    let mut fitter = Fitter {
        capture: Figures::of(observed, &evidence.trace, bytes),
        has_handshake: observed.vantage.has_handshake,
        tap: tap_of(observed),
        bytes,
        seed: options.seed,
        spent: 0,
        tried: Vec::new(),
        progress,
    };
    fitter.attempt(String::new(), plan)?;
    for variants in variants::ALL {
        let tried = fitter.best().clone();
        let best = Best {
            evidence: &evidence,
            plan: &tried.plan,
            figures: &tried.figures,
            compared: &tried.compared,
        };
        for (name, plan) in variants(&best) {
            if fitter.spent < WORK {
                fitter.attempt(name, plan)?;
            }
        }
    }
    Ok(fitter.chosen())
}

/// A candidate and the results of its run.
#[derive(Clone)]
struct Tried {
    name: String,
    plan: Plan,
    setup: Setup,
    figures: Figures,
    played: Played,
    compared: Compared,
}

/// Runs candidates.
struct Fitter<'a> {
    capture: Figures,
    has_handshake: bool,
    tap: TapPlace,
    bytes: u64,
    seed: u64,
    /// Simulator events so far.
    spent: u64,
    tried: Vec<Tried>,
    progress: &'a Progress<'a>,
}

impl Fitter<'_> {
    /// Runs a candidate, with several seeds if its link drops frames at random.
    fn attempt(&mut self, name: String, plan: Plan) -> Result<(), FitFailure> {
        let setup = match plan.setup() {
            Ok(setup) => setup,
            // Skip a candidate with an illegal value. In the first estimate, an illegal value is an
            // error.
            Err(_) if !self.tried.is_empty() => return Ok(()),
            Err(failure) => return Err(failure),
        };
        let seeds = if plan.is_random() { SEEDS } else { 1 };
        let mut runs: Vec<Ran> = Vec::new();
        for number in 0..seeds {
            let share = self.spent as f64 / WORK as f64;
            let advance = |_| (self.progress)(share.min(1.0));
            let ran = run(&setup, self.seed + number, self.tap, self.bytes, &advance)?;
            self.spent += ran.played.steps;
            runs.push(ran);
        }
        let figures: Vec<Figures> = runs.iter().map(|ran| ran.figures.clone()).collect();
        let figures = Figures::mean(&figures);
        let compared = Compared::of(&self.capture, &figures);
        self.tried.push(Tried {
            name,
            plan,
            setup,
            figures,
            played: Played::of_seeds(runs.into_iter().map(|ran| ran.played).collect()),
            compared,
        });
        Ok(())
    }

    /// Returns the candidate with the least misfit (difference from the capture) among those that
    /// reproduce the capture, or among all candidates if none does. Later candidates have more
    /// changes, so a later candidate is preferred only if its score is better by [`SIMPLER`].
    fn best(&self) -> &Tried {
        let best = self.tried.iter().reduce(|best, tried| {
            let [own, other] = [tried, best].map(|one| one.compared.is_reproduced());
            let is_nearer = tried.compared.score() + SIMPLER < best.compared.score();
            let is_better = (own && !other) || (own == other && is_nearer);
            if is_better { tried } else { best }
        });
        best.expect("the first estimate was tried")
    }

    fn chosen(self) -> CaptureTwin {
        let best = self.best().clone();
        let likelihood =
            |tried: &Tried| (-(tried.compared.score() - best.compared.score()) / EVIDENCE).exp();
        let sum: f64 = self.tried.iter().map(likelihood).sum();
        let mut candidates: Vec<Candidate> = self
            .tried
            .iter()
            .map(|tried| Candidate {
                name: tried.name.clone(),
                odds: likelihood(tried) / sum,
                compared: tried.compared,
            })
            .collect();
        let is_other = |one: &Candidate| one.name != best.name;
        candidates.sort_by(|one, other| {
            let by_choice = is_other(one).cmp(&is_other(other));
            by_choice.then(other.odds.total_cmp(&one.odds))
        });
        CaptureTwin {
            plan: best.plan,
            setup: best.setup,
            capture: self.capture,
            twin: best.figures,
            compared: best.compared,
            candidates,
            has_handshake: self.has_handshake,
            seed: self.seed,
            played: best.played,
        }
    }
}

impl CaptureTwin {
    /// Returns the explanation of the twin, or the reason for which an explanation would not apply
    /// to the connection.
    ///
    /// # Errors
    /// Fails if a checker of the simulator found a violation; [`TwinFailure::Interrupted`] if
    /// `progress` returns `ControlFlow::Break`.
    pub fn explain(
        &self,
        progress: &Progress<'_>,
    ) -> Result<Result<Explanation, String>, TwinFailure> {
        if let Some(why) = self.no_advice() {
            return Ok(Err(why));
        }
        // Try only settings that the hosts' systems have, because the advice is for real hosts.
        let mut setup = self.setup.clone();
        let hosts = setup.hosts.iter_mut();
        let others = hosts.filter(|host| host.preset.name != "default");
        others.for_each(|host| host.stack = HostStack::Kernel);
        let explained = explain_played(
            &setup,
            self.seed,
            &self.played,
            None,
            Effort::Usual,
            progress,
        )?;
        Ok(match self.guess_behind(&explained) {
            Some(guess) if !is_response_to_losses(guess, &explained) => Err(format!(
                "the limit depends on a guessed value, {} = {} ({}). With the guess, the limit is {}",
                guess.set,
                guess.to,
                guess.why,
                first_sentence(&explained.parts.limited_by)
            )),
            Some(_) | None => {
                let explained = self.without_small_gain(fault_first(explained));
                Ok(self.with_estimates_marked(self.with_other_settings(explained)))
            }
        })
    }

    /// Adds a note to each setting of the advice whose present value the capture does not show. The
    /// note says how to find out the value. For the size of a buffer, the note also names the other
    /// setting that may have given the size.
    fn with_other_settings(&self, mut explained: Explanation) -> Explanation {
        let Explanation {
            settings, parts, ..
        } = &mut explained;
        for (advised, line) in settings.iter_mut().zip(&mut parts.change) {
            let setting = &mut advised.setting;
            let other = sizes::other_setting(&self.plan, &setting.name, &setting.wanted);
            let is_algorithm = setting.name == "tcp_congestion_control";
            let now = format!("{} = {}", setting.name, setting.present);
            let (note, doubted) = match other {
                Some(note) => (note, format!("{now}, or a second setting (see Change)")),
                None if is_algorithm => {
                    line.from = format!("{} (most likely)", setting.present);
                    (ALGORITHM.to_string(), format!("{now} (most likely)"))
                }
                None => continue,
            };
            parts.limited_by = parts.limited_by.replacen(&now, &doubted, 1);
            setting.cautions.push(note.clone());
            line.notes.push(note);
        }
        explained
    }

    /// Marks values of settings in the text that are estimates, because the hosts may have slightly
    /// different values.
    fn with_estimates_marked(&self, mut explained: Explanation) -> Explanation {
        let Explanation {
            settings, parts, ..
        } = &mut explained;
        for (advised, line) in settings.iter().zip(&mut parts.change) {
            let names = [&advised.setting.name, &advised.knob];
            let is_estimated = names.into_iter().any(|name| {
                let value = self.plan.get(&format!("{}.{name}", advised.on));
                value.is_some_and(|value| is_estimate(value) && value.to == line.from)
            });
            if is_estimated {
                line.from = format!("about {}, {ESTIMATED}", line.from);
            }
        }
        for value in self.plan.values.iter().filter(|value| is_estimate(value)) {
            if let Some((SENDER | RECEIVER, name)) = value.set.split_once('.') {
                mark_estimate(&mut parts.limited_by, &format!("{name} = {}", value.to));
            }
        }
        explained
    }

    /// Returns a value of the twin that is only a guess and that `explained` would change. If the
    /// guess is wrong, `explained` may name a wrong cause.
    fn guess_behind(&self, explained: &Explanation) -> Option<&FittedValue> {
        let mut changed = self.setup.clone();
        for change in explained.shown.iter().chain(&explained.advice) {
            changed.set(&change.set, &change.to).ok()?;
        }
        let is_changed = |value: &FittedValue| {
            let mut again = changed.clone();
            again.set(&value.set, &value.to).is_ok() && again != changed
        };
        let is_guess = |value: &FittedValue| matches!(value.basis, Basis::Guessed | Basis::Assumed);
        let mut values = self.plan.values.iter();
        values.find(|value| is_guess(value) && is_changed(value))
    }

    /// Removes advice whose gain is smaller than [`WORTH`] plus the twin's error of goodput.
    fn without_small_gain(&self, explained: Explanation) -> Explanation {
        let own = self.played.measured.first_flow_mbps(&self.setup);
        let least = own * (1.0 + WORTH + self.compared.goodput_error.abs());
        match explained.predicted {
            Some(predicted) if predicted.goodput_mbps < least => {
                let gain = (predicted.goodput_mbps / own - 1.0) * 100.0;
                explained.without_advice(format!(
                    "The best settings that were tried gain {gain:.0} %. Advice from a capture \
                     needs a gain of at least {:.0} % plus the error of the simulated goodput.",
                    WORTH * 100.0
                ))
            }
            Some(_) | None => explained,
        }
    }

    /// Reason for which there is no advice; `None` if there may be advice.
    pub fn no_advice(&self) -> Option<String> {
        if !self.has_handshake {
            return Some(
                "the capture begins after the handshake, so the windows and the earlier segments are \
                 unknown"
                    .to_string(),
            );
        }
        let Compared {
            goodput_error,
            account_error,
            rtt_error,
            verdict,
        } = self.compared;
        let missed = |what: String| {
            Some(format!(
                "the simulation does not reproduce the capture. {what}"
            ))
        };
        match verdict {
            Verdict::GoodputDiffers => {
                missed(format!("The goodput of the simulation differs by {:+.0} %", goodput_error * 100.0))
            }
            Verdict::LimitDiffers => missed(format!(
                "The simulation has another limit for {:.0} % of the time",
                account_error * 100.0
            )),
            Verdict::RoundTripDiffers => {
                missed(format!("The median round trip of the simulation differs by {:+.0} %", rtt_error * 100.0))
            }
            // Give no advice, because the pause begins at a fixed time in the twin: a setting could
            // seem to help only because the faster transfer ends before the pause.
            Verdict::Reproduces => self.plan.get("workload.read.stall_for").map(|pause| {
                format!(
                    "the receiving application read nothing for {}. A larger buffer would only hide the pause",
                    pause.to
                )
            }),
        }
    }

    /// The experiment file.
    pub fn file(&self) -> String {
        self.plan.file()
    }
}

/// Returns true if the value is one number or several, which follow from the capture and are not in
/// its segments.
fn is_estimate(value: &FittedValue) -> bool {
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    match value.basis {
        Basis::Inferred | Basis::Guessed => value.to.split(' ').all(is_number),
        Basis::Seen | Basis::Assumed => false,
    }
}

/// Adds [`ESTIMATED`] after the first `setting` in `text`, such as `SO_SNDBUF = 13897`. Skips a
/// setting whose value continues with another digit.
fn mark_estimate(text: &mut String, setting: &str) {
    let mut ends = text
        .match_indices(setting)
        .map(|(at, _)| at + setting.len());
    let end = ends.find(|end| !text[*end..].starts_with(|next: char| next.is_ascii_digit()));
    if let Some(end) = end {
        text.insert_str(end, &format!(" ({ESTIMATED})"));
    }
}

/// Returns the first of several sentences, without its full stop.
fn first_sentence(text: &str) -> &str {
    text.split(". ").next().unwrap_or(text)
}

/// Returns true if `guess` is the sender's congestion control, and an impairment of the path costs
/// time. The impairment is then the cause, and the congestion control only the response to it.
fn is_response_to_losses(guess: &FittedValue, explained: &Explanation) -> bool {
    guess.set == "sender.tcp.congestion" && explained.fault.is_some()
}

/// If removing the path's impairment saves more time than the setting of a host does, names the
/// impairment first, and the setting second.
fn fault_first(mut explained: Explanation) -> Explanation {
    if let Some(fault) = explained.fault.as_ref().filter(|fault| fault.is_most) {
        let host = first_sentence(&explained.parts.limited_by);
        explained.parts.limited_by =
            format!("{}. The hosts also limit the transfer: {host}", fault.words);
    }
    explained
}
