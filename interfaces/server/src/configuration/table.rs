//! The one table of settings: help, `SHOW SETTINGS`, `tanglewood config check` and the guide's page are made of it.

use super::forms::SettingForm::{self, *};
use database::{PASSWORD_BYTES_MAX, SettingInfo};
use std::time::Duration;

/// Where a setting stands in the help.
pub const GROUPS: [&str; 5] =
    ["Interfaces", "What a database may take", "What queries may take", "What clients may cost", "Log"];

/// A setting of `tanglewood serve`.
#[derive(Debug)]
pub struct SettingRow {
    /// Its name in the file: `query.timeout` is `timeout` in the section `[query]`.
    pub key: &'static str,
    /// Its flag, without the dashes. Its variable is the same in capitals behind `TANGLEWOOD_`.
    pub flag: &'static str,
    /// Its name in `SHOW SETTINGS`.
    pub name: &'static str,
    /// Which texts it takes.
    pub form: SettingForm,
    /// The default; empty for none.
    pub default: &'static str,
    /// The help text.
    pub help: &'static str,
    /// One of [`GROUPS`], by its number.
    pub group: usize,
    /// Does a SIGHUP read it again?
    pub reloads: bool,
}

impl SettingRow {
    /// The variable of the environment.
    pub fn variable(&self) -> String {
        format!("TANGLEWOOD_{}", self.flag.to_uppercase().replace('-', "_"))
    }
    /// The setting with a value, for `SHOW SETTINGS`.
    pub(crate) fn info(&self, value: impl ToString) -> SettingInfo {
        let shown = match self.form {
            Path => (!self.default.is_empty()).to_string(),
            _ => self.default.to_string(),
        };
        SettingInfo {
            valid: self.form.description(),
            ..SettingInfo::new(self.name, value, shown, "", self.help)
        }
    }
}

const fn row(
    group: usize,
    (key, flag, name): (&'static str, &'static str, &'static str),
    form: SettingForm,
    default: &'static str,
    help: &'static str,
) -> SettingRow {
    SettingRow { key, flag, name, form, default, help, group, reloads: false }
}

const fn reloaded(row: SettingRow) -> SettingRow {
    SettingRow { reloads: true, ..row }
}

/// Upper bound of executors, so that a typo does not ask the system for a million threads.
const EXECUTORS_MAX: u64 = 1_024;
/// Connections at most; each has a thread.
const CONNECTIONS_MAX: u64 = 1_000_000;
/// Upper bound of buffered lines, or queries: room for all of them is allocated at once.
const QUEUE_MAX: u64 = 1_000_000;
/// The most that clocks may differ.
const LEEWAY_MAX: Duration = Duration::from_secs(300);

/// All settings, in the order of the help. [`super::DATABASE_KEY`] stands beside them.
pub static SETTINGS: [SettingRow; 54] = [
    row(
        0,
        ("bolt.address", "bolt", "server.bolt.listen_address"),
        Address,
        "127.0.0.1:7687",
        "Address for drivers of Neo4j; port 0 takes a free one",
    ),
    row(
        0,
        ("http.address", "http", "server.http.listen_address"),
        Address,
        "",
        "Address for HTTP clients (Neo4j's Query API, server-sent events, /metrics), such as 127.0.0.1:7474",
    ),
    row(
        0,
        ("gremlin.address", "gremlin", "tanglewood.gremlin.listen_address"),
        Address,
        "",
        "Address for drivers of TinkerPop (WebSocket and HTTP, path /gremlin), such as 127.0.0.1:8182",
    ),
    row(
        0,
        ("gremlin.sources", "gremlin-source", "tanglewood.gremlin.sources"),
        Sources,
        "",
        "Another database that Gremlin clients may ask under this name of a traversal source; `g` is the first; may be given several times",
    ),
    row(
        0,
        ("gremlin.timeout", "gremlin-timeout", "tanglewood.gremlin.timeout"),
        Time,
        "",
        "Time a traversal may take where its client does not say, such as 30s",
    ),
    row(
        0,
        ("auth", "auth", "tanglewood.auth"),
        Word(&["none", "password"]),
        "",
        "Ask for passwords, or let in everyone on this machine; if not said: ask if there are users",
    ),
    row(
        0,
        ("passwords.length_min", "password-length-min", "dbms.security.auth_minimum_password_length"),
        CountTo(PASSWORD_BYTES_MAX as u64),
        "8",
        "Characters that a new password has at least, the name of its user not counted; never fewer than 8",
    ),
    reloaded(row(
        0,
        ("tls.certificate", "tls-cert", "tanglewood.tls.certificate"),
        Path,
        "",
        "Certificate (PEM, the server's own first) for TLS",
    )),
    reloaded(row(
        0,
        ("tls.key", "tls-key", "tanglewood.tls.key"),
        Path,
        "",
        "Private key (PEM) of the certificate",
    )),
    reloaded(row(
        0,
        ("jwt.keys", "jwt-keys", "tanglewood.jwt.keys"),
        Path,
        "",
        "File with the public keys of an identity provider (JSON Web Key Set); users may then log on with its tokens",
    )),
    row(
        0,
        ("jwt.issuer", "jwt-issuer", "tanglewood.jwt.issuer"),
        Text,
        "",
        "The `iss` of its tokens, such as https://id.example",
    ),
    row(
        0,
        ("jwt.audience", "jwt-audience", "tanglewood.jwt.audience"),
        Text,
        "",
        "The `aud` of tokens that are meant for this server",
    ),
    row(
        0,
        ("jwt.user_claim", "jwt-user-claim", "tanglewood.jwt.user_claim"),
        Text,
        "sub",
        "The claim that names the user, who must be there",
    ),
    row(
        0,
        ("jwt.leeway", "jwt-leeway", "tanglewood.jwt.leeway"),
        TimeTo(LEEWAY_MAX),
        "5s",
        "Time by which the provider's clock and this one may differ: a token is good so long after its end; 5m at most",
    ),
    row(
        0,
        ("http.cors", "http-cors", "dbms.security.http_access_control_allow_origin"),
        Sites,
        "",
        "A site whose pages may ask over HTTP and Gremlin, such as https://app.example, or `*`; may be given several times",
    ),
    row(
        0,
        ("http.metrics", "http-metrics", "tanglewood.http.metrics"),
        Word(&["users", "everyone"]),
        "users",
        "Who may read /metrics where passwords are asked for; without a log-on it names no tenants and no standing queries",
    ),
    row(
        0,
        ("http.token_lifetime", "http-token-lifetime", "tanglewood.http.token_lifetime"),
        Time,
        "8h",
        "Time for which a bearer token is good",
    ),
    row(
        0,
        ("http.transaction_timeout", "http-transaction-timeout", "server.http.transaction_idle_timeout"),
        Time,
        "30s",
        "Time in which nothing is asked in a transaction over HTTP before it is rolled back",
    ),
    row(
        0,
        ("drain", "drain", "tanglewood.drain"),
        Time,
        "1s",
        "Time that running queries and open transactions get to end when the server is told to end; new ones are refused meanwhile",
    ),
    row(
        1,
        ("memory", "memory", "tanglewood.graph.memory"),
        Size,
        "",
        "Memory for the graph, such as 512MB or 2GiB; beyond it parts of it are read from disk when they are needed",
    ),
    row(
        1,
        ("history", "history", "tanglewood.history"),
        History,
        "",
        "Keep the past from now on: none, forever, or a time such as 7d",
    ),
    row(
        1,
        ("import_folder", "import-folder", "dbms.security.allow_csv_import_from_file_urls"),
        Path,
        "",
        "Folder below which LOAD may read files; without it, it reads none",
    ),
    row(
        1,
        ("import_urls", "import-urls", "tanglewood.import.urls"),
        Hosts,
        "",
        "Host of which LOAD may read URLs: a name, `*.` and a domain, or `*` for all that are public; by https unless `http://` stands before it; without it, it reads none",
    ),
    row(
        1,
        ("backup_folder", "backup-folder", "tanglewood.backup.enabled"),
        Path,
        "",
        "Folder below which `CALL dbms.backup` may make backups; without it, it makes none",
    ),
    row(
        1,
        ("executors", "executors", "tanglewood.executors"),
        CountTo(EXECUTORS_MAX),
        "",
        "Threads that answer queries; if not said: one a core",
    ),
    row(
        1,
        ("checkpoint_log_size", "checkpoint-log-size", "tanglewood.checkpoint.log_size"),
        Size,
        "256MiB",
        "Size of the log after which a checkpoint is made",
    ),
    row(
        2,
        ("query.timeout", "query-timeout", "tanglewood.query.timeout"),
        Time,
        "",
        "Time that one query may take where its client does not say",
    ),
    row(
        2,
        ("query.timeout_max", "query-timeout-max", "tanglewood.query.timeout_max"),
        Time,
        "",
        "Time that no query may pass, whatever its client says",
    ),
    row(
        2,
        ("query.memory", "query-memory", "tanglewood.query.memory"),
        Size,
        "2GiB",
        "Memory that one query may hold",
    ),
    row(
        2,
        ("query.rows_max", "query-rows-max", "tanglewood.query.rows_max"),
        Count,
        "",
        "Rows that one query may answer before it ends with an error",
    ),
    row(
        2,
        ("query.memory_all", "query-memory-all", "tanglewood.query.memory_all"),
        Size,
        "",
        "Memory that all queries together may hold",
    ),
    row(
        2,
        ("query.spill", "query-spill", "tanglewood.query.spill"),
        Size,
        "32GiB",
        "Disk that all queries together may take for rows they have no memory for; 0 for none",
    ),
    row(
        2,
        ("query.spill_folder", "query-spill-folder", "tanglewood.query.spill_folder"),
        Path,
        "",
        "Folder for such rows, its own; inside of the database where absent",
    ),
    row(
        2,
        ("query.concurrent", "query-concurrent", "tanglewood.query.concurrent"),
        Count,
        "",
        "Queries that run on the executors at once; further ones wait in line",
    ),
    row(
        3,
        ("connections.max", "connections-max", "tanglewood.connections.max"),
        CountTo(CONNECTIONS_MAX),
        "1024",
        "Connections served at once; each has a thread",
    ),
    row(
        3,
        (
            "connections.per_address_max",
            "connections-per-address-max",
            "tanglewood.connections.per_address_max",
        ),
        CountTo(CONNECTIONS_MAX),
        "",
        "Of these, connections of one address; if not said: three quarters",
    ),
    row(
        3,
        ("connections.per_user_max", "connections-per-user-max", "tanglewood.connections.per_user_max"),
        CountTo(CONNECTIONS_MAX),
        "",
        "Of these, connections of one user; if not said: three quarters",
    ),
    row(
        3,
        ("connections.strangers_max", "strangers-max", "tanglewood.connections.strangers_max"),
        CountTo(CONNECTIONS_MAX),
        "256",
        "Connections that have not logged on yet; one address may have half of them",
    ),
    row(
        3,
        ("connections.logon_timeout", "logon-timeout", "tanglewood.connections.logon_timeout"),
        Time,
        "15s",
        "Time from connecting until the client has logged on",
    ),
    row(
        3,
        ("connections.message_timeout", "message-timeout", "tanglewood.connections.message_timeout"),
        Time,
        "60s",
        "Silence within a message; a whole message may take as long, and a second more for each 16 KiB",
    ),
    row(
        3,
        ("connections.open_timeout", "open-timeout", "tanglewood.connections.open_timeout"),
        Time,
        "10m",
        "Silence while a transaction or a result is open",
    ),
    row(
        3,
        ("connections.idle_timeout", "idle-timeout", "tanglewood.connections.idle_timeout"),
        Time,
        "2h",
        "Silence while nothing is open",
    ),
    row(
        3,
        ("messages.max", "message-max", "tanglewood.messages.max"),
        Size,
        "64MiB",
        "Size of one message of a client",
    ),
    row(
        3,
        ("messages.unfinished_max", "unfinished-max", "tanglewood.messages.unfinished_max"),
        Size,
        "512MiB",
        "Size of all messages that are not whole or not unpacked; one address may have three quarters of it",
    ),
    reloaded(row(
        4,
        ("log.level", "log-level", "tanglewood.log.level"),
        Levels,
        "info",
        "What is logged: a level, and levels of the parts query, audit, storage, server and standing, such as info,query=debug",
    )),
    row(
        4,
        ("log.format", "log-format", "tanglewood.log.format"),
        Word(&["human", "json"]),
        "human",
        "Lines for people, or an object of JSON a line",
    ),
    row(
        4,
        ("log.file", "log-file", "tanglewood.log.file"),
        Path,
        "",
        "File that the log is appended to, opened anew at a SIGHUP; if not said: standard error",
    ),
    row(
        4,
        ("log.audit_file", "audit-file", "tanglewood.log.audit_file"),
        Path,
        "",
        "File that log-ons, refusals and changes of users, roles, tenants and the schema are appended to as JSON, beside the log",
    ),
    reloaded(row(
        4,
        ("log.slow_query", "slow-query", "tanglewood.log.slow_query"),
        Time,
        "1s",
        "A query that takes longer is logged with its plan and the names of its parameters; 0s for none",
    )),
    row(
        4,
        ("log.queue", "log-queue", "tanglewood.log.queue"),
        CountTo(QUEUE_MAX),
        "8192",
        "Lines that wait to be written; beyond them lines are dropped, and counted in the next one",
    ),
    row(
        4,
        ("traces.endpoint", "traces-endpoint", "tanglewood.traces.endpoint"),
        Text,
        "",
        "Collector of OpenTelemetry that traces of queries are sent to (OTLP over HTTP), such as http://127.0.0.1:4318; if not said: none are",
    ),
    row(
        4,
        ("traces.every", "traces-every", "tanglewood.traces.every"),
        Count,
        "1",
        "Of so many queries one is traced; it runs on the executors, where operators are measured",
    ),
    row(
        4,
        ("traces.service", "traces-service", "tanglewood.traces.service"),
        Text,
        "tanglewood",
        "Name of this server in traces",
    ),
    row(
        4,
        ("traces.queue", "traces-queue", "tanglewood.traces.queue"),
        CountTo(QUEUE_MAX),
        "4096",
        "Queries whose traces wait to be sent; beyond them traces are dropped, and counted in /metrics",
    ),
];

/// The setting of a key.
pub fn of_key(key: &str) -> Option<&'static SettingRow> {
    SETTINGS.iter().find(|row| row.key == key)
}
