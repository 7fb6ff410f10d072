//! `tanglewood serve`: the door for drivers.

mod given;
mod running;

use super::Exit;
use super::config::variable;
use super::folder::Made;
use super::logging::Logging;
use super::traces::Traces;
use clap::Args;
use database::{Database, Error};
use given::Given;
use running::Running;
use server::configuration::forms::named;
use server::configuration::{Configuration, ConfigurationFaults, DATABASE_KEY};
use server::gremlin::door::PATH;
use server::gremlin::{DEFAULT_SOURCE, Manner, Sources};
use server::notify::{NOTIFY_VARIABLE, ServiceStage};
use server::trace_counts::TraceCounts;
use server::users::{Gate, JwtOptions, JwtVerifier};
use server::{
    EndSignal, GremlinServeOptions, GremlinServer, HttpServeOptions, HttpServer, ServeError, ServeOptions,
    Server, Tls,
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
        let opening = self.settings.options();
        let made = Made::open(&self.path, opening.clone())?;
        let options = self.serve_options(made.database())?;
        let others = self.sources().into_iter().map(|(_, path)| Made::open(&path, opening.clone()));
        let others: Vec<Made> = others.collect::<Result<_, _>>()?;
        made.database().set_slow_query(self.settings.time("log.slow_query"));
        made.database().set_door_settings(SETTINGS_DOOR, self.settings.settings());
        let databases: Vec<&Database> = others.iter().chain([&made]).map(Made::database).collect();
        let traces = Traces::start(&self.settings, &databases)?;
        let server = Server::start(made.database().clone(), &options).map_err(failed)?;
        let gremlin = self.gremlin_server(&server, made.database(), &others, &options)?;
        let http = self.http_server(&server, made.database(), &options, traces.counts())?;
        let signals = EndSignal::catch_with_reload()
            .map_err(|error| failed(ServeError::Io(server.address().to_string(), error)))?;
        let database = made.keep();
        database.on_note(|note| tracing::warn!(target: "tanglewood::server", note, "noticed"));
        let others: Vec<Database> = others.into_iter().map(Made::keep).collect();
        let mut running = Running::new(self, logging, (&database, &others), (&server, &options));
        self.greet(&server, gremlin.as_ref(), http.as_ref(), &options);
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
        drop((running, http, server, gremlin));
        others.into_iter().try_for_each(Database::close)?;
        database.close()?;
        drop(traces);
        Ok(())
    }

    /// Other databases for Gremlin clients, by name.
    fn sources(&self) -> Vec<(String, PathBuf)> {
        let named = self.settings.texts("gremlin.sources").iter().filter_map(|text| named(text).ok());
        named.map(|(name, path)| (name.to_string(), PathBuf::from(path))).collect()
    }

    /// The door for TinkerPop's drivers, where it is asked for.
    fn gremlin_server(
        &self,
        server: &Server,
        database: &Database,
        others: &[Made],
        options: &ServeOptions,
    ) -> Result<Option<GremlinServer>, Exit> {
        let Some(address) = self.settings.text("gremlin.address") else { return Ok(None) };
        let mut sources = Sources::from([(DEFAULT_SOURCE.to_string(), database.clone())]);
        for ((name, _), other) in self.sources().into_iter().zip(others) {
            if sources.insert(name.clone(), other.database().clone()).is_some() {
                let message = format!("two databases are called `{name}`");
                return Err(Error::new("Tanglewood.ClientError.Serve.Source", message).into());
            }
        }
        let gremlin = GremlinServeOptions {
            address: address.to_string(),
            manner: Manner {
                sources: sources.into(),
                gate: options.gate.clone(),
                timeout: self.settings.time("gremlin.timeout"),
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

    fn serve_options(&self, database: &Database) -> Result<ServeOptions, Exit> {
        let files = self.tls_files();
        let tls = files.map(|(certificate, key)| Tls::from_files(&certificate, &key)).transpose();
        Ok(ServeOptions {
            gate: self.gate(database)?,
            tls: tls.map_err(failed)?,
            limits: self.settings.limits(),
            ..ServeOptions::at(self.settings.text("bolt.address").unwrap_or_default())
        })
    }

    /// Whether there are users is what the graph's catalogue says, whatever files lie beside it. A user whose entry cannot be read counts.
    fn gate(&self, database: &Database) -> Result<Arc<Gate>, Exit> {
        let users = database.users();
        let jwt = self.jwt()?;
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

    /// Who looks at tokens of an identity provider.
    fn jwt(&self) -> Result<Option<JwtVerifier>, Exit> {
        let text = |key: &str| self.settings.text(key).unwrap_or_default().to_string();
        let Some(keys) = self.settings.path("jwt.keys") else { return Ok(None) };
        let (issuer, audience, user_claim) =
            (text("jwt.issuer"), text("jwt.audience"), text("jwt.user_claim"));
        let opened = JwtVerifier::open(JwtOptions { keys, issuer, audience, user_claim });
        opened.map(Some).map_err(|why| Error::new("Tanglewood.ClientError.Serve.Jwt", why).into())
    }

    /// Certificate and key.
    fn tls_files(&self) -> Option<(PathBuf, PathBuf)> {
        self.settings.path("tls.certificate").zip(self.settings.path("tls.key"))
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
            let sources: Vec<String> = self.sources().into_iter().map(|(name, _)| name).collect();
            let sources = [&[DEFAULT_SOURCE.to_string()], &sources[..]].concat().join(", ");
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

/// By which the database tells the settings of the file, the environment and flags from those of doors, which know better.
const SETTINGS_DOOR: &str = "0 settings";

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
