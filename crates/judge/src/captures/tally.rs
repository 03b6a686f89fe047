//! The confusion matrix of many judged captures, and the shares of right and wrong
//! answers.

use std::fmt;

use comfy_table::{Cell, CellAlignment, Table, presets};

use super::{judged::JudgedCapture, truth::LimitGroup, view::View};

/// Smallest accepted share of right answers over all places.
const RIGHT: f64 = 0.95;
/// Smallest accepted share of right answers from captures at the sender.
const RIGHT_AT_SENDER: f64 = 0.98;
/// Largest share of wrong answers with high confidence.
const SURELY_WRONG: f64 = 0.01;
/// Largest allowed median of the errors of captures. The error of a capture is the error of the
/// limit whose share is most wrong.
const ERROR: f64 = 0.05;

/// Figures over many judged captures.
#[derive(Debug)]
pub struct CaptureTally<'a> {
    judged: &'a [JudgedCapture],
    broken: usize,
}

impl<'a> CaptureTally<'a> {
    /// Summarises `judged`. `broken` is the number of cases (captured transfers) that failed and
    /// are not in `judged`.
    pub const fn new(judged: &'a [JudgedCapture], broken: usize) -> Self {
        Self { judged, broken }
    }

    /// Share of right answers at one place, or over all places.
    pub fn right(&self, view: Option<View>) -> f64 {
        self.share(view, JudgedCapture::is_right)
    }

    /// Share of wrong answers with high confidence.
    pub fn surely_wrong(&self, view: Option<View>) -> f64 {
        self.share(view, JudgedCapture::is_surely_wrong)
    }

    /// Median of the errors of captures. The error of a capture is the error of the limit whose
    /// share is most wrong.
    pub fn median_error(&self, view: Option<View>) -> f64 {
        let of_view = self.of(view);
        let mut errors: Vec<f64> = of_view.map(JudgedCapture::error).collect();
        errors.sort_by(f64::total_cmp);
        errors.get(errors.len() / 2).copied().unwrap_or(0.0)
    }

    /// Returns true if every result satisfies its threshold.
    pub fn is_met(&self) -> bool {
        self.broken == 0
            && self.right(None) >= RIGHT
            && self.right(Some(View::Sender)) >= RIGHT_AT_SENDER
            && self.surely_wrong(None) <= SURELY_WRONG
            && self.median_error(None) <= ERROR
    }

    fn of(&self, view: Option<View>) -> impl Iterator<Item = &'a JudgedCapture> {
        let is_in = move |one: &&JudgedCapture| view.is_none_or(|view| one.view == view);
        self.judged.iter().filter(is_in)
    }

    fn share(&self, view: Option<View>, is: impl Fn(&JudgedCapture) -> bool) -> f64 {
        let all = self.of(view).count();
        let count = self.of(view).filter(|one| is(one)).count();
        count as f64 / all.max(1) as f64
    }

    /// The confusion matrix. Rows are the truth, columns the named group.
    fn matrix(&self) -> Table {
        let mut table = table();
        let mut header = vec![Cell::new("truth \\ named")];
        let used: Vec<LimitGroup> = LimitGroup::ALL
            .into_iter()
            .filter(|group| {
                let mut all = self.judged.iter();
                all.any(|one| one.named == *group || one.main() == *group)
            })
            .collect();
        header.extend(used.iter().map(|group| Cell::new(group.name())));
        table.set_header(header);
        for row in &used {
            let mut cells = vec![Cell::new(row.name())];
            cells.extend(used.iter().map(|column| {
                let all = self.judged.iter();
                let count = all
                    .filter(|one| one.main() == *row && one.named == *column)
                    .count();
                let text = if count == 0 {
                    String::new()
                } else {
                    count.to_string()
                };
                Cell::new(text).set_alignment(CellAlignment::Right)
            }));
            table.add_row(cells);
        }
        table
    }
}

fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table
}

impl fmt::Display for CaptureTally<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.matrix())?;
        let mut figures = table();
        figures.set_header(["place", "captures", "right", "surely wrong", "median error"]);
        let views = View::ALL.into_iter().map(Some).chain([None]);
        for view in views {
            figures.add_row([
                view.map_or("all", View::name).to_string(),
                self.of(view).count().to_string(),
                format!("{:.1} %", 100.0 * self.right(view)),
                format!("{:.1} %", 100.0 * self.surely_wrong(view)),
                format!("{:.1} points", 100.0 * self.median_error(view)),
            ]);
        }
        writeln!(f, "{figures}")?;
        write!(
            f,
            "Thresholds: at least {:.0} % right, at least {:.0} % right at the sender, at most {:.0} % surely wrong, a median error of at most {:.0} points; {} cases could not be judged",
            100.0 * RIGHT,
            100.0 * RIGHT_AT_SENDER,
            100.0 * SURELY_WRONG,
            100.0 * ERROR,
            self.broken
        )
    }
}
