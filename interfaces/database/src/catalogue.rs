//! Listings and commands that the database itself answers: SHOW QUERIES, SHOW TENANTS, KILL QUERY.

use crate::clients::Listed;
use crate::running::{OWN_QUERY, REPLICA_QUERY};
use crate::{
    Allowance, Credential, Database, Error, ExportFormat, ExportReport, Params, RunningQuery, programs,
    roles, settings, users,
};
use model::temporal::{Duration, LocalDateTime};
use model::{Batch, Value};
use plan::Statement;
use plan::procedures::{
    BACKED_UP, EXPORTED, HISTORY_SET, LISTED_CACHES, LISTED_CLUSTER, LISTED_CURRENT_USER, LISTED_ORDER,
    LISTED_PRIVILEGES, LISTED_PROGRAMS, LISTED_QUERIES, LISTED_ROLE_PRIVILEGES, LISTED_ROLES,
    LISTED_SETTINGS, LISTED_STANDING, LISTED_TABLETS, LISTED_TENANTS, LISTED_TRANSACTIONS,
    LISTED_USER_PRIVILEGES, LISTED_USERS,
};
use plan::statement::Mode as StatementMode;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use transact::{BackupReport, History};

type Table = (Vec<Arc<str>>, Batch);

/// The client that asks for a listing, and its rights.
pub(crate) struct Asker<'a> {
    /// The user that logged on, if the interface demanded it.
    pub own: Option<&'a Credential>,
    /// May it see the privileges of others?
    pub lists_others: bool,
    /// May it see everything?
    pub sees_all: bool,
    /// The statement that asks.
    pub text: &'a str,
    /// The transaction that it runs in: the open one, or its own.
    pub transaction: &'a dyn Fn() -> Arc<Listed>,
    /// Makes a backup for them.
    pub back_up: &'a dyn Fn(&Path) -> Result<BackupReport, Error>,
    /// Exports the graph for them.
    pub export: &'a dyn Fn(&Path, ExportFormat) -> Result<ExportReport, Error>,
}

/// Fills a listing with rows that the database knows and the graph does not.
pub(crate) fn list(
    statement: &Statement,
    params: &mut Params,
    database: &Database,
    asker: &Asker<'_>,
) -> Result<(), Error> {
    for parameter in statement.parameters.iter().filter(|name| name.starts_with(' ')) {
        let rows = match &**parameter {
            // To explain is not to do.
            _ if statement.mode == StatementMode::Explain => Vec::new(),
            LISTED_QUERIES => queries(database),
            LISTED_PROGRAMS => programs::listed(database.snapshot().catalog().entries()),
            LISTED_CACHES => programs::caches(database),
            LISTED_STANDING => standing(database, asker.sees_all),
            LISTED_TRANSACTIONS => transactions(database, asker),
            LISTED_USERS => users::listed(&database.users(), None),
            LISTED_CURRENT_USER => {
                asker.own.map_or_else(Vec::new, |own| users::listed(&database.users(), Some(own.name())))
            }
            LISTED_ROLES => roles::listed_roles(database.snapshot().catalog().entries()),
            LISTED_PRIVILEGES => roles::listed_privileges(database.snapshot().catalog().entries()),
            LISTED_ROLE_PRIVILEGES => roles::listed_role_privileges(database.snapshot().catalog().entries()),
            LISTED_USER_PRIVILEGES => {
                let own = asker.own.map(Credential::name);
                roles::listed_user_privileges(
                    database.snapshot().catalog().entries(),
                    own,
                    asker.lists_others,
                )
            }
            LISTED_SETTINGS => settings::rows(database),
            LISTED_TENANTS => tenants(database),
            LISTED_CLUSTER => cluster(database),
            LISTED_ORDER => order(database),
            LISTED_TABLETS => tablets(database),
            name => match [BACKED_UP, EXPORTED, HISTORY_SET].map(|begins| name.strip_prefix(begins)) {
                [Some(folder), ..] => vec![backup(folder, params, database, asker.back_up)?],
                [_, Some(asked), _] => vec![export(asked, params, database, asker.export)?],
                [.., Some(history)] => vec![set_history(history, params, database)?],
                [None, None, None] => continue,
            },
        };
        params.insert(parameter.clone(), Value::list(rows.into_iter().map(Value::list).collect()));
    }
    Ok(())
}

/// Makes a backup in the folder of this name, or of the name in a parameter; returns the numbers of the report.
fn backup(
    name: &str,
    params: &Params,
    database: &Database,
    back_up: &dyn Fn(&Path) -> Result<BackupReport, Error>,
) -> Result<Vec<Value>, Error> {
    let (name, path) = folder(name, params, database, ("a backup", "makes no backups"))?;
    let report = back_up(&path)?;
    Ok(vec![name.into(), whole(report.files), whole(report.bytes), whole(report.commit_version)])
}

/// Exports the graph in a format, into the folder behind it; returns the numbers of the report.
fn export(
    asked: &str,
    params: &Params,
    database: &Database,
    export: &dyn Fn(&Path, ExportFormat) -> Result<ExportReport, Error>,
) -> Result<Vec<Value>, Error> {
    let (format_name, name) = asked.split_once(' ').unwrap_or((asked, ""));
    let Some(format) = ExportFormat::named(format_name) else {
        let hint = format!("formats are {}", ExportFormat::NAMES.join(", "));
        return Err(argument_error(&format!("`{format_name}` is no format of an export"), &hint));
    };
    let (name, path) = folder(name, params, database, ("an export", "exports nothing"))?;
    let report = export(&path, format)?;
    let counts = [report.vertices, report.edges, report.files as u64];
    Ok([name.into(), format_name.into()].into_iter().chain(counts.map(whole)).collect())
}

fn argument_error(message: &str, hint: &str) -> Error {
    Error::new("Neo.ClientError.Statement.ArgumentError", message).hint(hint)
}

/// The folder of this name, or of the name that a parameter holds, below the one that is open for backups.
fn folder<'n>(
    name: &'n str,
    params: &'n Params,
    database: &Database,
    (what, does_nothing): (&str, &str),
) -> Result<(&'n str, PathBuf), Error> {
    let refuse = |message: &str, hint: &str| Err(argument_error(message, hint));
    let name = match name.strip_prefix('$') {
        None => name,
        Some(parameter) => match params.get(parameter).and_then(Value::as_str) {
            Some(name) => name,
            None => {
                return refuse(&format!("the folder of {what} is a text"), "give its name as a parameter");
            }
        },
    };
    let Some(below) = &database.options().backup_folder else {
        let hint = "open it with `backup_folder`, or serve it with `--backup-folder FOLDER`";
        return refuse(&format!("this database {does_nothing} when it is asked to"), hint);
    };
    let path = Path::new(name);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if name.is_empty() || !is_plain || name.contains('\0') {
        return refuse(&format!("the folder of {what} is a plain name"), "leave out / at its begin, and ..");
    }
    let folder = below.join(path);
    if world::files::list_folder(&folder).is_ok_and(|content| !content.is_empty()) {
        return refuse(&format!("`{name}` holds something already"), "give the new one another name");
    }
    Ok((name, folder))
}

/// Sets how much history is kept, from this text or from the text in a parameter; returns the new setting.
fn set_history(text: &str, params: &Params, database: &Database) -> Result<Vec<Value>, Error> {
    let refuse = |message: String| {
        let hint = "say none, forever, or a time such as 12h, 7d or 4w";
        Error::new("Neo.ClientError.Statement.ArgumentError", message).hint(hint)
    };
    let text = match text.strip_prefix('$') {
        None => text,
        Some(parameter) => match params.get(parameter).and_then(Value::as_str) {
            Some(text) => text,
            None => return Err(refuse("how far back is kept is a text".into())),
        },
    };
    database.set_history(text.parse::<History>().map_err(refuse)?)?;
    let (oldest, newest) = database.kept();
    let now = [database.history().to_string(), oldest.to_string(), newest.to_string()];
    Ok(now.into_iter().map(Value::from).collect())
}

fn queries(database: &Database) -> Vec<Vec<Value>> {
    let row = |query: RunningQuery| {
        let state = if query.running { "running" } else { "waiting" };
        vec![
            query.id.as_str().into(),
            query.text.into(),
            query.tenant.into(),
            query.user.into(),
            state.into(),
            whole(query.elapsed_ms),
            whole(query.cpu_ms),
            whole(query.rows),
            whole(query.bytes),
            crate::progress::value(database, &query.id),
        ]
    };
    database.running().into_iter().map(row).collect()
}

/// The prefix of a query's number in the name of its transaction, as Neo4j builds such names.
const TRANSACTION: &str = "neo4j-transaction-";
/// The name of the one database, as Neo4j's drivers know it.
const DATABASE: &str = "neo4j";

/// The columns are Neo4j's: the transactions that are open, then what runs without one.
fn transactions(database: &Database, asker: &Asker<'_>) -> Vec<Vec<Value>> {
    // The statement that asks is one of them, and has not begun to run.
    let own = (asker.transaction)();
    let asking = RunningQuery::asking(asker.text);
    let mut running: BTreeMap<String, RunningQuery> =
        database.running().into_iter().map(|query| (query.id.clone(), query)).collect();
    let now_us = world::clock::wall_us();
    let mut rows = Vec::new();
    for listed in database.transactions().all() {
        let queries: Vec<RunningQuery> =
            listed.queries().iter().filter_map(|number| running.remove(&format!("query-{number}"))).collect();
        let age_ms = now_us.saturating_sub(listed.began_us) / 1_000;
        let query = queries.last().or((listed.number == own.number).then_some(&asking));
        rows.push(transaction(Some(&listed), &listed.number.to_string(), query, age_ms, now_us));
    }
    rows.extend(
        running.values().map(|query| transaction(None, &query.id, Some(query), query.elapsed_ms, now_us)),
    );
    rows
}

/// A row: the transaction, and the statement of it that runs.
fn transaction(
    listed: Option<&Listed>,
    id: &str,
    query: Option<&RunningQuery>,
    age_ms: u64,
    now_us: u64,
) -> Vec<Value> {
    let began_us = i64::try_from(now_us.saturating_sub(age_ms * 1_000)).unwrap_or(i64::MAX);
    let (seconds, micros) = (began_us.div_euclid(1_000_000), began_us.rem_euclid(1_000_000));
    let began = LocalDateTime { seconds, nanos: micros as u32 * 1_000 };
    let status = match (listed, query) {
        (Some(listed), _) if listed.is_terminated() => "Terminated with reason: TERMINATE TRANSACTION",
        (_, Some(query)) if !query.running => "Blocked",
        _ => "Running",
    };
    let user = listed.and_then(|listed| listed.user.clone());
    let user = user.or_else(|| query.and_then(|query| query.user.clone())).unwrap_or_default();
    let text =
        |of: fn(&Listed) -> &Arc<str>| listed.map_or("".into(), |listed| Value::String(of(listed).clone()));
    let of_query = |value: fn(&RunningQuery) -> Value| query.map_or(Value::Null, value);
    vec![
        DATABASE.into(),
        format!("{TRANSACTION}{id}").into(),
        query.map_or("", |query| &query.id).into(),
        text(|listed| &listed.client.connection_id),
        text(|listed| &listed.client.address),
        user.into(),
        query.map_or("", |query| &query.text).into(),
        format!("{began}Z").into(),
        status.into(),
        milliseconds(age_ms),
        "".into(),
        listed.map_or_else(|| Value::map::<&str>([]), |listed| listed.metadata.clone()),
        of_query(|query| if query.running { "running" } else { "waiting" }.into()),
        of_query(|query| milliseconds(query.elapsed_ms)),
        of_query(|query| milliseconds(query.cpu_ms)),
        whole(query.map_or(0, |query| query.bytes)),
    ]
}

fn milliseconds(count: u64) -> Value {
    let seconds = i64::try_from(count / 1_000).unwrap_or(i64::MAX);
    Duration { months: 0, days: 0, seconds, nanos: (count % 1_000) as u32 * 1_000_000 }.into()
}

/// Only callers that may see everything get texts, sizes and times of answers, and reasons of failures: each tells of the data behind it.
fn standing(database: &Database, sees_all: bool) -> Vec<Vec<Value>> {
    database.await_standing_at_gate();
    let told = |value: Value| if sees_all { value } else { Value::Null };
    let snapshot = database.snapshot();
    let row = |query: crate::Standing| {
        let failure = query.failure.as_ref().map(ToString::to_string);
        let retain = crate::standing::retained(snapshot.catalog().entries(), &query.name);
        vec![
            query.name.into(),
            told(query.text.into()),
            query.state.name().into(),
            told(whole(query.rows as u64)),
            whole(query.subscribers as u64),
            told(database.accounts().names(query.payer, 0).0.into()),
            told(milliseconds(query.used_ns / 1_000_000)),
            told(whole(query.bytes as u64)),
            whole(query.commit_version),
            retain.map_or(Value::Null, |retain| retain.to_string().into()),
            told(failure.map_or(Value::Null, Value::from)),
        ]
    };
    database.standing().into_iter().map(row).collect()
}

/// A row for each tenant, then one for each of its users; then those that are set aside, with the reason.
fn tenants(database: &Database) -> Vec<Vec<Value>> {
    let running = database.running();
    let row = |name: &str, user: Option<&str>, allowance: &Allowance| {
        let own =
            |query: &&RunningQuery| query.tenant == name && (user.is_none() || query.user.as_deref() == user);
        let rules = allowance.rules.iter().map(|rule| rule.to_string().into());
        vec![
            name.into(),
            user.into(),
            whole(u64::from(allowance.share)),
            allowance.memory.map_or(Value::Null, whole),
            allowance.spill.map_or(Value::Null, whole),
            allowance.concurrent.map_or(Value::Null, whole),
            allowance.time.map_or(Value::Null, |time| whole(time.as_millis() as u64)),
            Value::list(rules.collect()),
            whole(running.iter().filter(own).count() as u64),
            Value::Null,
        ]
    };
    let aside = |aside: crate::SetAside| {
        let is_user = aside.what == crate::SetAside::TENANT_USER;
        let (name, why): (Value, Value) = (aside.name.into(), aside.why.into());
        let (tenant, user) = if is_user { (Value::Null, name) } else { (name, Value::Null) };
        let nothing = || Value::Null;
        vec![tenant, user, nothing(), nothing(), nothing(), nothing(), nothing(), nothing(), whole(0), why]
    };
    let mut rows = Vec::new();
    for (name, tenant) in &database.tenants() {
        rows.push(row(name, None, &tenant.allowance));
        rows.extend(tenant.users.iter().map(|(user, allowance)| row(name, Some(user), allowance)));
    }
    rows.extend(database.accounts().set_aside().into_iter().map(aside));
    rows
}

/// The processes of a cluster; of one machine, the database itself.
fn cluster(database: &Database) -> Vec<Vec<Value>> {
    let counted = |count: Option<u64>| count.map_or(Value::Null, whole);
    let row = |process: transact::ClusterProcess| {
        vec![
            process.role.into(),
            whole(u64::from(process.number)),
            process.address.map_or(Value::Null, Value::from),
            process.state.map_or(Value::Null, Value::from),
            counted(process.epoch),
            counted(process.commits),
            counted(process.questions),
        ]
    };
    database.cluster_report().processes.into_iter().map(row).collect()
}

fn order(database: &Database) -> Vec<Vec<Value>> {
    let figures = database.cluster_report().order.into_iter();
    figures.map(|(name, value, what)| vec![name.into(), whole(value), what.into()]).collect()
}

fn tablets(database: &Database) -> Vec<Vec<Value>> {
    let row = |tablet: crate::TabletInfo| {
        let busy_ms = tablet.busy_ns / 1_000_000;
        vec![whole(tablet.tablet as u64), whole(tablet.executor as u64), whole(busy_ms), whole(tablet.moves)]
    };
    database.tablets().into_iter().map(row).collect()
}

fn whole(count: u64) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The answer of a command that answers nothing.
pub(crate) fn nothing() -> Table {
    table(&[], Vec::new())
}

/// KILL QUERY: ends a running query; the answer says whether there was one.
pub(crate) fn kill(id: &str, database: &Database) -> Result<Table, Error> {
    if let Some(name) = id.strip_prefix(TRANSACTION) {
        let (found, user) = terminate(name, database)?;
        let message = if found { "Transaction terminated." } else { "Transaction not found." };
        let row = vec![id.into(), user.unwrap_or_default().into(), message.into()];
        return Ok(table(&["transactionId", "username", "message"], vec![row]));
    }
    let found = database.kill(id, "killed by KILL QUERY")?;
    let message = if found { "Query terminated" } else { "No such query is running" };
    Ok(table(&["queryId", "message"], vec![vec![id.into(), message.into()]]))
}

/// Ends a transaction by its name in SHOW TRANSACTIONS: its running statement ends, and the transaction can only be rolled back.
fn terminate(name: &str, database: &Database) -> Result<(bool, Option<String>), Error> {
    let reason = "terminated by TERMINATE TRANSACTION";
    let listed = name.parse().ok().and_then(|number| database.transactions().find(number));
    if let Some(listed) = listed {
        listed.terminate();
        for query in listed.queries() {
            database.kill(&query.to_string(), reason)?;
        }
        return Ok((true, listed.user.clone()));
    }
    if ![OWN_QUERY, REPLICA_QUERY].iter().any(|begins| name.starts_with(begins)) {
        return Ok((false, None));
    }
    let user = database.running().into_iter().find(|query| query.id == name).and_then(|query| query.user);
    Ok((database.kill(name, reason)?, user))
}

fn table(titles: &[&str], rows: Vec<Vec<Value>>) -> Table {
    (titles.iter().map(|title| Arc::from(*title)).collect(), Batch::from_rows(titles.len(), &rows))
}
