//! `tanglewood serve`: the door for drivers.

mod costs;

use super::folder::{Made, Opening};
use super::{Exit, units};
use clap::{Args, ValueEnum};
use costs::Costs;
use database::{Database, Error};
use server::beside::{Announcement, Beside};
use server::gremlin::door::PATH;
use server::gremlin::{DEFAULT_SOURCE, Manner, Sources};
use server::users::Gate;
use server::{
    EndSignal, GremlinServeOptions, GremlinServer, HttpServeOptions, HttpServer, ServeError, ServeOptions,
    Server, Tls,
};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Let drivers of Neo4j and TinkerPop talk to a database
///
/// Serves a database over Bolt, with --gremlin to Gremlin clients and with --http to everyone without a driver too, until Ctrl-C or SIGTERM; makes the database if there is none. If the database has users (`tanglewood user
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
    #[command(flatten)]
    opening: Opening,
    /// Address for drivers of TinkerPop (WebSocket and HTTP, path /gremlin), e.g. 127.0.0.1:8182
    #[arg(long, value_name = "ADDR")]
    gremlin: Option<String>,
    /// Another database that Gremlin clients may ask under this name of a traversal source; `g` is the first; may be given several times
    #[arg(long = "gremlin-source", value_name = "NAME=DB", requires = "gremlin", value_parser = named)]
    sources: Vec<(String, PathBuf)>,
    /// Has no effect any more: Gremlin always keeps several values of a property
    #[arg(long = "gremlin-multi-properties", requires = "gremlin", hide = true)]
    _multi_properties: bool,
    /// Time a traversal may take where its client does not say, such as 30s
    #[arg(long, value_name = "TIME", requires = "gremlin", value_parser = units::duration)]
    gremlin_timeout: Option<Duration>,
    /// Address for HTTP clients (Neo4j's Query API, server-sent events, /metrics), e.g. 127.0.0.1:7474
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// A site whose pages may ask over HTTP, such as https://app.example, or `*`; may be given several times
    #[arg(long = "http-cors", value_name = "ORIGIN", requires = "http", value_parser = site)]
    cors: Vec<String>,
    #[command(flatten)]
    costs: Costs,
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
        let made = Made::open(&self.database, self.opening.options())?;
        let options = self.options(made.database())?;
        let others = self.sources.iter().map(|(_, path)| Made::open(path, self.opening.options()));
        let others: Vec<Made> = others.collect::<Result<_, _>>()?;
        let server = Server::start(made.database().clone(), &options).map_err(failed)?;
        let gremlin = self.gremlin_server(&server, made.database(), &others, &options)?;
        let http = self.http_server(&server, made.database(), &options)?;
        let end = EndSignal::catch()
            .map_err(|error| failed(ServeError::Io(server.address().to_string(), error)))?;
        let database = made.keep();
        let announced = self.announce(&server, &database, &options);
        database.on_note(|note| eprintln!("note: {note}"));
        let others: Vec<Database> = others.into_iter().map(Made::keep).collect();
        self.greet(&server, gremlin.as_ref(), http.as_ref(), &options);
        end.wait();
        drop((announced, http, server, gremlin));
        others.into_iter().try_for_each(Database::close)?;
        Ok(database.close()?)
    }

    /// The door for TinkerPop's drivers, where it is asked for.
    fn gremlin_server(
        &self,
        server: &Server,
        database: &Database,
        others: &[Made],
        options: &ServeOptions,
    ) -> Result<Option<GremlinServer>, Exit> {
        let Some(address) = &self.gremlin else { return Ok(None) };
        let mut sources = Sources::from([(DEFAULT_SOURCE.to_string(), database.clone())]);
        for ((name, _), other) in self.sources.iter().zip(others) {
            if sources.insert(name.clone(), other.database().clone()).is_some() {
                let message = format!("two databases are called `{name}`");
                return Err(Error::new("Tanglewood.ClientError.Serve.Source", message).into());
            }
        }
        let gremlin = GremlinServeOptions {
            address: address.clone(),
            manner: Manner {
                sources: sources.into(),
                gate: options.gate.clone(),
                timeout: self.gremlin_timeout,
            },
            tls: options.tls.clone(),
            limits: options.limits.clone(),
        };
        GremlinServer::start_beside(server, gremlin).map(Some).map_err(failed)
    }

    /// The door for HTTP, where it is asked for.
    fn http_server(
        &self,
        server: &Server,
        database: &Database,
        options: &ServeOptions,
    ) -> Result<Option<HttpServer>, Exit> {
        let Some(address) = &self.http else { return Ok(None) };
        let http = HttpServeOptions {
            address: address.clone(),
            gate: options.gate.clone(),
            tls: options.tls.clone(),
            limits: options.limits.clone(),
            cors: self.cors.clone(),
        };
        HttpServer::start_beside(server, database.clone(), http).map(Some).map_err(failed)
    }

    fn options(&self, database: &Database) -> Result<ServeOptions, Exit> {
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls::from_files(certificate, key).map_err(failed)?),
            _ => None,
        };
        Ok(ServeOptions {
            gate: gate(self.auth, &self.database, database)?,
            tls,
            limits: self.costs.limits(),
            ..ServeOptions::at(&self.bolt)
        })
    }

    /// Tells commands of this machine how to come: `query`, `shell` and the like on the folder. Without it they say that it is open.
    fn announce(&self, server: &Server, database: &Database, options: &ServeOptions) -> Option<Announcement> {
        let beside = Beside {
            process: std::process::id(),
            bolt: server.address(),
            passwords: options.gate.asks(),
            certificate: options.tls.as_ref().map(|tls| tls.certificate().to_vec()),
        };
        let announced = beside.announce(database.path()?);
        announced
            .map_err(|error| eprintln!("note: no command of this machine finds the server: {error}"))
            .ok()
    }

    /// Where it listens, whom it lets in, how to come.
    fn greet(
        &self,
        server: &Server,
        gremlin: Option<&GremlinServer>,
        http: Option<&HttpServer>,
        options: &ServeOptions,
    ) {
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
        if let Some(gremlin) = gremlin {
            let scheme = if options.tls.is_some() { "wss" } else { "ws" };
            let sources: Vec<&str> = self.sources.iter().map(|(name, _)| name.as_str()).collect();
            let sources = [&[DEFAULT_SOURCE], &sources[..]].concat().join(", ");
            text +=
                &format!("  gremlin    {scheme}://{}{PATH}, traversal source {sources}\n", gremlin.address());
        }
        if let Some(http) = http {
            let scheme = if options.tls.is_some() { "https" } else { "http" };
            text += &format!("  http       {scheme}://{}/\n", http.address());
        }
        if asks && options.tls.is_none() && !address.ip().is_loopback() {
            text += "  warning    without TLS, passwords cross the network in clear text; see --tls-cert\n";
        }
        text += "  to end     Ctrl-C\n";
        let mut out = world::files::stdout();
        // A server serves whether or not somebody reads this.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// A site as browsers name it in `Origin`.
fn site(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match host {
        _ if text == "*" => Ok(text.to_string()),
        Some(host) if !host.is_empty() && !host.contains('/') => Ok(text.to_string()),
        _ => Err("write a scheme and a host, without a path, for example https://app.example".to_string()),
    }
}

/// `NAME=DB`
fn named(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_string(), path.into())),
        _ => Err("write NAME=DB, for example people=people.db".to_string()),
    }
}

/// Whether there are users is what the graph's catalogue says, whatever files lie beside it. A user whose entry cannot be read counts.
fn gate(auth: Option<Auth>, path: &Path, database: &Database) -> Result<Arc<Gate>, Exit> {
    let users = database.users();
    match (auth, users.is_empty()) {
        (Some(Auth::None), _) | (None, true) => Ok(Gate::open()),
        (Some(Auth::Password), true) => {
            let error = Error::new(
                "Tanglewood.ClientError.Serve.NoUsers",
                "passwords are to be asked for, but there are no users",
            );
            Err(error.hint(format!("`tanglewood user add {} NAME` makes one", path.display())).into())
        }
        (_, false) => Ok(Gate::of(users)),
    }
}

pub(super) fn failed(error: ServeError) -> Exit {
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
