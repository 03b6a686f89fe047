//! Text forms of values in world files (descriptions of simulated networks): durations, seeds and
//! knobs (settings of the stack).
//!
//! Rule: values are written as in settings (`20ms`, `pool.blocks = 36`), and reading a text gives
//! back the value that was written.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use fullpipe_pool::Duration;

fn parse<E: serde::de::Error>(text: &str) -> Result<Duration, E> {
    text.parse()
        .map_err(|error| E::custom(format!("{text}: {error}")))
}

/// A duration with its unit: `"20ms"`.
pub(crate) mod duration {
    use super::*;

    pub fn serialize<S: Serializer>(length: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(length)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        parse(&String::deserialize(from)?)
    }
}

/// Pairs of durations: `[["1s", "200ms"]]`.
pub(crate) mod duration_pairs {
    use super::*;

    pub fn serialize<S: Serializer>(
        pairs: &[(Duration, Duration)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let texts = pairs
            .iter()
            .map(|(one, other)| [one.to_string(), other.to_string()]);
        to.collect_seq(texts)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(Duration, Duration)>, D::Error> {
        let texts: Vec<[String; 2]> = Vec::deserialize(from)?;
        let pairs = texts
            .iter()
            .map(|[one, other]| Ok((parse(one)?, parse(other)?)));
        pairs.collect()
    }
}

/// A seed: a number, or hexadecimal digits if it exceeds TOML's 63 bits.
pub(crate) mod seed {
    use super::*;

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Form {
        Number(i64),
        Hexadecimal(String),
    }

    pub fn serialize<S: Serializer>(seed: &u64, to: S) -> Result<S::Ok, S::Error> {
        let form = match i64::try_from(*seed) {
            Ok(number) => Form::Number(number),
            Err(_) => Form::Hexadecimal(format!("{seed:#x}")),
        };
        form.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let seed = match Form::deserialize(from)? {
            Form::Number(number) => u64::try_from(number).ok(),
            Form::Hexadecimal(text) => text
                .strip_prefix("0x")
                .and_then(|digits| u64::from_str_radix(digits, 16).ok()),
        };
        seed.ok_or_else(|| D::Error::custom("a seed is a number from 0 to 2^64 - 1"))
    }
}

/// The knobs of a configuration that differ from their defaults, by group.
pub(crate) mod knobs {
    use super::*;
    use fullpipe::Config;
    use std::collections::BTreeMap;
    use toml::Value;

    type Groups = BTreeMap<String, BTreeMap<String, Value>>;

    pub fn serialize<S: Serializer>(config: &Config, to: S) -> Result<S::Ok, S::Error> {
        let mut groups = Groups::new();
        for row in Config::rows() {
            let text = config.get(&row.name).unwrap_or_default();
            if text == row.default {
                continue;
            }
            let (group, field) = row.name.split_once('.').unwrap_or_default();
            let fields = groups.entry(group.to_owned()).or_default();
            fields.insert(field.to_owned(), value_of(text));
        }
        groups.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Config, D::Error> {
        let mut config = Config::default();
        for (group, fields) in Groups::deserialize(from)? {
            for (field, value) in fields {
                let text = match value {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                config
                    .set(&format!("{group}.{field}"), &text)
                    .map_err(D::Error::custom)?;
            }
        }
        Ok(config)
    }

    /// Returns a whole number as a TOML integer, `true` or `false` as a TOML boolean, and any other
    /// value as a string.
    fn value_of(text: String) -> Value {
        if let Ok(number) = text.parse() {
            Value::Integer(number)
        } else if let Ok(switch) = text.parse() {
            Value::Boolean(switch)
        } else {
            Value::String(text)
        }
    }
}
