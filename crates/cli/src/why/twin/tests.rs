//! Tests of the comparison of a capture and its twin.

use super::*;

#[test]
fn the_comparison_fits_every_width_and_has_every_value() {
    let line = |name: &str, capture: &str, run: &str| [name, capture, run].map(String::from);
    let lines = [
        line("payload", "1,400,000,000 bytes", "1,400,000,000 bytes"),
        line("time, handshake to last ACK", "4.95 s", "4.99 s"),
        line("congestion window in slow start", "98.3 %", "99.2 %"),
    ];
    for width in 40..=100 {
        let text = comparison(&lines, Layout::plain(width));
        for line in text.lines() {
            assert!(columns(line) <= width, "{width}: {line}");
        }
        for value in lines.iter().flat_map(|line| &line[1..]) {
            assert!(text.contains(value), "{width}: no {value} in {text}");
        }
    }
    let wide = comparison(&lines, Layout::plain(80));
    assert!(wide.contains("  time, handshake to last ACK "), "{wide}");
}
