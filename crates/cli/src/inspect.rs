//! `fullpipe addr`, `fullpipe route` and `fullpipe neigh`: tables of running stacks.
//!
//! Rule: the stack of another process gives the answer (`fullpipe_host::RunningStack`); this file
//! only prints it, without control characters. A stack that ended between the list and the
//! question is left out. A stack that gives no answer is left out with a warning.

use std::{fmt::Write, io};

use fullpipe_host::{Question, RunningStack, name_of};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::{
    arguments::StackChoice,
    failure::{Failure, note},
    output::print,
};

#[cfg(test)]
mod tests;

/// Prints the addresses of the chosen stacks.
pub fn addresses(choice: &StackChoice) -> Result<(), Failure> {
    run(choice, Question::Addresses, "interfaces", interface_lines)
}

/// Prints the routes of the chosen stacks.
pub fn routes(choice: &StackChoice) -> Result<(), Failure> {
    run(choice, Question::Routes, "routes", route_lines)
}

/// Prints the neighbours of the chosen stacks.
pub fn neighbours(choice: &StackChoice) -> Result<(), Failure> {
    run(choice, Question::Neighbours, "neighbours", neighbour_lines)
}

/// An interface with its addresses.
#[derive(Debug, Deserialize)]
struct InterfaceAnswer {
    interface: u32,
    mac: Option<String>,
    mtu: u32,
    loopback: bool,
    addresses: Vec<AddressAnswer>,
}

#[derive(Debug, Deserialize)]
struct AddressAnswer {
    address: String,
    prefix_len: u8,
    state: String,
    temporary: bool,
}

#[derive(Debug, Deserialize)]
struct RouteAnswer {
    to: String,
    gateway: Option<String>,
    interface: u32,
    metric: u32,
    source: Option<String>,
    origin: String,
}

#[derive(Debug, Deserialize)]
struct NeighbourAnswer {
    address: String,
    mac: Option<String>,
    interface: u32,
    state: String,
}

/// Asks the chosen stacks and prints their answers. `key` names the answer in JSON.
fn run<T: DeserializeOwned>(
    choice: &StackChoice,
    question: Question,
    key: &str,
    lines: fn(&[T]) -> String,
) -> Result<(), Failure> {
    let (mut text, mut objects) = (String::new(), Vec::new());
    let mut is_answered = false;
    for stack in chosen(choice)? {
        let answer = match choice.pid {
            None => stack.ask(question),
            Some(_) => stack.ask_of_any_user(question),
        };
        let answer = match answer {
            Ok(answer) => answer,
            // It ended after the list was made.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
            Err(error) => {
                left_out(stack, &reason(&error));
                continue;
            }
        };
        let program = name_of(stack.pid);
        let printed = match choice.json {
            true => serde_json::from_str(&answer)
                .map(|answer| objects.push(object(stack, &program, key, answer))),
            false => parsed(&answer).map(|answer| {
                text += &heading(stack, &printable(&program, text_escape));
                text += &lines(&answer);
            }),
        };
        match printed {
            Ok(()) => is_answered = true,
            Err(error) => left_out(stack, &format!("its answer is malformed: {error}")),
        }
    }
    match (is_answered, choice.json) {
        (false, _) => Err(Failure::failed("no fullpipe stack has answered")),
        (true, true) => print(&printable(&json!(objects).to_string(), json_escape)),
        (true, false) => print(&text),
    }
}

/// Warns that `stack` is not in the output.
fn left_out(stack: RunningStack, why: &str) {
    note(format_args!(
        "warning: {stack} is left out: {}",
        printable(why, text_escape)
    ));
}

/// Returns the reason for which a stack gave no answer.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!(
                "{error}; only the same user and root are asked, or a process whose number is given"
            )
        }
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "it does not answer in time".to_string()
        }
        _ => error.to_string(),
    }
}

/// Reads an answer whose texts are printed.
fn parsed<T: DeserializeOwned>(answer: &str) -> serde_json::Result<Vec<T>> {
    serde_json::from_value(with_printable_texts(serde_json::from_str(answer)?))
}

fn with_printable_texts(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(printable(&text, text_escape)),
        Value::Array(values) => values.into_iter().map(with_printable_texts).collect(),
        Value::Object(object) => object
            .into_iter()
            .map(|(key, value)| (key, with_printable_texts(value)))
            .collect(),
        other => other,
    }
}

/// Returns `text` with each control character replaced by what `escape` makes of it: another
/// process chose the characters, and a terminal would obey them.
fn printable(text: &str, escape: fn(char) -> String) -> String {
    let mut printable = String::new();
    for letter in text.chars() {
        match letter.is_control() {
            true => printable += &escape(letter),
            false => printable.push(letter),
        }
    }
    printable
}

fn text_escape(letter: char) -> String {
    letter.escape_default().to_string()
}

/// JSON has control characters only in strings.
fn json_escape(letter: char) -> String {
    format!("\\u{:04x}", u32::from(letter))
}

/// Returns the stacks of the process that the user chose, or all stacks.
fn chosen(choice: &StackChoice) -> Result<Vec<RunningStack>, Failure> {
    let stacks = RunningStack::list().map_err(Failure::failed)?;
    let is_chosen = |stack: &RunningStack| choice.pid.is_none_or(|pid| pid == stack.pid);
    let stacks: Vec<_> = stacks.into_iter().filter(is_chosen).collect();
    match (stacks.is_empty(), choice.pid) {
        (false, _) => Ok(stacks),
        (true, Some(pid)) => Err(Failure::failed(format!(
            "process {pid} has no fullpipe stack that can be asked in this network namespace"
        ))),
        (true, None) => Err(Failure::failed(
            "no process in this network namespace has a fullpipe stack that can be asked; \
             fullpipe iperf --dev and fullpipe forward have one",
        )),
    }
}

fn object(stack: RunningStack, program: &str, key: &str, answer: Value) -> Value {
    let mut object = Map::new();
    object.insert("schema".to_string(), json!(fullpipe_lab::JSON_SCHEMA));
    object.insert("pid".to_string(), json!(stack.pid));
    object.insert("program".to_string(), json!(program));
    object.insert("stack".to_string(), json!(stack.number));
    object.insert(key.to_string(), without_nulls(answer));
    Value::Object(object)
}

/// Returns `value` without the keys whose value is `null`.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Array(values) => values.into_iter().map(without_nulls).collect(),
        Value::Object(object) => {
            let present = object.into_iter().filter(|(_, value)| !value.is_null());
            present
                .map(|(key, value)| (key, without_nulls(value)))
                .collect()
        }
        other => other,
    }
}

/// Returns the line above the answer of a stack.
fn heading(stack: RunningStack, program: &str) -> String {
    match stack.number {
        0 => format!("{program} ({}):\n", stack.pid),
        number => format!("{program} ({}), stack {number}:\n", stack.pid),
    }
}

fn interface_lines(interfaces: &[InterfaceAnswer]) -> String {
    let mut text = String::new();
    for of in interfaces {
        let _ = write!(text, "  if{}: mtu {}", of.interface, of.mtu);
        if of.loopback {
            text += ", loopback";
        }
        if let Some(mac) = &of.mac {
            let _ = write!(text, ", mac {mac}");
        }
        text.push('\n');
        for own in &of.addresses {
            let _ = write!(text, "    {}/{}", own.address, own.prefix_len);
            if own.state != "preferred" {
                let _ = write!(text, " {}", own.state);
            }
            if own.temporary {
                text += " temporary";
            }
            text.push('\n');
        }
    }
    text
}

fn route_lines(routes: &[RouteAnswer]) -> String {
    let mut text = String::new();
    for route in routes {
        let to = match route.to.ends_with("/0") {
            true => "default",
            false => &route.to,
        };
        let _ = write!(text, "  {to}");
        if let Some(gateway) = &route.gateway {
            let _ = write!(text, " via {gateway}");
        }
        let _ = write!(text, " dev if{}", route.interface);
        if let Some(source) = &route.source {
            let _ = write!(text, " src {source}");
        }
        if route.metric > 0 {
            let _ = write!(text, " metric {}", route.metric);
        }
        if route.origin == "router" {
            text += " announced by a router";
        }
        text.push('\n');
    }
    text
}

fn neighbour_lines(neighbours: &[NeighbourAnswer]) -> String {
    let mut text = String::new();
    for of in neighbours {
        let _ = write!(text, "  {} dev if{}", of.address, of.interface);
        if let Some(mac) = &of.mac {
            let _ = write!(text, " lladdr {mac}");
        }
        let _ = writeln!(text, " {}", of.state);
    }
    text
}
