//! The reference page agrees with the flags: `docs/guide/command-line.md` is compared with the help texts.
//!
//! After a change of a flag: `TANGLEWOOD_WRITE_REFERENCE=1 cargo test -p tanglewood reference`.
#![allow(clippy::disallowed_methods)]

use super::CommandLine;
use clap::CommandFactory;
use server::configuration::{GROUPS, SETTINGS};
use std::fmt::Write;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guide/command-line.md");

fn page() -> String {
    let mut page = String::from(
        "# The command line\n\nWritten from the flags themselves; a test compares the two. Exit codes: 0 it went well, \
         1 the request failed, 2 the command line is wrong. Results go to standard output, errors to standard error as \
         `error[CODE]: message` with a `hint:` where one is known. Colours are for terminals only and obey `NO_COLOR`.\n",
    );
    let mut command = CommandLine::command().term_width(100);
    command.build();
    for sub in command.get_subcommands_mut().filter(|sub| sub.get_name() != "help") {
        let help = sub.clone().term_width(100).render_long_help().to_string();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        write!(page, "\n## {}\n\n```text\n{}\n```\n", sub.get_name(), help.join("\n").trim_end()).unwrap();
    }
    page
}

/// Looks whether a page is what it should be; writes it where that is asked for.
#[track_caller]
fn compare(path: &str, page: &str) {
    if std::env::var_os("TANGLEWOOD_WRITE_REFERENCE").is_some() {
        std::fs::write(path, page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == page, "{path} is out of date: run this test with TANGLEWOOD_WRITE_REFERENCE=1");
}

#[test]
fn the_reference_page_says_what_the_flags_say() {
    compare(PAGE, &page());
}

/// The table of settings as a page.
fn settings_page() -> String {
    let mut page = String::from(
        "# Settings\n\nWritten from the table of settings itself; a test compares the two. A setting stands in a file (`serve --config FILE`; `query.timeout` is `timeout` in \
         the section `[query]`), in a variable of the environment (`TANGLEWOOD_QUERY_TIMEOUT`: the flag in capitals) or in a flag; a flag goes before a variable, a variable before the file. \
         Those with * are read again at a SIGHUP. `tanglewood config check FILE` says whether a file is right; `SHOW SETTINGS` tells what holds. \
         `database` in the file names the folder of the database.\n",
    );
    for (group, title) in GROUPS.iter().enumerate() {
        write!(page, "\n## {title}\n\n| in the file | flag | in `SHOW SETTINGS` | default | what it means |\n|---|---|---|---|---|\n").unwrap();
        for row in SETTINGS.iter().filter(|row| row.group == group) {
            let default = if row.default.is_empty() { String::new() } else { format!("`{}`", row.default) };
            let star = if row.reloads { "*" } else { "" };
            let help = row.help.replace('|', "\\|");
            writeln!(
                page,
                "| `{}`{star} | `--{}` | `{}` | {default} | {help} |",
                row.key, row.flag, row.name
            )
            .unwrap();
        }
    }
    page
}

#[test]
fn the_page_of_settings_says_what_the_table_says() {
    compare(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guide/settings.md"), &settings_page());
}

#[test]
fn the_flags_do_not_contradict_each_other() {
    CommandLine::command().debug_assert();
}
