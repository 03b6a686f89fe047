//! Conditions of `--fail-on` and the connections that meet them.
//!
//! Rule: conditions are judged when a connection is added, so connections without a row in the
//! table are judged, too.

use fullpipe_captures::{Connections, Row};
use fullpipe_diagnose::{capture::FlowEnding, observe::ConnectionFailure};

use crate::arguments::ConnectionCondition;

/// Largest number of lines that are printed about a condition.
pub const LINES_MAX: usize = 20;

/// Makes `connections` keep those that meet a condition, for [`meeting`]. Connections that were added
/// before are not judged.
pub fn judge(connections: &mut Connections, conditions: &[ConnectionCondition]) {
    for condition in conditions {
        let condition = condition.clone();
        connections.select(LINES_MAX, move |row| met_by(row, &condition).is_some());
    }
}

/// Returns a line about each connection that meets `condition`, the condition number `place`, from
/// 0, of those given to [`judge`]; at most [`LINES_MAX`] lines.
pub fn meeting(
    connections: &Connections,
    place: usize,
    condition: &ConnectionCondition,
) -> Vec<String> {
    let rows = connections.selected(place);
    let met = rows.iter().filter_map(|row| {
        let why = met_by(row, condition)?;
        let Row {
            number,
            sender,
            receiver,
            ..
        } = row;
        Some(format!(
            "connection {number} ({sender} to {receiver}): {why}"
        ))
    });
    met.collect()
}

/// Returns how the connection `row` meets `condition`; `None` if it does not.
fn met_by(row: &Row, condition: &ConnectionCondition) -> Option<String> {
    match condition {
        ConnectionCondition::Limit(limit) => {
            let (main, share, _) = row.limit?;
            (main == *limit).then(|| {
                format!(
                    "limited by {} for {:.0} % of the time",
                    limit.name(),
                    share * 100.0
                )
            })
        }
        ConnectionCondition::Retransmitted(most) => {
            let share = row.retransmitted_share();
            (share > *most)
                .then(|| format!("{:.2} % of the data segments retransmitted", share * 100.0))
        }
        ConnectionCondition::Reset => {
            (row.ending == FlowEnding::Reset).then(|| "reset".to_string())
        }
        ConnectionCondition::Unreachable => {
            let reason = row.unreachable()?;
            Some(format!("unreachable ({reason})"))
        }
        ConnectionCondition::Failure(name) => {
            let failure = row.failure.map(ConnectionFailure::name)?;
            name.is_none_or(|name| name == failure)
                .then(|| failure.to_string())
        }
        ConnectionCondition::Partial | ConnectionCondition::Empty => None,
    }
}
