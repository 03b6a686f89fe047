//! Floods the device with SYNs from hosts that do not exist, and with datagrams to a closed port.
//!
//! Rule: a flood has a fixed number of packets, so that it is about the same work on every
//! machine.

use std::net::{SocketAddr, UdpSocket};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::device::DEVICE;

/// Port on which nobody listens.
const CLOSED: u16 = 9;

/// Sends `count` SYNs to `port`, each from another pair of address and port. The addresses are in
/// the device's network.
pub fn syns(port: u16, count: u32) {
    // With the protocol number 255 (IPPROTO_RAW), this test writes the IP header itself.
    let raw = Some(Protocol::from(255));
    let socket = Socket::new(Domain::IPV4, Type::RAW, raw).expect("root may");
    let to = SockAddr::from(SocketAddr::from((DEVICE, port)));
    for number in 0..count {
        let packet = syn(number, port);
        // Ignore an error: if the queue is full, the packet is lost, and a flood needs no single
        // packet.
        let _ = socket.send_to(&packet, &to);
    }
}

/// Sends `count` datagrams to a closed port.
pub fn datagrams(count: u32) {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a port is free");
    for _ in 0..count {
        // Ignore an error: the device answers some datagrams with an ICMP error, which the next
        // call returns.
        let _ = socket.send_to(&[0; 64], SocketAddr::from((DEVICE, CLOSED)));
    }
}

/// Returns an IP packet with a SYN.
fn syn(number: u32, port: u16) -> [u8; 40] {
    let from = [10, 77, 0, 100 + (number % 100) as u8];
    let mut packet = [0; 40];
    packet[..20].copy_from_slice(&[
        0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, from[0], from[1], from[2], from[3], DEVICE[0],
        DEVICE[1], DEVICE[2], DEVICE[3],
    ]);
    let source = 1024 + (number % 60_000) as u16;
    packet[20..22].copy_from_slice(&source.to_be_bytes());
    packet[22..24].copy_from_slice(&port.to_be_bytes());
    packet[24..28].copy_from_slice(&number.wrapping_mul(2_654_435_761).to_be_bytes());
    // A TCP header of five 32-bit words, the flag SYN, and a window of 8 KiB.
    packet[32..36].copy_from_slice(&[0x50, 0x02, 0x20, 0]);
    let mut pseudo = [packet[12..20].to_vec(), vec![0, 6, 0, 20]].concat();
    pseudo.extend(&packet[20..]);
    let sum = checksum(&pseudo);
    packet[36..38].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum = words.sum::<u32>();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
