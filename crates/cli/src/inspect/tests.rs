//! Tests of the lines and the JSON that are printed for the answers of stacks.

use super::*;

fn parsed<T: DeserializeOwned>(answer: &str) -> Vec<T> {
    super::parsed(answer).expect("an answer")
}

#[test]
fn addresses_are_below_their_interface_with_their_state() {
    let answer = parsed(
        r#"[{"interface":0,"mac":"02:00:00:00:00:01","mtu":1500,"loopback":false,"addresses":[
            {"address":"10.9.0.2","prefix_len":24,"state":"preferred","temporary":false},
            {"address":"fd77::2","prefix_len":64,"state":"deprecated","temporary":true}]},
            {"interface":1,"mac":null,"mtu":65535,"loopback":true,"addresses":[]}]"#,
    );
    assert_eq!(
        interface_lines(&answer),
        "  if0: mtu 1500, mac 02:00:00:00:00:01\n    10.9.0.2/24\n    fd77::2/64 deprecated temporary\n  \
         if1: mtu 65535, loopback\n"
    );
}

#[test]
fn a_route_has_its_gateway_source_metric_and_origin() {
    let answer = parsed(
        r#"[{"to":"10.9.0.0/24","gateway":null,"interface":0,"metric":0,"source":"10.9.0.2","origin":"address"},
            {"to":"0.0.0.0/0","gateway":"10.9.0.1","interface":0,"metric":7,"source":null,"origin":"added"},
            {"to":"::/0","gateway":"fe80::1","interface":1,"metric":0,"source":null,"origin":"router"}]"#,
    );
    assert_eq!(
        route_lines(&answer),
        "  10.9.0.0/24 dev if0 src 10.9.0.2\n  default via 10.9.0.1 dev if0 metric 7\n  \
         default via fe80::1 dev if1 announced by a router\n"
    );
}

#[test]
fn a_neighbour_without_a_mac_address_has_only_its_state() {
    let answer = parsed(
        r#"[{"address":"10.9.0.1","mac":"02:00:00:00:00:02","interface":0,"state":"REACHABLE"},
            {"address":"10.9.0.7","mac":null,"interface":0,"state":"FAILED"}]"#,
    );
    assert_eq!(
        neighbour_lines(&answer),
        "  10.9.0.1 dev if0 lladdr 02:00:00:00:00:02 REACHABLE\n  10.9.0.7 dev if0 FAILED\n"
    );
}

#[test]
fn json_has_the_schema_and_no_key_without_a_value() {
    let stack = RunningStack { pid: 7, number: 1 };
    let answer = json!([{ "to": "10.9.0.0/24", "gateway": null }]);
    assert_eq!(
        object(stack, "iperf", "routes", answer),
        json!({
            "schema": fullpipe_lab::JSON_SCHEMA, "pid": 7, "program": "iperf", "stack": 1,
            "routes": [{ "to": "10.9.0.0/24" }],
        })
    );
}

#[test]
fn a_terminal_gets_no_control_character_of_another_process() {
    let answer = parsed(
        r#"[{"address":"10.9.0.1\u001b[2J\nfullpipe (1):","mac":"\u009b2J","interface":0,"state":"X\u007f"}]"#,
    );
    assert_eq!(
        neighbour_lines(&answer),
        "  10.9.0.1\\u{1b}[2J\\nfullpipe (1): dev if0 lladdr \\u{9b}2J X\\u{7f}\n"
    );
    let answer = json!([{ "state": "\u{1b}[2J\u{9b}\u{7f}" }]).to_string();
    assert_eq!(
        printable(&answer, json_escape),
        r#"[{"state":"\u001b[2J\u009b\u007f"}]"#
    );
}
