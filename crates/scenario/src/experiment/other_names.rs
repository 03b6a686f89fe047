//! Other systems' names for fields of devices and workloads.
//!
//! Rule: a name stands for one setting, of a host or of every flow. Names for knobs are
//! in the stack's own table (`presets::alias`).

use fullpipe::presets::alias::SetBy;

/// A name of another system for a field of a device or of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherName {
    /// The name, spelled as that system spells it.
    pub name: &'static str,
    /// The preset of that system.
    pub preset: &'static str,
    /// Path that it sets: a host's field without the host's name, or a path that begins with
    /// `workload.`.
    pub path: &'static str,
    /// Call or configuration line that sets it.
    pub set_by: SetBy,
    /// Effect of the field, in a sentence.
    pub doc: &'static str,
}

const fn row(
    preset: &'static str,
    name: &'static str,
    path: &'static str,
    set_by: SetBy,
    doc: &'static str,
) -> OtherName {
    OtherName {
        name,
        preset,
        path,
        set_by,
        doc,
    }
}

/// Every such name, system by system.
pub const OTHER_NAMES: &[OtherName] = &[
    row(
        "unet3",
        "ETH1_RXDESC_CNT",
        "device.rx_descriptors",
        SetBy::Define,
        "Frames that wait in the receive ring for the stack before more are lost.",
    ),
    row(
        "unet3",
        "ETH1_TXDESC_CNT",
        "device_queue",
        SetBy::Define,
        "Frames that the device holds for the link before it refuses more.",
    ),
    row(
        "netburner",
        "SO_NOPUSH",
        "workload.no_push",
        SetBy::Flag {
            on: "setsockoption",
            off: "clrsockoption",
        },
        "Less than a segment is held until the sender has written everything.",
    ),
    row(
        "linux",
        "SO_SNDLOWAT",
        "workload.low_water",
        SetBy::SocketOption("SOL_SOCKET"),
        "Free room in the send buffer at which a writer that found it full continues.",
    ),
];

impl OtherName {
    /// Returns true if the name sets a field of a host, false if it sets one of a
    /// workload.
    pub fn is_of_host(&self) -> bool {
        !self.path.starts_with("workload.")
    }
}

/// The row called `name`.
pub fn find(name: &str) -> Option<&'static OtherName> {
    OTHER_NAMES.iter().find(|known| known.name == name)
}

/// Names in the system of `preset`.
pub fn of_preset(preset: &str) -> impl Iterator<Item = &'static OtherName> {
    OTHER_NAMES
        .iter()
        .filter(move |known| known.preset == preset)
}
