//! The answers to questions about a stack, as JSON.
//!
//! Rule: a text in an answer is an address or a word of this file, so no text needs an escape.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fullpipe::{InterfaceId, Stack, Subnet, device::Medium};

use super::question::Question;

/// Returns the answer to `question`.
pub(super) fn to(question: Question, stack: &Stack) -> String {
    match question {
        Question::Addresses => addresses(stack),
        Question::Routes => routes(stack),
        Question::Neighbours => neighbours(stack),
    }
}

/// Returns a JSON array of `values`, which are JSON.
fn array(values: impl IntoIterator<Item = String>) -> String {
    let values: Vec<_> = values.into_iter().collect();
    format!("[{}]", values.join(","))
}

/// Returns a JSON string, or `null`.
fn text(value: Option<impl ToString>) -> String {
    value.map_or("null".to_string(), |value| {
        format!("\"{}\"", value.to_string())
    })
}

fn addresses(stack: &Stack) -> String {
    array(stack.interface_ids().map(|id| {
        let settings = stack.interface(id);
        let is_loopback = stack.loopback() == Some(id);
        let has_mac = settings.capabilities.medium == Medium::Ethernet;
        let own = stack.addresses().filter(|own| own.interface == id);
        let own = own.map(|own| {
            let state = match own.is_deprecated {
                true => "deprecated",
                false => "preferred",
            };
            address(own.address, own.prefix_len, (state, own.is_temporary))
        });
        let tentative = stack.tentative_addresses_on(id);
        let tentative = tentative.map(|own| {
            address(own.address, own.prefix_len, ("tentative", own.is_temporary))
        });
        format!(
            "{{\"interface\":{},\"mac\":{},\"mtu\":{},\"loopback\":{is_loopback},\"addresses\":{}}}",
            id.index(),
            text(has_mac.then_some(settings.mac)),
            settings.capabilities.mtu,
            array(own.chain(tentative)),
        )
    }))
}

fn address(address: IpAddr, prefix_len: u8, (state, is_temporary): (&str, bool)) -> String {
    format!(
        "{{\"address\":\"{address}\",\"prefix_len\":{prefix_len},\"state\":\"{state}\",\"temporary\":{is_temporary}}}"
    )
}

/// A route with the words of the answer.
struct Line {
    to: Subnet,
    gateway: Option<IpAddr>,
    interface: InterfaceId,
    metric: u32,
    source: Option<IpAddr>,
    origin: &'static str,
}

impl Line {
    fn json(&self) -> String {
        let &Self {
            to,
            gateway,
            interface,
            metric,
            source,
            origin,
        } = self;
        format!(
            "{{\"to\":\"{}/{}\",\"gateway\":{},\"interface\":{},\"metric\":{metric},\"source\":{},\"origin\":\"{origin}\"}}",
            network_of(to),
            to.prefix_len,
            text(gateway),
            interface.index(),
            text(source),
        )
    }
}

/// Returns the address of the network of `subnet`: all host bits are 0.
fn network_of(subnet: Subnet) -> IpAddr {
    let host_bits = |most: u8| u32::from(most.saturating_sub(subnet.prefix_len));
    match subnet.address {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(host_bits(32)).unwrap_or(0);
            Ipv4Addr::from_bits(ip.to_bits() & mask).into()
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(host_bits(128)).unwrap_or(0);
            Ipv6Addr::from_bits(ip.to_bits() & mask).into()
        }
    }
}

fn routes(stack: &Stack) -> String {
    let on_link = |to: Subnet, interface, source, origin| Line {
        to,
        gateway: None,
        interface,
        metric: 0,
        source,
        origin,
    };
    let mut lines: Vec<Line> = Vec::new();
    for own in stack.addresses() {
        let is_host = own.prefix_len == if own.address.is_ipv4() { 32 } else { 128 };
        let to = Subnet {
            address: own.address,
            prefix_len: own.prefix_len,
        };
        if !is_host {
            lines.push(on_link(to, own.interface, Some(own.address), "address"));
        }
    }
    lines.extend(stack.routes().entries().iter().map(|entry| Line {
        to: entry.to,
        gateway: entry.gateway,
        interface: entry.interface,
        metric: entry.metric,
        source: entry.source,
        origin: "added",
    }));
    for id in stack.interface_ids() {
        let announced = stack.routes().announced_networks(id);
        lines.extend(announced.map(|to| on_link(to, id, None, "router")));
        if let Some(router) = stack.routes().router(id) {
            let every = Subnet {
                address: Ipv6Addr::UNSPECIFIED.into(),
                prefix_len: 0,
            };
            lines.push(Line {
                gateway: Some(router.into()),
                ..on_link(every, id, None, "router")
            });
        }
    }
    array(lines.iter().map(Line::json))
}

fn neighbours(stack: &Stack) -> String {
    let mut neighbours: Vec<_> = stack.neighbours().collect();
    neighbours.sort_by_key(|of| (of.interface.index(), of.address));
    array(neighbours.into_iter().map(|of| {
        format!(
            "{{\"address\":\"{}\",\"mac\":{},\"interface\":{},\"state\":\"{}\"}}",
            of.address,
            text(of.mac),
            of.interface.index(),
            of.state,
        )
    }))
}
