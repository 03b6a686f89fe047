//! Tests of the caution about a setting that has only fullpipe's name.

use fullpipe::presets;
use fullpipe_scenario::experiment::HostPlan;

use super::setting;

#[test]
fn a_system_that_has_a_setting_is_not_said_to_lack_it() {
    let preset = presets::find("linux").expect("it is a preset");
    let host = HostPlan::new("near", preset);
    for (knob, wanted, expected) in [
        (
            "tcp.receive_payload_share",
            "75",
            "linux sets this with `sysctl -w net.ipv4.tcp_adv_win_scale=2`.",
        ),
        (
            "tcp.receive_payload_share",
            "83",
            "linux sets this with `tcp_adv_win_scale`, which cannot express this value.",
        ),
        (
            "tcp.send_payload_share",
            "83",
            "linux has no known equivalent of this fullpipe setting.",
        ),
    ] {
        let named = setting(&host, knob, wanted);
        assert_eq!(named.name, knob);
        assert_eq!(named.cautions, [expected], "{knob} = {wanted}");
    }
    let memory = setting(&host, "pool.blocks", "4096");
    let said = "linux sets this with `tcp_mem`, together with other settings.";
    assert_eq!(memory.cautions.last().map(String::as_str), Some(said));
}
