//! Tests of requests and labels.

use super::*;

#[test]
fn only_a_get_of_the_metrics_is_answered_with_them() {
    for (request, expected) in [
        ("GET /metrics HTTP/1.1\r\n\r\n", Wanted::Metrics),
        ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", Wanted::Metrics),
        ("GET / HTTP/1.1\r\n\r\n", Wanted::Nothing),
        ("POST /metrics HTTP/1.1\r\n\r\n", Wanted::Refused),
        ("\r\n\r\n", Wanted::Refused),
    ] {
        assert_eq!(wanted(request.as_bytes()), expected, "{request}");
    }
}

#[test]
fn labels_are_escaped() {
    assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
}
