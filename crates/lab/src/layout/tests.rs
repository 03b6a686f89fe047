//! Tests that no wrapped line is longer than the width, and that no text is lost.

use super::*;

fn paragraph(layout: Layout, text: &str) -> String {
    let mut out = String::new();
    layout.field(&mut out, "Because", text);
    out
}

#[test]
fn lines_wrap_beside_their_key() {
    let text = paragraph(
        Layout::plain(40),
        "the Wi-Fi link was 100 % busy at 5.04 Mbit/s",
    );
    assert_eq!(
        text,
        "  Because     the Wi-Fi link was 100 %\n              busy at 5.04 Mbit/s\n"
    );
}

#[test]
fn a_word_longer_than_a_line_breaks_and_loses_nothing() {
    let word = "sysctl_-w_net.ipv4.tcp_rmem=4096,131072,19144704,congestion_window_after_loss";
    for width in 40..100 {
        let text = paragraph(Layout::plain(width), word);
        for line in text.lines() {
            assert!(columns(line) <= width, "{width}: {line}");
        }
        let joined: String = text.split_whitespace().skip(1).collect();
        assert_eq!(joined, word, "{width}");
    }
}

#[test]
fn colour_takes_no_columns_and_is_left_out_where_it_is_off() {
    let colour = Layout {
        width: 40,
        colour: true,
    };
    let painted = colour.paint(Tone::Limit, "memory 88 %");
    assert_eq!(columns(&painted), 11);
    assert_eq!(Layout::plain(40).paint(Tone::Limit, "memory"), "memory");
    let text = format!("limited by {painted} of the whole time");
    for line in paragraph(colour, &text).lines() {
        assert!(columns(line) <= 40, "{line}");
    }
}

#[test]
fn a_number_and_its_unit_stay_on_one_line() {
    for width in 40..60 {
        let text = paragraph(
            Layout::plain(width),
            "memory 88 %, pacing 12 %; 5.04 Mbit/s in 20 ms, 7,056 bytes",
        );
        for line in text.lines() {
            let first = line.split_whitespace().find(|word| *word != "Because");
            let first = first.unwrap_or_default().trim_end_matches([',', ';']);
            assert!(!UNITS.contains(&first), "{width}: {text}");
        }
    }
}
