//! A host's network device: its offloads and its receive ring.
//!
//! Rule: the fields are entries of one table, [`DEVICE_FIELDS`]. `set` uses the table, and so do
//! the suggestions for a misspelled name. The simulator implements the device.

use fullpipe_pool::{Duration, knobs::parse_count};
use fullpipe_sim::{DeviceModel, Merge};

use super::setting::SettingError;

/// Fields that `set` accepts, each with a description of its values.
pub const DEVICE_FIELDS: &[(&str, &str)] = &[
    (
        "super_segment",
        "a number of payload bytes such as 64K, or 0 for a device without segmentation offload \
         (TSO)",
    ),
    ("reports_sent", "true or false"),
    (
        "rx_descriptors",
        "a number of frames, or 0 for an unlimited ring",
    ),
    (
        "merge_quiet",
        "a time such as 20us, or 0s for a device that does not merge received segments",
    ),
    ("merge_longest", "a time such as 1ms, above 0"),
];

/// A network device. Unless a field is set, the device has no offloads and an unlimited receive
/// ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePlan {
    /// Largest payload, in bytes, of a super-segment that the device divides into segments (TSO);
    /// 0 without TSO.
    pub super_segment: u32,
    /// True if the device reports completions, that is, the number of bytes that it has sent.
    pub reports_sent: bool,
    /// Frames that fit into the receive ring; 0 for no limit.
    pub rx_descriptors: u32,
    /// The device delivers merged segments when no frame has arrived for this long. Zero if the
    /// device merges nothing.
    pub merge_quiet: Duration,
    /// The device delivers merged segments when the first of them has waited for this long, even if
    /// further segments keep arriving.
    pub merge_longest: Duration,
}

impl DevicePlan {
    /// A device without offloads.
    pub const PLAIN: Self = Self {
        super_segment: 0,
        reports_sent: false,
        rx_descriptors: 0,
        merge_quiet: Duration::ZERO,
        merge_longest: Duration::from_millis(1),
    };

    /// Returns the simulator's model of the device, with a transmit ring of `queue` frames.
    pub fn model(&self, queue: u32) -> DeviceModel {
        let merge = Merge {
            quiet: self.merge_quiet,
            longest: self.merge_longest,
            verifies: true,
        };
        DeviceModel {
            super_segment: self.super_segment as usize,
            reports_sent: self.reports_sent,
            receive_ring: self.rx_descriptors as usize,
            merge: (!self.merge_quiet.is_zero()).then_some(merge),
            ..DeviceModel::plain(queue as usize)
        }
    }

    /// Sets the field called `field` from text.
    ///
    /// # Errors
    /// Fails if the field is unknown, or does not take the value `text`.
    pub fn set(&mut self, field: &str, text: &str) -> Result<(), SettingError> {
        let names = DEVICE_FIELDS.iter().map(|(name, _)| *name);
        let (_, expected) = *DEVICE_FIELDS
            .iter()
            .find(|(name, _)| *name == field)
            .ok_or_else(|| SettingError::unknown("device field", field, names))?;
        self.try_set(field, text)
            .ok_or_else(|| SettingError::NotAValue {
                name: format!("device.{field}"),
                given: text.to_string(),
                expected,
            })
    }

    fn try_set(&mut self, field: &str, text: &str) -> Option<()> {
        let time = || text.trim().parse::<Duration>().ok();
        match field {
            "super_segment" => self.super_segment = parse_count(text)?.try_into().ok()?,
            "reports_sent" => self.reports_sent = text.trim().parse().ok()?,
            "rx_descriptors" => self.rx_descriptors = parse_count(text)?.try_into().ok()?,
            "merge_quiet" => self.merge_quiet = time()?,
            "merge_longest" => self.merge_longest = time().filter(|time| !time.is_zero())?,
            _ => return None,
        }
        Some(())
    }
}
