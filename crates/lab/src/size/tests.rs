//! What is found is what the path is long, in the words of each system.

use fullpipe::presets;

use super::*;

fn wish(rate_bps: u64, rtt: Duration, preset: &str) -> Wish {
    Wish {
        rate_bps,
        rtt,
        loss: 0.0,
        memory: None,
        preset: presets::find(preset).unwrap(),
        settings: Vec::new(),
        low_water: 0,
        share: 0.95,
    }
}

fn found(wish: &Wish) -> Vec<(String, u64, f64)> {
    let size = size(wish, &|_| ()).unwrap();
    let bdp = size.bdp_bytes as f64;
    let knobs = size.knobs.iter().map(|knob| {
        let smallest = knob.smallest.as_ref().unwrap();
        let value = smallest.value.parse().unwrap_or(0);
        (knob.knob.clone(), value, smallest.bytes as f64 / bdp)
    });
    knobs.collect()
}

#[test]
fn a_buffer_must_hold_what_is_on_its_way() {
    let found = found(&wish(20_000_000, Duration::from_millis(20), "linux"));
    for (knob, _, of_bdp) in &found[..1] {
        assert_eq!(knob, "SO_SNDBUF");
        assert!((0.85..1.15).contains(of_bdp), "{found:?}");
    }
    assert_eq!(found.len(), 4);
}

#[test]
fn netburner_counts_buffers() {
    // 25 Mbit/s for 19 ms are 59,375 bytes: 40 buffers of 1,500.
    let found = found(&wish(25_000_000, Duration::from_millis(19), "netburner"));
    let (knob, buffers, _) = &found[0];
    assert_eq!(knob, "SetSocketTxBuffers");
    assert!((35..=45).contains(buffers), "{found:?}");
}

#[test]
fn memory_that_is_given_is_not_searched_and_may_be_too_little() {
    let mut wish = wish(20_000_000, Duration::from_millis(20), "nuttx");
    wish.memory = Some(7_056);
    let size = size(&wish, &|_| ()).unwrap();
    let knobs: Vec<_> = size.knobs.iter().map(|knob| knob.knob.as_str()).collect();
    assert_eq!(
        knobs,
        ["CONFIG_NET_SEND_BUFSIZE", "CONFIG_NET_RECV_BUFSIZE"]
    );
    assert!(size_text(&size).contains("7,056 bytes of packet memory"));
}
