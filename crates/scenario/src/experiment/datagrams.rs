//! The protocol of flows, and the rate at which flows send datagrams.
//!
//! Rule: a flow carries either a stream or datagrams. A field that applies only to streams is
//! refused for datagrams, and vice versa. The table of fields is in `flow`.

use fullpipe_pool::Duration;
use fullpipe_sim::Pace;

/// Protocol of a flow, and the rate of its datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DatagramFields {
    /// True for UDP, false for TCP.
    pub udp: bool,
    pub rate_bps: Option<u64>,
    pub tick: Option<Duration>,
}

/// Smallest payload in bytes. It contains only the sequence number, which the receiver checks.
const SHORTEST: u32 = 8;
/// Largest UDP payload of an IPv4 packet.
const LONGEST: u32 = 65_507;

impl DatagramFields {
    /// Rate at which the application hands datagrams to the stack.
    pub fn pace(&self) -> Pace {
        match self.rate_bps {
            Some(bps) => Pace::Rate {
                bps,
                tick: self.tick.unwrap_or(Duration::ZERO),
            },
            None => Pace::Unpaced,
        }
    }

    /// Returns the error message if fields of the flow called `name` exclude each other. `size` is
    /// the size of the flow's writes in bytes.
    pub fn contradiction(&self, name: &str, size: u32) -> Option<String> {
        let Self {
            udp,
            rate_bps,
            tick,
        } = self;
        if !udp {
            let field = rate_bps.map(|_| "rate").or(tick.map(|_| "tick"))?;
            return Some(format!(
                "{name}.{field} needs {name}.protocol = \"udp\": a stream has no rate of its own"
            ));
        }
        if tick.is_some() && rate_bps.is_none() {
            return Some(format!(
                "{name}.tick needs {name}.rate: a sender without a rate never waits"
            ));
        }
        (!(SHORTEST..=LONGEST).contains(&size)).then(|| {
            format!(
                "{name}.write = {size} is no datagram: it must be {SHORTEST} to {LONGEST} bytes"
            )
        })
    }
}

/// Parses a protocol: true for UDP, false for TCP, `None` for other text.
pub(super) fn protocol(text: &str) -> Option<bool> {
    match text.trim() {
        "tcp" => Some(false),
        "udp" => Some(true),
        _ => None,
    }
}
