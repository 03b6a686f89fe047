//! A lease: the parameters of a DHCPACK, checked.
//!
//! Rule: a lease contains only values with which a host can work. A message with an unusable
//! address or time is refused; an unusable optional value is left out.

use std::net::{IpAddr, Ipv4Addr};

use fullpipe::{Duration, Instant, Interface};

use crate::options::{Options, code};

/// Largest number of routers of a lease, and largest number of its name servers.
const LIST_MAX: usize = 8;
/// Smallest MTU of IPv4. RFC 791.
const MTU_MIN: u16 = 68;
/// Lease time that never ends. RFC 2131 §3.3.
const INFINITE: u32 = u32::MAX;
/// Shortest time from the start of a lease to its renewal.
const RENEWAL_MIN: Duration = Duration::from_secs(1);

/// The address of this host, and the configuration that came with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Address of this host.
    pub address: Ipv4Addr,
    /// Length of the prefix of the address's network.
    pub prefix_len: u8,
    /// Routers, the preferred one first. Possibly empty.
    pub routers: Vec<Ipv4Addr>,
    /// Name servers, the preferred one first. Possibly empty.
    pub dns_servers: Vec<Ipv4Addr>,
    /// Domain of this host's name.
    pub domain: Option<String>,
    /// MTU of the network in bytes, at least 68.
    pub mtu: Option<u16>,
    /// Address of the server that granted the lease.
    pub server: Ipv4Addr,
    /// Start of the lease: the time at which the granted request was first sent.
    pub since: Instant,
    /// Time T1, at which the server is asked for a longer lease; `None` for a lease without end.
    pub renews_at: Option<Instant>,
    /// Time T2, at which every server is asked for a longer lease; `None` for a lease without end.
    pub rebinds_at: Option<Instant>,
    /// End of the lease.
    pub expires_at: Option<Instant>,
}

impl Lease {
    /// Returns the lease of `address` that `options` describe, starting at `since`; `None` if a
    /// host cannot work with such a lease.
    pub(crate) fn of(address: Ipv4Addr, options: &Options<'_>, since: Instant) -> Option<Self> {
        let prefix_len = prefix_len(address, options)?;
        Interface::check_address(address.into(), prefix_len).ok()?;
        let (renews_at, rebinds_at, expires_at) = times(options, since)?;
        Some(Self {
            address,
            prefix_len,
            routers: hosts(options, code::ROUTERS, address),
            dns_servers: hosts(options, code::DNS_SERVERS, Ipv4Addr::UNSPECIFIED),
            domain: options
                .text(code::DOMAIN)
                .filter(|name| is_domain(name))
                .map(Into::into),
            mtu: options.u16(code::MTU).filter(|mtu| *mtu >= MTU_MIN),
            server: server_of(options)?,
            since,
            renews_at,
            rebinds_at,
            expires_at,
        })
    }
}

/// Returns the server identifier; `None` if there is none or it is not the address of a host.
pub(crate) fn server_of(options: &Options<'_>) -> Option<Ipv4Addr> {
    options.address(code::SERVER).filter(|ip| is_host(*ip))
}

/// Returns the prefix length that the subnet mask gives or, without a mask, the class of `address`
/// (RFC 2132 §3.3, RFC 791). Returns `None` if the mask is not contiguous.
fn prefix_len(address: Ipv4Addr, options: &Options<'_>) -> Option<u8> {
    let Some(mask) = options.address(code::SUBNET_MASK) else {
        return Some(match address.octets()[0] {
            0..128 => 8,
            128..192 => 16,
            192.. => 24,
        });
    };
    let ones = mask.to_bits().leading_ones();
    let is_contiguous = ones + mask.to_bits().trailing_zeros() == 32;
    (is_contiguous && ones > 0).then_some(ones as u8)
}

/// Returns T1, T2 and the end; `None` if the lease time is missing or 0 s. A missing T1 is half of
/// the lease time, and a missing T2 seven eighths of it (RFC 2131 §4.4.5). If the times are then
/// out of order, T1 and T2 are replaced by these two shares of the lease time.
fn times(options: &Options<'_>, since: Instant) -> Option<LeaseTimes> {
    let seconds = match options.u32(code::LEASE_TIME)? {
        0 => return None,
        INFINITE => return Some((None, None, None)),
        seconds => u64::from(seconds),
    };
    let lease = Duration::from_secs(seconds);
    let given = |code| {
        let seconds = options.u32(code);
        seconds.map(|seconds| Duration::from_secs(u64::from(seconds)))
    };
    let t1 = given(code::T1).unwrap_or(lease / 2);
    let t2 = given(code::T2).unwrap_or(lease / 8 * 7);
    let in_order = Duration::ZERO < t1 && t1 < t2 && t2 < lease;
    let (t1, t2) = match in_order {
        true => (t1, t2),
        false => (lease / 2, lease / 8 * 7),
    };
    Some((
        Some(since + t1.max(RENEWAL_MIN)),
        Some(since + t2.max(RENEWAL_MIN)),
        Some(since + lease),
    ))
}

/// T1, T2 and the end of a lease.
type LeaseTimes = (Option<Instant>, Option<Instant>, Option<Instant>);

/// Returns those addresses of the option `code` that can belong to hosts other than `own`.
fn hosts(options: &Options<'_>, code: u8, own: Ipv4Addr) -> Vec<Ipv4Addr> {
    let listed = options.addresses(code);
    let usable = listed.filter(|ip| is_host(*ip) && *ip != own);
    usable.take(LIST_MAX).collect()
}

/// Returns true if `ip` can be the address of one host.
fn is_host(ip: Ipv4Addr) -> bool {
    Interface::check_address(IpAddr::V4(ip), 32).is_ok()
}

/// Returns true if `name` consists of letters, digits, hyphens and dots.
fn is_domain(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    (1..=253).contains(&name.len()) && name.bytes().all(is_allowed)
}
