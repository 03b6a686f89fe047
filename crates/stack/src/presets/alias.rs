//! The names that other systems give to what a knob bounds.
//!
//! Rule: an alias is a way of writing rows, so whatever it sets can be seen and
//! undone knob by knob. A name belongs to one system and means the same with
//! every preset. What a knob does is not known here.

#[cfg(test)]
mod tests;

use alloc::{
    string::{String, ToString},
    vec,
    vec::Vec,
};

use fullpipe_pool::knobs::{KnobError, parse_count};

/// Payload of one of netburner's buffers, in which it counts everything.
const NETBURNER_BUFFER: u64 = 1_500;
/// Bytes of a page, in which linux counts `tcp_mem`.
const PAGE: u64 = 4_096;
/// Bytes of each block of a pool that `tcp_mem` has sized.
const BLOCK: u64 = 2_048;

/// How the value of an alias becomes the value of a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It is the knob's value.
    Same,
    /// It counts pieces of so many bytes each.
    Pieces(u64),
    /// Set is off and cleared is on.
    Inverted,
    /// Least, default and most, in bytes: the knob is the default, and this one
    /// the most. Nothing is taken from what was set, so the least is met.
    Bounds(&'static str),
    /// Twice as many bytes.
    Doubled,
    /// Twice as many bytes, and this knob, which would let them grow, is cleared.
    DoubledForGood(&'static str),
    /// What is left of a hundred percent when its part of 2 to this power is taken;
    /// below zero and at zero, what is left is that part.
    WindowScale,
    /// Pages of memory without pressure, with it, and at most. The knob is the
    /// number of blocks; these are their size and the percentages of them.
    Memory([&'static str; 4]),
}

/// A name of another system for a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name, spelled as that system spells it.
    pub name: &'static str,
    /// The preset that is like that system.
    pub preset: &'static str,
    /// The knob, the first of two where the meaning names another.
    pub knob: &'static str,
    /// How a value is read.
    pub meaning: Meaning,
}

const fn same(preset: &'static str, name: &'static str, knob: &'static str) -> Alias {
    Alias {
        name,
        preset,
        knob,
        meaning: Meaning::Same,
    }
}

const fn buffers(name: &'static str, knob: &'static str) -> Alias {
    Alias {
        name,
        preset: "netburner",
        knob,
        meaning: Meaning::Pieces(NETBURNER_BUFFER),
    }
}

const fn linux(name: &'static str, knob: &'static str, meaning: Meaning) -> Alias {
    Alias {
        name,
        preset: "linux",
        knob,
        meaning,
    }
}

/// Every alias, system by system.
pub const ALIASES: &[Alias] = &[
    same("nuttx", "CONFIG_IOB_NBUFFERS", "pool.blocks"),
    same("nuttx", "CONFIG_IOB_BUFSIZE", "pool.block_size"),
    // Receivers are refused blocks before writers are.
    same("nuttx", "CONFIG_IOB_THROTTLE", "pool.send_floor"),
    same("nuttx", "CONFIG_NET_SEND_BUFSIZE", "tcp.send_buffer"),
    same("nuttx", "CONFIG_NET_RECV_BUFSIZE", "tcp.receive_buffer"),
    same("unet3", "CFG_TCP_SND_WND", "tcp.send_buffer"),
    same("unet3", "CFG_TCP_RCV_WND", "tcp.receive_buffer"),
    same("unet3", "CFG_PKT_RCV_QUE", "udp.receive_queue"),
    buffers("SetSocketTxBuffers", "tcp.send_buffer"),
    buffers("SetSocketRxBuffers", "tcp.receive_buffer"),
    buffers("SetSocketUnackBuffers", "tcp.unacknowledged"),
    buffers("SetOutOfOrderBuffers", "tcp.out_of_order"),
    Alias {
        name: "SO_NONAGLE",
        preset: "netburner",
        knob: "tcp.nagle",
        meaning: Meaning::Inverted,
    },
    linux(
        "tcp_wmem",
        "tcp.send_buffer",
        Meaning::Bounds("tcp.send_buffer_max"),
    ),
    linux(
        "tcp_rmem",
        "tcp.receive_buffer",
        Meaning::Bounds("tcp.receive_buffer_max"),
    ),
    linux(
        "SO_SNDBUF",
        "tcp.send_buffer",
        Meaning::DoubledForGood("tcp.send_buffer_max"),
    ),
    linux(
        "SO_RCVBUF",
        "tcp.receive_buffer",
        Meaning::DoubledForGood("tcp.receive_buffer_max"),
    ),
    // What an application may set, whenever it does.
    linux("wmem_max", "tcp.send_buffer_limit", Meaning::Doubled),
    linux("rmem_max", "tcp.receive_buffer_limit", Meaning::Doubled),
    linux(
        "tcp_adv_win_scale",
        "tcp.receive_text_share",
        Meaning::WindowScale,
    ),
    linux(
        "tcp_mem",
        "pool.blocks",
        Meaning::Memory([
            "pool.block_size",
            "pool.pressure_low",
            "pool.pressure",
            "pool.pressure_high",
        ]),
    ),
    same("linux", "tcp_moderate_rcvbuf", "tcp.receive_tuning"),
    same("linux", "SO_MAX_PACING_RATE", "tcp.pacing_rate_max"),
    same("linux", "tcp_retries1", "tcp.retries1"),
    same("linux", "tcp_retries2", "tcp.retries2"),
    same("linux", "tcp_syn_retries", "tcp.syn_retries"),
    same("linux", "tcp_synack_retries", "tcp.synack_retries"),
];

/// The alias called `name`.
pub fn find(name: &str) -> Option<&'static Alias> {
    ALIASES.iter().find(|alias| alias.name == name)
}

/// The aliases of the knob called `knob` in the system that `preset` is like.
pub fn of_knob(preset: &str, knob: &str) -> Vec<&'static str> {
    ALIASES
        .iter()
        .filter(|alias| alias.preset == preset && alias.knobs().any(|own| own == knob))
        .map(|alias| alias.name)
        .collect()
}

impl Alias {
    /// The knobs that it sets.
    pub fn knobs(&self) -> impl Iterator<Item = &'static str> {
        let others = match &self.meaning {
            Meaning::Same
            | Meaning::Pieces(_)
            | Meaning::Inverted
            | Meaning::Doubled
            | Meaning::WindowScale => &[],
            Meaning::Bounds(most) | Meaning::DoubledForGood(most) => core::slice::from_ref(most),
            Meaning::Memory(others) => others,
        };
        core::iter::once(self.knob).chain(others.iter().copied())
    }

    /// The values that `text` stands for, one for each of [`knobs`](Self::knobs).
    ///
    /// # Errors
    /// [`KnobError::NotAValue`] under the alias's own name. What the knob itself
    /// refuses is said by the knob.
    pub fn values(&self, text: &str) -> Result<Vec<String>, KnobError> {
        let refused = |expected| KnobError::NotAValue {
            name: self.name.to_string(),
            given: text.to_string(),
            expected,
        };
        match self.meaning {
            Meaning::Same => Ok(vec![text.to_string()]),
            Meaning::Pieces(size) => parse_count(text)
                .and_then(|pieces| pieces.checked_mul(size))
                .map(|bytes| vec![bytes.to_string()])
                .ok_or_else(|| refused("a number of buffers such as 20")),
            Meaning::Inverted => match text.trim() {
                "true" | "1" => Ok(vec!["false".to_string()]),
                "false" | "0" => Ok(vec!["true".to_string()]),
                _ => Err(refused("true or false")),
            },
            Meaning::Bounds(_) => {
                bounds(text).ok_or_else(|| refused("three numbers of bytes that do not fall"))
            }
            Meaning::Doubled => doubled(text)
                .map(|bytes| vec![bytes])
                .ok_or_else(|| refused("a number of bytes such as 65536")),
            Meaning::DoubledForGood(_) => doubled(text)
                .map(|bytes| vec![bytes, "0".to_string()])
                .ok_or_else(|| refused("a number of bytes such as 65536")),
            Meaning::WindowScale => window_share(text)
                .map(|share| vec![share.to_string()])
                .ok_or_else(|| refused("a whole number from -6 to 6")),
            Meaning::Memory(_) => {
                memory(text).ok_or_else(|| refused("three numbers of pages that do not fall"))
            }
        }
    }
}

fn doubled(text: &str) -> Option<String> {
    Some(parse_count(text)?.checked_mul(2)?.to_string())
}

/// Percent of a buffer that are window.
fn window_share(text: &str) -> Option<u32> {
    match text.trim().parse::<i32>().ok()? {
        scale @ 1..=6 => Some(100 - (100 >> scale)),
        scale @ -6..=0 => Some(100 >> -scale),
        _ => None,
    }
}

/// Three numbers that do not fall.
fn three(text: &str) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = text.split_whitespace().map(parse_count).collect();
    let three: [u64; 3] = numbers?.try_into().ok()?;
    three.is_sorted().then_some(three)
}

/// Default and most of "least default most".
fn bounds(text: &str) -> Option<Vec<String>> {
    let [_, default, most] = three(text)?;
    Some(vec![default.to_string(), most.to_string()])
}

/// Blocks, their size, and the three percentages of "low pressure high".
fn memory(text: &str) -> Option<Vec<String>> {
    let [low, pressure, high] = three(text)?;
    let blocks = high
        .checked_mul(PAGE / BLOCK)
        .filter(|blocks| *blocks > 0)?;
    let percent = |pages: u64| Some((pages.checked_mul(100)? / high).max(1));
    let values = [blocks, BLOCK, percent(low)?, percent(pressure)?, 100];
    Some(values.iter().map(ToString::to_string).collect())
}
