//! ARP packets, received and sent. RFC 826.
//!
//! Rule: the cache decides what is sent and when; this file reads and writes packets.

use core::net::{IpAddr, Ipv4Addr};

use fullpipe_pool::{Instant, Pool};
use fullpipe_wire::{ArpOperation, ArpPacket, EtherType, EthernetHeader, MacAddress};

use super::{NeighbourReply, Neighbours, check_sender};
use crate::{
    counters::{Counters, Discard},
    ip::Addresses,
};

impl Neighbours {
    /// Processes an ARP packet to a host with `addresses`; the packet need not be well-formed.
    pub(crate) fn on_arp_packet(
        &mut self,
        addresses: &Addresses,
        packet: &[u8],
        now: Instant,
        pool: &mut Pool,
        counters: &mut Counters,
    ) {
        let outcome = ArpPacket::parse(packet)
            .map_err(|_| Discard::ArpMalformed)
            .and_then(|packet| self.on_arp(addresses, &packet, now, pool, counters));
        if let Err(reason) = outcome {
            counters.discard(reason);
        }
    }

    fn on_arp(
        &mut self,
        addresses: &Addresses,
        packet: &ArpPacket,
        now: Instant,
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> Result<(), Discard> {
        let &ArpPacket {
            operation,
            sender_mac,
            sender_ip,
            target_ip,
            ..
        } = packet;
        if !sender_mac.is_unicast() || sender_mac == self.mac {
            return Err(Discard::ArpBadSender);
        }
        let for_us = addresses.contains(target_ip.into());
        match operation {
            ArpOperation::Request if for_us => counters.mib.arp_in_requests += 1,
            ArpOperation::Request => {}
            ArpOperation::Reply => counters.mib.arp_in_replies += 1,
        }
        // Learn nothing from an ARP probe (RFC 5227), which contains no sender address. Answer the
        // probe nevertheless, to defend this host's address.
        let known = if sender_ip.is_unspecified() {
            for_us
        } else {
            let sender = IpAddr::V4(sender_ip);
            check_sender(addresses, sender)?;
            let until = now + self.config.reachable_time;
            self.learn((sender, sender_mac), for_us, until, now, pool, counters)
        };
        match operation {
            ArpOperation::Request if for_us => self.queue_reply(NeighbourReply {
                mac: sender_mac,
                ip: IpAddr::from(sender_ip).into(),
                ours: IpAddr::from(target_ip).into(),
            }),
            // Do not count the packet again if `learn` had no room for its sender.
            ArpOperation::Request | ArpOperation::Reply if known || for_us => Ok(()),
            ArpOperation::Request | ArpOperation::Reply => Err(Discard::ArpNotForUs),
        }
    }

    /// Writes an ARP packet to `station`, link header included; returns the frame's length.
    pub(super) fn write_arp(
        &self,
        frame: &mut [u8],
        operation: ArpOperation,
        station: MacAddress,
        sender_ip: Ipv4Addr,
        (target_mac, target_ip): (MacAddress, Ipv4Addr),
    ) -> usize {
        let (header, body) = frame.split_at_mut(EthernetHeader::LEN);
        EthernetHeader {
            dst: station,
            src: self.mac,
            ether_type: EtherType::Arp,
        }
        .write(header);
        ArpPacket {
            operation,
            sender_mac: self.mac,
            sender_ip,
            target_mac,
            target_ip,
        }
        .write(body);
        EthernetHeader::LEN + ArpPacket::LEN
    }
}
