//! Tests of the first screen at several widths, in light and dark colours, and of the questions
//! that the first screen answers.
//!
//! Rule: positions come from the page's own model; pixels show that something is drawn at these
//! positions.

use serde_json::json;

use crate::apart::apart;
use crate::browser::Browser;
use crate::harness::{PIXELS, Page, click, experiment, explained, frame, observed, place, range};
use crate::synthetic;

/// Widths of a desktop, a tablet, a phone, and a narrow column.
const WIDTHS: [u32; 4] = [1440, 800, 390, 60];
/// Height of the first screen.
const HEIGHT: u32 = 900;
const CONTROL: u32 = 2;

/// Returns a page of the first row (scenario) of the experiment `linux-buffers-a`. The limit of
/// this row is the send buffer.
fn send_buffer(name: &str) -> Page {
    let mut experiment = experiment("linux-buffers-a");
    experiment.rows.truncate(1);
    Page::new(name, &explained(&experiment))
}

/// Returns a page of one second of the experiment `nuttx` with 128 blocks of memory. The limit of
/// this run is the path.
fn busy_link(name: &str) -> Page {
    let mut experiment = experiment("nuttx");
    experiment.rows.drain(..3);
    experiment.rows.truncate(1);
    experiment.set("workload.duration", "3s").unwrap();
    Page::new(name, &explained(&experiment))
}

fn resize(browser: &mut Browser, width: u32) {
    let screen =
        json!({ "width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": false });
    browser.call("Emulation.setDeviceMetricsOverride", screen);
    frame(browser);
}

/// Loads the page anew, with `link` as the fragment of its address.
fn open(browser: &mut Browser, page: &Page, link: &str) {
    browser.open("about:blank");
    browser.open(&format!("{}#{link}", page.url()));
    browser.evaluate(PIXELS);
    frame(browser);
}

#[test]
#[ignore = "needs chromium"]
fn verdict_and_graph_are_on_the_first_screen_at_every_width_in_light_and_dark() {
    apart(
        "in_browser::screens::verdict_and_graph_are_on_the_first_screen_at_every_width_in_light_and_dark",
        &[],
        || {
            let pages = [send_buffer("first-a"), busy_link("first-b")];
            let mut browser = Browser::start("first", 1_440, HEIGHT);
            for page in &pages {
                for width in WIDTHS {
                    for theme in ["light", "dark"] {
                        resize(&mut browser, width);
                        open(&mut browser, page, &format!("theme={theme}"));
                        let at = format!("{width} px, {theme}");
                        for part in [
                            ".verdict",
                            "[data-graph=overview] .plot",
                            "[data-graph=sequence] .plot",
                        ] {
                            let bottom = format!(
                                "document.querySelector('{part}').getBoundingClientRect().bottom"
                            );
                            let bottom = browser.number(&bottom);
                            assert!(
                                bottom > 10.0 && bottom <= f64::from(HEIGHT),
                                "{part} ends at {bottom} at {at}"
                            );
                        }
                        let wide = browser.number("document.documentElement.scrollWidth");
                        assert!(wide <= f64::from(width), "{wide} at {at}");
                        let count = browser.number("pixels('sequence', 'ack')");
                        assert!(
                            count > 5.0,
                            "{count} pixels of the acknowledged line at {at}"
                        );
                        assert_eq!(browser.complaints(), [""; 0], "{at}");
                    }
                }
            }
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn no_width_from_sixty_pixels_on_is_an_error() {
    apart(
        "in_browser::screens::no_width_from_sixty_pixels_on_is_an_error",
        &[],
        || {
            let page = Page::new("widths", &synthetic::run(40_000));
            let mut browser = Browser::start("widths", 1_440, HEIGHT);
            open(&mut browser, &page, "");
            browser.evaluate("fullpipe.view.all()");
            for width in (60..=1_500).rev().step_by(90) {
                resize(&mut browser, width);
                assert_eq!(browser.complaints(), [""; 0], "{width} px");
            }
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn the_limit_is_drawn_where_it_binds_with_the_name_of_its_setting() {
    apart(
        "in_browser::screens::the_limit_is_drawn_where_it_binds_with_the_name_of_its_setting",
        &[],
        || {
            let page = send_buffer("limit");
            let mut browser = Browser::start("limit", 1_440, HEIGHT);
            for theme in ["light", "dark"] {
                open(&mut browser, &page, &format!("theme={theme}"));
                let names = "fullpipe.stacks[0].paneOf('sequence').labels.map(({ text }) => text).join('; ')";
                let names = browser.evaluate(names).to_string();
                for part in [
                    "SO_SNDBUF = 16384",
                    "path capacity 95.6 Mbit/s",
                    "bandwidth-delay product",
                ] {
                    assert!(names.contains(part), "{part} in {names}");
                }
                // The most bytes in flight are less than a segment below the limit of the send buffer.
                let room = browser.number(
                "(() => { const { model } = fullpipe.stacks[0];
                    return model.binding.bytes - model.flightExtent.over(0, model.flight.count).most; })()",
            );
                assert!(
                    (0.0..1_448.0).contains(&room),
                    "{room} bytes of the limit are never in flight"
                );
                // In each column of pixels, the line is drawn at the model's position.
                let share = browser.number(
                "(() => {
                    const stack = fullpipe.stacks[0];
                    const pane = stack.paneOf('sequence');
                    const plot = stack.plotOf(pane.base);
                    plot.setRange(...pane.range);
                    const { at, edge } = stack.model.binding;
                    let [seen, all] = [0, 0];
                    for (let x = plot.left + 5; x < plot.right - 5; x += 7) {
                        const time = plot.time(x);
                        const place = at.findLastIndex((moment) => moment <= time);
                        if (place < 0) continue;
                        const y = Math.round(plot.y(edge[place]));
                        const { data } = plot.context.getImageData(Math.round(x) - 2, y - 2, 5, 5);
                        const bound = getComputedStyle(document.documentElement).getPropertyValue('--bound');
                        const wanted = [1, 3, 5].map((part) => parseInt(bound.trim().slice(part, part + 2), 16));
                        let found = false;
                        for (let pixel = 0; pixel < data.length; pixel += 4) {
                            found ||= wanted.every((value, part) => Math.abs(data[pixel + part] - value) < 30);
                        }
                        seen += found;
                        all += 1;
                    }
                    return seen / all;
                })()",
            );
                assert!(share > 0.7, "{share} of the columns have the limit's line");
                let capacity = browser.number("pixels('throughput', 'link')");
                assert!(capacity > 40.0, "{capacity} pixels of the path's capacity");
            }
            assert_eq!(browser.complaints(), [""; 0]);
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn a_path_that_is_the_limit_is_seen_as_a_busy_link() {
    apart(
        "in_browser::screens::a_path_that_is_the_limit_is_seen_as_a_busy_link",
        &[],
        || {
            let page = busy_link("path");
            let mut browser = Browser::start("path", 1_440, HEIGHT);
            open(&mut browser, &page, "theme=light");
            let limited =
                browser.evaluate("document.querySelector('.verdict .limited').textContent");
            assert!(limited.to_string().contains("wifi"), "{limited}");
            let busy = browser.number(
            "fullpipe.stacks[0].lanes.find(({ id }) => id === 'link wifi').usage.share(1e8, 9e8)",
        );
            assert!(busy > 0.95, "{busy}");
            let count = browser.number("pixels('lanes', 'link')");
            assert!(count > 5_000.0, "{count} pixels of the busy link");
            let bound = browser.number("pixels('sequence', 'bound')");
            assert!(bound > 40.0, "{bound} pixels of the path's capacity");
            assert_eq!(browser.complaints(), [""; 0]);
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn labels_of_lines_do_not_cover_each_other_at_any_width() {
    apart(
        "in_browser::screens::labels_of_lines_do_not_cover_each_other_at_any_width",
        &[],
        || {
            let pages = [send_buffer("labels-a"), busy_link("labels-b")];
            let mut browser = Browser::start("labels", 1_440, HEIGHT);
            for page in &pages {
                for width in WIDTHS {
                    resize(&mut browser, width);
                    open(&mut browser, page, "");
                    let covered = browser.evaluate(
                    "fullpipe.stacks[0].panes.flatMap(({ labels = [] }) => labels.flatMap((one, place) =>
                        labels.slice(place + 1).filter((other) => one.x < other.x + other.width
                            && other.x < one.x + one.width && one.y < other.y + other.height
                            && other.y < one.y + one.height).map((other) => [one.text, other.text])))",
                );
                    assert_eq!(covered, json!([]), "{width} px");
                }
            }
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn values_are_beside_the_cursor_in_every_graph() {
    apart(
        "in_browser::screens::values_are_beside_the_cursor_in_every_graph",
        &[],
        || {
            let page = send_buffer("values");
            let mut browser = Browser::start("values", 1_440, HEIGHT);
            for width in [1440, 390] {
                resize(&mut browser, width);
                open(&mut browser, &page, "");
                let [left, top, wide, height] = place(&mut browser, "sequence");
                for share in [0.2, 0.8] {
                    let (x, y) = (left + share * wide, top + height / 2.0);
                    browser.mouse("mouseMoved", x, y, json!({ "button": "none" }));
                    frame(&mut browser);
                    let far = browser.number(&format!(
                    "Math.max(...[...document.querySelectorAll('.values')].filter((box) => !box.hidden).map((box) => {{
                        const {{ left, right }} = box.getBoundingClientRect();
                        return Math.min(Math.abs(left - {x}), Math.abs(right - {x}));
                    }}))"
                ));
                    assert!(far < 20.0, "a box is {far} px from the cursor");
                    let shown = browser.number(
                    "[...document.querySelectorAll('.values')].filter((box) => !box.hidden).length",
                );
                    assert_eq!(shown, 6.0, "a box for each graph below the overview");
                    let text = browser.evaluate(
                        "document.querySelector('[data-graph=sequence] .values').textContent",
                    );
                    assert!(text.to_string().contains("acknowledged"), "{text}");
                    let text = browser.evaluate(
                        "document.querySelector('[data-graph=lanes] .values').textContent",
                    );
                    assert!(
                        text.to_string()
                            .contains("sender waited for room in the send buffer"),
                        "{text}"
                    );
                }
            }
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn the_wheel_scrolls_the_page_and_zooms_with_control() {
    apart(
        "in_browser::screens::the_wheel_scrolls_the_page_and_zooms_with_control",
        &[],
        || {
            let page = send_buffer("wheel");
            let mut browser = Browser::start("wheel", 1_440, HEIGHT);
            open(&mut browser, &page, "");
            let before = range(&mut browser);
            let [left, top, width, height] = place(&mut browser, "sequence");
            browser.evaluate("scrollTo(0, 0)");
            frame(&mut browser);
            let (x, y) = (left + width / 2.0, (top + height / 2.0).clamp(300.0, 500.0));
            let turn = |modifiers: u32, by: i32| json!({ "deltaX": 0, "deltaY": by, "button": "none", "modifiers": modifiers });
            browser.mouse("mouseWheel", x, y, turn(0, 200));
            browser.wait_for("scrollY > 100");
            assert_eq!(range(&mut browser), before, "the wheel alone does not zoom");
            let scrolled = browser.number("scrollY");
            browser.mouse("mouseWheel", x, y, turn(CONTROL, -300));
            let near = range(&mut browser);
            assert!(
                near[1] - near[0] < 0.7 * (before[1] - before[0]),
                "{near:?} of {before:?}"
            );
            assert_eq!(
                browser.number("scrollY"),
                scrolled,
                "with Ctrl it does not scroll"
            );
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn a_click_on_the_verdict_shows_the_moment_and_its_details_in_view() {
    apart(
        "in_browser::screens::a_click_on_the_verdict_shows_the_moment_and_its_details_in_view",
        &[],
        || {
            let page = send_buffer("jump");
            let mut browser = Browser::start("jump", 1_440, HEIGHT);
            for width in [1440, 800, 390] {
                resize(&mut browser, width);
                open(&mut browser, &page, "");
                browser.evaluate("fullpipe.view.all()");
                let all = range(&mut browser);
                let spot = browser.evaluate(
                "(() => { const box = document.querySelector('.verdict .because').getBoundingClientRect();
                    return [box.left + box.width / 2, box.top + 8]; })()",
            );
                let [x, y] = [0, 1].map(|at| spot[at].as_f64().expect("a point"));
                click(&mut browser, x, y);
                let near = range(&mut browser);
                assert!(
                    near[1] - near[0] < 0.05 * (all[1] - all[0]),
                    "{near:?} of {all:?}"
                );
                let shown = browser.evaluate(
                    "(() => {
                    const { stacks: [stack], view } = fullpipe;
                    const { limits } = stack.model;
                    const { top, bottom } = stack.details.getBoundingClientRect();
                    return [
                        fullpipe.facts.vocabulary.limits[limits.reason[limits.find(view.cursor)]],
                        !stack.details.hidden && top < innerHeight && bottom > 0 && top >= 0,
                        view.cursor >= view.from && view.cursor <= view.until,
                    ];
                })()",
                );
                assert_eq!(shown, json!(["send_buffer", true, true]), "{width} px");
                assert_eq!(browser.complaints(), [""; 0]);
            }
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn texts_have_no_markup_no_zero_with_a_small_unit_and_no_more_than_their_digits() {
    apart(
        "in_browser::screens::texts_have_no_markup_no_zero_with_a_small_unit_and_no_more_than_their_digits",
        &[],
        || {
            let pages = [send_buffer("texts-a"), busy_link("texts-b")];
            let mut browser = Browser::start("texts", 1_440, HEIGHT);
            for page in &pages {
                open(&mut browser, page, "at=0.9");
                browser.evaluate(
                    "document.querySelectorAll('details').forEach((part) => { part.open = true; })",
                );
                let found = browser.evaluate(
                "document.body.innerText.match(/`|undefined|NaN|\\b0\\s(ns|bit.s|B)\\b|0\\.00\\d+\\s%/g) ?? []",
            );
                assert_eq!(found, json!([]));
            }
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn without_published_figures_nothing_is_called_published() {
    apart(
        "in_browser::screens::without_published_figures_nothing_is_called_published",
        &[],
        || {
            let page = Page::new("unpublished", &synthetic::run(4_000));
            let mut browser = Browser::start("unpublished", 1_300, HEIGHT);
            open(&mut browser, &page, "");
            let text = browser.evaluate("document.body.innerText.includes('published')");
            assert_eq!(text, json!(false));
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn the_legend_explains_every_key_of_the_time_sequence_graph() {
    apart(
        "in_browser::screens::the_legend_explains_every_key_of_the_time_sequence_graph",
        &[],
        || {
            let page = send_buffer("legend");
            let mut browser = Browser::start("legend", 1_440, HEIGHT);
            open(&mut browser, &page, "");
            browser.evaluate("document.getElementById('legend').open = true");
            let text =
                browser.evaluate("document.getElementById('legend').innerText.toLowerCase()");
            let keys = browser.evaluate(
            "[...document.querySelectorAll('[data-graph=sequence] .key')].map((key) => key.textContent.toLowerCase())",
        );
            for key in keys.as_array().expect("a list") {
                let key = key.as_str().expect("a text");
                let word = key.trim_start_matches("the ");
                let is_there = text.as_str().expect("a text").contains(word) || word == "lost";
                assert!(is_there, "{key} in {text}");
            }
            for sign in ["rto", "memory", "discarded", "never arrived", "refused"] {
                assert!(text.as_str().expect("a text").contains(sign), "{sign}");
            }
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn a_row_that_is_not_explained_shows_the_limit_with_the_most_time() {
    apart(
        "in_browser::screens::a_row_that_is_not_explained_shows_the_limit_with_the_most_time",
        &[],
        || {
            let mut experiment = experiment("linux-buffers-a");
            experiment.rows.truncate(1);
            let page = Page::new("unexplained", &observed(&experiment));
            let mut browser = Browser::start("unexplained", 1_440, HEIGHT);
            open(&mut browser, &page, "theme=light");
            let limited =
                browser.evaluate("document.querySelector('.verdict .limited').textContent");
            let limited = limited.to_string().to_lowercase();
            assert!(limited.contains("the send buffer"), "{limited}");
            let shown = browser.evaluate("fullpipe.stacks[0].model.shown.limits");
            assert_eq!(shown, json!(["send_buffer"]));
            browser.evaluate("document.querySelector('.verdict .jump').click()");
            frame(&mut browser);
            let waited = browser.evaluate(
                "(() => {
                const { stacks: [{ model: { limits } }], view } = fullpipe;
                return fullpipe.facts.vocabulary.limits[limits.reason[limits.find(view.cursor)]];
            })()",
            );
            assert_eq!(waited, json!("send_buffer"));
            assert_eq!(browser.complaints(), [""; 0]);
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn a_limit_after_losses_is_shown_at_a_retransmission() {
    apart(
        "in_browser::screens::a_limit_after_losses_is_shown_at_a_retransmission",
        &[],
        || {
            let mut experiment = experiment("linux-buffers-a");
            experiment.rows.drain(..2);
            experiment.rows.truncate(1);
            experiment.set("link.loss", "1%").unwrap();
            experiment.set("workload.bytes", "2M").unwrap();
            experiment.set("workload.think", "1ms").unwrap();
            let page = Page::new("losses", &explained(&experiment));
            let mut browser = Browser::start("losses", 1_440, HEIGHT);
            open(&mut browser, &page, "theme=light");
            browser.evaluate("document.querySelector('.verdict .jump').click()");
            frame(&mut browser);
            let found = browser.evaluate(
            "(() => {
                const { stacks: [{ model: { shown, data, binding } }], view } = fullpipe;
                const again = data.special.filter((place) => data.status[place] & 1);
                return [shown.limits[0], binding.label, again.some((place) => data.at[place] === view.cursor)];
            })()",
        );
            let expected = json!(["congestion_window_after_loss", "congestion window", true]);
            assert_eq!(found, expected);
            assert_eq!(browser.complaints(), [""; 0]);
        },
    );
}
