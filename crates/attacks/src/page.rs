//! Results of the attacks as a page, as the cells of a table and as JSON.
//!
//! Rule: the three forms show the same rows; only averages and roundings are computed
//! here. The layout for a terminal is not here, but in `fullpipe-cli`.

use std::fmt::Write;

use fullpipe_scenario::units::grouped;
use serde_json::{Map, Value, json};

use super::{AttackRow, KNOBS};

/// Headings of the columns that [`AttackRow::cells`] returns.
pub const HEADINGS: [&str; 9] = [
    "attack",
    "packets",
    "peak blocks",
    "peak ranges",
    "peak pieces",
    "blocks left",
    "nodes per packet",
    "worst packet",
    "transfer beside it",
];

impl AttackRow {
    /// Returns the row's texts, one for each of [`HEADINGS`].
    pub fn cells(&self) -> [String; 9] {
        let per_packet = match self.toll.packets {
            0 => "\u{2013}".into(),
            packets => format!("{:.2}", self.toll.walked as f64 / packets as f64),
        };
        let client = match self.client {
            Some(took) => format!("{:.2} s", took.as_secs_f64()),
            None => "not finished".into(),
        };
        [
            self.attack.into(),
            grouped(self.toll.packets),
            self.peaks.blocks.to_string(),
            self.peaks.ranges.to_string(),
            self.peaks.pieces.to_string(),
            self.left.to_string(),
            per_packet,
            self.toll.walked_for_one.to_string(),
            client,
        ]
    }

    /// Returns the names and values of the row's counters; empty if it has none.
    pub fn counters_text(&self) -> String {
        let counted = self
            .counters
            .iter()
            .map(|(name, count)| format!("{name} {}", grouped(*count)));
        counted.collect::<Vec<_>>().join(", ")
    }
}

/// Meaning of the columns.
const LEGEND: &str = "\
An attacked host serves an honest client. The client has a delay of 5 ms to the host. It connects half a second after the attack begins (a\n\
minute after it for attacks that occupy memory), writes 2 MiB, reads 2 MiB, and verifies each byte that it reads. *Transfer beside it* is\n\
the time of the client's transfer during the attack. Attackers send 20 packets per millisecond for 2 s; attacks that occupy memory last ten minutes. The server closes a\n\
connection that makes no progress for 5 s. Attacks from on-link addresses and attacks over IPv6 run on an Ethernet, where\n\
neither host knows the other's link address at first. All other attacks run on a link without link addresses. In attacks whose name begins with IPv6, the client uses IPv6.\n\
There are two exceptions: in the attacks with router advertisements and with claims of the host's new addresses, the client uses IPv4, and the hosts\n\
form IPv6 addresses from router advertisements. Attacks on the DNS resolver, such as answers out of turn, are not here but in\n\
[security.md](security.md), because they are judged by their effect and not by their cost.\n\
\n\
*Peak blocks* is the largest number of blocks of packet memory used or reserved (the host has 256). *Blocks left* is the number of blocks still used or reserved after the attack.\n\
*Peak ranges* is the largest number of ranges used for reassembly (the host has 1,024). *Peak pieces* is the largest number of ranges recorded for\n\
payload in flight (the host has 4,160). A *node* is one step along a list or down a tree. *Nodes per packet* is the number of all steps of the host, including those for\n\
the honest client, divided by the number of the attacker's packets. *Worst packet* is the largest number of steps to receive one packet.\n";

/// The page `docs/attacks.md`.
pub fn attacks_markdown(rows: &[AttackRow]) -> String {
    let knobs: Vec<_> = KNOBS
        .iter()
        .map(|(name, value)| format!("`{name}={value}`"))
        .collect();
    let mut page = format!(
        "# Attacks\n\n\
         <!-- Written by `UPDATE_SNAPSHOTS=1 cargo test -p fullpipe-attacks`; `fullpipe lab attacks` prints the same. -->\n\n\
         Cost of attacks to a host with these settings: {}. All other settings have their defaults.\n\n\
         {LEGEND}\n| {} |\n|{}\n",
        knobs.join(", "),
        HEADINGS.join(" | "),
        " --- |".repeat(HEADINGS.len()),
    );
    for row in rows {
        let _ = writeln!(page, "| {} |", row.cells().join(" | "));
    }
    page.push_str("\nCounters of the host after each attack:\n\n");
    for row in rows {
        let mut notes = vec![row.counters_text()];
        if let Some((cwnd, acked)) = row.growth {
            notes.push(format!(
                "largest congestion window towards the attacker {} bytes, when the attacker had acknowledged {} bytes",
                grouped(cwnd.into()),
                grouped(acked.into())
            ));
        }
        notes.retain(|note| !note.is_empty());
        if !notes.is_empty() {
            let _ = writeln!(page, "- {}: {}", row.attack, notes.join("; "));
        }
    }
    page
}

/// A JSON array with one object for each attack, each with `schema`, the version of the keys
/// (`docs/json.md`).
pub fn attacks_json(rows: &[AttackRow], schema: u32) -> String {
    let row = |row: &AttackRow| {
        let counters: Map<String, Value> = row
            .counters
            .iter()
            .map(|(name, count)| ((*name).to_owned(), json!(count)))
            .collect();
        json!({
            "schema": schema,
            "label": row.attack,
            "measured": {
                "packets": row.toll.packets,
                "peak_blocks": row.peaks.blocks,
                "peak_ranges": row.peaks.ranges,
                "peak_pieces": row.peaks.pieces,
                "blocks_left": row.left,
                "nodes_walked": row.toll.walked,
                "worst_packet_nodes": row.toll.walked_for_one,
                "transfer_s": row.client.map(|took| took.as_secs_f64()),
                "cwnd_max": row.growth.map(|growth| growth.0),
                "acked_by_then": row.growth.map(|growth| growth.1),
                "counters": counters,
            },
        })
    };
    let rows: Vec<Value> = rows.iter().map(row).collect();
    format!("{:#}\n", Value::Array(rows))
}
