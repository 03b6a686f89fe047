//! Tests of the check of a configuration's tables.

use alloc::string::ToString;

use super::*;

/// 65,535 is the bound of a 32-bit machine.
#[test]
fn a_table_with_more_rows_than_numbers_is_refused() {
    let mut config = Config::default();
    config.stack.half_open = 500;
    config.stack.time_wait_entries = 34;
    config.stack.listeners = 1;
    config.stack.connections = 65_000;
    assert_eq!(config.check_rows(65_535), Ok(()));
    config.stack.connections = 65_001;
    assert_eq!(
        config
            .check_rows(65_535)
            .expect_err("65,535 rows")
            .to_string(),
        "stack.connections + stack.half_open + stack.time_wait_entries = 65535: outside 0 to 65534 rows"
    );
    assert_eq!(config.check_rows(u32::MAX), Ok(()));
}
