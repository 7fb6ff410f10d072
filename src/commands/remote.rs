//! A database behind a server, with the interface of one in this process: one that another process has open, or that of a URL.

use super::Exit;
use clap::Args;
use database::entity::Hydrated;
use database::{Error, GremlinRows, Params, Quoted, RunningQuery, Summary, Value};
use server::beside::Beside;
use server::client::{Address, Rows, Security, is_url};
use server::{Client, ClientOptions};
use shell::{Interrupt, NameCounts, Names, StatementAnswer, Talk};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Code of a database that another process has open.
pub const OPEN: &str = "Tanglewood.ClientError.Database.AlreadyOpen";
/// Where the password is looked for that is not asked for.
const PASSWORD: &str = "TANGLEWOOD_PASSWORD";
/// Where the name is looked for that no flag gives.
const USER: &str = "TANGLEWOOD_USER";
/// Words of statements that may make new names.
const WRITING: [&str; 5] = ["CREATE", "MERGE", "SET", "CALL", "LOAD"];
/// Names that are counted one by one; of more only the names are told.
const COUNTED_MAX: usize = 200;

// How to come to a server. (No doc comment: it would become the command's own help.)
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Where a server has the database open")]
pub struct LogOn {
    /// User to log on as, if it asks for passwords; also TANGLEWOOD_USER. The password is asked for, or taken from TANGLEWOOD_PASSWORD
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Certificates (PEM) that bolt+s:// is checked against, in place of those that the system trusts
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
}

impl LogOn {
    fn name(&self) -> Option<String> {
        self.user.clone().or_else(|| std::env::var(USER).ok().filter(|name| !name.is_empty()))
    }
    fn credentials(&self, wanted: bool) -> Result<Option<(String, String)>, Exit> {
        let Some(name) = self.name() else {
            if wanted {
                let error = Error::new(
                    "Tanglewood.ClientError.Client.NoUser",
                    "the server that has the database open asks for a name and a password",
                );
                return Err(error.hint(format!("--user NAME, or {USER} and {PASSWORD}")).into());
            }
            return Ok(None);
        };
        if let Ok(password) = std::env::var(PASSWORD) {
            return Ok(Some((name, password)));
        }
        if !std::io::stderr().is_terminal() {
            let error = Error::new(
                "Tanglewood.ClientError.Client.NoPassword",
                format!("no password is given for {name}"),
            );
            return Err(error
                .hint(format!("{PASSWORD} holds it where there is no terminal to ask at"))
                .into());
        }
        let password = rpassword::prompt_password(format!("Password for {name}: "))?;
        Ok(Some((name, password)))
    }
    /// The server that has the folder open whose error this is; the error itself where no server says that it does.
    pub fn beside(&self, folder: &Path, refused: Error, timeout: Option<Duration>) -> Result<Remote, Exit> {
        if refused.code != OPEN {
            return Err(refused.into());
        }
        let holder = holder(folder);
        let Some(found) = Beside::find(folder, holder) else { return Err(refused.into()) };
        let security = found.certificate.map_or(Security::Plain, Security::Pinned);
        let address = Address { host: found.bolt.ip().to_string(), port: found.bolt.port(), security };
        self.connect(&address, found.passwords, timeout)
    }
    /// As [`LogOn::beside`], and says so.
    pub fn beside_said(
        &self,
        folder: &Path,
        refused: Error,
        timeout: Option<Duration>,
    ) -> Result<Remote, Exit> {
        let remote = self.beside(folder, refused, timeout)?;
        world::files::say(format_args!("note: a server has {} open; it is asked", folder.display()));
        Ok(remote)
    }
    /// The server of a URL.
    pub fn at(&self, url: &str, timeout: Option<Duration>) -> Result<Remote, Exit> {
        let mut address = Address::parse(url)?;
        if let Security::Trusted(file) = &mut address.security {
            file.clone_from(&self.tls_ca);
        }
        self.connect(&address, false, timeout)
    }
    fn connect(&self, address: &Address, passwords: bool, timeout: Option<Duration>) -> Result<Remote, Exit> {
        let credentials = self.credentials(passwords)?;
        let client = Client::connect(address, ClientOptions { credentials, database: None, timeout })?;
        Ok(Remote { client, version: 0 })
    }
}

/// The URL that stands in place of a folder, if one does.
pub fn url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| is_url(text))
}

/// The process that wrote its number into the folder's lock.
fn holder(folder: &Path) -> Option<u32> {
    world::files::read_text(&durable::lock_path(folder)).ok()?.trim().parse().ok()
}

/// A conversation with a server.
pub struct Remote {
    client: Client,
    /// Counts what may have made new names.
    version: u64,
}

/// Titles and rows.
type TitledRows = (Vec<Arc<str>>, Vec<Vec<Value>>);

/// The rows of a statement, for printing.
struct RemoteRows<'c>(Rows<'c>);

impl StatementAnswer for RemoteRows<'_> {
    fn columns(&self) -> Vec<Arc<str>> {
        self.0.columns().to_vec()
    }
    fn is_endless(&self) -> bool {
        self.0.is_endless()
    }
    fn next_rows(&mut self) -> Result<Option<Vec<Vec<Hydrated>>>, Error> {
        self.0.next_rows()
    }
    fn summary(&self) -> Summary {
        self.0.summary()
    }
}

impl Remote {
    /// All rows of a statement, by the titles of its columns.
    pub fn table(&mut self, text: &str) -> Result<TitledRows, Error> {
        self.table_with(text, &Params::new())
    }
    /// The same with parameters.
    pub fn table_with(&mut self, text: &str, params: &Params) -> Result<TitledRows, Error> {
        let mut answer = self.client.run(text, params)?;
        let columns = answer.columns().to_vec();
        let mut rows = Vec::new();
        while let Some(more) = answer.next_rows()? {
            rows.extend(more.into_iter().map(|row| row.into_iter().map(plain).collect()));
        }
        Ok((columns, rows))
    }
    fn column(&mut self, text: &str) -> Result<Vec<String>, Error> {
        let (_, rows) = self.table(text)?;
        let first = |row: &Vec<Value>| row.first().and_then(Value::as_str).map(str::to_string);
        Ok(rows.iter().filter_map(first).collect())
    }
    fn count(&mut self, text: &str) -> Result<u64, Error> {
        let (_, rows) = self.table(text)?;
        let count = rows.first().and_then(|row| row.first()?.as_int());
        Ok(count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0))
    }
    /// The count of each name, by a query for each.
    fn counted(&mut self, names: &[String], query: impl Fn(Quoted<'_>) -> String) -> Result<Vec<u64>, Error> {
        let few = names.len() <= COUNTED_MAX;
        let count = |name: &String| if few { self.count(&query(Quoted(name))) } else { Ok(0) };
        names.iter().map(count).collect()
    }
}

pub(super) fn plain(value: Hydrated) -> Value {
    match value {
        Hydrated::Plain(value) => value,
        _ => Value::Null,
    }
}

impl Talk for Remote {
    fn query(&mut self, text: &str, params: &Params) -> Result<Box<dyn StatementAnswer + '_>, Error> {
        let text_upper = text.to_uppercase();
        if WRITING.iter().any(|word| text_upper.contains(word)) {
            self.version += 1;
        }
        Ok(Box::new(RemoteRows(self.client.run(text, params)?)))
    }
    fn gremlin(&mut self, _: &str, _: &Params) -> Result<GremlinRows, Error> {
        let code = "Tanglewood.ClientError.Client.Gremlin";
        Err(Error::new(code, "Bolt carries no Gremlin")
            .hint("a server answers it at the address of --gremlin"))
    }
    fn begin(&mut self) -> Result<(), Error> {
        self.client.begin()
    }
    fn commit(&mut self) -> Result<(), Error> {
        self.client.commit()
    }
    fn rollback(&mut self) -> Result<(), Error> {
        self.client.rollback()
    }
    fn in_transaction(&self) -> bool {
        self.client.in_transaction()
    }
    /// The server has done so, and the client rolled it back.
    fn break_transaction(&mut self) {}
    fn interrupter(&self) -> Interrupt {
        let interrupted = self.client.interrupter();
        Arc::new(move || interrupted.store(true, Ordering::Relaxed))
    }
    fn settle_interrupt(&mut self) {
        self.client.settle_interrupt();
    }
    fn names_version(&mut self) -> u64 {
        self.version
    }
    fn names(&mut self) -> Result<Names, Error> {
        Ok(Names {
            labels: self.column("CALL db.labels()")?,
            types: self.column("CALL db.relationshipTypes()")?,
            keys: self.column("CALL db.propertyKeys()")?,
        })
    }
    fn counts(&mut self, names: &Names) -> Result<NameCounts, Error> {
        Ok(NameCounts {
            nodes: self.count("MATCH (n) RETURN count(n)")?,
            labels: self.counted(&names.labels, |name| format!("MATCH (n:{name}) RETURN count(n)"))?,
            relationships: self.count("MATCH ()-[r]->() RETURN count(r)")?,
            types: self.counted(&names.types, |name| format!("MATCH ()-[r:{name}]->() RETURN count(r)"))?,
        })
    }
    fn running(&mut self) -> Result<Vec<RunningQuery>, Error> {
        let (columns, rows) = self.table("SHOW TRANSACTIONS")?;
        let at = |title: &str| columns.iter().position(|column| **column == *title);
        let columns = ["transactionId", "currentQuery", "username", "elapsedTime"].map(at);
        let shown = |row: Vec<Value>| {
            let text =
                |at: usize| columns[at].and_then(|at| row.get(at)?.as_str()).unwrap_or_default().to_string();
            let elapsed_ms = match columns[3].and_then(|at| row.get(at)) {
                Some(Value::Duration(time)) => {
                    u64::try_from(time.seconds).unwrap_or(0) * 1_000 + u64::from(time.nanos / 1_000_000)
                }
                _ => 0,
            };
            RunningQuery {
                id: text(0),
                text: text(1),
                tenant: String::new(),
                user: Some(text(2)).filter(|user| !user.is_empty()),
                running: true,
                elapsed_ms,
                cpu_ms: 0,
                rows: 0,
                bytes: 0,
            }
        };
        Ok(rows.into_iter().map(shown).collect())
    }
    fn kill(&mut self, id: &str) -> Result<bool, Error> {
        let quoted = id.replace('\\', "\\\\").replace('\'', "\\'");
        let text = match id.starts_with("query-") {
            true => format!("KILL QUERY '{quoted}'"),
            false => format!("TERMINATE TRANSACTION '{quoted}'"),
        };
        self.table(&text).map(|_| true)
    }
}
