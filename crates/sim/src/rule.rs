//! What happens to a chosen packet as it leaves a host.
//!
//! Rule: a rule sees every packet of every host, in the order they leave, and
//! before any link does anything to them. The first rule that chooses a packet
//! decides its fate; the others still see it, so their counts stay right.

use fullpipe_pool::Duration;
use serde::{Deserialize, Serialize};

use crate::packet::Packet;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RuleAction {
    /// It never reaches the link.
    Drop,
    /// It reaches the link this much later, behind what left meanwhile.
    Delay(#[serde(with = "crate::text_forms::duration")] Duration),
    /// It reaches the link twice.
    Duplicate,
}

/// A choice of packets and their fate.
pub struct Rule {
    chooses: Box<dyn FnMut(&Packet<'_>) -> bool + Send>,
    fate: RuleAction,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule")
            .field("fate", &self.fate)
            .finish_non_exhaustive()
    }
}

impl Rule {
    /// Every packet that `chooses` says yes to meets `fate`.
    pub fn new(
        fate: RuleAction,
        chooses: impl FnMut(&Packet<'_>) -> bool + Send + 'static,
    ) -> Self {
        Self {
            chooses: Box::new(chooses),
            fate,
        }
    }

    /// Shows the packet to the rule.
    pub fn judge(&mut self, packet: &Packet<'_>) -> Option<RuleAction> {
        (self.chooses)(packet).then_some(self.fate)
    }
}

/// Drops every packet that `chooses` says yes to.
pub fn drop_when(chooses: impl FnMut(&Packet<'_>) -> bool + Send + 'static) -> Rule {
    Rule::new(RuleAction::Drop, chooses)
}

/// Drops the `n`th packet with text, counted from 1 over all hosts.
pub fn drop_nth_data_packet(n: u64) -> Rule {
    Rule::new(RuleAction::Drop, nth_data_packet(n))
}

/// Holds the `n`th packet with text back for `by`.
pub fn delay_nth_data_packet(n: u64, by: Duration) -> Rule {
    Rule::new(RuleAction::Delay(by), nth_data_packet(n))
}

/// Sends the `n`th packet with text twice.
pub fn duplicate_nth_data_packet(n: u64) -> Rule {
    Rule::new(RuleAction::Duplicate, nth_data_packet(n))
}

fn nth_data_packet(n: u64) -> impl FnMut(&Packet<'_>) -> bool + Send + 'static {
    let mut seen = 0;
    move |packet| {
        seen += u64::from(packet.is_data());
        packet.is_data() && seen == n
    }
}
