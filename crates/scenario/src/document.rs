//! A TOML file whose tables and values keep their line and column.
//!
//! Rule: the reader of a table lists the keys that it accepts; every other key is a
//! mistake that names the nearest accepted one. This file does not interpret keys.

use std::{cell::RefCell, ops::Range};

use fullpipe_pool::knobs::nearest;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::mistake::Mistake;

/// A file's name and text, and the mistakes found in it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file name in messages.
    pub name: &'a str,
    /// The whole text.
    pub text: &'a str,
    /// Mistakes found so far. Reading continues after each.
    pub found: &'a RefCell<Vec<Mistake>>,
}

impl<'a> Source<'a> {
    /// Reads the text as TOML.
    ///
    /// # Errors
    /// Returns the last violation of TOML's grammar. Earlier violations are added to `found`.
    pub fn parse(self) -> Result<Spanned<DeTable<'a>>, Mistake> {
        let (document, errors) = DeTable::parse_recoverable(self.text);
        let mut mistakes = errors.iter().map(|error| {
            let span = error.span().unwrap_or_default();
            let culprit = self.text.get(span.clone()).unwrap_or_default();
            let quoted = !culprit.is_empty() && culprit.len() <= 40 && !culprit.contains('\n');
            let message = error.message();
            let what = match (message, quoted) {
                ("duplicate key", true) if culprit == "rows" => {
                    "`rows` is defined twice: write [[rows]] above each row".to_string()
                }
                ("duplicate key", true) => format!("`{culprit}` is defined twice: keep one"),
                (_, true) => format!("{message}: `{culprit}`"),
                (_, false) => message.to_string(),
            };
            self.mistake(span.start, self.key_near(span.start), what)
        });
        match mistakes.next_back() {
            Some(last) => {
                mistakes.for_each(|mistake| self.found(mistake));
                Err(last)
            }
            None => Ok(document),
        }
    }

    /// Returns the key before the `=` of the line at `offset`; empty if the key is not a bare key.
    fn key_near(self, offset: usize) -> &'a str {
        let before = self.text.get(..offset).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.text[start..].lines().next().unwrap_or_default();
        let (key, _) = line.split_once('=').unwrap_or_default();
        let key = key.trim();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if key.bytes().all(plain) { key } else { "" }
    }

    /// Adds a mistake to the list, so that reading continues.
    pub fn found(self, mistake: Mistake) {
        self.found.borrow_mut().push(mistake);
    }

    /// Creates a mistake about `key`, at byte `offset`.
    pub fn mistake(self, offset: usize, key: &str, what: impl std::fmt::Display) -> Mistake {
        Mistake::at(self.name, self.text, offset, key, what)
    }
}

/// A table of the file.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    source: Source<'a>,
    /// Path of the table, such as `hosts.client`; empty for the top table. While
    /// [`leaves`](Self::leaves) lists values, paths are relative to the listed table.
    path: String,
    /// Path from the top of the file, even if `path` is relative to another table.
    whole: String,
    table: &'a DeTable<'a>,
    at: usize,
}

/// A value of the file with its key.
#[derive(Clone, Debug)]
pub struct KeyValue<'a> {
    source: Source<'a>,
    /// The key with all tables above it: `hosts.client.preset`. If the value is from
    /// [`leaves`](Section::leaves), the path starts below the table whose leaves were listed.
    pub path: String,
    /// The key with all tables above it, from the top of the file.
    whole: String,
    /// The last part of the key.
    pub key: &'a str,
    key_at: usize,
    value: &'a DeValue<'a>,
    value_span: Range<usize>,
}

impl<'a> Section<'a> {
    /// The file's top table.
    pub fn top(source: Source<'a>, document: &'a Spanned<DeTable<'a>>) -> Self {
        Self {
            source,
            path: String::new(),
            whole: String::new(),
            table: document.get_ref(),
            at: document.span().start,
        }
    }

    /// Adds a mistake for every key of this table that is not one of `known`.
    pub fn allow_only(&self, known: &[&str]) {
        for entry in self.entries() {
            if !known.contains(&entry.key) {
                self.source
                    .found(entry.unknown("key", known.iter().copied()));
            }
        }
    }

    /// Returns the value of `result`; if `result` is a mistake, adds it to the list and returns
    /// `None`.
    pub fn keep<T>(&self, result: Result<T, Mistake>) -> Option<T> {
        result.map_err(|mistake| self.source.found(mistake)).ok()
    }

    /// Number of mistakes found so far.
    pub fn mistakes(&self) -> usize {
        self.source.found.borrow().len()
    }

    /// Returns the value of `key`; `None` if the table has no such key.
    pub fn optional(&self, key: &str) -> Option<KeyValue<'a>> {
        self.entries().into_iter().find(|entry| entry.key == key)
    }

    /// Returns the value of `key`.
    ///
    /// # Errors
    /// Fails if the key is missing. The message ends with `why`, the key's purpose.
    pub fn required(&self, key: &str, why: &str) -> Result<KeyValue<'a>, Mistake> {
        self.optional(key).ok_or_else(|| {
            let key = joined(&self.whole, key);
            self.source
                .mistake(self.at, &key, format!("is missing: {why}"))
        })
    }

    /// Returns the keys and values of this table, in the order of the file.
    pub fn entries(&self) -> Vec<KeyValue<'a>> {
        let mut entries: Vec<_> = self
            .table
            .iter()
            .map(|(key, value)| KeyValue {
                source: self.source,
                path: joined(&self.path, key.get_ref()),
                whole: joined(&self.whole, key.get_ref()),
                key: key.get_ref(),
                key_at: key.span().start,
                value: value.get_ref(),
                value_span: value.span(),
            })
            .collect();
        entries.sort_by_key(|entry| entry.key_at);
        entries
    }

    /// Returns every value that is not a table, from this table and the tables below it, in the
    /// order of the file. Paths start at this table.
    pub fn leaves(&self) -> Vec<KeyValue<'a>> {
        let mut leaves = Vec::new();
        let below = Self {
            path: String::new(),
            ..self.clone()
        };
        below.collect_leaves(&mut leaves);
        leaves
    }

    fn collect_leaves(&self, leaves: &mut Vec<KeyValue<'a>>) {
        for entry in self.entries() {
            match entry.as_section() {
                Some(section) => section.collect_leaves(leaves),
                None => leaves.push(entry),
            }
        }
    }

    /// Creates a mistake about this table as a whole.
    pub fn mistake(&self, what: impl std::fmt::Display) -> Mistake {
        self.source.mistake(self.at, &self.whole, what)
    }
}

impl<'a> KeyValue<'a> {
    /// Number of mistakes found so far.
    pub fn mistakes(&self) -> usize {
        self.source.found.borrow().len()
    }

    /// Creates a mistake about the value.
    pub fn mistake(&self, what: impl std::fmt::Display) -> Mistake {
        self.source
            .mistake(self.value_span.start, &self.whole, what)
    }

    /// Creates a mistake about the key.
    pub fn key_mistake(&self, what: impl std::fmt::Display) -> Mistake {
        self.source.mistake(self.key_at, &self.whole, what)
    }

    /// Creates the mistake "no such `what`" about the key. `what` is a kind of name, such as "key".
    pub fn unknown<'k>(&self, what: &str, known: impl Iterator<Item = &'k str> + Clone) -> Mistake {
        let hint = hint(self.key, known);
        self.key_mistake(format!("there is no such {what}; {hint}"))
    }

    /// Returns the value as a table; `None` if it has another type.
    pub fn as_section(&self) -> Option<Section<'a>> {
        Some(Section {
            source: self.source,
            path: self.path.clone(),
            whole: self.whole.clone(),
            table: self.value.as_table()?,
            at: self.value_span.start,
        })
    }

    /// Returns the value as a table.
    ///
    /// # Errors
    /// Fails if the value has another type.
    pub fn section(&self) -> Result<Section<'a>, Mistake> {
        self.as_section().ok_or_else(|| self.expected("a table"))
    }

    /// Returns the value as a string.
    ///
    /// # Errors
    /// Fails if the value has another type.
    pub fn string(&self) -> Result<&'a str, Mistake> {
        self.value.as_str().ok_or_else(|| self.expected("a string"))
    }

    /// Returns the value as `true` or `false`.
    ///
    /// # Errors
    /// Fails if the value has another type.
    pub fn boolean(&self) -> Result<bool, Mistake> {
        self.value
            .as_bool()
            .ok_or_else(|| self.expected("true or false"))
    }

    /// Returns the value as a number.
    ///
    /// # Errors
    /// Fails if the value has another type.
    pub fn number(&self) -> Result<f64, Mistake> {
        let number = match self.value {
            DeValue::Integer(_) | DeValue::Float(_) => self.scalar()?.parse().ok(),
            DeValue::String(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => None,
        };
        number
            .filter(|number: &f64| number.is_finite())
            .ok_or_else(|| self.expected("a number"))
    }

    /// Returns the value as `--set` accepts it: a string, a number, `true` or `false`.
    ///
    /// # Errors
    /// Fails if the value is a table, a list or a date.
    pub fn scalar(&self) -> Result<String, Mistake> {
        match self.value {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Boolean(truth) => Ok(truth.to_string()),
            DeValue::Float(number) => Ok(number.as_str().to_string()),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map(|number| number.to_string())
                .map_err(|_| self.expected("a whole number below 2^63")),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                Err(self.expected("a string, a number, true or false"))
            }
        }
    }

    /// Returns the items of a list. The paths of the items are numbered from 1.
    ///
    /// # Errors
    /// Fails if the value has another type.
    pub fn list(&self) -> Result<Vec<KeyValue<'a>>, Mistake> {
        let list = self
            .value
            .as_array()
            .ok_or_else(|| self.expected("a list"))?;
        Ok(list
            .iter()
            .enumerate()
            .map(|(index, value)| KeyValue {
                source: self.source,
                path: format!("{}[{}]", self.path, index + 1),
                whole: format!("{}[{}]", self.whole, index + 1),
                key: self.key,
                key_at: value.span().start,
                value: value.get_ref(),
                value_span: value.span(),
            })
            .collect())
    }

    fn expected(&self, what: &str) -> Mistake {
        let given = match self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.mistake(format!("must be {what}, not {given}"))
    }
}

/// Returns "did you mean `nearest`?", or every known name if none is near.
pub fn hint<'k>(name: &str, known: impl Iterator<Item = &'k str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("known are {}", known.collect::<Vec<_>>().join(", ")),
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_string()
    } else {
        format!("{path}.{key}")
    }
}
