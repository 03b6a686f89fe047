//! `fullpipe why`: the connections of captures, and what limited them.
//!
//! Rule: a file that is cut or damaged gives a partial answer that says so; only a file of
//! which nothing can be read is an error. `fullpipe-diagnose` reads and infers, `fullpipe-fit`
//! makes the twin of one connection.

mod account;
mod captures;
mod connections;
mod live;
mod pictures;
mod records;
mod table;
mod tables;
mod twin;

use std::path::Path;

use fullpipe_diagnose::capture::CaptureWarning;
use fullpipe_perf::Stop;

use crate::{
    arguments::{ConnectionCondition, WhyArguments},
    failure::Failure,
    files::{ParquetFolder, Pictures},
    output::{Terminal, print},
    progress::Progress,
};
use captures::Capture;
use connections::Connections;
use twin::TwinAnswer;

/// Runs the subcommand.
pub fn run(arguments: &WhyArguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut connections = Connections::new(arguments.flow);
    let files = Files::new(arguments)?;
    let stop = Stop::on_interrupt()?;
    if let Some(interface) = &arguments.interface {
        let filter = arguments.filter.as_ref();
        let time = arguments.seconds;
        let capture = live::read(interface, time, filter, &mut connections, &stop)?;
        // Ctrl-C is the usual end.
        return finish(
            arguments,
            terminal,
            &[capture],
            &mut connections,
            &files,
            true,
        );
    }
    let names: Vec<_> = arguments.files.iter().map(|path| shown(path)).collect();
    let progress = Progress::new(terminal, "why", names.clone());
    let mut captures = Vec::new();
    let mut failures = Vec::new();
    for (place, path) in arguments.files.iter().enumerate() {
        let advance = |share: f64| progress.advance(place, share);
        let filter = arguments.filter.as_ref();
        match captures::read(path, filter, &mut connections, &advance, &stop) {
            Ok((counters, warnings)) => {
                captures.push(Capture::new(&names[place], counters, warnings));
                connections.next_capture();
            }
            Err(why) => failures.push(format!("{}: {why}", names[place])),
        }
        advance(1.0);
        if stop.is_raised() {
            break;
        }
    }
    drop(progress);
    if captures.is_empty() {
        return Err(Failure::failed(failures.join("; ")));
    }
    for failure in &failures {
        eprintln!("error: {failure}");
    }
    let are_all_read = failures.is_empty();
    let answer = finish(
        arguments,
        terminal,
        &captures,
        &mut connections,
        &files,
        are_all_read,
    );
    if stop.is_raised() {
        let why = "the answer is about what was read until then";
        return Err(Failure::Interrupted(why.to_string()));
    }
    answer
}

/// The files to write.
struct Files<'a> {
    pictures: Pictures<'a>,
    tables: Option<ParquetFolder<'a>>,
}

impl<'a> Files<'a> {
    /// The files that `arguments` ask for.
    fn new(arguments: &'a WhyArguments) -> Result<Self, Failure> {
        let tables = arguments.parquet.as_deref().map(ParquetFolder::create);
        Ok(Self {
            pictures: Pictures::of_capture(arguments)?,
            tables: tables.transpose()?,
        })
    }

    /// Writes them.
    fn write(
        &self,
        captures: &[Capture],
        connections: &Connections,
        twin: Option<&TwinAnswer>,
    ) -> Result<(), Failure> {
        let one = connections.full().zip(connections.log());
        if one.is_none() && self.pictures.are_wanted() {
            return Err(Failure::usage(
                "--report and --xplot need one connection: name it with --flow N",
            ));
        }
        if let Some(folder) = &self.tables {
            let rows = connections.sorted();
            folder.write("connections", &records::table(captures, &rows))?;
            if let Some((flow, log)) = one {
                for (name, table) in tables::of(log, &flow.outcome) {
                    folder.write(name, &table)?;
                }
            }
        }
        if let Some((flow, log)) = one.filter(|_| self.pictures.are_wanted()) {
            let name = captures[connections.full_capture()].name.as_str();
            self.pictures
                .write_run(&pictures::run(name, flow, log, twin))?;
        }
        Ok(())
    }
}

/// Prints the result, and ends the command.
fn finish(
    arguments: &WhyArguments,
    terminal: &Terminal,
    captures: &[Capture],
    connections: &mut Connections,
    files: &Files<'_>,
    are_all_read: bool,
) -> Result<(), Failure> {
    if let Some(number) = arguments.flow
        && connections.full().is_none()
    {
        return Err(Failure::usage(format!(
            "--flow {number}: the last connection is number {}",
            connections.count()
        )));
    }
    let twin = twin::of(arguments, terminal, connections)?;
    files.write(captures, connections, twin.as_ref())?;
    show(arguments, terminal, captures, connections, twin.as_ref())?;
    conclude(arguments, captures, connections, are_all_read)
}

/// Name of a file in messages.
fn shown(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "standard input".to_string(),
        _ => path.display().to_string(),
    }
}

/// Prints the result in the format that was asked for.
fn show(
    arguments: &WhyArguments,
    terminal: &Terminal,
    captures: &[Capture],
    connections: &mut Connections,
    twin: Option<&TwinAnswer>,
) -> Result<(), Failure> {
    let rows = connections.sorted();
    if arguments.json {
        return print(&records::json(captures, connections, &rows, twin)?);
    }
    if arguments.csv {
        warn(captures);
        return print(&records::table(captures, &rows).csv());
    }
    if let Some(flow) = connections.full().filter(|_| arguments.brief) {
        let verdict = twin.map_or(String::new(), |twin| twin.verdict(terminal.layout));
        warn(captures);
        return print(&account::brief(flow, &verdict, terminal.layout));
    }
    let mut text = table::captures(captures, terminal.layout);
    match connections.full() {
        Some(flow) => {
            let verdict = twin.map_or(String::new(), |twin| twin.verdict(terminal.layout));
            text += &account::text(flow, &verdict, terminal.layout);
            text += &twin.map_or(String::new(), |twin| twin.beside(terminal.layout));
        }
        None => {
            text +=
                &table::connections(connections, captures, &rows, arguments.top, terminal.layout)
        }
    }
    print(&text)
}

/// Prints what is wrong with the captures, for outputs that leave no room for it.
fn warn(captures: &[Capture]) {
    for capture in captures {
        for warning in &capture.warnings {
            eprintln!("{}: {warning}", capture.name);
        }
    }
}

/// The end of the command: an error, or a condition that was met.
fn conclude(
    arguments: &WhyArguments,
    captures: &[Capture],
    connections: &Connections,
    are_all_read: bool,
) -> Result<(), Failure> {
    if !are_all_read {
        return Err(Failure::Reported);
    }
    let mut is_met = false;
    for condition in &arguments.fail_on {
        let lines = match condition {
            ConnectionCondition::Partial => {
                let partial = captures
                    .iter()
                    .filter(|capture| capture.warnings.iter().any(CaptureWarning::is_partial));
                partial
                    .map(|capture| format!("{}: partial", capture.name))
                    .collect()
            }
            condition => connections.meeting(condition),
        };
        is_met |= !lines.is_empty();
        for line in lines {
            eprintln!("{line}");
        }
    }
    match is_met {
        true => Err(Failure::ConditionMet),
        false => Ok(()),
    }
}
