//! The names of the two ends of a connection in JSON.

use serde::Serializer;

use crate::capture::End;

fn name(end: End) -> &'static str {
    match end {
        End::A => "a",
        End::B => "b",
    }
}

/// Serializes an end by its name.
pub(super) fn end_name<S: Serializer>(end: &End, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name(*end))
}

/// Serializes an end by its name, and no end as `null`.
pub(super) fn optional_end_name<S: Serializer>(
    end: &Option<End>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match end {
        Some(end) => serializer.serialize_some(name(*end)),
        None => serializer.serialize_none(),
    }
}
