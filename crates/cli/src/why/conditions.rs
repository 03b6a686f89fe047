//! Conditions of `--fail-on` and the connections that meet them.
//!
//! Rule: conditions are judged by the rows of the table, so a connection without a row meets none.

use fullpipe_captures::Connections;
use fullpipe_captures::Row;
use fullpipe_diagnose::capture::FlowEnding;

use crate::arguments::ConnectionCondition;

/// Largest number of lines that are printed about a condition.
pub const LINES_MAX: usize = 20;

/// Returns a line about each connection that meets a condition.
pub fn meeting(connections: &Connections, condition: &ConnectionCondition) -> Vec<String> {
    let rows = connections.sorted();
    let met = rows.iter().filter_map(|row| {
        let why = match condition {
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
            ConnectionCondition::Partial => None,
        }?;
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
    met.take(LINES_MAX).collect()
}
