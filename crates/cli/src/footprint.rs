//! `fullpipe footprint`: the memory of a stack, part by part, on this machine.
//!
//! Rule: a stack with the configuration is created, and each of its parts reports the bytes that it
//! allocated.

use std::fmt::Write;

use fullpipe::{
    Interface, MacAddress, MemoryPart, Stack,
    device::{Capabilities, Medium},
};
use fullpipe_lab::JSON_SCHEMA;
use serde_json::json;

use crate::{
    arguments::FootprintArguments,
    failure::Failure,
    output::{Terminal, print},
};

/// Runs the subcommand.
pub fn run(arguments: &FootprintArguments, _: &Terminal) -> Result<(), Failure> {
    let preset = fullpipe::presets::find(&arguments.preset)
        .map_err(|error| Failure::usage(format!("--preset: {error}")))?;
    let mut config = preset.config();
    for setting in &arguments.settings {
        let set = config.set(&setting.name, &setting.value);
        set.map_err(|error| Failure::usage(format!("--set: {error}")))?;
    }
    let interface = Interface {
        mac: MacAddress([2, 0, 0, 0, 0, 1]),
        address: [10, 0, 0, 1].into(),
        prefix_len: 24,
        gateway: None,
        capabilities: Capabilities::plain(Medium::Ethernet, 1500),
    };
    let stack = Stack::new(&config, interface, [0; 16]).map_err(Failure::usage)?;
    let parts = stack.memory();
    print(&match arguments.json {
        true => json(&parts),
        false => table(&parts),
    })
}

/// Returns the bytes of all parts except the pool, which is the first.
fn beside_pool(parts: &[MemoryPart]) -> usize {
    parts.iter().skip(1).map(|part| part.bytes).sum()
}

fn table(parts: &[MemoryPart]) -> String {
    let total = beside_pool(parts);
    let named = parts.iter().map(|part| (part.name, part.bytes));
    let mut text = String::new();
    for (name, bytes) in named.chain([("beside the pool", total)]) {
        if bytes > 0 {
            let _ = writeln!(text, "{name:<24} {bytes:>12} bytes");
        }
    }
    text
}

fn json(parts: &[MemoryPart]) -> String {
    let listed: Vec<_> = parts
        .iter()
        .map(|part| json!({ "name": part.name, "bytes": part.bytes }))
        .collect();
    let object = json!({
        "schema": JSON_SCHEMA,
        "pointer_bits": usize::BITS,
        "beside_pool": beside_pool(parts),
        "parts": listed,
    });
    format!("{object:#}\n")
}
