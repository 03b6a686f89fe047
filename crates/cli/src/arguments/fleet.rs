//! Arguments of `fullpipe fleet`.

use std::ffi::OsString;

use clap::Args;

/// Analyse many captures, and report which limits cost most time
///
/// The Python package fullpipe does the work: `fullpipe fleet …` runs `python3 -m fullpipe.fleet …`. The environment
/// variable FULLPIPE_PYTHON names another interpreter. `fullpipe fleet why --help` and `fullpipe fleet report --help` list the flags.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe fleet why 'captures/*.pcap.gz' --out dataset --explain 1\n  \
    fullpipe fleet report dataset\n  \
    fullpipe fleet report dataset --before dataset-of-last-week\n\n\
    To install the Python package, run this in the repository of fullpipe:\n  \
    pip install './python[fleet]'")]
pub struct FleetArguments {
    /// `why` makes a dataset from captures; `report` makes a page about a dataset. The arguments of `why` or `report` follow
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "why|report"
    )]
    pub given: Vec<OsString>,
}
