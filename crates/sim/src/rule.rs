//! Actions on chosen packets as they leave a host.
//!
//! Rule: a rule sees every packet of every host, in the order in which packets leave the hosts,
//! before any link changes a packet. The first rule that chooses a packet decides the action. Later
//! rules also see the packet, because they may count packets.

use fullpipe_pool::Duration;
use serde::{Deserialize, Serialize};

use crate::packet::Packet;

/// The action on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RuleAction {
    /// The packet is dropped.
    Drop,
    /// The packet reaches the link this much later.
    Delay(#[serde(with = "crate::text_forms::duration")] Duration),
    /// The packet reaches the link twice.
    Duplicate,
}

/// A function that chooses packets, and the action on them.
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
    /// A rule that applies `fate` to every packet for which `chooses` returns true.
    pub fn new(
        fate: RuleAction,
        chooses: impl FnMut(&Packet<'_>) -> bool + Send + 'static,
    ) -> Self {
        Self {
            chooses: Box::new(chooses),
            fate,
        }
    }

    /// The action on `packet`, if this rule chooses it.
    pub fn judge(&mut self, packet: &Packet<'_>) -> Option<RuleAction> {
        (self.chooses)(packet).then_some(self.fate)
    }
}

/// Drops every packet for which `chooses` returns true.
pub fn drop_when(chooses: impl FnMut(&Packet<'_>) -> bool + Send + 'static) -> Rule {
    Rule::new(RuleAction::Drop, chooses)
}

/// Drops the `n`th packet with payload, counted from 1 over all hosts.
pub fn drop_nth_data_packet(n: u64) -> Rule {
    Rule::new(RuleAction::Drop, nth_data_packet(n))
}

/// Delays the `n`th packet with payload by `by`.
pub fn delay_nth_data_packet(n: u64, by: Duration) -> Rule {
    Rule::new(RuleAction::Delay(by), nth_data_packet(n))
}

/// Duplicates the `n`th packet with payload.
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
