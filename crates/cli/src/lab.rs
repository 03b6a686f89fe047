//! `fullpipe lab`: lists, checks and writes experiments.
//!
//! Rule: a wrong request is refused before anything runs. The other subcommands are in `lab_run`,
//! `advise`, `explain` and `attacks`.

use std::{
    env,
    io::{self, Write},
};

use fullpipe_lab::{WholeFile, catalogue};

use crate::{
    advise,
    arguments::{LabAction, LabArguments, LabCheckArguments, LabNewArguments, LabSchemaArguments},
    attacks,
    experiments::refused,
    explain,
    failure::{Failure, note},
    lab_run,
    output::{Terminal, print},
};

/// Runs the subcommand.
pub fn run(arguments: LabArguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        None => list(terminal),
        Some(LabAction::Run(arguments)) => lab_run::run(&arguments, terminal),
        Some(LabAction::Advise(arguments)) => advise::run(&arguments, terminal),
        Some(LabAction::Explain(arguments)) => explain::run(&arguments, terminal),
        Some(LabAction::New(arguments)) => write_template(&arguments),
        Some(LabAction::Check(arguments)) => check(&arguments),
        Some(LabAction::Schema(LabSchemaArguments {})) => print(&fullpipe_lab::schema()),
        Some(LabAction::Attacks(arguments)) => attacks::run(&arguments, terminal),
    }
}

/// Writes the template to a new file; an existing file is never overwritten.
fn write_template(arguments: &LabNewArguments) -> Result<(), Failure> {
    let given = &arguments.name;
    let file = match given.extension() {
        Some(ending) if ending == "toml" => given.clone(),
        Some(_) | None => {
            let mut name = given.clone().into_os_string();
            name.push(".toml");
            name.into()
        }
    };
    let shown = file.display();
    let Some(name) = file.file_stem().and_then(|stem| stem.to_str()) else {
        return Err(Failure::usage(format!(
            "{shown}: this path names no file; give a name in UTF-8 such as mine.toml"
        )));
    };
    let created = WholeFile::create_new(&file).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("{shown} already exists; choose another name"))
        }
        io::ErrorKind::NotFound => Failure::usage(format!(
            "{shown}: its folder does not exist; create it first"
        )),
        _ => Failure::failed(format!("{shown}: {error}")),
    });
    let created = created?;
    created
        .writer()
        .write_all(fullpipe_lab::template(name).as_bytes())
        .and_then(|()| created.finish())
        .map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
    let at = match file
        .parent()
        .is_some_and(|folder| folder.as_os_str().is_empty())
    {
        true => format!("./{shown}"),
        false => shown.to_string(),
    };
    print(&format!(
        "{shown} is written; run it: fullpipe lab run {at}"
    ))
}

/// Prints every mistake of every file on standard error, one line each.
fn check(arguments: &LabCheckArguments) -> Result<(), Failure> {
    let here = env::current_dir()?;
    let mut wrong = false;
    for name in &arguments.experiments {
        let found = match catalogue::find(name, &here) {
            Ok(found) => found,
            Err(error) => {
                wrong = true;
                note(error);
                continue;
            }
        };
        match found.check() {
            Ok(experiment) => print(&format!(
                "{}: {} rows, no mistake",
                found.file,
                experiment.rows.len()
            ))?,
            Err(mistakes) => {
                wrong = true;
                for mistake in mistakes {
                    note(mistake);
                }
            }
        }
    }
    match wrong {
        true => Err(Failure::Refused),
        false => Ok(()),
    }
}

fn list(terminal: &Terminal) -> Result<(), Failure> {
    let here = env::current_dir()?;
    let mut text = String::new();
    for found in catalogue::all(&here).map_err(refused)? {
        let experiment = found.parse().map_err(refused)?;
        let first = format!(
            "{:<16} {:>2} rows  ",
            experiment.name,
            experiment.rows.len()
        );
        let words = format!("{} ({})", experiment.title, found.file);
        terminal.layout.paragraph(&mut text, &first, 26, &words);
    }
    print(&text)
}
