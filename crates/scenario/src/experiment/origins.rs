//! Origins of an experiment's values: stated by its source, fitted to published figures,
//! or chosen; and published figures that the settings imply.
//!
//! Rule: a published figure is a prediction only if no parameter was fitted to it and no
//! setting implies it. Nothing is counted or judged here.

use serde::Serialize;

/// Name of a published outcome among the names of quantities.
pub const OUTCOME: &str = "outcome";

/// Origins of the values in one experiment file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origins {
    /// Settings that the source gives.
    pub stated: Vec<OwnSetting>,
    /// Parameters that were fitted.
    pub fitted: Vec<Fitted>,
    /// Settings that were chosen.
    pub chosen: Vec<Chosen>,
    /// Published figures that settings imply.
    pub implied: Vec<Implied>,
    /// Settings of the file, or of its rows with published figures, without an origin.
    pub unexplained: Vec<String>,
}

/// A setting that the file makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnSetting {
    /// Its path as `--set` takes it, or the beginning of several paths.
    pub setting: String,
    /// Its value as the file writes it; several values are separated by commas.
    pub value: String,
}

/// A published figure of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowFigure {
    /// The row's label.
    pub row: String,
    /// The quantity's name, or [`OUTCOME`].
    pub quantity: &'static str,
}

/// A parameter whose value was found by comparing results with published figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fitted {
    /// The parameter.
    #[serde(flatten)]
    pub parameter: OwnSetting,
    /// Values that were tried, such as `steps of 1us`.
    pub tried: String,
    /// Figures that decided the value, at least one.
    pub figures: Vec<RowFigure>,
    /// Reason for which this value was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Reason for which other experiments of the same document have another value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
}

/// Settings that neither the source nor a published figure decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chosen {
    /// The settings, at least one.
    pub settings: Vec<OwnSetting>,
    /// Reason for these values.
    pub reason: String,
    /// Reason for which other experiments of the same document have another value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
}

/// Published figures that follow from a setting or from another figure: their agreement
/// shows nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Implied {
    /// The figures, at least one.
    pub figures: Vec<RowFigure>,
    /// The setting or figure from which they follow.
    pub reason: String,
}

impl Origins {
    /// Returns true if the file declares any origin.
    pub fn is_declared(&self) -> bool {
        let Self {
            stated,
            fitted,
            chosen,
            implied,
            unexplained: _,
        } = self;
        !(stated.is_empty() && fitted.is_empty() && chosen.is_empty() && implied.is_empty())
    }

    /// Returns true if a parameter was fitted to `quantity` of the row labelled `row`.
    pub fn is_fitted(&self, row: &str, quantity: &str) -> bool {
        let mut figures = self.fitted.iter().flat_map(|fitted| &fitted.figures);
        figures.any(|at| at.row == row && at.quantity == quantity)
    }

    /// Returns true if settings imply `quantity` of the row labelled `row`.
    pub fn is_implied(&self, row: &str, quantity: &str) -> bool {
        let mut figures = self.implied.iter().flat_map(|implied| &implied.figures);
        figures.any(|at| at.row == row && at.quantity == quantity)
    }

    /// Parameters that were fitted to the row labelled `row`, each with the values tried.
    pub fn fitted_to(&self, row: &str) -> Vec<String> {
        let fitted = self.fitted.iter();
        fitted
            .filter(|fitted| fitted.figures.iter().any(|at| at.row == row))
            .map(|fitted| format!("{} ({})", fitted.parameter.setting, fitted.tried))
            .collect()
    }
}
