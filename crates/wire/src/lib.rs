//! Protocol headers: parsing, checking and writing.
//!
//! The one rule: bytes become typed values here, or they are refused with a
//! [`WireError`]; no byte sequence makes a parser panic. Nothing here keeps state,
//! allocates, or decides what to do with a header: the crates that use this one know the
//! host's addresses, open ports and receive windows.
//!
//! Parsers take the bytes of their layer and return the header with the bytes
//! that follow it, already cut to the length the header claims. Writers take a
//! buffer and panic when it is too short: its size is the caller's own choice.
//!
//! ```
//! use core::net::{IpAddr, Ipv4Addr};
//! use fullpipe_wire::{tcp, Checksum, TcpFlags, TcpHeader};
//!
//! let (here, there) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)));
//! let header = TcpHeader { src_port: 5001, dst_port: 80, flags: TcpFlags::SYN, ..TcpHeader::default() };
//!
//! let mut segment = [0; 20];
//! header.write(&mut segment);
//! tcp::set_checksum(&mut segment, here, there, Checksum::new());
//!
//! assert_eq!(tcp::verify_checksum(&segment, here, there), Ok(()));
//! assert_eq!(TcpHeader::parse(&segment), Ok((header, &[][..])));
//! ```
#![no_std]
#![forbid(unsafe_code)]

pub mod arp;
pub mod checksum;
pub mod error;
pub mod ethernet;
pub mod icmpv4;
pub mod icmpv6;
pub mod ipv4;
pub mod ipv6;
pub mod mld;
pub mod ndp;
pub mod tcp;
pub mod udp;

pub use arp::{ArpOperation, ArpPacket};
pub use checksum::{Checksum, ChecksumPolicy};
pub use error::WireError;
pub use ethernet::{EtherType, EthernetHeader, MacAddress};
pub use icmpv4::{Icmpv4Message, TimeExceededCode, UnreachableCode};
pub use icmpv6::{Icmpv6Message, Unreachable6Code};
pub use ipv4::{Ecn, Ipv4Header, Protocol};
pub use ipv6::Ipv6Header;
pub use tcp::{SackBlock, SackBlocks, TcpFlags, TcpHeader, TcpOptions, Timestamps};
pub use udp::UdpHeader;
