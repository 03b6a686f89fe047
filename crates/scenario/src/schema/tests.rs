//! Tests that the schema accepts the files that the parser accepts, and has the same keys.

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use super::schema;
use crate::template;

fn as_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => number
            .as_str()
            .replace('_', "")
            .parse::<i64>()
            .unwrap()
            .into(),
        DeValue::Float(number) => number.as_str().parse::<f64>().unwrap().into(),
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Datetime(date) => Value::String(date.to_string()),
        DeValue::Array(list) => list.iter().map(|value| as_json(value.get_ref())).collect(),
        DeValue::Table(table) => table_as_json(table),
    }
}

fn table_as_json(table: &DeTable<'_>) -> Value {
    let entries = table.iter();
    let entries = entries.map(|(key, value)| (key.get_ref().to_string(), as_json(value.get_ref())));
    Value::Object(entries.collect::<Map<_, _>>())
}

fn file(text: &str) -> Value {
    table_as_json(DeTable::parse(text).unwrap().get_ref())
}

/// Checks `value` against the keywords of draft 7 that the schema uses. Returns the first
/// violation.
fn judge(root: &Value, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    for (keyword, wanted) in schema.as_object().unwrap() {
        let parts = || wanted.as_array().unwrap().iter();
        let right = match keyword.as_str() {
            "$ref" => {
                let target = wanted.as_str().unwrap().trim_start_matches('#');
                judge(root, root.pointer(target).unwrap(), value, path)?;
                true
            }
            "allOf" => {
                parts().try_for_each(|part| judge(root, part, value, path))?;
                true
            }
            "anyOf" => parts().any(|part| judge(root, part, value, path).is_ok()),
            "enum" => parts().any(|known| known == value),
            "type" => match wanted {
                Value::Array(kinds) => kinds.iter().any(|kind| is(value, kind)),
                kind => is(value, kind),
            },
            "required" => parts().all(|key| value.get(key.as_str().unwrap()).is_some()),
            "minimum" => value.as_f64() >= wanted.as_f64(),
            "maximum" => value.as_f64() <= wanted.as_f64(),
            "minLength" => value.as_str().is_none_or(|text| !text.is_empty()),
            "minItems" => value.as_array().unwrap().len() as u64 >= wanted.as_u64().unwrap(),
            "maxItems" => value.as_array().unwrap().len() as u64 <= wanted.as_u64().unwrap(),
            "items" => {
                for item in value.as_array().unwrap() {
                    judge(root, wanted, item, path)?;
                }
                true
            }
            "properties" | "additionalProperties" | "propertyNames" => true,
            "$schema" | "title" | "description" | "definitions" => true,
            other => panic!("the schema uses {other}"),
        };
        if !right {
            return Err(format!("{path}: {keyword} {wanted}"));
        }
    }
    members(root, schema, value, path)
}

fn members(root: &Value, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    let Some(members) = value.as_object() else {
        return Ok(());
    };
    for (key, member) in members {
        let path = format!("{path}.{key}");
        if let Some(names) = schema.get("propertyNames") {
            judge(root, names, &Value::String(key.clone()), &path)?;
        }
        let known = schema.get("properties").and_then(|known| known.get(key));
        match (known, schema.get("additionalProperties")) {
            (Some(schema), _) => judge(root, schema, member, &path)?,
            (None, Some(Value::Bool(false))) => return Err(format!("{path}: not known")),
            (None, Some(schema @ Value::Object(_))) => judge(root, schema, member, &path)?,
            (None, Some(_) | None) => {}
        }
    }
    Ok(())
}

fn is(value: &Value, kind: &Value) -> bool {
    match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        other => panic!("the schema says {other}"),
    }
}

#[test]
fn every_experiment_and_the_template_are_right() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    judge(&schema, &schema, &file(&template("mine")), "mine").unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
    let mut judged = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        judge(&schema, &schema, &file(&text), path.to_str().unwrap()).unwrap();
        judged += 1;
    }
    assert!(judged >= 17, "only {judged} files");
}

#[test]
fn keys_that_the_parser_refuses_and_tables_that_lack_one_are_wrong() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mistakes");
    let mut judged = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let (mistake, _) = text.split_once('\n').unwrap();
        // Skip mistakes that only the parser finds: missing keys for which the file may have other
        // keys (`matrix` for `rows`, `flows` for `workload`), and keys that begin with a name from
        // the file.
        let judges = [
            "rows: is",
            "workload: is",
            "workload.from",
            ".set.",
            "values[",
        ];
        let about_keys = mistake.contains("no such ") || mistake.contains(": is missing: ");
        let of_a_host = mistake.contains("hosts.");
        if about_keys && (of_a_host || !judges.iter().any(|part| mistake.contains(part))) {
            judge(&schema, &schema, &file(&text), "f").expect_err(mistake);
            judged += 1;
        }
    }
    assert!(judged >= 15, "only {judged} files");
}
