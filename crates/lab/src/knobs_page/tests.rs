//! Tests that every knob is on the page, in the list and in the JSON.

use fullpipe::{
    config::Config,
    presets::{self, PRESETS, Preset},
};

use super::{knobs_json, knobs_markdown, knobs_table};
use crate::layout::{Layout, columns};

fn table(preset: &Preset) -> String {
    knobs_table(preset, None, Layout::plain(200)).unwrap()
}

fn json(preset: &Preset) -> String {
    knobs_json(preset, None).unwrap()
}

#[test]
fn every_knob_is_on_the_page_in_the_table_and_in_the_json() {
    let page = knobs_markdown();
    for preset in PRESETS {
        let (list, json) = (table(preset), json(preset));
        for row in Config::rows() {
            for text in [&page, &list, &json] {
                assert!(text.contains(&row.name), "{} of {}", row.name, preset.name);
            }
        }
        assert!(page.contains(&format!("## {}", preset.name)));
    }
}

#[test]
fn a_preset_shows_what_its_system_calls_a_knob() {
    let preset = presets::find("unet3").unwrap();
    for text in [table(preset), json(preset), knobs_markdown()] {
        assert!(text.contains("CFG_TCP_SND_WND"), "{text}");
    }
}

#[test]
fn a_preset_shows_what_its_system_sets_that_is_no_knob() {
    let own = table(presets::find("unet3").unwrap());
    let page = knobs_markdown();
    for name in ["ETH1_RXDESC_CNT", "ETH1_TXDESC_CNT"] {
        assert!(own.contains(name) && page.contains(name), "{name}");
    }
    let other = table(presets::find("linux").unwrap());
    assert!(!other.contains("ETH1") && other.contains("SO_SNDLOWAT"));
}

#[test]
fn the_json_is_an_array_of_objects_with_a_name_and_a_value() {
    for preset in PRESETS {
        let json: serde_json::Value = serde_json::from_str(&json(preset)).unwrap();
        let knobs = json.as_array().unwrap();
        assert_eq!(knobs.len(), Config::rows().len());
        for knob in knobs {
            let name = knob["name"].as_str().unwrap();
            let value = preset.config().get(name).unwrap();
            assert_eq!(knob["value"].as_str(), Some(value.as_str()), "{name}");
        }
    }
}

#[test]
fn every_table_row_of_the_page_has_as_many_cells_as_its_heading() {
    // Width of the table's heading; `None` outside a table.
    let mut width = None;
    for line in knobs_markdown().lines() {
        if !line.starts_with('|') {
            width = None;
            continue;
        }
        let cells = line.replace("\\|", "").matches('|').count();
        assert_eq!(cells, *width.get_or_insert(cells), "{line}");
    }
}

#[test]
fn the_list_fits_every_width_and_holds_every_number_whole() {
    for preset in PRESETS {
        for width in [60, 80, 100, 140, 200] {
            let text = knobs_table(preset, None, Layout::plain(width)).unwrap();
            for line in text.lines() {
                assert!(columns(line) <= width, "{}, {width}: {line}", preset.name);
            }
            for row in Config::rows() {
                let value = preset.config().get(&row.name).unwrap();
                assert!(text.contains(&row.name) && text.contains(&value), "{width}");
            }
        }
    }
}

#[test]
fn a_filter_finds_knobs_by_either_name_and_a_slip_is_answered() {
    let preset = presets::find("nuttx").unwrap();
    let find = |filter| knobs_table(preset, Some(filter), Layout::plain(80));
    let found = find("IOB_NBUFFERS").unwrap();
    assert!(
        found.starts_with("pool.blocks (CONFIG_IOB_NBUFFERS)"),
        "{found}"
    );
    assert!(!found.contains("tcp."), "{found}");
    assert!(find("send_buffer").unwrap().contains("tcp.send_buffer"));
    assert_eq!(
        find("send_bufer").unwrap_err(),
        "no knob's name contains `send_bufer`; did you mean `send_buffer`?"
    );
}
