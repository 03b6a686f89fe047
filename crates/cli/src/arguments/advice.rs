//! What `fullpipe lab advise` and `fullpipe size` are asked.
//!
//! Rule: amounts are read here; what they are for is not known.

use clap::Args;
use fullpipe_lab::units::parse_count;

use super::{Setting, setting};

/// An amount of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl std::str::FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_count(text)
            .filter(|bytes| *bytes > 0)
            .map(Self)
            .ok_or_else(|| "expected a number of bytes such as 7056 or 64K".to_string())
    }
}

/// Take the verdicts' advice, run again, and print what was predicted beside what came
///
/// Each step turns the knob that the verdict named and nothing else. It ends when the path is the limit, when no knob
/// moves what binds (an application, a processor, losses), when a step gains nothing, or when the memory is spent.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe lab advise linux-buffers-a\n  \
    fullpipe lab advise netburner --row \"Internet, 5 buffers\"\n  \
    fullpipe lab advise memory --memory 64K --json\n  \
    fullpipe lab advise ./mine.toml --set link.loss=1%")]
pub struct LabAdviseArguments {
    /// An experiment's name, or a file
    #[arg(value_name = "NAME|FILE")]
    pub experiment: String,
    /// Only this row
    #[arg(long, value_name = "LABEL")]
    pub row: Option<String>,
    /// Most packet memory that a host may be given
    #[arg(long, value_name = "BYTES")]
    pub memory: Option<Bytes>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Change a knob, a link or the transfer before the first step; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<Setting>,
    /// Print a JSON array, one object a row
    #[arg(long)]
    pub json: bool,
}
