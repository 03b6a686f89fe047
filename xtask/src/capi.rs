//! `cargo xtask capi`: the C header and library.
//!
//! The one rule: `fullpipe.h` is made from `crates/capi/src` by cbindgen, and from the tables of
//! knobs and limits; it is committed, and `cargo xtask tidy` compares it with them.

use std::fmt::Write;

use anyhow::{Context, Result};
use fullpipe::{Config, Limit, ReceiveLimit};

use crate::repository;

/// The header, below the root.
pub const HEADER: &str = "crates/capi/include/fullpipe.h";

/// Returns the text of the header.
///
/// # Errors
/// If cbindgen can't read the crate.
pub fn header() -> Result<String> {
    let folder = repository::root().join("crates/capi");
    let file = folder.join("cbindgen.toml");
    let mut config = cbindgen::Config::from_file(&file)
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("reading {}", file.display()))?;
    config.after_includes = Some(tables());
    // cbindgen follows the modules from the crate's root.
    let builder = cbindgen::Builder::new()
        .with_config(config)
        .with_src(folder.join("src/lib.rs"));
    let mut text = Vec::new();
    builder.generate().context("cbindgen")?.write(&mut text);
    Ok(String::from_utf8(text)?)
}

/// Returns the numbers of knobs and limits as enumerations of C.
fn tables() -> String {
    let mut text = format!(
        "\n/* Number of knobs. */\n#define FP_KNOBS {}\n\
         /* Number of limits of a sender. */\n#define FP_LIMIT_COUNT {}\n\
         /* Number of limits of a receiver. */\n#define FP_RECEIVE_LIMIT_COUNT {}\n\n",
        Config::COUNT,
        Limit::Processor as usize,
        ReceiveLimit::Processor as usize,
    );
    let knobs = Config::names().map(|name| name.replace('.', "_"));
    enumeration(&mut text, "fp_knob", "FP_KNOB", knobs);
    let limits = &Limit::ALL[..Limit::Processor as usize];
    let limits = limits.iter().map(|limit| limit.name().to_owned());
    enumeration(&mut text, "fp_limit", "FP_LIMIT", limits);
    let limits = &ReceiveLimit::ALL[..ReceiveLimit::Processor as usize];
    let limits = limits.iter().map(|limit| limit.name().to_owned());
    enumeration(&mut text, "fp_receive_limit", "FP_RECEIVE_LIMIT", limits);
    text
}

fn enumeration(text: &mut String, name: &str, prefix: &str, values: impl Iterator<Item = String>) {
    let _ = writeln!(text, "enum {name} {{");
    for (number, value) in values.enumerate() {
        let _ = writeln!(text, "    {prefix}_{} = {number},", value.to_uppercase());
    }
    let _ = writeln!(text, "}};\n");
}
