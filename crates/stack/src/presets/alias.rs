//! The names that other systems give to what a knob bounds.
//!
//! Rule: an alias is a way of writing rows, so whatever it sets can be seen and
//! undone knob by knob. A name belongs to one system and means the same with
//! every preset. What a knob does is not known here.

#[cfg(test)]
mod tests;

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use fullpipe_pool::knobs::{KnobError, parse_count};

/// Payload of one of netburner's buffers, in which it counts everything.
const NETBURNER_BUFFER: u64 = 1_500;

/// How the value of an alias becomes the value of a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It is the knob's value.
    Same,
    /// It counts pieces of so many bytes each.
    Pieces(u64),
    /// Set is off and cleared is on.
    Inverted,
}

/// A name of another system for a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name, spelled as that system spells it.
    pub name: &'static str,
    /// The preset that is like that system.
    pub preset: &'static str,
    /// The knob, or with `device.` a setting of the laboratory's devices.
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

/// Every alias, system by system.
pub const ALIASES: &[Alias] = &[
    same("nuttx", "CONFIG_IOB_NBUFFERS", "pool.blocks"),
    same("nuttx", "CONFIG_IOB_BUFSIZE", "pool.block_size"),
    // What a throttled writer has to leave to those who receive.
    same("nuttx", "CONFIG_IOB_THROTTLE", "pool.receive_floor"),
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
];

/// The alias called `name`.
pub fn find(name: &str) -> Option<&'static Alias> {
    ALIASES.iter().find(|alias| alias.name == name)
}

/// The aliases of the knob called `knob` in the system that `preset` is like.
pub fn of_knob(preset: &str, knob: &str) -> Vec<&'static str> {
    ALIASES
        .iter()
        .filter(|alias| alias.preset == preset && alias.knob == knob)
        .map(|alias| alias.name)
        .collect()
}

impl Alias {
    /// The knob's value that `text` stands for.
    ///
    /// # Errors
    /// [`KnobError::NotAValue`] under the alias's own name. What the knob itself
    /// refuses is said by the knob.
    pub fn value(&self, text: &str) -> Result<String, KnobError> {
        let refused = |expected| KnobError::NotAValue {
            name: self.name.to_string(),
            given: text.to_string(),
            expected,
        };
        match self.meaning {
            Meaning::Same => Ok(text.to_string()),
            Meaning::Pieces(size) => parse_count(text)
                .and_then(|pieces| pieces.checked_mul(size))
                .map(|bytes| bytes.to_string())
                .ok_or_else(|| refused("a number of buffers such as 20")),
            Meaning::Inverted => match text.trim() {
                "true" | "1" => Ok("false".to_string()),
                "false" | "0" => Ok("true".to_string()),
                _ => Err(refused("true or false")),
            },
        }
    }
}
