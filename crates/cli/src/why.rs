//! `fullpipe why`: lists connections from captures and sockets from recordings, and their limits.
//!
//! Rule: for a file that is cut or damaged, the answer is partial and says so. Only a file of
//! which nothing can be read is an error. `fullpipe-diagnose` reads and infers; `fullpipe-fit`
//! makes the twin (simulated copy) of one connection.

mod account;
mod conditions;
mod live;
mod merged;
mod recordings;
mod records;
mod table;
mod twin;

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use fullpipe_captures::{Capture, Connections, Opened, TwinAnswer, connection_tables, run_facts};
use fullpipe_diagnose::{
    capture::{CaptureWarning, FlowFilter},
    facts::captured_ends,
};
use fullpipe_lab::units::{counted, grouped};
use fullpipe_perf::Stop;

use crate::{
    arguments::{ConnectionCondition, WhyArguments},
    failure::{Failure, note},
    files::{ParquetFolder, Pictures, keep_inputs},
    output::{Terminal, print},
    progress::Progress,
};
use recordings::Recording;

/// The captures and recordings that were read.
struct Inputs {
    captures: Vec<Capture>,
    recordings: Vec<Recording>,
    connections: Connections,
    are_all_read: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &WhyArguments, terminal: &Terminal) -> Result<(), Failure> {
    let is_standard_input = |path: &&PathBuf| path.to_str() == Some("-");
    if arguments.files.iter().filter(is_standard_input).count() > 1 {
        return Err(Failure::usage(
            "standard input was given twice; give `-` once",
        ));
    }
    keep_inputs(arguments)?;
    let files = Files::new(arguments)?;
    let stop = Stop::on_interrupt()?;
    let mut inputs = Inputs {
        captures: Vec::new(),
        recordings: Vec::new(),
        connections: Connections::new(arguments.flow, Connections::ROWS),
        are_all_read: true,
    };
    conditions::judge(&mut inputs.connections, &arguments.fail_on);
    if let Some(interface) = &arguments.interface {
        let filter = arguments.filter.as_ref();
        let time = arguments.seconds;
        let connections = &mut inputs.connections;
        let capture = live::read(interface, time, filter, connections, &stop)?;
        inputs.captures.push(capture);
        // End normally after Ctrl-C, because it is the usual end of a live capture.
        return finish(arguments, terminal, &inputs, &files);
    }
    read_files(arguments, terminal, &mut inputs, &stop)?;
    if inputs.captures.is_empty() {
        refuse_options_of_captures(arguments)?;
    }
    inputs.connections.merge();
    let answer = finish(arguments, terminal, &inputs, &files);
    if stop.is_raised() {
        let why = "the answer covers only what was read before the interruption";
        return Err(Failure::Interrupted(why.to_string()));
    }
    answer
}

/// Refuses the options that have no effect on recordings. Called if no capture was read.
fn refuse_options_of_captures(arguments: &WhyArguments) -> Result<(), Failure> {
    let options = [
        ("--filter", arguments.filter.is_some()),
        ("--flow", arguments.flow.is_some()),
        ("--brief", arguments.brief),
        ("--scenario", arguments.scenario.is_some()),
        ("--report", arguments.report.is_some()),
        ("--xplot", arguments.xplot.is_some()),
        ("--csv", arguments.csv),
        ("--parquet", arguments.parquet.is_some()),
    ];
    match options.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Failure::usage(format!(
            "{option} needs a capture, but only recordings of fullpipe watch were read"
        ))),
        None => Ok(()),
    }
}

/// Reads captures and recordings. For a file that cannot be read, prints an error and goes on.
/// Fails if no file can be read.
fn read_files(
    arguments: &WhyArguments,
    terminal: &Terminal,
    inputs: &mut Inputs,
    stop: &Stop,
) -> Result<(), Failure> {
    let names: Vec<_> = arguments.files.iter().map(|path| shown(path)).collect();
    let progress = Progress::new(terminal, "why", names.clone());
    let mut failures = Vec::new();
    for (place, path) in arguments.files.iter().enumerate() {
        let name = names[place].as_str();
        let advance = |share: f64| {
            progress.advance(place, share);
            match stop.is_raised() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let filter = arguments.filter.as_ref();
        if let Err(why) = read_file(path, name, filter, inputs, &advance, stop) {
            failures.push(format!("{name}: {why}"));
        }
        progress.advance(place, 1.0);
        if stop.is_raised() {
            break;
        }
    }
    drop(progress);
    if inputs.captures.is_empty() && inputs.recordings.is_empty() {
        return Err(Failure::failed(failures.join("; ")));
    }
    for failure in &failures {
        note(format_args!("error: {failure}"));
    }
    inputs.are_all_read = failures.is_empty();
    Ok(())
}

fn read_file(
    path: &Path,
    name: &str,
    filter: Option<&FlowFilter>,
    inputs: &mut Inputs,
    advance: &dyn Fn(f64) -> ControlFlow<()>,
    stop: &Stop,
) -> Result<(), String> {
    let opened = Opened::open(path).map_err(|error| error.to_string())?;
    match opened.recording() {
        Ok(recording) => {
            let recording = recordings::read(name, recording, stop)?;
            inputs.recordings.push(recording);
        }
        Err(capture) => {
            let connections = &mut inputs.connections;
            let read = fullpipe_captures::read(capture, filter, connections, advance);
            let (counters, warnings) = read.map_err(|error| error.to_string())?;
            inputs.captures.push(Capture::new(name, counters, warnings));
            connections.next_capture();
        }
    }
    Ok(())
}

/// The files that the command writes.
struct Files<'a> {
    pictures: Pictures<'a>,
    tables: Option<ParquetFolder<'a>>,
}

impl<'a> Files<'a> {
    /// Collects the files that `arguments` request.
    fn new(arguments: &'a WhyArguments) -> Result<Self, Failure> {
        let tables = arguments.parquet.as_deref().map(ParquetFolder::create);
        Ok(Self {
            pictures: Pictures::of_capture(arguments)?,
            tables: tables.transpose()?,
        })
    }

    /// Writes the files.
    fn write(&self, inputs: &Inputs, twin: Option<&TwinAnswer>) -> Result<(), Failure> {
        let Inputs {
            captures,
            connections,
            ..
        } = inputs;
        let one = connections.full().zip(connections.log());
        if one.is_none() && self.pictures.are_wanted() {
            return Err(Failure::usage(
                "--report and --xplot need one connection: name it with --flow N",
            ));
        }
        if let Some(folder) = &self.tables {
            let rows = connections.sorted();
            folder.write(
                "connections",
                &fullpipe_captures::connections(captures, &rows),
            )?;
            if let Some((flow, log)) = one {
                for (name, table) in connection_tables(log, &flow.outcome) {
                    folder.write(name, &table)?;
                }
            }
        }
        if let Some((flow, log)) = one.filter(|_| self.pictures.are_wanted()) {
            let name = captures[connections.full_capture()].name.as_str();
            let ends = match connections.merged() {
                Some((_, Ok(merged))) => merged.ends(),
                Some((_, Err(_))) | None => captured_ends(log, &flow.outcome),
            };
            let run = run_facts(name, flow, ends, log.omitted(), twin);
            self.pictures.write_run(&run)?;
        }
        Ok(())
    }
}

/// Writes the files, prints the result, and returns how the command ends.
fn finish(
    arguments: &WhyArguments,
    terminal: &Terminal,
    inputs: &Inputs,
    files: &Files<'_>,
) -> Result<(), Failure> {
    let connections = &inputs.connections;
    if let Some(number) = arguments.flow
        && connections.full().is_none()
    {
        let same = connections.same().iter().find(|same| same.0 == number);
        return Err(Failure::usage(match same {
            Some((_, earlier)) => format!(
                "--flow {number}: connection {earlier} of another capture is the same connection; \
                 --flow {earlier} merges both captures"
            ),
            None => format!(
                "--flow {number}: no connection has this number; the last connection is number {}",
                connections.count()
            ),
        }));
    }
    // After a capture on an interface, print the table, because the packets are gone.
    let is_one = connections.full().is_some() || connections.distinct() == 0;
    if arguments.brief && !is_one && arguments.interface.is_none() {
        return Err(Failure::usage(
            "--brief needs one connection: name it with --flow N",
        ));
    }
    let twin = twin::of(arguments, terminal, connections, &inputs.recordings)?;
    files.write(inputs, twin.as_ref())?;
    show(arguments, terminal, inputs, twin.as_ref())?;
    note_left_out(arguments, terminal, connections);
    conclude(arguments, inputs)
}

/// Returns the name of a file for messages.
fn shown(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "standard input".to_string(),
        _ => path.display().to_string(),
    }
}

/// Prints the result in the requested format.
fn show(
    arguments: &WhyArguments,
    terminal: &Terminal,
    inputs: &Inputs,
    twin: Option<&TwinAnswer>,
) -> Result<(), Failure> {
    let Inputs {
        captures,
        recordings,
        connections,
        ..
    } = inputs;
    let layout = terminal.layout;
    let rows = connections.sorted();
    if arguments.json {
        let json = records::json(captures, recordings, connections, &rows, twin)?;
        return print(&json);
    }
    if arguments.csv {
        warn(captures);
        return print(&fullpipe_captures::connections(captures, &rows).csv());
    }
    let verdict = twin.map_or(String::new(), |twin| twin::verdict(twin, layout));
    if let Some(flow) = connections.full().filter(|_| arguments.brief) {
        warn(captures);
        let names_limit = twin.is_some_and(|twin| twin.explained().is_some());
        return print(&account::brief(flow, &verdict, names_limit, layout));
    }
    if captures.is_empty() {
        let verdicts = recordings::verdicts(recordings, arguments.top, layout);
        return print(&(recordings::headings(recordings, layout) + &verdicts));
    }
    let mut text = table::captures(captures, layout);
    if !recordings.is_empty() {
        text += &recordings::headings(recordings, layout);
    }
    match connections.full() {
        Some(flow) => {
            text += &account::text(flow, &verdict, layout);
            text += &merged::text(captures, connections, layout);
            let number = connections.full().map(|flow| flow.number);
            let own = connections
                .apart()
                .iter()
                .filter(|pair| [pair.connection, pair.earlier].map(Some).contains(&number));
            for pair in own {
                text.push('\n');
                layout.paragraph(&mut text, "", 0, &table::apart(pair));
            }
            text += &twin.map_or(String::new(), |twin| twin::beside(twin, layout));
            if !recordings.is_empty() {
                text += &recordings::beside(recordings, connections, layout);
            }
        }
        None => {
            let is_filtered = arguments.filter.is_some();
            let top = arguments.top;
            text += &table::connections(connections, captures, &rows, top, is_filtered, layout);
            if !recordings.is_empty() {
                text += &recordings::lines(recordings, &rows, layout);
            }
        }
    }
    print(&text)
}

/// Prints warnings about the captures to standard error, for formats that have no room for them.
fn warn(captures: &[Capture]) {
    for capture in captures {
        for warning in &capture.warnings {
            note(format_args!("{}: {warning}", capture.name));
        }
    }
}

/// Prints a note if the requested rows leave connections out. JSON has the number of these
/// connections (`connections_left_out`).
fn note_left_out(arguments: &WhyArguments, terminal: &Terminal, connections: &Connections) {
    let left_out = connections.left_out();
    let kept = connections.distinct() - left_out;
    let is_table = !arguments.json && !arguments.csv && connections.full().is_none();
    let wants_all = is_table && (arguments.top == 0 || arguments.top as u64 > kept);
    let has_rows = arguments.csv || arguments.parquet.is_some() || wants_all;
    if left_out > 0 && has_rows && !terminal.quiet {
        note(format_args!(
            "the rows lack {}: only the {} connections that lost most time are kept; --filter \
             chooses fewer connections",
            counted(left_out, "connection"),
            grouped(kept)
        ));
    }
}

/// Returns how the command ends: with success, an error, or a condition of `--fail-on` that was
/// met.
fn conclude(arguments: &WhyArguments, inputs: &Inputs) -> Result<(), Failure> {
    let Inputs {
        captures,
        recordings,
        connections,
        are_all_read,
    } = inputs;
    if !are_all_read {
        return Err(Failure::Reported);
    }
    let mut is_met = false;
    for (place, condition) in arguments.fail_on.iter().enumerate() {
        let mut lines: Vec<String> = match condition {
            ConnectionCondition::Partial => {
                let partial = captures
                    .iter()
                    .filter(|capture| capture.warnings.iter().any(CaptureWarning::is_partial));
                partial
                    .map(|capture| {
                        format!(
                            "{}: partial: the capture was not read to its end",
                            capture.name
                        )
                    })
                    .collect()
            }
            ConnectionCondition::Empty => {
                let has_socket = recordings.iter().any(Recording::has_socket);
                let is_empty = connections.distinct() == 0 && !has_socket;
                let line = || "empty: no connection and no socket was found".to_string();
                is_empty.then(line).into_iter().collect()
            }
            condition => conditions::meeting(connections, place, condition),
        };
        lines.extend(recordings::meeting(recordings, condition));
        is_met |= !lines.is_empty();
        for line in lines {
            note(line);
        }
    }
    match is_met {
        true => Err(Failure::ConditionMet),
        false => Ok(()),
    }
}
