//! Echo replies. RFC 1122 §3.2.2.6.
//!
//! Rule: a request costs at most its own bytes in a bounded queue; a request that finds the queue
//! full is not answered. This file sends nothing: it writes packets for `egress`.

#[cfg(test)]
mod tests;

use fullpipe_pool::{Holder, Pool};

use crate::{
    config::IcmpConfig,
    counters::{Counters, Discard},
    ip::{BuiltPacket, DatagramHeader, IpSender, Packet, SendQueue},
};

/// Echo replies that wait to be sent.
#[derive(Debug)]
pub(crate) struct Echo {
    replies: SendQueue,
}

impl Echo {
    /// Returns an empty queue of the size in `config`.
    pub(crate) fn new(config: &IcmpConfig) -> Self {
        Self {
            replies: SendQueue::new(Holder::Echo, config.echo_replies, config.echo_bytes),
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.replies.heap_bytes()
    }

    /// Queues the reply to a request with data `payload`.
    pub(crate) fn on_request(
        &mut self,
        packet: &Packet<'_>,
        ident: u16,
        seq: u16,
        payload: &[u8],
        pool: &mut Pool,
        counters: &mut Counters,
    ) {
        if packet.broadcast {
            counters.discard(Discard::IcmpEchoBroadcast);
            return;
        }
        let header = DatagramHeader::EchoReply { ident, seq };
        // The source of the reply is the destination of the request.
        let ends = (packet.dst(), packet.src());
        let answers = Some(packet.station.mac);
        if !self.replies.push(ends, answers, header, payload, pool) {
            counters.discard(Discard::IcmpEchoQueueFull);
        }
    }

    /// Returns true if a reply waits.
    pub(crate) fn wants_output(&self) -> bool {
        !self.replies.is_empty()
    }

    /// Writes the next packet to the start of `packet`, which is at least as long as the
    /// device's MTU.
    pub(crate) fn poll_packet(
        &mut self,
        sender: &mut IpSender,
        pool: &mut Pool,
        packet: &mut [u8],
        counters: &mut Counters,
    ) -> Option<BuiltPacket> {
        let built = self.replies.poll_packet(sender, pool, packet, counters)?;
        if !self.replies.is_fragmenting() {
            counters.mib.icmp_out_msgs += 1;
            counters.mib.icmp_out_echo_reps += 1;
        }
        Some(built)
    }

    /// Drops every reply and frees its memory.
    #[cfg(test)]
    pub(crate) fn release(&mut self, pool: &mut Pool) {
        self.replies.clear(pool);
    }
}
