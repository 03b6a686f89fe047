//! Helpers that open pages of real experiments in a browser, and act on them as a person does.
//!
//! Rule: helpers read and act; they judge nothing.

use std::{env, fs, path::PathBuf};

use fullpipe_diagnose::facts::Run;
use fullpipe_lab::{Experiment, RunOptions, catalogue, facts, run};
use serde_json::json;

use crate::browser::Browser;

/// A page in a file that is removed at the end of the test.
pub struct Page(pub PathBuf);

impl Page {
    pub fn new(name: &str, run: &Run) -> Self {
        let file = format!("fullpipe-page-{name}-{}.html", std::process::id());
        let path = env::temp_dir().join(file);
        fs::write(&path, fullpipe_report::page(run)).expect("a page can be written");
        Self(path)
    }

    pub fn url(&self) -> String {
        format!("file://{}", self.0.display())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns an experiment of the repository.
pub fn experiment(name: &str) -> Experiment {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let found = catalogue::find(name, &root).unwrap();
    found.parse().unwrap()
}

/// Runs an experiment with all its series, without explanations.
pub fn observed(experiment: &Experiment) -> Run {
    facts_of(experiment, &RunOptions::quick(1))
}

/// Runs an experiment with all its series and explains its rows (scenarios).
pub fn explained(experiment: &Experiment) -> Run {
    facts_of(experiment, &RunOptions::plain(1))
}

fn facts_of(experiment: &Experiment, options: &RunOptions<'_>) -> Run {
    let options = RunOptions {
        observe: true,
        ..*options
    };
    facts(&mut run(experiment, &options).unwrap())
}

/// Runs the experiment `nuttx` for a second with losses and without explanations, and opens its
/// page in a browser.
pub fn opened(name: &str) -> (Browser, Page) {
    opened_after(name, observed)
}

/// As [`opened`], but runs the experiment with the function `run`.
pub fn opened_after(name: &str, run: fn(&Experiment) -> Run) -> (Browser, Page) {
    let mut experiment = experiment("nuttx");
    experiment.set("workload.duration", "1s").unwrap();
    experiment.set("link.loss", "1%").unwrap();
    let page = Page::new(name, &run(&experiment));
    let mut browser = Browser::start(name, 1_300, 1_000);
    browser.open(&page.url());
    browser.evaluate(PIXELS);
    (browser, page)
}

/// Script that defines `pixels(graph, name, from, until)`. The function counts the pixels of a
/// graph that lie between two times and have nearly the colour `name`.
pub const PIXELS: &str = "
    window.pixels = (graph, name, from, until, side = 0) => {
        const stack = fullpipe.stacks[side];
        const { base } = stack.panes.find((pane) => pane.graph.id === graph);
        const plot = stack.plotOf(base);
        const style = getComputedStyle(document.documentElement);
        const ink = name.startsWith('#') ? name : style.getPropertyValue('--' + name).trim();
        const wanted = [1, 3, 5].map((at) => parseInt(ink.slice(at, at + 2), 16));
        const left = Math.max(plot.left, Math.floor(plot.x(from ?? plot.from)) - 2);
        const right = Math.min(plot.right, Math.ceil(plot.x(until ?? plot.until)) + 3);
        const { data } = plot.context.getImageData(left, 0, right - left, base.height);
        let count = 0;
        for (let at = 0; at < data.length; at += 4) {
            const far = (part) => Math.abs(data[at + part] - wanted[part]);
            if (data[at + 3] > 200 && far(0) + far(1) + far(2) < 40) count += 1;
        }
        return count;
    }";

/// Scrolls to a graph and returns the left, top, width and height of the graph's plot in the
/// window.
pub fn place(browser: &mut Browser, graph: &str) -> [f64; 4] {
    let script = format!(
        "(() => {{ const plot = document.querySelector('[data-graph={graph}] .plot');
            plot.scrollIntoView({{ block: 'center' }});
            const box = plot.getBoundingClientRect();
            return [box.left + 64, box.top, box.width - 74, box.height]; }})()"
    );
    let place = browser.evaluate(&script);
    std::array::from_fn(|at| place[at].as_f64().expect("four numbers"))
}

/// Waits until the chosen data is decoded and the next frame is drawn. On an empty page there is no
/// data to wait for.
pub fn frame(browser: &mut Browser) {
    browser.evaluate(
        "Promise.resolve(window.fullpipe?.settled()).then(() =>
            new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))",
    );
}

/// Returns the visible range of time, in nanoseconds.
pub fn range(browser: &mut Browser) -> [f64; 2] {
    frame(browser);
    [
        browser.number("fullpipe.view.from"),
        browser.number("fullpipe.view.until"),
    ]
}

/// Drags with the left button; `modifiers` as in the DevTools protocol.
pub fn drag(browser: &mut Browser, from: (f64, f64), to: (f64, f64), modifiers: u32) {
    let more = |buttons: u32| json!({ "modifiers": modifiers, "buttons": buttons });
    browser.mouse("mousePressed", from.0, from.1, more(1));
    browser.mouse("mouseMoved", (from.0 + to.0) / 2.0, to.1, more(1));
    browser.mouse("mouseMoved", to.0, to.1, more(1));
    browser.mouse("mouseReleased", to.0, to.1, more(0));
}

/// Clicks at a point of the window.
pub fn click(browser: &mut Browser, x: f64, y: f64) {
    browser.mouse("mousePressed", x, y, json!({}));
    browser.mouse("mouseReleased", x, y, json!({}));
}
