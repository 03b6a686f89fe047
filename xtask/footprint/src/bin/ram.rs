//! Prints the memory of each part of a stack, and the depth of its call stack. The configuration is
//! in the command line. `cargo xtask footprint` runs this program in an emulator.
//!
//! Rule: the program constructs the stack and measures it; no number is estimated.
#![no_std]
#![no_main]

extern crate alloc;

#[path = "../board.rs"]
mod board;
#[path = "../depth.rs"]
mod depth;
#[path = "../host.rs"]
mod host;

use alloc::{format, string::String};

use fullpipe::{
    Config, Interface, MacAddress, Stack,
    config::KnobError,
    device::{Capabilities, Medium},
    presets,
};

/// Prints `part bytes` lines. The board's reset handler calls it.
fn main() {
    let mut buffer = [0; 512];
    let printed = match host::command_line(&mut buffer) {
        Some(line) => report(line),
        None => Err(String::from("no command line")),
    };
    match printed {
        Ok(()) => host::print("end\n\0"),
        Err(error) => host::print(&format!("error: {error}\n\0")),
    }
    host::exit();
}

/// Measures a stack and prints the results. `line` is the configuration: a preset's name, then
/// `knob=value` words.
fn report(line: &str) -> Result<(), String> {
    let config = config(line)?;
    let stack = stack(&config, 1)?;
    for part in stack.memory() {
        host::print(&format!("{}: {}\n\0", part.name, part.bytes));
    }
    let depth = depth::of_turns(stack, self::stack(&config, 2)?).ok_or("the transfer stalled")?;
    host::print(&format!("depth of turn: {depth}\n\0"));
    Ok(())
}

fn config(line: &str) -> Result<Config, String> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next().unwrap_or("default");
    let preset = presets::find(name).map_err(|error| format!("{error}"))?;
    let mut config = preset.config();
    for word in words {
        let (knob, value) = word.split_once('=').ok_or("no `=`")?;
        match config.set(knob, value) {
            // A knob of a feature that this build leaves out has no effect on its memory.
            Ok(()) | Err(KnobError::Unavailable { .. }) => {}
            Err(error) => return Err(format!("{error}")),
        }
    }
    Ok(config)
}

fn stack(config: &Config, host: u8) -> Result<Stack, String> {
    let interface = Interface {
        mac: MacAddress([2, 0, 0, 0, 0, host]),
        address: [10, 0, 0, host].into(),
        prefix_len: 24,
        gateway: None,
        capabilities: Capabilities::plain(Medium::Ethernet, 1500),
    };
    Stack::new(config, interface, [host; 16]).map_err(|error| format!("{error}"))
}
