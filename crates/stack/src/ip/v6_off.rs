//! Stand-in for IPv6 in builds without the feature `ipv6`: no IPv6 address is usable.
//!
//! Rule: this file has the functions of the folder `v6` that other files call.

use core::net::Ipv6Addr;

use fullpipe_wire::MacAddress;

/// Returns the unspecified address, which is never used.
pub(crate) const fn link_local(_mac: MacAddress) -> Ipv6Addr {
    Ipv6Addr::UNSPECIFIED
}

/// Returns false.
pub(crate) const fn share_prefix(_one: Ipv6Addr, _other: Ipv6Addr, _prefix_len: u8) -> bool {
    false
}

/// Returns false.
pub(crate) const fn is_unicast(_ip: Ipv6Addr) -> bool {
    false
}

/// The source of packets that are never sent.
pub(crate) mod source {
    use core::net::Ipv6Addr;

    use crate::ip::subnet::Subnet;

    /// The properties of an address that the rules compare.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Traits {
        /// New connections should use another address.
        pub(crate) is_deprecated: bool,
        /// The address is a temporary one (RFC 8981).
        pub(crate) is_temporary: bool,
    }

    /// Returns `None`.
    pub(crate) fn for_destination(
        _own: &[Subnet],
        _traits: impl Fn(Ipv6Addr) -> Traits,
        _dst: Ipv6Addr,
    ) -> Option<Ipv6Addr> {
        None
    }
}

/// Headers that are never written.
pub(crate) mod output {
    use core::net::Ipv6Addr;

    use crate::ip::{
        outgoing::Outgoing,
        v4::fragment::{Fragment, Fragmenter},
    };

    /// Returns 0.
    pub(crate) const fn write_header(
        _packet: &mut [u8],
        _ends: (Ipv6Addr, Ipv6Addr),
        _outgoing: &Outgoing,
        _limit_and_label: (u8, u32),
    ) -> usize {
        0
    }

    /// Returns 0.
    pub(crate) const fn write_fragment_header(
        _packet: &mut [u8],
        _ends: (Ipv6Addr, Ipv6Addr),
        _outgoing: &Outgoing,
        _limit_and_label: (u8, u32),
        _piece: (&Fragmenter, Fragment),
    ) -> usize {
        0
    }
}

mod receiver {
    use crate::{
        counters::Counters,
        icmp::ErrorQueue,
        ip::{IpReceiver, Packet, Routes},
        link::Station,
    };
    use fullpipe_pool::{Instant, Pool};

    impl IpReceiver {
        /// Returns `None`.
        pub(crate) const fn on_v6_packet<'a>(
            &'a mut self,
            _routes: &Routes,
            _bytes: &'a [u8],
            _from: (Station, bool),
            _errors: &mut ErrorQueue,
            _at: (&mut Pool, Instant),
            _counters: &mut Counters,
        ) -> Option<Packet<'a>> {
            None
        }
    }
}
