//! `cargo xtask capi`: the C header and library, and two tests of them. One test compiles and runs
//! the C program from a document about the TCP/IP stack uNet3; the user passes this document with
//! `--unet3`. The other test makes random calls with wrong arguments.
//!
//! The one rule: `fullpipe.h` is generated: by cbindgen from `crates/capi/src`, and from the tables
//! of knobs (settings) and limits. It is committed, and `cargo xtask tidy` fails if it is out of
//! date.

mod install;
mod library;
mod unet3;

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use fullpipe::{Config, Limit, ReceiveLimit};

use library::execute;
use xtask::repository;

pub use library::HEADER;

/// Install the C library, or run the program of the uNet3 document with it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask capi --install /usr/local       header, libraries, pkg-config file, CMake package, man page
  cargo xtask capi --unet3 DOCUMENT           the document's program, default and tuned, against iperf (as root)
  cargo xtask capi --unet3 DOCUMENT --seconds 200
  cargo xtask capi --misuse 1000000           random calls with wrong arguments, under sanitizers")]
pub struct CapiArguments {
    /// Build an optimised library and copy it, with its header, pkg-config file, CMake package and
    /// man page, below this folder
    #[arg(long, value_name = "PREFIX")]
    install: Option<PathBuf>,
    /// Compile the unchanged program of this uNet3 document, and run the program's tests against
    /// stock iperf (as root)
    #[arg(long, value_name = "DOCUMENT")]
    unet3: Option<PathBuf>,
    /// Length of each test of --unet3, in seconds
    #[arg(long, value_name = "S", default_value_t = 5)]
    seconds: u32,
    /// Make this many random calls with wrong arguments
    #[arg(long, value_name = "CALLS")]
    misuse: Option<u64>,
    /// The seed of --misuse
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
}

/// Runs each part that the arguments request.
///
/// # Errors
/// Fails if the arguments request nothing, or if a part fails.
pub fn run(arguments: &CapiArguments) -> Result<()> {
    let CapiArguments {
        install,
        unet3,
        seconds,
        misuse,
        seed,
    } = arguments;
    if install.is_none() && unet3.is_none() && misuse.is_none() {
        bail!("give --install PREFIX, --unet3 DOCUMENT or --misuse CALLS");
    }
    if let Some(prefix) = install {
        install::run(prefix)?;
    }
    if let Some(document) = unet3 {
        unet3::run(document, *seconds)?;
    }
    if let Some(calls) = misuse {
        let mut tests = Command::new(env!("CARGO"));
        tests.args(["test", "--package", "fullpipe-capi", "--test", "c_programs"]);
        tests.args(["--", "--nocapture", "random_calls"]);
        tests.env("FULLPIPE_MISUSE", format!("{calls} {seed}"));
        execute(&mut tests)?;
    }
    Ok(())
}

/// Returns the text of the header.
///
/// # Errors
/// Fails if cbindgen can't read the crate.
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
