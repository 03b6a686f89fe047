//! The fields of a link as flags: `--rate 100mbit --loss 1%`.
//!
//! Rule: each flag is a row of the lab's table of link fields, with the row's name and doc. The lab
//! parses the values.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use fullpipe_lab::experiment::LINK_FIELDS;

use super::values::Setting;

/// The link fields that were given on the command line.
#[derive(Debug)]
pub struct LinkFlags(pub Vec<Setting>);

impl FromArgMatches for LinkFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = LINK_FIELDS.iter().filter_map(|field| {
            let value = matches.get_one::<String>(field.name)?;
            Some(Setting {
                name: field.name.to_string(),
                value: value.clone(),
            })
        });
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for LinkFlags {
    fn augment_args(command: Command) -> Command {
        LINK_FIELDS.iter().fold(command, |command, field| {
            let sentence = field.doc.trim_end_matches('.');
            let (name, help) = match value_name(field.expected) {
                Some(name) => (name, sentence.to_string()),
                None => ("VALUE", format!("{sentence}: {}", field.expected)),
            };
            command.arg(
                Arg::new(field.name)
                    .long(field.name)
                    .value_name(name)
                    .help(help)
                    .help_heading("Link (each value holds for both directions)"),
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Returns the placeholder that the help shows for a common kind of value. Returns `None` for other
/// kinds, for which the help describes the value instead.
fn value_name(expected: &str) -> Option<&'static str> {
    let kinds = [
        ("a time", "TIME"),
        ("a rate", "RATE"),
        ("a probability", "SHARE"),
        ("a number of bytes", "BYTES"),
        ("true or false", "BOOL"),
    ];
    let mut kinds = kinds.into_iter();
    let kind = kinds.find(|(start, _)| expected.starts_with(start))?;
    Some(kind.1)
}
