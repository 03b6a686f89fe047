//! The features that a build may leave out, and the knobs that have an effect only with them.
//!
//! Rule: if a feature is left out, its knobs take no value but 0, false or off, and their fields in
//! [`Config`](super::Config) have no effect.

use alloc::format;

use fullpipe_pool::knobs::KnobError;

/// A feature: its name, whether the build has it, and the beginnings of the names of its knobs.
type Feature = (&'static str, bool, &'static [&'static str]);

/// The features that have knobs. `tcp.congestion` is not in this list: a build without an algorithm
/// refuses only the value that names the algorithm.
const FEATURES: &[Feature] = &[
    (
        "autotune",
        cfg!(feature = "autotune"),
        &[
            "tcp.send_buffer_max",
            "tcp.receive_buffer_max",
            "tcp.receive_tuning",
        ],
    ),
    ("bbr", cfg!(feature = "bbr"), &["tcp.bbr_"]),
    (
        "cookies",
        cfg!(feature = "cookies"),
        &["stack.syn_cookies", "stack.cookie_queue"],
    ),
    ("cubic", cfg!(feature = "cubic"), &["tcp.hystart"]),
    ("ecn", cfg!(feature = "ecn"), &["tcp.ecn"]),
    (
        "fragments",
        cfg!(feature = "fragments"),
        &["ip.reassembly_"],
    ),
    (
        "icmp-errors",
        cfg!(feature = "icmp-errors"),
        &["icmp.errors", "ip.path_mtu_min"],
    ),
    ("loopback", cfg!(feature = "loopback"), &["ip.loopback"]),
    (
        "path-mtu",
        cfg!(feature = "path-mtu"),
        &[
            "ip.path_mtu_min",
            "tcp.mtu_probing",
            "tcp.base_mss",
            "tcp.probe_interval",
        ],
    ),
    (
        "resting",
        cfg!(feature = "resting"),
        &["stack.busy_connections"],
    ),
    ("sack", cfg!(feature = "sack"), &["tcp.sack"]),
    (
        "slaac",
        cfg!(feature = "slaac"),
        &[
            "ip.autoconfiguration",
            "ip.dad_probes",
            "ip.temporary_addresses",
        ],
    ),
    ("trace", cfg!(feature = "trace"), &["trace."]),
    ("udp", cfg!(feature = "udp"), &["udp."]),
];

/// Returns the feature that knob `name` needs and that the build leaves out.
pub(crate) fn missing(name: &str) -> Option<&'static str> {
    let begins = |knobs: &[&str]| knobs.iter().any(|knob| name.starts_with(knob));
    let missing = FEATURES
        .iter()
        .find(|(_, on, knobs)| !on && begins(knobs))?;
    Some(missing.0)
}

/// Checks that the build has the feature of knob `name`, if the knob needs one.
///
/// # Errors
/// Returns [`KnobError::Unavailable`] with the name of the feature.
pub(crate) fn check(name: &str) -> Result<(), KnobError> {
    match missing(name) {
        Some(feature) => Err(KnobError::Unavailable {
            why: format!("{name} needs the feature `{feature}` of the crate fullpipe"),
        }),
        None => Ok(()),
    }
}
