//! `tanglewood serve`: the door for drivers.

use super::Exit;
use super::folder::{self, Made, Opening};
use clap::{Args, ValueEnum};
use database::Error;
use server::users::Gate;
use server::{EndSignal, Limits, ServeError, ServeOptions, Server, Tls, Users};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Let drivers of Neo4j talk to a database over Bolt
///
/// Serves a database over Bolt until Ctrl-C or SIGTERM; makes the database if there is none. If the database has users (`tanglewood user
/// add`), their passwords are asked for; without users no password is asked, so only addresses of this machine are accepted. With a
/// certificate every connection is wrapped in TLS (bolt+s://, neo4j+s://; bolt+ssc:// for one that you signed yourself).
#[derive(Args)]
#[command(after_help = "Example: tanglewood serve people.db --bolt 127.0.0.1:7687")]
pub struct Serve {
    /// Folder of the database, or :memory:
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Address for drivers of Neo4j; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7687")]
    bolt: String,
    /// Ask for passwords or not; if not said: if there are users
    #[arg(long, value_name = "WHOM")]
    auth: Option<Auth>,
    /// Certificate (PEM, the server's own first) for TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key (PEM) of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Connections served at once; each has a thread
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections_max)]
    connections_max: usize,
    #[command(flatten)]
    opening: Opening,
    /// Address for Gremlin clients (comes in a later version)
    #[arg(long, value_name = "ADDR")]
    gremlin: Option<String>,
    /// Address for browsers and HTTP clients (comes in a later version)
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
}

/// Whom the server lets in.
#[derive(Clone, Copy, ValueEnum)]
enum Auth {
    /// Everyone on this machine
    None,
    /// Users with their passwords
    Password,
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
        let made = Made::open(&self.database, self.opening.options())?;
        let options = self.options()?;
        let server = Server::start(made.database().clone(), &options).map_err(failed)?;
        let end = EndSignal::catch()
            .map_err(|error| failed(ServeError::Io(server.address().to_string(), error)))?;
        let database = made.keep();
        self.greet(&server, &options);
        end.wait();
        drop(server);
        Ok(database.close()?)
    }

    fn options(&self) -> Result<ServeOptions, Exit> {
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls::from_files(certificate, key).map_err(failed)?),
            _ => None,
        };
        let limits = Limits { connections_max: self.connections_max, ..Limits::default() };
        Ok(ServeOptions {
            gate: gate(self.auth, &self.database)?,
            tls,
            limits,
            ..ServeOptions::at(&self.bolt)
        })
    }

    /// Where it listens, whom it lets in, how to come.
    fn greet(&self, server: &Server, options: &ServeOptions) {
        let (address, secure) = (server.address(), if options.tls.is_some() { "+s" } else { "" });
        let asks = options.gate.asks();
        let whom = if asks {
            "users with their passwords"
        } else {
            "everyone on this machine; no password is asked"
        };
        let mut text = format!(
            "listening on bolt{secure}://{address}\n  lets in    {whom}\n  drivers    neo4j{secure}://{address}, database `neo4j`\n"
        );
        if asks && options.tls.is_none() && !address.ip().is_loopback() {
            text += "  warning    without TLS, passwords cross the network in clear text; see --tls-cert\n";
        }
        text += "  to end     Ctrl-C\n";
        let mut out = world::files::stdout();
        // A server serves whether or not somebody reads this.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

fn gate(auth: Option<Auth>, database: &Path) -> Result<Arc<Gate>, Exit> {
    let users = (!folder::is_memory(database)).then(|| Users::of_database(database));
    let count = match &users {
        Some(users) => users.names().map_err(|error| unreadable(&error.to_string()))?.len(),
        None => 0,
    };
    match (auth, users) {
        (Some(Auth::None), _) => Ok(Gate::open()),
        (Some(Auth::Password), _) if count == 0 => {
            let error = Error::new(
                "Tanglewood.ClientError.Serve.NoUsers",
                "passwords are to be asked for, but there are no users",
            );
            Err(error.hint(format!("`tanglewood user add {} NAME` makes one", database.display())).into())
        }
        (_, Some(users)) if count > 0 => Ok(Gate::of(users)),
        _ => Ok(Gate::open()),
    }
}

fn unreadable(what: &str) -> Exit {
    Error::new("Tanglewood.DatabaseError.User.Damaged", what).into()
}

fn failed(error: ServeError) -> Exit {
    let code = match &error {
        ServeError::Address(_) => "Tanglewood.ClientError.Serve.Address",
        ServeError::NotLoopback(_) => "Tanglewood.ClientError.Serve.NotLoopback",
        ServeError::Tls(_) => "Tanglewood.ClientError.Serve.Tls",
        ServeError::Taken(_) => "Tanglewood.ClientError.Serve.AddressTaken",
        ServeError::Io(..) => "Tanglewood.DatabaseError.Serve.Io",
    };
    let text = error.to_string();
    let (message, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
    let hint = (!hint.is_empty()).then(|| hint.to_string());
    Error { hint, ..Error::new(code, message) }.into()
}
