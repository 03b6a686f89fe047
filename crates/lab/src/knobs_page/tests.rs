//! Every knob is shown everywhere, in tables that hold together.

use fullpipe::{
    config::Config,
    presets::{self, PRESETS},
};

use super::{folded, knobs_json, knobs_markdown, knobs_table};

#[test]
fn every_knob_is_on_the_page_in_the_table_and_in_the_json() {
    let page = knobs_markdown();
    for preset in PRESETS {
        let (table, json) = (knobs_table(preset), knobs_json(preset));
        for row in Config::rows() {
            for text in [&page, &table, &json] {
                assert!(text.contains(&row.name), "{} of {}", row.name, preset.name);
            }
        }
        assert!(page.contains(&format!("## {}", preset.name)));
    }
}

#[test]
fn a_preset_shows_what_its_system_calls_a_knob() {
    let preset = presets::find("unet3").unwrap();
    for text in [knobs_table(preset), knobs_json(preset), knobs_markdown()] {
        assert!(text.contains("CFG_TCP_SND_WND"), "{text}");
    }
}

#[test]
fn a_preset_shows_what_its_system_sets_that_is_no_knob() {
    let table = knobs_table(presets::find("unet3").unwrap());
    let page = knobs_markdown();
    for name in ["ETH1_RXDESC_CNT", "ETH1_TXDESC_CNT"] {
        assert!(table.contains(name) && page.contains(name), "{name}");
    }
    let other = knobs_table(presets::find("linux").unwrap());
    assert!(!other.contains("ETH1") && other.contains("SO_SNDLOWAT"));
}

#[test]
fn the_json_is_an_array_of_objects_with_a_name_and_a_value() {
    for preset in PRESETS {
        let json: serde_json::Value = serde_json::from_str(&knobs_json(preset)).unwrap();
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
    let mut width = 0;
    for line in knobs_markdown()
        .lines()
        .filter(|line| line.starts_with('|'))
    {
        let cells = line.replace("\\|", "").matches('|').count();
        if line.starts_with("| knob") {
            width = cells;
        }
        assert_eq!(cells, width, "{line}");
    }
}

#[test]
fn long_documentation_is_broken_at_spaces() {
    assert_eq!(folded("one two three", 7), "one two\nthree");
    assert_eq!(folded("unbreakable", 3), "unbreakable");
}
