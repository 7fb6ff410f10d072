//! The reference page is what the flags say: `docs/guide/command-line.md` is compared with the help texts.
//!
//! After a change of a flag: `TANGLEWOOD_WRITE_REFERENCE=1 cargo test -p tanglewood reference`.
#![allow(clippy::disallowed_methods)]

use super::CommandLine;
use clap::CommandFactory;
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

#[test]
fn the_reference_page_says_what_the_flags_say() {
    let page = page();
    if std::env::var_os("TANGLEWOOD_WRITE_REFERENCE").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(written == page, "{PAGE} is out of date: run this test with TANGLEWOOD_WRITE_REFERENCE=1");
}

#[test]
fn the_flags_do_not_contradict_each_other() {
    CommandLine::command().debug_assert();
}
