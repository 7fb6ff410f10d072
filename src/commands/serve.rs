//! `tanglewood serve`: the interface for drivers.

mod given;
pub(super) mod parts;
mod running;
#[cfg(test)]
mod tests;

use super::Exit;
use super::config::variable;
use super::folder::Made;
use super::logging::Logging;
use super::traces::Traces;
use clap::Args;
use database::{Database, Error};
use given::Given;
use parts::Parts;
use running::Running;
use server::configuration::{Configuration, ConfigurationFaults, DATABASE_KEY};
use server::gremlin::interface::PATH;
use server::gremlin::{DEFAULT_SOURCE, Manner, Sources};
use server::notify::{NOTIFY_VARIABLE, ServiceStage};
use server::trace_counts::TraceCounts;
use server::users::{Gate, JwtVerifier};
use server::{
    EndSignal, GremlinServeOptions, GremlinServer, HttpServeOptions, HttpServer, ServeError, ServeOptions,
    Server,
};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Let drivers of Neo4j and TinkerPop talk to a database
///
/// Serves a database over Bolt, with --gremlin to Gremlin clients and with --http to everyone without a driver too, until Ctrl-C or SIGTERM; makes the database if there is none. If the database has users (`tanglewood user
/// add`), their passwords are asked for; without users no password is asked, so only addresses of this machine are accepted. With a
/// certificate every connection is wrapped in TLS (bolt+s://, neo4j+s://; bolt+ssc:// for one that you signed yourself).
///
/// Each flag can also stand in a file (--config) or in a variable of the environment: --query-timeout is `timeout` in the section [query], and
/// TANGLEWOOD_QUERY_TIMEOUT. A flag goes before a variable, and a variable before the file. A SIGHUP reads certificates, log levels and --slow-query again and opens the files of
/// the log anew.
#[derive(Args)]
#[command(after_help = "Example: tanglewood serve people.db --bolt 127.0.0.1:7687")]
pub struct Serve {
    /// Folder of the database, or :memory:; may be left out where the settings name one
    #[arg(value_name = "DB")]
    database: Option<PathBuf>,
    /// File with settings (TOML); `tanglewood config check` looks whether it is right
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    given: Given,
    /// Has no effect any more: Gremlin always keeps several values of a property
    #[arg(long = "gremlin-multi-properties", hide = true)]
    _multi_properties: bool,
}

/// A server that is being started: its settings, and where they come from.
struct Starting {
    settings: Configuration,
    file: Option<PathBuf>,
    flags: std::collections::BTreeMap<&'static str, Vec<String>>,
    path: PathBuf,
}

impl Serve {
    pub fn run(self) -> Result<(), Exit> {
        let Given(mut flags) = self.given;
        if let Some(path) = &self.database {
            flags.insert(DATABASE_KEY, vec![path.display().to_string()]);
        }
        let file = self.config.or_else(|| variable("TANGLEWOOD_CONFIG").map(PathBuf::from));
        let settings =
            Configuration::read(file.as_deref(), variable, flags.clone()).map_err(settings_failed)?;
        let Some(path) = settings.path(DATABASE_KEY) else {
            let error = Error::new("Tanglewood.ClientError.Serve.Settings", "no database is named");
            return Err(error
                .hint("write `tanglewood serve DB`, or `database = \"DB\"` in the file of --config")
                .into());
        };
        Starting { settings, file, flags, path }.run()
    }
}

impl Starting {
    fn run(self) -> Result<(), Exit> {
        let logging = Logging::start(&self.settings)?;
        let outcome = self.serve(&logging);
        if let (Err(Exit::Failed(error)), Some(_)) = (&outcome, self.settings.text("log.file")) {
            tracing::error!(target: "tanglewood::server", code = error.code, reason = error.message, "not served");
        }
        outcome
    }

    fn serve(&self, logging: &Logging) -> Result<(), Exit> {
        let opened = self.open()?;
        let signals = EndSignal::catch_with_reload()
            .map_err(|error| failed(ServeError::Io(opened.interfaces.server.address().to_string(), error)))?;
        let (interfaces, database, others) = opened.keep();
        let OpenInterfaces { server, http, gremlin, options, .. } = &interfaces;
        database.on_note(|note| tracing::warn!(target: "tanglewood::server", note, "noticed"));
        let mut running = Running::new(self, logging, (&database, &others), (server, options));
        self.greet(&interfaces);
        tracing::info!(
            target: "tanglewood::server",
            version = env!("CARGO_PKG_VERSION"),
            bolt = %server.address(),
            http = http.as_ref().map(|http| tracing::field::display(http.address())),
            gremlin = gremlin.as_ref().map(|gremlin| tracing::field::display(gremlin.address())),
            tls = options.tls.is_some(),
            asks_passwords = options.gate.asks(),
            "serving"
        );
        tell_manager(ServiceStage::Ready);
        running.until_end(signals);
        drop(running);
        let OpenInterfaces { server, http, gremlin, traces, .. } = interfaces;
        drop((http, server, gremlin));
        others.into_iter().try_for_each(Database::close)?;
        database.close()?;
        drop(traces);
        Ok(())
    }

    /// Opens the databases, and all interfaces.
    fn open(&self) -> Result<Opened, Exit> {
        let parts = Parts::of(&self.settings)?;
        let made = Made::open(&self.path, parts.options.clone())?;
        let others = parts.sources.iter().map(|(name, path)| {
            let other = Made::open(path, parts.options.clone())?;
            Ok((name.clone(), other))
        });
        let others: Vec<(String, Made)> = others.collect::<Result<_, Exit>>()?;
        let database = made.database();
        let options = self.serve_options(database, parts)?;
        database.set_slow_query(self.settings.time("log.slow_query"));
        database.set_interface_settings(SETTINGS_INTERFACE, self.settings.settings());
        let databases: Vec<&Database> =
            others.iter().map(|(_, other)| other).chain([&made]).map(Made::database).collect();
        let traces = Traces::start(&self.settings, &databases)?;
        let server = Server::start(database.clone(), &options).map_err(failed)?;
        let gremlin = self.gremlin_server(&server, database, &others, &options)?;
        let http = self.http_server(&server, database, &options, traces.counts())?;
        let sources = others.iter().map(|(name, _)| name.clone()).collect();
        Ok(Opened {
            interfaces: OpenInterfaces { http, gremlin, server, options, traces, sources },
            others,
            made,
        })
    }

    /// The interface for TinkerPop's drivers, where it is asked for.
    fn gremlin_server(
        &self,
        server: &Server,
        database: &Database,
        others: &[(String, Made)],
        options: &ServeOptions,
    ) -> Result<Option<GremlinServer>, Exit> {
        let Some(address) = self.settings.text("gremlin.address") else { return Ok(None) };
        let mut sources = Sources::from([(DEFAULT_SOURCE.to_string(), database.clone())]);
        sources.extend(others.iter().map(|(name, other)| (name.clone(), other.database().clone())));
        let gremlin = GremlinServeOptions {
            address: address.to_string(),
            manner: Manner {
                sources: sources.into(),
                gate: options.gate.clone(),
                timeout: self.settings.time("gremlin.timeout"),
            },
            tls: options.tls.clone(),
            limits: options.limits.clone(),
            cors: self.settings.texts("http.cors").to_vec(),
        };
        GremlinServer::start_beside(server, gremlin).map(Some).map_err(failed)
    }

    /// The interface for HTTP, where it is asked for.
    fn http_server(
        &self,
        server: &Server,
        database: &Database,
        options: &ServeOptions,
        traces: Option<Arc<TraceCounts>>,
    ) -> Result<Option<HttpServer>, Exit> {
        let Some(address) = self.settings.text("http.address") else { return Ok(None) };
        let http = HttpServeOptions {
            address: address.to_string(),
            gate: options.gate.clone(),
            tls: options.tls.clone(),
            limits: options.limits.clone(),
            cors: self.settings.texts("http.cors").to_vec(),
            metrics_for_everyone: self.settings.text("http.metrics") == Some("everyone"),
            traces,
        };
        HttpServer::start_beside(server, database.clone(), http).map(Some).map_err(failed)
    }

    fn serve_options(&self, database: &Database, parts: Parts) -> Result<ServeOptions, Exit> {
        Ok(ServeOptions {
            gate: self.gate(database, parts.jwt)?,
            tls: parts.tls,
            limits: parts.limits,
            ..ServeOptions::at(self.settings.text("bolt.address").unwrap_or_default())
        })
    }

    /// Whether there are users is what the graph's catalogue says, whatever files lie beside it. A user whose entry cannot be read counts.
    fn gate(&self, database: &Database, jwt: Option<JwtVerifier>) -> Result<Arc<Gate>, Exit> {
        let users = database.users();
        match (self.settings.text("auth"), users.is_empty()) {
            (Some("none"), _) | (None, true) => Ok(Gate::open()),
            (Some(_), true) => {
                let error = Error::new(
                    "Tanglewood.ClientError.Serve.NoUsers",
                    "passwords are to be asked for, but there are no users",
                );
                Err(error
                    .hint(format!("`tanglewood user add {} NAME` makes one", self.path.display()))
                    .into())
            }
            (_, false) => {
                Ok(jwt.map_or_else(|| Gate::of(users.clone()), |jwt| Gate::with_jwt(users.clone(), jwt)))
            }
        }
    }

    /// Where it listens, whom it lets in, how to come.
    fn greet(&self, interfaces: &OpenInterfaces) {
        let OpenInterfaces { server, gremlin, http, options, sources, .. } = interfaces;
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
            let names = sources.iter().map(String::as_str);
            let sources = [DEFAULT_SOURCE].into_iter().chain(names).collect::<Vec<_>>().join(", ");
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

/// The interfaces of a server, open.
struct OpenInterfaces {
    http: Option<HttpServer>,
    gremlin: Option<GremlinServer>,
    server: Server,
    options: ServeOptions,
    /// They are sent until it is dropped.
    traces: Traces,
    /// Names of other databases for Gremlin clients.
    sources: Vec<String>,
}

/// A server that can serve. Dropped, it takes back what it made: interfaces first, then databases that were not there before.
struct Opened {
    interfaces: OpenInterfaces,
    others: Vec<(String, Made)>,
    made: Made,
}

impl Opened {
    /// From now on the databases stay, whatever ends the process.
    fn keep(self) -> (OpenInterfaces, Database, Vec<Database>) {
        let others = self.others.into_iter().map(|(_, other)| other.keep());
        (self.interfaces, self.made.keep(), others.collect())
    }
}

/// By which the database tells the settings of the file, the environment and flags from those of interfaces, which know better.
const SETTINGS_INTERFACE: &str = "0 settings";

/// Tells systemd, or whoever started the server and listens.
fn tell_manager(stage: ServiceStage) {
    if let Some(socket) = variable(NOTIFY_VARIABLE)
        && let Err(error) = server::notify::tell(&socket, stage)
    {
        tracing::warn!(target: "tanglewood::server", %error, "the service manager cannot be told");
    }
}

/// Settings are wrong.
pub(super) fn settings_failed(faults: ConfigurationFaults) -> Exit {
    let error = Error::new("Tanglewood.ClientError.Serve.Settings", faults.to_string());
    error.hint("`tanglewood serve --help` tells which settings there are").into()
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
