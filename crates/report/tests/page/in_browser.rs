//! Tests of what the page draws and how it reacts.
//!
//! Rule: the name of this module is in the name of each test that needs Chromium, so that `cargo
//! xtask test` can tell these tests from the others.

mod screens;

use std::{fs, time::Duration};

use fullpipe_lab::Axis;
use serde_json::json;

use crate::apart::{apart, apart_within};
use crate::browser::Browser;
use crate::harness::{
    PIXELS, Page, click, drag, experiment, explained, frame, observed, opened, opened_after, place,
    range,
};
use crate::synthetic;

/// Longest try of the test with the largest page, which takes minutes on a busy machine.
const LIMIT: Duration = Duration::from_secs(900);

#[test]
#[ignore = "needs chromium"]
fn every_graph_is_drawn_and_the_page_complains_of_nothing() {
    apart(
        "in_browser::every_graph_is_drawn_and_the_page_complains_of_nothing",
        &[],
        || {
            let (mut browser, _page) = opened_after("drawn", explained);
            browser.evaluate("fullpipe.view.all()");
            frame(&mut browser);
            for (graph, ink) in [
                ("lanes", "#bdbdbd"),
                ("lanes", "link"),
                ("overview", "ack"),
                ("sequence", "ack"),
                ("sequence", "again"),
                ("sequence", "lost"),
                ("sequence", "window"),
                ("windows", "flight"),
                ("windows", "cwnd"),
                ("rtt", "data"),
                ("throughput", "ack"),
                ("throughput", "bound"),
                ("pool", "#e69f00"),
            ] {
                let count = browser.number(&format!("pixels('{graph}', '{ink}')"));
                assert!(count > 40.0, "{graph} has {count} pixels of {ink}");
            }
            let blank = browser.number("pixels('sequence', '#123456')");
            assert!(blank < 5.0, "an ink that is not used is not found");
            assert_eq!(browser.complaints(), [""; 0]);
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn the_page_of_a_transfer_over_ipv6_is_drawn() {
    apart(
        "in_browser::the_page_of_a_transfer_over_ipv6_is_drawn",
        &[],
        || {
            let (mut browser, _page) = opened_after("ipv6", |experiment| {
                let mut experiment = experiment.clone();
                experiment.set("workload.family", "6").unwrap();
                observed(&experiment)
            });
            browser.evaluate("fullpipe.view.all()");
            frame(&mut browser);
            for (graph, ink) in [("sequence", "ack"), ("sequence", "again"), ("rtt", "data")] {
                let count = browser.number(&format!("pixels('{graph}', '{ink}')"));
                assert!(count > 40.0, "{graph} has {count} pixels of {ink}");
            }
            assert_eq!(browser.complaints(), [""; 0]);
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn every_retransmission_is_seen_at_every_zoom() {
    apart(
        "in_browser::every_retransmission_is_seen_at_every_zoom",
        &[],
        || {
            let (mut browser, _page) = opened("marks");
            let missing = "(() => {
            const { view, stacks: [{ model: { data } }] } = fullpipe;
            const missing = [];
            for (const place of data.special) {
                const time = data.at[place];
                if (time < view.from || time > view.until) continue;
                const ink = data.status[place] & 1 ? 'again' : 'lost';
                if (pixels('sequence', ink, time, time) === 0) missing.push(time);
            }
            return [data.special.length, missing.length];
        })()";
            browser.evaluate("fullpipe.view.all()");
            for zoom in [1.0, 0.3, 0.05] {
                browser.evaluate(&format!("fullpipe.view.zoom({zoom})"));
                frame(&mut browser);
                let [all, missing] = [0, 1].map(|at| browser.evaluate(missing)[at].as_u64());
                assert!(
                    all.is_some_and(|all| all >= 4),
                    "{all:?} segments stand out"
                );
                assert_eq!(missing, Some(0), "at zoom {zoom}");
            }
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn a_click_on_a_band_gives_its_figures() {
    apart(
        "in_browser::a_click_on_a_band_gives_its_figures",
        &[],
        || {
            let (mut browser, _page) = opened("click");
            let [left, top, width, height] = place(&mut browser, "windows");
            click(&mut browser, left + width * 0.6, top + height * 0.4);
            let found = browser.evaluate(
                "(() => {
                const { stacks: [stack], view } = fullpipe;
                const place = stack.bands.find(view.cursor);
                const text = stack.details.textContent;
                return [
                    text.includes(stack.bandStyles[stack.bands.reason[place]].label),
                    text.includes('from – to'), text.includes('payload sent'),
                    text.includes('of the connection'), text.includes('in flight'),
                    Math.abs((view.cursor - view.from) / (view.until - view.from) - 0.6) < 0.01,
                ];
            })()",
            );
            assert_eq!(found, json!([true, true, true, true, true, true]));
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn wheel_drag_and_keys_zoom_and_move_every_graph() {
    apart(
        "in_browser::wheel_drag_and_keys_zoom_and_move_every_graph",
        &[],
        || {
            let (mut browser, _page) = opened("zoom");
            browser.evaluate("fullpipe.view.all()");
            let all = range(&mut browser);
            let [left, top, width, height] = place(&mut browser, "rtt");
            let (x, y) = (left + width / 4.0, top + height / 2.0);
            browser.mouse(
                "mouseWheel",
                x,
                y,
                json!({ "deltaX": 0, "deltaY": -400, "button": "none", "modifiers": 2 }),
            );
            let near = range(&mut browser);
            assert!(
                near[1] - near[0] < 0.6 * (all[1] - all[0]),
                "{near:?} of {all:?}"
            );
            let pointed = all[0] + (all[1] - all[0]) / 4.0;
            let share = (pointed - near[0]) / (near[1] - near[0]);
            assert!((share - 0.25).abs() < 0.01, "the pointer stays at its time");

            drag(
                &mut browser,
                (left + width * 0.2, y),
                (left + width * 0.6, y),
                0,
            );
            let dragged = range(&mut browser);
            let span = near[1] - near[0];
            assert!(
                (dragged[0] - near[0] - 0.2 * span).abs() < 0.01 * span,
                "{dragged:?}"
            );
            assert!(
                (dragged[1] - near[0] - 0.6 * span).abs() < 0.01 * span,
                "{dragged:?}"
            );

            let shift = 8;
            drag(
                &mut browser,
                (left + width * 0.6, y),
                (left + width * 0.5, y),
                shift,
            );
            let moved = range(&mut browser);
            let by = (moved[0] - dragged[0]) / (dragged[1] - dragged[0]);
            assert!((by - 0.1).abs() < 0.01, "{by}");

            browser.evaluate("document.getElementById('stage').focus({ preventScroll: true })");
            browser.key("ArrowLeft");
            let back = range(&mut browser);
            assert!(back[0] < moved[0] && (back[1] - back[0]) - (moved[1] - moved[0]) < 1.0);
            browser.key("+");
            let closer = range(&mut browser);
            assert!(closer[1] - closer[0] < 0.8 * (back[1] - back[0]));
            browser.key("]");
            assert_eq!(browser.evaluate("fullpipe.stacks[0].details.hidden"), false);
            browser.key("0");
            assert_eq!(range(&mut browser), all);
            assert_eq!(browser.complaints(), [""; 0]);
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn two_rows_stand_side_by_side_with_one_cursor() {
    apart(
        "in_browser::two_rows_stand_side_by_side_with_one_cursor",
        &[],
        || {
            let (mut browser, _page) = opened("both");
            browser.evaluate("document.querySelector('.pick-b[data-row=\"2\"]').click()");
            browser.wait_for("document.querySelectorAll('.stack').length === 2");
            frame(&mut browser);
            let [left, top, width, height] = place(&mut browser, "pool");
            browser.mouse(
                "mouseMoved",
                left + width / 2.0,
                top + height / 2.0,
                json!({ "button": "none" }),
            );
            frame(&mut browser);
            let with_cursor = browser.evaluate(
            "fullpipe.stacks.map((stack) => stack.panes.every(({ over }) =>
                over.getContext('2d').getImageData(0, 0, over.width, over.height).data.some((byte) => byte > 0)))",
        );
            assert_eq!(with_cursor, json!([true, true]));
            for side in [0, 1] {
                let count = browser.number(&format!(
                    "pixels('sequence', 'ack', undefined, undefined, {side})"
                ));
                assert!(count > 40.0, "side {side}");
            }
            let titles =
                browser.evaluate("fullpipe.stacks.map((stack) => stack.title.textContent)");
            assert_eq!(
                titles,
                json!(["128 x 196, whole writes", "36 x 196, chunked"])
            );
        },
    );
}

/// Returns the range of values that graph `id` shows for each of the two compared rows.
fn scales(browser: &mut Browser, id: &str) -> [[f64; 2]; 2] {
    frame(browser);
    [0, 1].map(|side| {
        [0, 1].map(|end| {
            browser.number(&format!(
                "fullpipe.stacks[{side}].panes.find(({{ graph }}) => graph.id === '{id}').range[{end}]"
            ))
        })
    })
}

#[test]
#[ignore = "needs chromium"]
fn rows_that_are_compared_share_a_scale_until_told_otherwise() {
    apart(
        "in_browser::rows_that_are_compared_share_a_scale_until_told_otherwise",
        &[],
        || {
            let page = Page::new("scale", &synthetic::kinds());
            let mut browser = Browser::start("scale", 1_300, 1_000);
            browser.open(&format!("{}#a=1&b=2", page.url()));
            let graphs = ["sequence", "windows", "rtt", "throughput", "pool"];
            for graph in graphs {
                let [a, b] = scales(&mut browser, graph);
                assert_eq!(a, b, "{graph}");
            }
            let together = scales(&mut browser, "sequence")[0];
            assert!(
                together[1] > 4_000.0 * 1_448.0,
                "the longer of the two fits"
            );
            browser.evaluate("document.getElementById('common').click()");
            let [a, b] = scales(&mut browser, "sequence");
            assert!(
                b[1] < 0.9 * a[1],
                "each run has a scale of its own: {a:?}, {b:?}"
            );
            browser.evaluate("document.querySelector('.pick-b[data-row=\"1\"]').click()");
            frame(&mut browser);
            assert_eq!(
                browser.evaluate("document.getElementById('common').parentElement.hidden"),
                true,
                "one row has nothing to share with"
            );
            assert_eq!(browser.complaints(), [""; 0]);
        },
    );
}

/// One row sends thirteen times as fast as the other: on one scale, the slow one would be a line at
/// the bottom.
#[test]
#[ignore = "needs chromium"]
fn a_graph_that_does_not_share_the_scale_of_the_other_row_says_so() {
    apart(
        "in_browser::a_graph_that_does_not_share_the_scale_of_the_other_row_says_so",
        &[],
        || {
            let page = Page::new("apart", &observed(&experiment("linux-buffers-a")));
            let mut browser = Browser::start("apart", 1_300, 1_000);
            browser.open(&format!("{}#a=1&b=3&from=0.8&until=2.8", page.url()));
            for (graph, is_apart) in [("sequence", true), ("rtt", false)] {
                let [a, b] = scales(&mut browser, graph);
                assert_eq!(a != b, is_apart, "{graph}: {a:?}, {b:?}");
                let shown = format!(
                    "[...document.querySelectorAll('[data-graph={graph}] .apart')].map((note) => !note.hidden)"
                );
                assert_eq!(
                    browser.evaluate(&shown),
                    json!([is_apart, is_apart]),
                    "{graph}"
                );
            }
            browser.evaluate("document.getElementById('common').click()");
            frame(&mut browser);
            let noted = "[...document.querySelectorAll('.apart')].some((note) => !note.hidden)";
            assert_eq!(
                browser.evaluate(noted),
                false,
                "each row was given its own scale"
            );
            assert_eq!(browser.complaints(), [""; 0]);
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn a_row_without_a_connection_says_so_and_breaks_nothing() {
    apart(
        "in_browser::a_row_without_a_connection_says_so_and_breaks_nothing",
        &[],
        || {
            let page = Page::new("datagrams", &synthetic::kinds());
            let mut browser = Browser::start("datagrams", 1_300, 1_000);
            browser.open(&format!("{}#a=3&at=0.01", page.url()));
            frame(&mut browser);
            let says = "document.getElementById('empty').hidden ? '' : document.getElementById('empty').textContent";
            let text = browser.evaluate(says);
            assert!(
                text.as_str()
                    .unwrap()
                    .starts_with("datagrams has no TCP connection"),
                "{text}"
            );
            // Show a row with a connection beside the row without one. Then show the row of datagrams
            // beside another row, and remove the row of datagrams.
            browser.evaluate("document.querySelector('.pick-b[data-row=\"0\"]').click()");
            frame(&mut browser);
            assert_eq!(
                browser.number("document.querySelectorAll('.stack').length"),
                1.0
            );
            browser.evaluate(PIXELS);
            let count = browser.number("pixels('sequence', 'ack', undefined, undefined, 1)");
            assert!(count > 40.0, "{count}");
            browser.evaluate("document.querySelector('.pick-a[data-row=\"1\"]').click()");
            browser.evaluate("document.querySelector('.pick-b[data-row=\"2\"]').click()");
            frame(&mut browser);
            assert_eq!(
                browser.number("document.querySelectorAll('.stack').length"),
                1.0
            );
            browser.evaluate("document.querySelector('.pick-b[data-row=\"2\"]').click()");
            frame(&mut browser);
            assert_eq!(browser.evaluate(says), "");
            assert_eq!(browser.complaints(), [""; 0]);
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn a_sweep_is_curves_and_each_point_shows_its_row() {
    apart(
        "in_browser::a_sweep_is_curves_and_each_point_shows_its_row",
        &[],
        || {
            let mut experiment = experiment("nuttx");
            experiment.rows.drain(..2);
            experiment.set("workload.duration", "200ms").unwrap();
            let axes = [("pool.blocks", "16..128*2"), ("link.loss", "0%,2%")];
            let axes = axes.map(|(path, values)| Axis::parse(path, values).unwrap());
            fullpipe_lab::sweep(&mut experiment, &axes).unwrap();
            let page = Page::new("sweep", &observed(&experiment));
            let mut browser = Browser::start("sweep", 1_300, 1_000);
            browser.open(&page.url());
            let count = |browser: &mut Browser, what: &str| {
                browser.number(&format!("document.querySelectorAll('{what}').length"))
            };
            let lines = 2.0 * (experiment.rows.len() / 8) as f64;
            assert_eq!(count(&mut browser, ".curves .point"), 4.0 * lines);
            assert_eq!(count(&mut browser, "#figures .legend > span"), lines);
            let spread = browser.evaluate(
            "(() => {
                const boxes = [...document.querySelectorAll('.curves .point')].map((point) => point.getBoundingClientRect());
                const spread = (of) => Math.max(...boxes.map(of)) - Math.min(...boxes.map(of));
                return [spread((box) => box.left) > 500, spread((box) => box.top) > 100];
            })()",
        );
            assert_eq!(spread, json!([true, true]));
            browser.evaluate(
            "document.querySelectorAll('.curves .point')[1].dispatchEvent(new MouseEvent('click'))",
        );
            browser.wait_for("fullpipe.stacks[0].title.textContent.includes('link.loss')");
            frame(&mut browser);
            let title = browser.evaluate("fullpipe.stacks[0].title.textContent");
            assert_eq!(title, "36 x 196, chunked, pool.blocks=32, link.loss=0%");
            browser.evaluate(
                "(() => { const select = document.querySelector('#figures select');
                select.value = 'srtt_ms';
                select.dispatchEvent(new Event('change')); })()",
            );
            let shows = "document.querySelector('.curves svg').getAttribute('aria-label')";
            assert_eq!(browser.evaluate(shows), "srtt_ms over pool.blocks");
            assert_eq!(browser.complaints(), [""; 0]);
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn figures_are_linear_bars_with_one_scale_a_quantity() {
    apart(
        "in_browser::figures_are_linear_bars_with_one_scale_a_quantity",
        &[],
        || {
            let page = Page::new("chart", &synthetic::kinds());
            let mut browser = Browser::start("chart", 1_300, 1_000);
            browser.open(&page.url());
            let lines = browser.evaluate(
            "[...document.querySelectorAll('.rows tbody tr')].map((row) => [
                row.querySelector('th').firstChild.textContent,
                ...[...row.querySelectorAll('.figure')].map((line) =>
                    ['source', 'value', 'deviation'].map((part) => line.querySelector('.' + part).textContent).join('|')),
                row.querySelector('.words')?.textContent ?? '',
            ])",
        );
            assert_eq!(
                lines,
                json!([
                    ["all of them", "fullpipe|1000 Mbit/s|", ""],
                    [
                        "half",
                        "published|500 Mbit/s|",
                        "linux|480 Mbit/s|",
                        "fullpipe|450 Mbit/s|\u{2212}10.0 %",
                        ""
                    ],
                    [
                        "datagrams",
                        "published|0.06 Mbit/s|",
                        "fullpipe|0.05 Mbit/s|",
                        ""
                    ],
                    [
                        "in words",
                        "fullpipe|1000 Mbit/s|",
                        "published: no payload arrived; fullpipe: complete"
                    ],
                ])
            );
            let shares = browser.evaluate(
            "[...document.querySelectorAll('.figure .bar')].map((bar) => bar.getBoundingClientRect().width
                / bar.parentElement.getBoundingClientRect().width)",
        );
            for (place, expected) in [1.0, 0.5, 0.48, 0.45].into_iter().enumerate() {
                let share = shares[place].as_f64().expect("a share");
                assert!((share - expected).abs() < 0.02, "bar {place}: {share}");
            }
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn the_mean_rate_can_be_taken_away_and_the_colours_turned() {
    apart(
        "in_browser::the_mean_rate_can_be_taken_away_and_the_colours_turned",
        &[],
        || {
            let (mut browser, _page) = opened("level");
            let picture =
                "document.querySelector('[data-graph=sequence] canvas').toDataURL().length + ' ' +
            document.querySelector('[data-graph=sequence] canvas').toDataURL().slice(-4000)";
            let before = browser.evaluate(picture);
            let span = "(() => { const plot = fullpipe.stacks[0].plotOf(fullpipe.stacks[0].paneOf('sequence').base);
            const [low, high] = fullpipe.stacks[0].paneOf('sequence').graph.range(plot, fullpipe.stacks[0].model, fullpipe.settings);
            return high - low; })()";
            let steep = browser.number(span);
            browser.evaluate("document.getElementById('detrend').click()");
            frame(&mut browser);
            assert_ne!(browser.evaluate(picture), before);
            assert!(
                browser.number(span) < 0.5 * steep,
                "without the mean rate, the graph shows less of the sequence space"
            );
            let paper = "getComputedStyle(document.body).backgroundColor";
            let light = browser.evaluate(paper);
            browser.evaluate("document.getElementById('theme').click()");
            frame(&mut browser);
            assert_ne!(browser.evaluate(paper), light);
            let count = browser.number("pixels('sequence', 'ack')");
            assert!(count > 40.0, "{count} pixels in the other ink");
        },
    );
}

#[test]
#[ignore = "needs chromium"]
fn on_a_phone_nothing_is_wider_than_the_screen() {
    apart(
        "in_browser::on_a_phone_nothing_is_wider_than_the_screen",
        &[],
        || {
            let (mut browser, _page) = opened("phone");
            let screen =
                json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
            browser.call("Emulation.setDeviceMetricsOverride", screen);
            frame(&mut browser);
            assert_eq!(
                browser.number("document.documentElement.scrollWidth"),
                390.0
            );
            let count = browser.number("pixels('sequence', 'ack')");
            assert!(count > 40.0, "{count} pixels on a small screen");
        },
    );
}

/// Script that counts the page's drawing calls on the canvas, and the values that the page reads
/// from columns of numbers. `count.of(frames)` draws the given number of frames, each with another
/// part of the run, and returns the counts.
const WORK: &str = "(() => {
    const KEYS = ['rectangles', 'lines', 'texts', 'columns', 'values',
        'curves', 'inCurves', 'excess', 'widest'];
    const count = Object.fromEntries(KEYS.map((key) => [key, 0]));
    const wrap = (prototype, name, note) => {
        const plain = prototype[name];
        prototype[name] = function (...given) { note(given); return plain.apply(this, given); };
    };
    const canvas = CanvasRenderingContext2D.prototype;
    wrap(canvas, 'fillRect', () => count.rectangles++);
    wrap(canvas, 'lineTo', () => count.lines++);
    wrap(canvas, 'fillText', () => count.texts++);
    const [stack] = fullpipe.stacks;
    const plot = stack.plotOf(stack.panes[0].base).constructor.prototype;
    for (const name of ['steps', 'area']) {
        const plain = plot[name];
        plot[name] = function (...given) {
            const before = count.lines;
            plain.apply(this, given);
            const ends = count.lines - before;
            const columns = this.right - this.left;
            count.curves += 1;
            count.inCurves += ends;
            count.excess = Math.max(count.excess, ends - 4 * columns);
            count.widest = Math.max(count.widest, columns);
        };
    }
    wrap(plot, 'columns', (given) => {
        const each = given[2];
        given[2] = (...column) => { count.columns++; each(...column); };
    });
    const extent = stack.model.flightExtent.constructor.prototype;
    wrap(extent, 'scan', ([, from, until]) => { count.values += until - from; });
    const { view } = fullpipe;
    count.of = (frames) => {
        for (const key of KEYS) count[key] = 0;
        view.all();
        view.zoom(0.5);
        for (let frame = 0; frame < frames; frame++) {
            view.pan(frame % 40 < 20 ? 0.01 : -0.01);
            view.now();
        }
        return [count.rectangles, count.lines, count.texts, count.columns, count.values];
    };
    window.count = count;
})()";

/// Checks that the number of line ends in the drawn frames depends on the columns of pixels, not
/// on the number of segments.
///
/// A curve is drawn as rectangles if it has more than two values per column of pixels. Otherwise
/// each value of the curve has two line ends, and the beginning and the end of the curve add three.
/// The other line ends belong to crosses and to the levels of a few limits. A cross has two line
/// ends, and there is at most one cross per nine columns.
fn assert_line_ends_fit_the_columns(browser: &mut Browser, frames: f64) {
    let excess = browser.number("count.excess");
    assert!(excess <= 3.0, "{excess} line ends above four a column");
    let others = browser.number("count.lines - count.inCurves") / frames;
    let columns = browser.number("count.widest");
    assert!(
        others <= columns / 9.0 * 2.0 + 20.0,
        "{others} line ends outside of curves in {columns} columns"
    );
    let curves = browser.number("count.curves") / frames;
    println!("{curves} curves, {others} line ends outside of them a frame");
    assert!(curves <= 20.0, "{curves} curves a frame");
}

/// Script that counts the columns of numbers that the page decodes. It runs before the page is
/// loaded.
const UNPACKED: &str = "window.unpacked = 0;
    window.DecompressionStream = class extends DecompressionStream {
        constructor(...given) { super(...given); window.unpacked++; }
    };";

/// Returns the work of one frame with `segments` segments, as the mean of forty frames:
/// rectangles, line ends, texts, columns of pixels, and values read.
fn work_of_a_frame(segments: u64) -> [f64; 5] {
    let page = Page::new("million", &synthetic::run(segments));
    let mut browser = Browser::start("million", 1_300, 1_400);
    let before_each = json!({ "source": UNPACKED });
    browser.call("Page.addScriptToEvaluateOnNewDocument", before_each);
    browser.open(&page.url());
    let shown = browser.number("fullpipe.stacks[0].model.data.count");
    assert!(shown >= segments as f64, "{shown} of {segments} segments");
    let unpacked = browser.number("unpacked");
    assert!(unpacked > 0.0, "the page unpacks what it shows");
    let size = fs::metadata(&page.0).map_or(0, |data| data.len());
    let of_each = size as f64 / segments as f64;
    assert!(of_each < 40.0, "{of_each} bytes of page for each segment");
    browser.evaluate(WORK);
    let frames = 40;
    let sums = browser.evaluate(&format!("count.of({frames})"));
    assert_line_ends_fit_the_columns(&mut browser, f64::from(frames));
    let unpacked_since = browser.number("unpacked") - unpacked;
    assert_eq!(unpacked_since, 0.0, "a frame unpacks nothing");
    let work = std::array::from_fn(|at| sums[at].as_f64().expect("a sum") / f64::from(frames));
    println!("{segments} segments, {of_each:.1} B of page for each: {work:.0?} a frame");
    work
}

/// The number of frames per second depends on the machine; `cargo xtask bench page` measures it.
#[test]
#[ignore = "needs chromium"]
fn a_frame_of_a_million_segments_is_no_more_work_than_one_of_a_hundred_thousand() {
    apart_within(
        LIMIT,
        "in_browser::a_frame_of_a_million_segments_is_no_more_work_than_one_of_a_hundred_thousand",
        &[],
        || {
            let few = work_of_a_frame(100_000);
            let many = work_of_a_frame(1_000_000);
            let names = ["rectangles", "line ends", "texts", "columns", "values"];
            // The bounds are about two and a half times the present work of seven graphs with 1,226
            // columns.
            let bounds = [45_000.0, 1_800.0, 500.0, 35_000.0, 550_000.0];
            for (at, name) in names.into_iter().enumerate() {
                let (few, many, bound) = (few[at], many[at], bounds[at]);
                assert!(many <= bound, "{many} {name} a frame, of {bound}");
                // A bin of the throughput is at least a round trip long, so a short transfer has few bins.
                // The bound in `assert_line_ends_fit_the_columns` applies to any number of bins.
                let is_binned = name == "line ends";
                assert!(
                    is_binned || many <= 1.5 * few + 100.0,
                    "{few} {name} became {many}"
                );
            }
        },
    );
}
