//! The fields of a link as flags: `--rate 100mbit --loss 1%`.
//!
//! Rule: a flag is a row of the lab's table of fields, with its name and its
//! sentence, so that a new field is a flag without a line here. What a value
//! means is decided there too.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use fullpipe_lab::experiment::LINK_FIELDS;

use super::Setting;

/// The fields that were given.
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
            command.arg(
                Arg::new(field.name)
                    .long(field.name)
                    .value_name("VALUE")
                    .help(format!("{sentence}: {}", field.expected))
                    .help_heading("What the link does to every frame, each way"),
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
