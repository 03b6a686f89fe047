//! Shell completions and man pages, generated from the command line.

use std::{fs, path::Path};

use crate::{
    arguments::{self, CompletionsArguments, ManArguments},
    failure::Failure,
    files::write_whole,
    output::print,
};

/// Runs `fullpipe completions`.
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

/// Runs `fullpipe man`.
pub fn man(arguments: &ManArguments) -> Result<(), Failure> {
    if let Some(folder) = &arguments.dir {
        let failed = |error| Failure::failed(format!("{}: {error}", folder.display()));
        fs::create_dir_all(folder).map_err(failed)?;
        let mut command = arguments::command().disable_help_subcommand(true);
        command.build();
        return write_pages(command, folder);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(arguments::command()).render(&mut page)?;
    print(&String::from_utf8_lossy(&page))
}

/// Writes the pages of `command` and its subcommands into `folder`.
fn write_pages(command: clap::Command, folder: &Path) -> Result<(), Failure> {
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        write_pages(below.clone(), folder)?;
    }
    let page = clap_mangen::Man::new(command);
    let mut text = Vec::new();
    page.render(&mut text)?;
    write_whole("--dir", &folder.join(page.get_filename()), &text)
}
