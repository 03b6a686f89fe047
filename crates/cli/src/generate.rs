//! Shell completions and man pages, generated from the command line.

use std::fs;

use crate::{
    arguments::{self, CompletionsArguments, ManArguments},
    failure::Failure,
    output::print,
};

/// `fullpipe completions`.
pub fn completions(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut arguments::command(),
        "fullpipe",
        &mut script,
    );
    print(&String::from_utf8_lossy(&script))
}

/// `fullpipe man`.
pub fn man(arguments: &ManArguments) -> Result<(), Failure> {
    if let Some(folder) = &arguments.dir {
        let failed = |error| Failure::failed(format!("{}: {error}", folder.display()));
        fs::create_dir_all(folder).map_err(failed)?;
        return clap_mangen::generate_to(arguments::command(), folder).map_err(failed);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(arguments::command()).render(&mut page)?;
    print(&String::from_utf8_lossy(&page))
}
