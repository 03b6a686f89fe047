//! Tests of a verdict at several widths.

use super::*;

fn parts() -> VerdictParts {
    VerdictParts {
        limited_by: "the receive window: at most 3,440 bytes, used up 98 % of the time".to_string(),
        because: vec!["3,440 bytes a round trip of 40 ms is at most 688 kbit/s.".to_string()],
        change: vec![ChangeLine {
            host: "server".to_string(),
            paste: "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 19144704\"".to_string(),
            from: "4096 131072 6291456".to_string(),
            notes: vec![
                "Needs root; holds for every connection of the host.".to_string(),
                "Risky: each connection may hold 19,144,704 bytes.".to_string(),
            ],
        }],
        gives: Some("about 0.307 s instead of 4.5 s (predicted)".to_string()),
        then: None,
    }
}

#[test]
fn each_part_has_a_line_and_an_absent_part_has_none() {
    let text = verdict_text(&parts(), Layout::plain(80));
    assert_eq!(
        text,
        "  Limited by  the receive window: at most 3,440 bytes, used up 98 % of the time.\n  \
           Because     3,440 bytes a round trip of 40 ms is at most 688 kbit/s.\n  \
           Change      sysctl -w net.ipv4.tcp_rmem=\"4096 131072 19144704\"\n              \
                       On `server`. The present value is 4096 131072 6291456. Needs root;\n              \
                       holds for every connection of the host.\n              \
                       Risky: each connection may hold 19,144,704 bytes.\n  \
           Gives       about 0.307 s instead of 4.5 s (predicted).\n"
    );
}

#[test]
fn no_line_is_longer_than_the_width_and_a_command_stays_one_command() {
    for width in [40, 60, 80, 120] {
        let text = verdict_text(&parts(), Layout::plain(width));
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        let joined = text.replace(" \\\n", " ");
        let words: Vec<_> = joined.split_whitespace().collect();
        let command = "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 19144704\"";
        if width >= 60 {
            assert!(words.join(" ").contains(command), "{width}: {text}");
        }
    }
}

#[test]
fn colour_changes_no_word() {
    let coloured = Layout {
        width: 200,
        colour: true,
    };
    let text = verdict_text(&parts(), coloured);
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    assert_eq!(plain, verdict_text(&parts(), Layout::plain(200)));
}
