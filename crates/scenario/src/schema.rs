//! The JSON schema of experiment files, for editors.
//!
//! Rule: every key and value, and the sentence about each field, comes from the tables that the
//! parser reads; only the sentences about whole tables are in this file. The schema accepts every
//! correct file. Only the parser compares places in a file with each other, for example to check
//! that a named host exists.

#[cfg(test)]
mod tests;

use fullpipe::{
    config::Config,
    presets::{PRESETS, alias::ALIASES},
};
use serde_json::{Map, Value, json};

use crate::{
    experiment::{
        CHOSEN_KEYS, CPU_FIELDS, DEVICE_FIELDS, FITTED_KEYS, FLOW_FIELDS, HOST_KEYS, IMPLIED_KEYS,
        LINK_FIELDS, OTHER_NAMES, OUTCOME, OtherName, ROW_KEYS, TOP_KEYS,
    },
    measured::{Outcome, Quantity},
};

/// Returns the schema (draft 7) of an experiment, indented.
pub fn schema() -> String {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "An experiment of fullpipe",
        "type": "object",
        "required": ["title", "hosts", "links"],
        "additionalProperties": false,
        "properties": keyed(TOP_KEYS, top),
        "definitions": {
            "scalar": {"type": ["string", "number", "boolean"]},
            "line": {"type": "string", "minLength": 1},
            "quantity": {"enum": quantities()},
            "figures": figures(),
            "host": closed(keyed(HOST_KEYS, host)),
            "link": link(),
            "flow": closed(flow()),
            "knobs": closed(knobs()),
            "settings": settings(),
            "value": closed(object([
                ("set", reference("settings")),
                ("seeds", seeds()),
            ])),
            "axis": axis(),
            "row": with(closed(keyed(ROW_KEYS, row)), "required", json!(["label"])),
        },
    });
    serde_json::to_string_pretty(&schema).expect("string keys and finite numbers")
}

fn top(key: &str) -> Value {
    match key {
        "title" => described(
            reference("line"),
            "Title: the point of the experiment, in a line.",
        ),
        "source" => described(reference("line"), "Source of the published results."),
        "labels" => described(reference("line"), "Meaning of the rows' labels."),
        "columns" => json!({"type": "array", "items": reference("quantity"),
            "description": "Quantities that the table shows."}),
        "seeds" => described(seeds(), "Number of seeds that each row is run with."),
        "hosts" => each("host", "Hosts, by name."),
        "links" => each("link", "Links, by name."),
        "switches" => json!({"type": "array", "items": {"type": "string"},
            "description": "Names of switches, which join more than two links."}),
        "workload" => described(
            reference("flow"),
            "The flow, or the fields that all flows share.",
        ),
        "flows" => each("flow", "Flows, by name."),
        "subject" => described(
            reference("line"),
            "The host to which a setting without a host's name applies.",
        ),
        "peers" => {
            json!({"type": "object", "description": "Results of other stacks: NAME.QUANTITY.\"ROW\".",
            "additionalProperties": {"type": "object", "propertyNames": reference("quantity"),
                "additionalProperties": {"type": "object", "additionalProperties": {"type": "number"}}}})
        }
        "matrix" => json!({"type": "object", "required": ["label"],
            "properties": {"label": reference("line")},
            "additionalProperties": reference("axis"),
            "description": "Axes; each combination of their values is a row."}),
        "rows" => json!({"type": "array", "items": reference("row"),
            "description": "The rows of the table."}),
        "stated" => described(lines(), "Settings that the source gives."),
        "fitted" | "chosen" | "implied" => origin(key),
        _ => json!({}),
    }
}

/// Returns the schema of a table of origins.
fn origin(key: &str) -> Value {
    let (keys, required, doc) = match key {
        "fitted" => (
            FITTED_KEYS,
            json!(["setting", "tried", "rows"]),
            "Parameters that were fitted to published results of some rows.",
        ),
        "chosen" => (
            CHOSEN_KEYS,
            json!(["settings", "reason"]),
            "Settings that neither the source nor a published result decided.",
        ),
        _ => (
            IMPLIED_KEYS,
            json!(["rows", "reason"]),
            "Published results that follow from a setting or from another result.",
        ),
    };
    let one = with(closed(keyed(keys, origin_field)), "required", required);
    json!({"type": "array", "items": one, "description": doc})
}

fn origin_field(key: &str) -> Value {
    match key {
        "setting" => described(reference("line"), "The parameter, as `--set` names it."),
        "settings" => described(lines(), "The settings, as `--set` names them."),
        "tried" => described(reference("line"), "Values that were tried: `steps of 1us`."),
        "rows" => described(lines(), "Labels of rows with published results."),
        "quantities" => described(
            json!({"type": "array", "items": {"enum": figure_names()}}),
            "Published quantities of these rows; by default all.",
        ),
        "elsewhere" => described(
            reference("line"),
            "Reason for another value in other experiments of the same document.",
        ),
        _ => described(reference("line"), "Reason, in a line."),
    }
}

fn host(key: &str) -> Value {
    match key {
        "preset" => {
            let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
            json!({"enum": names, "description": "Preset from which the host's knobs start."})
        }
        "set" => described(reference("knobs"), "Knobs that differ from the preset."),
        "device" => {
            let fields = DEVICE_FIELDS.iter();
            let fields = fields.map(|(name, expected)| (*name, scalar(expected)));
            described(
                closed(tree(fields)),
                "Offloads and rings of the host's device.",
            )
        }
        "cpu" => {
            let fields = CPU_FIELDS.iter();
            let fields = fields.map(|field| (field.name, sentence(field.doc, field.expected)));
            described(
                closed(tree(fields)),
                "Costs of the host's processor; 0 if absent.",
            )
        }
        "stack" => json!({"enum": ["fullpipe", "kernel"],
            "description": "The host's stack: fullpipe's, or that of this machine's kernel."}),
        "gso_max_segs" => described(
            reference("scalar"),
            "Most segments of a super-segment of a kernel host.",
        ),
        _ => reference("scalar"),
    }
}

fn row(key: &str) -> Value {
    match key {
        "label" => described(reference("line"), "Label of the row."),
        "set" => described(
            reference("settings"),
            "Settings that differ from the file's hosts, links and flows.",
        ),
        "seeds" => seeds(),
        "published" => described(reference("figures"), "Published results."),
        "baseline" => json!({"type": "boolean",
            "description": "The goodput of other rows is shown as a share of this row's goodput."}),
        "note" => described(
            reference("line"),
            "Note that is printed below the row's verdict.",
        ),
        _ => json!({}),
    }
}

fn link() -> Value {
    let fields = || {
        LINK_FIELDS
            .iter()
            .map(|field| (field.name, sentence(field.doc, field.expected)))
    };
    let mut all = tree(fields());
    for way in ["forward", "back"] {
        let doc = "The fields of a link, for one direction only.";
        all.insert(way.to_string(), described(closed(tree(fields())), doc));
    }
    let ends = json!({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2,
        "description": "The two hosts or switches at the ends of the link; `forward` is the direction from the first."});
    all.insert("between".to_string(), ends);
    with(closed(all), "required", json!(["between"]))
}

fn flow() -> Map<String, Value> {
    let fields = FLOW_FIELDS.iter();
    let mut all = tree(fields.map(|field| (field.name, sentence(field.doc, field.expected))));
    for (end, doc) in [
        ("from", "The host that writes."),
        ("to", "The host that reads."),
    ] {
        all.insert(end.to_string(), described(reference("line"), doc));
    }
    all
}

fn knobs() -> Map<String, Value> {
    let rows = Config::rows();
    let mut all = tree(rows.iter().map(|row| {
        let (low, high) = &row.legal;
        let range = format!("{low} to {high} {}, default {}", row.unit, row.default);
        (row.name.as_str(), sentence(&row.doc, &range))
    }));
    for alias in ALIASES {
        let doc = format!("Name in {}.", alias.preset);
        all.insert(alias.name.to_string(), scalar(&doc));
    }
    other_names(&mut all, OtherName::is_of_host);
    all
}

/// Adds other systems' names for fields of devices and workloads, but only those for which
/// `is_meant` returns true.
fn other_names(all: &mut Map<String, Value>, is_meant: fn(&OtherName) -> bool) {
    for known in OTHER_NAMES.iter().filter(|known| is_meant(known)) {
        let doc = format!("Name in {} for {}.", known.preset, known.path);
        all.insert(known.name.to_string(), scalar(&doc));
    }
}

/// Returns the schema of the settings of a row (scenario). A path that begins with the name of a
/// host, link or flow may continue in any way.
fn settings() -> Value {
    let fields = |names: &mut dyn Iterator<Item = &'static str>| {
        let names = names.map(|name| (name, reference("scalar")));
        json!({"type": "object", "properties": tree(names)})
    };
    let mut all = knobs();
    other_names(&mut all, |known| !known.is_of_host());
    let links = &mut LINK_FIELDS.iter().map(|field| field.name);
    all.insert("link".to_string(), described(fields(links), "Every link."));
    let flows = &mut FLOW_FIELDS.iter().map(|field| field.name);
    all.insert(
        "workload".to_string(),
        described(fields(flows), "Every flow."),
    );
    json!({"type": "object", "properties": all})
}

fn axis() -> Value {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let listed = object([
        ("set", json!({"anyOf": [reference("line"), texts]})),
        (
            "values",
            json!({"type": "array", "items": reference("scalar"), "minItems": 1}),
        ),
    ]);
    let listed = with(closed(listed), "required", json!(["set", "values"]));
    let named = json!({"type": "object", "additionalProperties": reference("value")});
    json!({"anyOf": [listed, named]})
}

fn figures() -> Value {
    let names = Quantity::ALL.iter();
    let mut all: Map<_, _> = names
        .map(|quantity| (quantity.name.to_string(), json!({"type": "number"})))
        .collect();
    let outcomes: Vec<_> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
    all.insert(OUTCOME.to_string(), json!({"enum": outcomes}));
    closed(all)
}

fn quantities() -> Vec<&'static str> {
    Quantity::ALL.iter().map(|quantity| quantity.name).collect()
}

fn figure_names() -> Vec<&'static str> {
    let quantities = quantities().into_iter();
    quantities.chain([OUTCOME]).collect()
}

fn lines() -> Value {
    json!({"type": "array", "items": reference("line"), "minItems": 1})
}

fn seeds() -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": 1000})
}

fn sentence(doc: &str, expected: &str) -> Value {
    scalar(&format!("{doc} ({expected})"))
}

fn scalar(doc: &str) -> Value {
    described(reference("scalar"), doc)
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/definitions/{name}")})
}

/// Returns `schema` with a description. Draft 7 ignores keys beside a `$ref`, so a reference is
/// wrapped in `allOf`.
fn described(schema: Value, doc: &str) -> Value {
    match schema.get("$ref") {
        Some(_) => json!({"allOf": [schema], "description": doc}),
        None => with(schema, "description", json!(doc)),
    }
}

fn with(mut schema: Value, key: &str, value: Value) -> Value {
    if let Some(object) = schema.as_object_mut() {
        object.insert(key.to_string(), value);
    }
    schema
}

fn each(definition: &str, doc: &str) -> Value {
    json!({"type": "object", "additionalProperties": reference(definition), "description": doc})
}

fn closed(properties: Map<String, Value>) -> Value {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn keyed(keys: &[&str], of: fn(&str) -> Value) -> Map<String, Value> {
    keys.iter().map(|key| (key.to_string(), of(key))).collect()
}

fn object<const N: usize>(parts: [(&str, Value); N]) -> Map<String, Value> {
    let parts = parts.into_iter();
    parts.map(|(key, value)| (key.to_string(), value)).collect()
}

/// Makes nested objects from dotted names.
fn tree<'a>(leaves: impl Iterator<Item = (&'a str, Value)>) -> Map<String, Value> {
    let mut root = Map::new();
    for (name, leaf) in leaves {
        let mut here = &mut root;
        let mut parts = name.split('.').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                here.insert(part.to_string(), leaf);
                break;
            }
            let table = here.entry(part).or_insert_with(|| closed(Map::new()));
            here = table["properties"]
                .as_object_mut()
                .expect("a table, because no field is the beginning of another's name");
        }
    }
    root
}
