//! The sets of features and the configurations that are measured.
//!
//! The one rule: the first set has every feature, and the summary of the page is about the first
//! configuration.

/// Features of the crate `fullpipe`, measured together.
pub struct FeatureSet {
    /// Name in the table.
    pub name: &'static str,
    /// The features, separated by commas.
    pub features: &'static str,
    /// Goal: largest flash size, in KiB.
    pub wanted_kib: u32,
}

/// The sets of features, the largest first. NewReno, RACK-TLP, ICMP echo and ARP are in each of
/// them.
pub const SETS: [FeatureSet; 3] = [
    FeatureSet {
        name: "everything",
        features: "all",
        wanted_kib: 96,
    },
    FeatureSet {
        name: "embedded",
        features: "cubic,sack,udp",
        wanted_kib: 56,
    },
    FeatureSet {
        name: "minimal",
        features: "",
        wanted_kib: 32,
    },
];

/// The configurations whose RAM is measured: a title, and a preset with settings.
pub const CONFIGURATIONS: [(&str, &str); 2] = [
    (
        "`nuttx` with 4 connections, 2 listeners, 2 UDP sockets",
        "nuttx stack.connections=4 stack.listeners=2 udp.sockets=2",
    ),
    ("`nuttx`", "nuttx"),
];
