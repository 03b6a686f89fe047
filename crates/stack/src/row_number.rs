//! Numbers of a table's rows, as other rows store them.
//!
//! Rule: a stored number has 16 bits on a 32-bit machine, and 32 bits on any other one.
//! [`Config::check_memory`](crate::Config::check_memory) refuses tables with more rows.

/// The number of a row, as tables store it.
#[cfg(not(target_pointer_width = "32"))]
pub(crate) type RowNumber = u32;
/// The number of a row, as tables store it.
#[cfg(target_pointer_width = "32")]
pub(crate) type RowNumber = u16;

/// Stands for no row.
pub(crate) const NO_ROW: RowNumber = RowNumber::MAX;

/// Largest number of rows of a table.
#[allow(clippy::unnecessary_cast, reason = "32-bit machines need it")]
pub(crate) const MOST_ROWS: u32 = RowNumber::MAX as u32;

/// Returns a stored number with 32 bits.
#[allow(clippy::useless_conversion, reason = "32-bit machines need it")]
pub(crate) fn widened(row: RowNumber) -> u32 {
    row.into()
}

/// Checks that a table may have `rows` rows.
///
/// # Panics
/// Panics if it has more than [`MOST_ROWS`].
pub(crate) fn assert_numbered(rows: usize) {
    assert!(
        rows as u64 <= u64::from(MOST_ROWS),
        "more rows than numbers"
    );
}
