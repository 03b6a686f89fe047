//! Tests of the size of an arena.

use fullpipe::{
    Config, Interface, MacAddress, Rng, Stack,
    device::{Capabilities, Medium},
    presets::PRESETS,
};

use crate::arena::{HEAD, SPARE, needed};
use crate::sockets::table::SocketTable;

/// Returns the largest number of bytes that are allocated at the same time while a stack is built.
fn measured(config: &Config) -> u64 {
    let mut capabilities = Capabilities::plain(Medium::Ethernet, 1500);
    capabilities.reports_sent = true;
    let interface = Interface {
        mac: MacAddress([2, 0, 0, 0, 0, 1]),
        address: [10, 0, 0, 1].into(),
        prefix_len: 24,
        gateway: Some([10, 0, 0, 2].into()),
        capabilities,
    };
    let mut built = None;
    let info = allocation_counter::measure(|| {
        let stack = Stack::new(config, interface, [1; 16]).expect("sound");
        built = Some((stack, SocketTable::new(config)));
    });
    info.bytes_max
}

/// `fp_needed` is an upper bound for the presets and for random configurations, and not much too
/// large.
#[test]
fn an_arena_holds_what_a_stack_allocates() {
    let presets = PRESETS.iter().map(|preset| preset.config());
    let drawn = (0..300).map(|seed| {
        let mut config = Config::default();
        config.draw(&Rng::seeded(seed));
        config
    });
    for config in presets.chain(drawn) {
        let (needed, used) = (needed(&config), measured(&config) + HEAD as u64);
        assert!(used + SPARE / 2 <= needed, "{used} of {needed}: {config:?}");
        assert!(needed < 2 * used + 32_768, "{used} of {needed}: {config:?}");
    }
}

/// The bound also holds if one table is large and all others are as small as on a small device.
#[test]
fn an_arena_holds_one_large_table() {
    let small = || {
        let preset = PRESETS.iter().find(|preset| preset.name == "nuttx");
        let mut config = preset.expect("a preset").config();
        for (knob, value) in [
            ("udp.receive_queue", "1"),
            ("udp.send_queue", "1"),
            ("ip.reassembly_bytes", "8"),
        ] {
            config.set(knob, value).expect("in range");
        }
        config
    };
    for knob in [
        "pool.blocks",
        "pool.ranges",
        "stack.connections",
        "stack.listeners",
        "stack.half_open",
        "stack.sent_ranges",
        "stack.time_wait_entries",
        "stack.reset_queue",
        "stack.cookie_queue",
        "stack.resets_per_second",
        "trace.records",
        "ip.addresses",
        "ip.routes",
        "ip.reassembly_datagrams",
        "arp.entries",
        "arp.queue_packets",
        "arp.replies",
        "icmp.echo_replies",
        "icmp.errors",
        "icmp.errors_per_second",
        "udp.sockets",
        "udp.receive_queue",
        "udp.send_queue",
    ] {
        for value in ["257", "1000", "1024"] {
            let mut config = small();
            config.set(knob, value).expect("in range");
            let (needed, used) = (needed(&config), measured(&config) + HEAD as u64);
            assert!(used <= needed, "{knob} = {value}: {used} of {needed}");
        }
    }
}
