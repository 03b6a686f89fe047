//! Flow labels: the 20 bits by which routers keep the packets of one flow on one path. RFC 6437.
//!
//! Rule: a label is a keyed hash of the addresses, the protocol and the ports, so all packets of a
//! flow have the same label, and no label can be predicted from others. Nothing is stored for a
//! flow; only the last label is kept, because successive packets often belong to one flow.

use core::net::Ipv6Addr;

use fullpipe_pool::Rng;
use fullpipe_wire::Protocol;

use crate::secret::{HashInput, Secret};

/// Bits of a label.
const BITS: u32 = 20;

/// The fields that identify a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowKey {
    /// Source and destination.
    pub(crate) ends: (Ipv6Addr, Ipv6Addr),
    pub(crate) protocol: Protocol,
    /// Source port and destination port; `(0, 0)` if the protocol has none.
    pub(crate) ports: (u16, u16),
}

/// The source of this host's flow labels.
#[derive(Clone, Debug)]
pub(crate) struct FlowLabels {
    secret: Secret,
    last: Option<(FlowKey, u32)>,
}

impl FlowLabels {
    /// Returns a source of labels whose key is drawn from `rng`.
    pub(crate) fn new(mut rng: Rng) -> Self {
        let key = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
        Self {
            secret: Secret(key.to_le_bytes()),
            last: None,
        }
    }

    /// Returns the label of `flow`. It is not 0, because 0 marks a packet without a label.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn of(&mut self, flow: FlowKey) -> u32 {
        match self.last {
            Some((last, label)) if last == flow => label,
            Some(_) | None => self.compute(flow),
        }
    }

    #[inline(never)]
    fn compute(&mut self, flow: FlowKey) -> u32 {
        let FlowKey {
            ends: (src, dst),
            protocol,
            ports,
        } = flow;
        let mut input = HashInput::new();
        input.push(&src.octets());
        input.push(&dst.octets());
        input.push(&[protocol.into()]);
        input.push(&ports.0.to_be_bytes());
        input.push(&ports.1.to_be_bytes());
        let hash = self.secret.prf(input.as_slice());
        let label = (hash & ((1 << BITS) - 1)) as u32;
        let label = label.max(1);
        self.last = Some((flow, label));
        label
    }
}

#[cfg(test)]
mod tests;
