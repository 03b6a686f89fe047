//! Ethernet frames with DHCP messages and ARP packets.
//!
//! Rule: a frame that is malformed, or addressed to another station, is not for the client. This
//! file keeps no state.

use std::net::{IpAddr, Ipv4Addr};

use fullpipe::MacAddress;
use fullpipe_wire::{
    ArpOperation, ArpPacket, Checksum, ChecksumPolicy, EtherType, EthernetHeader, Ipv4Header,
    Protocol, UdpHeader, udp,
};

/// Port of servers.
pub(crate) const SERVER_PORT: u16 = 67;
/// Port of clients.
pub(crate) const CLIENT_PORT: u16 = 68;
/// Length of the headers in front of a message.
const HEADERS_LEN: usize = EthernetHeader::LEN + Ipv4Header::LEN + UdpHeader::LEN;

/// Content of a frame that concerns the client.
#[derive(Debug)]
pub(crate) enum Received<'a> {
    /// A packet that was broadcast or sent to this station.
    Arp(ArpPacket),
    /// The payload of a datagram from port 67 to port 68, and the MAC address that sent its frame.
    Message(&'a [u8], MacAddress),
}

/// Returns the content of `frame` if the station `own` receives the frame.
pub(crate) fn parse(
    frame: &[u8],
    own: MacAddress,
    checksum_verified: bool,
) -> Option<Received<'_>> {
    let (link, packet) = EthernetHeader::parse(frame).ok()?;
    if link.dst != own && !link.dst.is_broadcast() {
        return None;
    }
    match link.ether_type {
        EtherType::Arp => ArpPacket::parse(packet).ok().map(Received::Arp),
        EtherType::Ipv4 => {
            let message = datagram(packet, checksum_verified)?;
            Some(Received::Message(message, link.src))
        }
        EtherType::Ipv6 | EtherType::Other(_) => None,
    }
}

/// Returns the payload of a datagram from port 67 to port 68.
fn datagram(packet: &[u8], checksum_verified: bool) -> Option<&[u8]> {
    // Compare the ports before the UDP checksum, because every IPv4 frame of the host comes here.
    let (ip, datagram) = Ipv4Header::parse(packet, ChecksumPolicy::Verify).ok()?;
    if ip.protocol != Protocol::Udp || ip.is_fragment() {
        return None;
    }
    let (header, message) = UdpHeader::parse(datagram).ok()?;
    if header.src_port != SERVER_PORT || header.dst_port != CLIENT_PORT {
        return None;
    }
    let is_intact = checksum_verified
        || udp::verify_checksum(datagram, IpAddr::V4(ip.src), IpAddr::V4(ip.dst)).is_ok();
    is_intact.then_some(message)
}

/// Returns a frame with `message` from port 68 to port 67. `stations` is the MAC address of this
/// host and that of the receiver. `src` and `dst` are their IP addresses.
pub(crate) fn with_message(
    stations: (MacAddress, MacAddress),
    (src, dst): (Ipv4Addr, Ipv4Addr),
    message: &[u8],
) -> Vec<u8> {
    let mut frame = vec![0; HEADERS_LEN + message.len()];
    let (link, packet) = frame.split_at_mut(EthernetHeader::LEN);
    let (ip, datagram) = packet.split_at_mut(Ipv4Header::LEN);
    let (header, payload) = datagram.split_at_mut(UdpHeader::LEN);
    payload.copy_from_slice(message);
    let len = UdpHeader::LEN + message.len();
    UdpHeader {
        src_port: CLIENT_PORT,
        dst_port: SERVER_PORT,
        len: len as u16,
    }
    .write(header);
    udp::set_checksum(header, src.into(), dst.into(), Checksum::of(message));
    Ipv4Header::new(src, dst, Protocol::Udp, len).write(ip);
    EthernetHeader {
        dst: stations.1,
        src: stations.0,
        ether_type: EtherType::Ipv4,
    }
    .write(link);
    frame
}

/// Returns a frame that asks every station for the MAC address of `address`. The sender's address
/// is unspecified in a probe, and `address` itself in an announcement. RFC 5227 §1.1.
pub(crate) fn arp_request(own: MacAddress, sender: Ipv4Addr, address: Ipv4Addr) -> Vec<u8> {
    let mut frame = vec![0; EthernetHeader::LEN + ArpPacket::LEN];
    let (link, packet) = frame.split_at_mut(EthernetHeader::LEN);
    EthernetHeader {
        dst: MacAddress::BROADCAST,
        src: own,
        ether_type: EtherType::Arp,
    }
    .write(link);
    ArpPacket {
        operation: ArpOperation::Request,
        sender_mac: own,
        sender_ip: sender,
        target_mac: MacAddress::UNSPECIFIED,
        target_ip: address,
    }
    .write(packet);
    frame
}
