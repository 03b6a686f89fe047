//! The published figures of an experiment, compared with its results. There are three kinds of
//! figures: figures to which a parameter was fitted, figures that settings imply, and predictions.
//!
//! Rule: a figure is a prediction unless the file's [`Origins`] classify it as fitted or implied.
//! All counts come from the file and the results; the sentences contain no other number.

use fullpipe_scenario::{
    experiment::{Chosen, Fitted, Implied, OUTCOME, Origins, OwnSetting, Published, RowFigure},
    measured::{Measured, Quantity},
};
use serde::Serialize;

#[cfg(test)]
mod tests;

/// Published figures of one experiment, with their results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reference {
    /// Number of published figures.
    pub published: usize,
    /// Number of published figures to which a parameter was fitted.
    pub fitted: usize,
    /// Number of published figures that follow from a setting or from another figure.
    pub implied: usize,
    /// Number of published figures that are predictions.
    pub predicted: usize,
    /// Number of predicted outcomes that agree with the published ones. An outcome is a word, such
    /// as `complete`, and has no deviation.
    pub outcomes_as_published: usize,
    /// Number of predicted outcomes that differ from the published ones.
    pub outcomes_not_as_published: usize,
    /// Median of the predictions' absolute deviations, as a share of the published figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_deviation: Option<f64>,
    /// The prediction with the largest deviation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<FigureResult>,
    /// Every published figure, in the order of the file.
    pub results: Vec<FigureResult>,
    /// Parameters that were fitted to published figures.
    pub fitted_parameters: Vec<Fitted>,
    /// Settings that were chosen freely, with the reasons.
    pub chosen_settings: Vec<Chosen>,
    /// Figures that follow from settings, with the reasons.
    pub implied_figures: Vec<Implied>,
    /// Settings that the source gives.
    pub stated_settings: Vec<OwnSetting>,
}

/// The published figures of a row (scenario), and its results.
#[derive(Clone, Copy, Debug)]
pub struct PublishedRow<'a> {
    /// The row's label.
    pub label: &'a str,
    /// Published figures of the source.
    pub published: &'a Published,
    /// Results.
    pub measured: &'a Measured,
}

/// The relation of a published figure to the experiment's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// A parameter was fitted to the figure.
    Fitted,
    /// The figure follows from a setting or from another figure.
    Implied,
    /// The figure is neither fitted nor implied, so the result could have differed from it.
    Predicted,
}

/// A published figure and its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureResult {
    /// The figure.
    #[serde(flatten)]
    pub figure: RowFigure,
    /// The figure's relation to the settings.
    pub kind: FigureKind,
    /// The published value in its printed form. The row's JSON contains the number.
    #[serde(skip)]
    pub published: String,
    /// The result in its printed form; `None` if the row has no such result.
    #[serde(skip)]
    pub measured: Option<String>,
    /// The result divided by the published value, minus one; absent for outcomes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
}

impl FigureKind {
    /// The word in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fitted => "fitted",
            Self::Implied => "implied",
            Self::Predicted => "predicted",
        }
    }
}

impl FigureResult {
    /// Heading of the quantity with the row's label: ``Mbit/s of `TCP send, default` ``.
    pub fn named(&self) -> String {
        named(&self.figure)
    }

    /// The deviation in percent, with a sign; a dash for an outcome.
    pub fn deviation_text(&self) -> String {
        let percent = |share: f64| format!("{:+.1} %", share * 100.0);
        self.deviation
            .map_or_else(|| "\u{2013}".to_string(), percent)
    }

    fn is_predicted(&self) -> bool {
        self.kind == FigureKind::Predicted
    }
}

impl Reference {
    /// Compares the published figures of `rows` with the results; `None` if there are no figures
    /// or if the file declares no origins.
    pub fn of<'a>(origins: &Origins, rows: impl Iterator<Item = PublishedRow<'a>>) -> Option<Self> {
        let results: Vec<_> = rows.flat_map(|row| of_row(origins, row)).collect();
        if results.is_empty() || !origins.is_declared() {
            return None;
        }
        let count = |kind| results.iter().filter(|figure| figure.kind == kind).count();
        let predicted = || results.iter().filter(|figure| figure.is_predicted());
        let is_outcome = |figure: &&FigureResult| figure.figure.quantity == OUTCOME;
        let as_published =
            |figure: &&FigureResult| figure.measured.as_deref() == Some(figure.published.as_str());
        let outcomes = predicted().filter(is_outcome).count();
        let outcomes_as_published = predicted().filter(is_outcome).filter(as_published).count();
        let size = |figure: &FigureResult| figure.deviation.map(f64::abs);
        let worst = predicted()
            .filter(|figure| figure.deviation.is_some())
            .max_by(|a, b| size(a).partial_cmp(&size(b)).expect("a finite share"));
        Some(Self {
            published: results.len(),
            fitted: count(FigureKind::Fitted),
            implied: count(FigureKind::Implied),
            predicted: count(FigureKind::Predicted),
            outcomes_as_published,
            outcomes_not_as_published: outcomes - outcomes_as_published,
            median_deviation: median(predicted().filter_map(size).collect()),
            worst: worst.cloned(),
            fitted_parameters: origins.fitted.clone(),
            chosen_settings: origins.chosen.clone(),
            implied_figures: origins.implied.clone(),
            stated_settings: origins.stated.clone(),
            results,
        })
    }

    /// Number of chosen settings.
    pub fn chosen(&self) -> usize {
        let settings = self.chosen_settings.iter();
        settings.map(|chosen| chosen.settings.len()).sum()
    }

    /// Returns sentences with the counts and deviations.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "{}: {} fitted{}, {} implied, {} predicted.",
            counted(self.published, "published result", "published results"),
            self.fitted,
            match self.fitted_parameters.len() {
                0 => String::new(),
                count => format!(" with {}", counted(count, "parameter", "parameters")),
            },
            self.implied,
            self.predicted,
        );
        if let (Some(median), Some(worst)) = (self.median_deviation, &self.worst) {
            text.push_str(&format!(
                " The median deviation of the predictions is {:.1} %. The largest is {}, for {}.",
                median * 100.0,
                worst.deviation_text(),
                worst.named(),
            ));
        }
        let outcomes = self.outcomes_as_published + self.outcomes_not_as_published;
        if outcomes > 0 {
            text.push_str(&format!(
                " {} of {} {} as published.",
                self.outcomes_as_published,
                counted(outcomes, "predicted outcome", "predicted outcomes"),
                match self.outcomes_as_published {
                    1 => "is",
                    _ => "are",
                },
            ));
        }
        text.push_str(&format!(
            " {} by judgement.",
            match self.chosen() {
                1 => "1 setting was chosen".to_string(),
                count => format!("{count} settings were chosen"),
            }
        ));
        text
    }

    /// Returns a sentence for each fitted parameter.
    pub fn fitted_lines(&self) -> Vec<String> {
        let parameters = self.fitted_parameters.iter();
        parameters
            .map(|fitted| {
                let OwnSetting { setting, value } = &fitted.parameter;
                let figures: Vec<_> = fitted.figures.iter().map(named).collect();
                let reasons = [&fitted.reason, &fitted.elsewhere];
                let reasons = reasons.into_iter().flatten();
                let reasons: String = reasons.map(|reason| format!(" {reason}.")).collect();
                format!(
                    "{setting} = {value} (tried: {}). The fit uses {}.{reasons}",
                    fitted.tried,
                    figures.join(", "),
                )
            })
            .collect()
    }

    /// Returns a sentence for each choice.
    pub fn chosen_lines(&self) -> Vec<String> {
        let choices = self.chosen_settings.iter();
        choices
            .map(|chosen| {
                let settings = chosen.settings.iter();
                let settings: Vec<_> = settings
                    .map(|OwnSetting { setting, value }| format!("{setting} = {value}"))
                    .collect();
                let elsewhere = chosen.elsewhere.as_ref();
                let elsewhere = elsewhere.map_or_else(String::new, |reason| format!(" {reason}."));
                format!("{}. {}.{elsewhere}", settings.join(", "), chosen.reason)
            })
            .collect()
    }

    /// Returns a sentence for each reason that figures are implied.
    pub fn implied_lines(&self) -> Vec<String> {
        let implied = self.implied_figures.iter();
        implied
            .map(|implied| {
                let figures: Vec<_> = implied.figures.iter().map(named).collect();
                format!("{}. {}.", figures.join(" and "), implied.reason)
            })
            .collect()
    }
}

/// Returns the published figures of one row, with their results.
fn of_row(origins: &Origins, row: PublishedRow<'_>) -> Vec<FigureResult> {
    let names = row.published.names().into_iter();
    names
        .map(|quantity| {
            let kind = if origins.is_fitted(row.label, quantity) {
                FigureKind::Fitted
            } else if origins.is_implied(row.label, quantity) {
                FigureKind::Implied
            } else {
                FigureKind::Predicted
            };
            let place = RowFigure {
                row: row.label.to_string(),
                quantity,
            };
            match row.published.figure(quantity) {
                Some(published) => number(place, kind, published, row),
                None => FigureResult {
                    figure: place,
                    kind,
                    published: row
                        .published
                        .outcome
                        .map_or_else(String::new, |outcome| outcome.name().to_string()),
                    measured: Some(row.measured.outcome.name().to_string()),
                    deviation: None,
                },
            }
        })
        .collect()
}

fn number(
    place: RowFigure,
    kind: FigureKind,
    published: f64,
    row: PublishedRow<'_>,
) -> FigureResult {
    let quantity = Quantity::named(place.quantity);
    let measured = (quantity.of)(row.measured);
    let share = |measured: f64| measured / published - 1.0;
    FigureResult {
        figure: place,
        kind,
        published: quantity.text(published),
        measured: measured.map(|value| quantity.text(value)),
        deviation: measured.filter(|_| published != 0.0).map(share),
    }
}

fn named(figure: &RowFigure) -> String {
    let heading = match figure.quantity {
        OUTCOME => OUTCOME,
        name => Quantity::named(name).heading,
    };
    format!("{heading} of `{}`", figure.row)
}

fn counted(count: usize, one: &str, several: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {several}"),
    }
}

/// Returns the median of `sizes`; `None` if there are none.
pub(crate) fn median(mut sizes: Vec<f64>) -> Option<f64> {
    sizes.sort_by(f64::total_cmp);
    let middle = sizes.len() / 2;
    match sizes.len() % 2 {
        0 => Some(f64::midpoint(
            *sizes.get(middle.checked_sub(1)?)?,
            sizes[middle],
        )),
        _ => sizes.get(middle).copied(),
    }
}
