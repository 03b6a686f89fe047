//! Other systems' names for fields of devices and workloads.
//!
//! Rule: each name stands for exactly one field. The field belongs to a host, or to the workload; a
//! field of the workload holds for every flow. Names for knobs (settings of the stack) are in the
//! stack's own table (`presets::alias`).

use fullpipe::presets::alias::SetBy;

/// A name of another system for a field of a device or of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherName {
    /// The name, spelled as that system spells it.
    pub name: &'static str,
    /// The preset of that system.
    pub preset: &'static str,
    /// Path of the setting: a host's field without the host's name, or a path that begins with
    /// `workload.`.
    pub path: &'static str,
    /// The call or configuration line that makes the setting.
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

/// Every name of another system. The names of one system stand together.
pub const OTHER_NAMES: &[OtherName] = &[
    row(
        "unet3",
        "ETH1_RXDESC_CNT",
        "device.rx_descriptors",
        SetBy::Define,
        "Frames that fit into the receive ring; frames that arrive while it is full are lost.",
    ),
    row(
        "unet3",
        "ETH1_TXDESC_CNT",
        "device_queue",
        SetBy::Define,
        "Frames that fit into the transmit ring; the device refuses frames while it is full.",
    ),
    row(
        "netburner",
        "SO_NOPUSH",
        "workload.no_push",
        SetBy::Flag {
            on: "setsockoption",
            off: "clrsockoption",
        },
        "Delays a partial segment until the sender has written everything.",
    ),
    row(
        "linux",
        "SO_SNDLOWAT",
        "workload.low_water",
        SetBy::SocketOption("SOL_SOCKET"),
        "Free space in the send buffer at which a blocked writer continues.",
    ),
    row(
        "linux",
        "TCP_CORK",
        "workload.no_push",
        SetBy::SocketOption("IPPROTO_TCP"),
        "Delays a partial segment until the sender has written everything, but for 200 ms at most.",
    ),
];

impl OtherName {
    /// Returns true if the name means a field of a host, false if it means a field of a workload.
    pub fn is_of_host(&self) -> bool {
        !self.path.starts_with("workload.")
    }
}

/// Returns the entry of the table that is called `name`.
pub fn find(name: &str) -> Option<&'static OtherName> {
    OTHER_NAMES.iter().find(|known| known.name == name)
}

/// Returns the names that the preset's system uses.
pub fn of_preset(preset: &str) -> impl Iterator<Item = &'static OtherName> {
    OTHER_NAMES
        .iter()
        .filter(move |known| known.preset == preset)
}
