//! Origins of an experiment's values: stated by its source, fitted to published figures, or
//! chosen. Also lists the published figures that follow from settings.
//!
//! Rule: a published figure is a prediction only if no parameter was fitted to it and no setting
//! implies it. This file neither counts nor judges figures.

use serde::Serialize;

/// Name of a published outcome in a list of the names of quantities.
pub const OUTCOME: &str = "outcome";

/// Origins of the values in one experiment file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origins {
    /// Settings that the source gives.
    pub stated: Vec<OwnSetting>,
    /// Parameters that were fitted to published figures.
    pub fitted: Vec<Fitted>,
    /// Settings that were chosen freely.
    pub chosen: Vec<Chosen>,
    /// Published figures that follow from settings.
    pub implied: Vec<Implied>,
    /// Settings that have no declared origin, although they apply to all rows (scenarios) or to a
    /// row with published figures.
    pub unexplained: Vec<String>,
}

/// A setting that the file makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnSetting {
    /// The setting's path as `--set` takes it, or the common beginning of several paths.
    pub setting: String,
    /// The setting's value as the file writes it; several values are separated by commas.
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
    /// The values that were tried, such as `steps of 1us`.
    pub tried: String,
    /// Published figures that determined the value, at least one.
    pub figures: Vec<RowFigure>,
    /// Reason for taking this value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Reason for a different value in other experiments of the same document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
}

/// Settings that neither the source nor a published result decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chosen {
    /// The settings, at least one.
    pub settings: Vec<OwnSetting>,
    /// Reason for these values.
    pub reason: String,
    /// Reason for different values in other experiments of the same document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
}

/// Published figures that follow from a setting or from another figure, so that a run that agrees
/// with them proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Implied {
    /// The figures, at least one.
    pub figures: Vec<RowFigure>,
    /// The setting or the figure that implies them.
    pub reason: String,
}

impl Origins {
    /// Returns true if the file declares the origin of any value.
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

    /// Returns the parameters that were fitted to the row labelled `row`, each with the values
    /// tried.
    pub fn fitted_to(&self, row: &str) -> Vec<String> {
        let fitted = self.fitted.iter();
        fitted
            .filter(|fitted| fitted.figures.iter().any(|at| at.row == row))
            .map(|fitted| format!("{} ({})", fitted.parameter.setting, fitted.tried))
            .collect()
    }
}
