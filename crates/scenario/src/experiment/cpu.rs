//! Costs of a host's processor: time for each frame, byte and call.
//!
//! Rule: the fields are entries of one table, [`CPU_FIELDS`]. `set` uses the table, and so do the
//! suggestions for a misspelled name. The simulator implements the costs.

use fullpipe_pool::Duration;
use fullpipe_sim::CpuModel;

use super::setting::SettingError;

/// One field of a processor.
pub struct CpuField {
    /// The field's name after `cpu.`.
    pub name: &'static str,
    /// The field's effect, in a sentence.
    pub doc: &'static str,
    /// Description of the values that the field takes.
    pub expected: &'static str,
    set: fn(&mut CpuModel, &str) -> Option<()>,
}

const TIME: &str = "a time such as 8us";
const BYTE: &str = "a time for each byte such as 4.5ns, in steps of 0.001ns";

/// Declares an entry of [`CPU_FIELDS`].
macro_rules! field {
    ($name:literal, $doc:literal, $expected:expr, $($place:ident).+ = $parse:ident) => {
        CpuField {
            name: $name,
            doc: $doc,
            expected: $expected,
            set: |model, text| {
                model.$($place).+ = $parse(text)?;
                Some(())
            },
        }
    };
}

/// Every field of a processor.
pub const CPU_FIELDS: &[CpuField] = &[
    field!(
        "receive_packet",
        "Time to take a frame of any length from the receive ring.",
        TIME,
        receive.packet = time
    ),
    field!(
        "receive_byte",
        "Additional time for each byte of a received frame.",
        BYTE,
        receive.byte_ps = picoseconds
    ),
    field!(
        "send_packet",
        "Time to make a frame of any length and put it into the transmit ring.",
        TIME,
        send.packet = time
    ),
    field!(
        "send_byte",
        "Additional time for each byte of a sent frame.",
        BYTE,
        send.byte_ps = picoseconds
    ),
    field!(
        "call",
        "Time to wake and run an application.",
        TIME,
        call = time
    ),
    field!(
        "applications_first",
        "Applications run before the driver and the stack instead of after them.",
        "true or false",
        applications_first = flag
    ),
];

/// Sets the field called `field` from text.
///
/// # Errors
/// Fails if the field is unknown, or does not take the value `text`.
pub fn set(model: &mut CpuModel, field: &str, text: &str) -> Result<(), SettingError> {
    let names = CPU_FIELDS.iter().map(|row| row.name);
    let row = CPU_FIELDS
        .iter()
        .find(|row| row.name == field)
        .ok_or_else(|| SettingError::unknown("cpu field", field, names))?;
    (row.set)(model, text).ok_or_else(|| SettingError::NotAValue {
        name: format!("cpu.{field}"),
        given: text.to_string(),
        expected: row.expected,
    })
}

fn time(text: &str) -> Option<Duration> {
    text.trim().parse().ok()
}

fn flag(text: &str) -> Option<bool> {
    text.trim().parse().ok()
}

/// Parses nanoseconds with up to three decimals, as picoseconds.
fn picoseconds(text: &str) -> Option<u64> {
    let number = text.trim().strip_suffix("ns")?;
    // Parse the number with the unit us instead of ns, and take the result in ns: 4.5 us are
    // 4,500 ns, so 4.5 ns are 4,500 ps.
    let thousandfold: Duration = format!("{number}us").parse().ok()?;
    Some(thousandfold.as_nanos())
}
