//! RAM of a stack on the microcontroller and on this machine.
//!
//! The one rule: both figures come from `Stack::memory` of a stack that exists.

use anyhow::{Context, Result, anyhow};
use fullpipe::{
    Interface, MacAddress, Stack,
    device::{Capabilities, Medium},
    presets,
};

/// Bytes of each part, by name. The first part is the pool.
pub type Parts = Vec<(String, u32)>;

/// RAM on the microcontroller.
pub struct Emulated {
    /// Bytes of each part.
    pub parts: Parts,
    /// Largest depth of the call stack in `turn`.
    pub depth: u32,
}

/// Parses what the program `ram` prints: a line `name: bytes` for each part, and one for the depth.
///
/// # Errors
/// Fails if a line has no number, or no line has the depth.
pub fn parse(text: &str) -> Result<Emulated> {
    let (mut parts, mut depth) = (Vec::new(), None);
    for line in text.lines().filter(|line| *line != "end") {
        let (name, bytes) = line
            .split_once(": ")
            .context("the program printed a line without a colon")?;
        let bytes = bytes
            .parse()
            .with_context(|| format!("no number in `{line}`"))?;
        match name {
            "depth of turn" => depth = Some(bytes),
            _ => parts.push((name.to_owned(), bytes)),
        }
    }
    let depth = depth.context("the program printed no line with the stack depth")?;
    Ok(Emulated { parts, depth })
}

/// Returns the parts of a stack on this machine. `words` is a preset and its settings.
///
/// # Errors
/// Fails if a setting is refused.
pub fn on_this_machine(words: &str) -> Result<Parts> {
    let mut words = words.split(' ');
    let preset = presets::find(words.next().unwrap_or_default()).map_err(|error| anyhow!(error))?;
    let mut config = preset.config();
    for word in words {
        let (knob, value) = word.split_once('=').context("a setting without `=`")?;
        config.set(knob, value).map_err(|error| anyhow!(error))?;
    }
    let interface = Interface {
        mac: MacAddress([2, 0, 0, 0, 0, 1]),
        address: [10, 0, 0, 1].into(),
        prefix_len: 24,
        gateway: None,
        capabilities: Capabilities::plain(Medium::Ethernet, 1500),
    };
    let stack = Stack::new(&config, interface, [1; 16]).map_err(|error| anyhow!(error))?;
    let parts = stack.memory().into_iter();
    Ok(parts
        .map(|part| (part.name.to_owned(), part.bytes as u32))
        .collect())
}
