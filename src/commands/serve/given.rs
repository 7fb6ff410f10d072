//! The flags of `serve`, made of the table of settings.

use clap::builder::PossibleValuesParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use server::configuration::forms::SettingForm;
use server::configuration::{GROUPS, SETTINGS, SettingRow};
use std::collections::BTreeMap;

/// Settings that were given as flags, by their keys.
pub struct Given(pub BTreeMap<&'static str, Vec<String>>);

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Given, clap::Error> {
        let mut given = BTreeMap::new();
        for row in &SETTINGS {
            if matches.value_source(row.flag) == Some(ValueSource::CommandLine) {
                let texts = matches.get_many::<String>(row.flag).into_iter().flatten().cloned();
                given.insert(row.key, texts.collect());
            }
        }
        Ok(Given(given))
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Given::from_arg_matches(matches)?.0);
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command.args(SETTINGS.iter().map(flag))
    }
    fn augment_args_for_update(command: Command) -> Command {
        Given::augment_args(command)
    }
}

fn flag(row: &'static SettingRow) -> Arg {
    let flag = Arg::new(row.flag)
        .long(row.flag)
        .value_name(row.form.value_name())
        .help(row.help)
        .help_heading(GROUPS[row.group])
        .action(if row.form.is_list() { ArgAction::Append } else { ArgAction::Set });
    let flag = match row.form {
        SettingForm::Word(words) => flag.value_parser(PossibleValuesParser::new(words)),
        form => flag.value_parser(move |text: &str| form.check(text).map(|()| text.to_string())),
    };
    if row.default.is_empty() { flag } else { flag.default_value(row.default) }
}
