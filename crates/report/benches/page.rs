//! Benchmark of the page: time to load a million segments and to draw a frame, in a headless
//! Chromium (`cargo xtask bench page`).
//!
//! Rule: the benchmark prints times and judges none.

// Allow unused functions: the tests of the page use more functions of the two modules.
#[allow(dead_code)]
#[path = "../tests/page/browser.rs"]
mod browser;
// Allow unused functions, as above.
#[allow(dead_code)]
#[path = "../tests/page/synthetic.rs"]
mod synthetic;

use std::{env, fs};

use browser::Browser;

const SEGMENTS: u64 = 1_000_000;
const ROUNDS: u32 = 5;

/// Script that pans to and fro while half of the time range is visible. Its value is the number of
/// frames drawn per second.
const PAN: &str = "new Promise((done) => {
    const { view } = fullpipe;
    view.all();
    view.zoom(0.5);
    const times = [];
    const step = (time) => {
        times.push(time);
        view.pan(times.length % 40 < 20 ? 0.01 : -0.01);
        if (times.length < 100) requestAnimationFrame(step);
        else done(1000 * (times.length - 1) / (times.at(-1) - times[0]));
    };
    requestAnimationFrame(step);
})";

fn main() {
    // `cargo bench NAME` passes NAME to every benchmark. Run this one only if "page" contains NAME.
    let names = env::args().skip(1).find(|name| !name.starts_with('-'));
    if names.is_some_and(|name| !"page".contains(&name)) {
        return;
    }
    let path = env::temp_dir().join(format!("fullpipe-bench-{}.html", std::process::id()));
    fs::write(&path, fullpipe_report::page(&synthetic::run(SEGMENTS))).expect("a page");
    let mut browser = Browser::start("bench", 1_300, 1_400);
    for round in 1..=ROUNDS {
        browser.open("about:blank");
        let before = browser.busy_s();
        browser.open(&format!("file://{}", path.display()));
        let load_ms = browser.number("fullpipe.loaded");
        let loaded = browser.busy_s();
        let drawn = browser.number("fullpipe.view.frames");
        let frames_per_s = browser.number(PAN);
        let drawn = browser.number("fullpipe.view.frames") - drawn;
        // The page's processor time is meaningful even if the machine is busy.
        println!(
            "round {round}: loaded in {load_ms:.0} ms ({:.0} ms of processor), \
             {frames_per_s:.1} frames/s ({:.1} ms of processor a frame)",
            (loaded - before) * 1e3,
            (browser.busy_s() - loaded) * 1e3 / drawn,
        );
    }
    drop(browser);
    let _ = fs::remove_file(&path);
}
