//! The command line: commands and their exit codes. A flag is defined once, here or in its command's file; help and the reference page follow.
//!
//! Exit codes: 0 it went well, 1 the request failed, 2 the command line is wrong.

mod exit;
mod folder;
mod interrupted;
mod left_out;
mod logging;
mod traces;
mod units;

mod backup;
#[cfg(feature = "bench")]
mod bench;
mod check;
#[cfg(feature = "cluster")]
mod cluster;
mod completions;
mod config;
mod demo;
mod export;
mod history;
mod import;
#[cfg(feature = "kronos")]
mod kronos;
mod manual;
#[cfg(feature = "cluster")]
mod node;
mod query;
mod remote;
mod restore;
mod serve;
mod shell;
mod talking;
mod user;
mod version;

#[cfg(test)]
mod reference;

use clap::{Parser, Subcommand};
use exit::Exit;
#[cfg(not(feature = "bench"))]
use left_out::bench;
#[cfg(not(feature = "kronos"))]
use left_out::kronos;
#[cfg(not(feature = "cluster"))]
use left_out::{cluster, node};
use std::process::ExitCode;

/// A graph database: transactions, traversals and standing queries over one multi-version graph.
#[derive(Parser)]
#[command(
    name = "tanglewood",
    version,
    about,
    arg_required_else_help = true,
    after_help = "DB is a folder, or :memory: for a database that lives as long as the process.\nStart with: tanglewood demo"
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Demo),
    Import(import::Import),
    Export(export::Export),
    Query(query::Query),
    Shell(shell::Shell),
    Serve(serve::Serve),
    Config(config::Config),
    User(user::User),
    Check(check::Check),
    Backup(backup::Backup),
    Restore(restore::Restore),
    History(history::History),
    Cluster(cluster::Cluster),
    Node(node::Node),
    Kronos(kronos::Kronos),
    Bench(bench::Bench),
    Completions(completions::Completions),
    Manual(manual::Manual),
    /// Print the version
    Version,
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let outcome = match CommandLine::parse().command {
        Command::Demo(command) => command.run(),
        Command::Import(command) => command.run(),
        Command::Export(command) => command.run(),
        Command::Query(command) => command.run(),
        Command::Shell(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Config(command) => command.run(),
        Command::User(command) => command.run(),
        Command::Check(command) => command.run(),
        Command::Backup(command) => command.run(),
        Command::Restore(command) => command.run(),
        Command::History(command) => command.run(),
        Command::Cluster(command) => command.run(),
        Command::Node(command) => command.run(),
        Command::Kronos(command) => command.run(),
        Command::Bench(command) => command.run(),
        Command::Completions(command) => command.run(),
        Command::Manual(command) => command.run(),
        Command::Version => version::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(exit) => exit.report(),
    }
}
