//! Tests of result tables.
