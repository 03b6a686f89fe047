//! The settings of a netstack, and its start.
//!
//! Rule: only this file translates the limits of the flows into knobs (settings) of the stack.

#[cfg(test)]
mod tests;

use std::{io, net::Ipv4Addr, sync::Arc};

use fullpipe::Config;
use fullpipe_host::{HostDevice, Prefix, Runtime};

use crate::{
    echo::EchoRequests,
    limits::{FIRST_WINDOW_MIN, FlowLimits},
    tcp::{TcpFlows, TcpShared},
    udp::UdpFlows,
};

/// The stack's own address if the program sets none: the dummy address of RFC 7600 §4.8, which no
/// host on a network has.
const OWN_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// The settings of a netstack.
#[derive(Clone, Debug)]
pub struct NetstackBuilder {
    address: Prefix,
    limits: FlowLimits,
    knobs: Vec<(String, String)>,
    is_inspectable: bool,
}

impl Default for NetstackBuilder {
    fn default() -> Self {
        Self {
            address: Prefix {
                address: OWN_ADDRESS.into(),
                len: 32,
            },
            limits: FlowLimits::default(),
            knobs: Vec::new(),
            is_inspectable: false,
        }
    }
}

impl NetstackBuilder {
    /// Sets the stack's own address and the prefix of its network. Packets to the network's
    /// broadcast address are dropped.
    #[must_use]
    pub const fn address(mut self, address: Prefix) -> Self {
        self.address = address;
        self
    }

    /// Sets the bounds of all flows together.
    #[must_use]
    pub const fn limits(mut self, limits: FlowLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets a knob (a setting of the stack) by its name. The given value replaces the value that
    /// follows from the limits.
    #[must_use]
    pub fn set(mut self, knob: &str, value: &str) -> Self {
        self.knobs.push((knob.to_string(), value.to_string()));
        self
    }

    /// Lets `fullpipe addr`, `route` and `neigh` ask the stack; see
    /// [`RuntimeBuilder::inspectable`](fullpipe_host::RuntimeBuilder::inspectable).
    #[must_use]
    pub const fn inspectable(mut self) -> Self {
        self.is_inspectable = true;
        self
    }

    /// Checks the limits and the knobs, as [`start`](Self::start) does.
    ///
    /// # Errors
    /// Returns the reason for which a limit or a knob is refused.
    pub fn check(&self) -> Result<(), String> {
        let config = self.config()?;
        config.validate().map_err(|error| error.to_string())
    }

    /// Starts the stack over `device`. The stack answers echo requests to every address. Must be
    /// called within a tokio runtime.
    ///
    /// # Errors
    /// Returns `InvalidInput` for a limit, a knob or an address that cannot work; otherwise the
    /// error of the device or of the system.
    pub fn start(self, device: impl HostDevice + 'static) -> io::Result<(TcpFlows, UdpFlows)> {
        let (tcp, udp, _) = self.launch(device)?;
        Ok((tcp, udp))
    }

    /// Starts the stack over `device` like [`start`](Self::start), but passes each echo request on to
    /// the program, which answers or refuses it.
    ///
    /// # Errors
    /// Returns the errors of `start`.
    pub fn start_with_echo(
        self,
        device: impl HostDevice + 'static,
    ) -> io::Result<(TcpFlows, UdpFlows, EchoRequests)> {
        let (tcp, udp, runtime) = self.launch(device)?;
        Ok((tcp, udp, EchoRequests::start(runtime)?))
    }

    fn launch(
        self,
        device: impl HostDevice + 'static,
    ) -> io::Result<(TcpFlows, UdpFlows, Arc<Runtime>)> {
        let refused = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        let config = self.config().map_err(refused)?;
        let mut builder = Runtime::builder(self.address).config(config);
        if self.is_inspectable {
            builder = builder.inspectable();
        }
        let runtime = builder
            .start(device)
            .map_err(|error| refused(error.to_string()))?;
        let runtime = Arc::new(runtime);
        let udp = UdpFlows::start(Arc::clone(&runtime), self.limits)?;
        let tcp = TcpFlows::start(TcpShared::new(Arc::clone(&runtime), self.limits)?);
        Ok((tcp, udp, runtime))
    }

    fn config(&self) -> Result<Config, String> {
        let FlowLimits {
            tcp_flows, memory, ..
        } = self.limits;
        let mut config = Config::default();
        let blocks = memory / u64::from(config.pool.block_size);
        let flows = tcp_flows.to_string();
        let (window, window_max) = receive_buffers(memory, tcp_flows);
        let rows = [
            ("ip.accept_any", "true"),
            ("pool.blocks", &blocks.to_string()),
            ("tcp.receive_buffer", &window.to_string()),
            ("tcp.receive_buffer_max", &window_max.to_string()),
            ("tcp.send_buffer_max", &window_max.to_string()),
            ("stack.connections", &flows),
            ("stack.orphans", &flows),
            ("stack.half_open", &flows),
            // Nagle's algorithm would only delay a flow: a relay writes all that it has at once.
            ("tcp.nagle", "false"),
            // The client may be behind a link with random losses, such as a tunnel over a radio.
            ("tcp.congestion", "bbr"),
            // One host may open all flows.
            ("stack.half_open_per_source", &flows),
            ("stack.backlog", &tcp_flows.min(65_536).to_string()),
            ("stack.resets_per_source", "1000"),
            ("stack.resets_per_second", "100000"),
            ("icmp.errors_per_source", "1000"),
            ("icmp.errors_per_second", "100000"),
            ("icmp.errors_burst", "1000"),
            ("udp.receive_queue", "1024"),
            ("udp.receive_buffer", "4M"),
            ("udp.send_queue", "1024"),
            ("udp.send_buffer", "4M"),
        ];
        for (knob, value) in rows {
            config.set(knob, value).map_err(|error| error.to_string())?;
        }
        for (knob, value) in &self.knobs {
            config.set(knob, value).map_err(|error| error.to_string())?;
        }
        Ok(config)
    }
}

/// Receive buffers that a flow may begin with.
const FIRST_WINDOWS: std::ops::RangeInclusive<u64> = FIRST_WINDOW_MIN..=64 << 10;
/// Largest receive buffers to which a flow may grow.
const LARGEST_WINDOWS: std::ops::RangeInclusive<u64> = 64 << 10..=4 << 20;
/// Share of the memory to which one flow may grow: a 64th.
const LARGEST_SHARE: u64 = 64;

/// Returns the receive buffer of a new flow, in bytes, and the size up to which it grows while the
/// peer sends.
///
/// An idle flow keeps memory for the window that it advertised, because a window never shrinks. The
/// windows with which all flows begin therefore take half of the memory, so that idle flows leave
/// memory to new ones. They take more than half only if the memory is so small that each flow
/// begins with the smallest window ([`FlowLimits::leaves_memory`]). Idle flows that grew to the
/// largest window may take all memory:
/// nothing takes a window back.
fn receive_buffers(memory: u64, flows: u32) -> (u64, u64) {
    let first = memory / u64::from(flows.max(1)) / 2;
    let clamp = |bytes: u64, range: std::ops::RangeInclusive<u64>| {
        bytes.clamp(*range.start(), *range.end())
    };
    let first = clamp(first, FIRST_WINDOWS);
    (first, clamp(memory / LARGEST_SHARE, LARGEST_WINDOWS))
}
