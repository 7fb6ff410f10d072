//! `tanglewood serve`: the door for drivers.

use super::Exit;
use super::folder::Made;
use clap::Args;
use database::{Error, Options};
use server::{ServeError, ServeOptions, Server};
use std::io::Write;
use std::path::PathBuf;

/// Let drivers of Neo4j talk to a database over Bolt
///
/// Serves a database over Bolt until Ctrl-C or SIGTERM; makes the database if there is none. Without users no password is asked, so
/// only addresses of this machine are accepted.
#[derive(Args)]
#[command(after_help = "Example: tanglewood serve people.db --bolt 127.0.0.1:7687")]
pub struct Serve {
    /// Folder of the database, or :memory:
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Address for drivers of Neo4j; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7687")]
    bolt: String,
    /// Address for Gremlin clients (comes in a later version)
    #[arg(long, value_name = "ADDR")]
    gremlin: Option<String>,
    /// Address for browsers and HTTP clients (comes in a later version)
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
}

impl Serve {
    pub fn run(self) -> Result<(), Exit> {
        for (name, address) in [("Gremlin", &self.gremlin), ("HTTP", &self.http)] {
            if address.is_some() {
                let message = format!("this version does not serve {name} yet");
                let error = Error::new("Tanglewood.ClientError.Serve.NotYet", message);
                return Err(error.hint("leave the flag out; Bolt is served").into());
            }
        }
        let made = Made::open(&self.database, Options::default())?;
        let options = ServeOptions { bolt: self.bolt };
        let server = Server::start(made.database().clone(), &options).map_err(failed)?;
        let database = made.keep();
        let mut out = world::files::stdout();
        writeln!(out, "listening on bolt://{}", server.address())?;
        out.flush()?;
        server.wait_for_signal();
        drop(server);
        Ok(database.close()?)
    }
}

fn failed(error: ServeError) -> Exit {
    let code = match &error {
        ServeError::Address(_) => "Tanglewood.ClientError.Serve.Address",
        ServeError::NotLoopback(_) => "Tanglewood.ClientError.Serve.NotLoopback",
        ServeError::Io(..) => "Tanglewood.DatabaseError.Serve.Io",
    };
    let text = error.to_string();
    let (message, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
    let hint = (!hint.is_empty()).then(|| hint.to_string());
    Error { hint, ..Error::new(code, message) }.into()
}
