//! Tests: the command line is consistent, its help has examples, and its errors are one line.

use super::{values::setting, *};

#[test]
fn the_command_line_is_consistent() {
    command().debug_assert();
}

#[test]
fn every_subcommand_shows_examples() {
    fn check(command: &clap::Command) {
        let help = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(
            help.contains("Examples:"),
            "`{}` shows none",
            command.get_name()
        );
        command.get_subcommands().for_each(check);
    }
    check(&command());
}

#[test]
fn a_setting_is_a_name_and_a_value() {
    let right = setting("pool.blocks = 64").unwrap();
    assert_eq!(
        (right.name.as_str(), right.value.as_str()),
        ("pool.blocks", "64")
    );
    for wrong in ["pool.blocks", "=64", "pool.blocks=", ""] {
        assert!(setting(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_the_parser_says_becomes_one_line() {
    for (arguments, expected) in [
        (
            vec!["fullpipe"],
            "a subcommand is missing; `fullpipe --help` lists them",
        ),
        (
            vec!["fullpipe", "lab", "run"],
            "the following required arguments were not provided: <NAME|FILE>...",
        ),
        (
            vec!["fullpipe", "knobs", "--jsn"],
            "unexpected argument '--jsn' found; tip: a similar argument exists: '--json'",
        ),
        (
            vec!["fullpipe", "lab", "run", "x", "--set", "y"],
            "invalid value 'y' for '--set <NAME=VALUE>': expected NAME=VALUE, such as \
             pool.blocks=64",
        ),
    ] {
        let error = command().try_get_matches_from(&arguments).unwrap_err();
        assert_eq!(one_line(&error), expected, "{arguments:?}");
    }
}
