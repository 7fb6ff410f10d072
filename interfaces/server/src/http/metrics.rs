//! Metrics of the server, in the text format of Prometheus.
//!
//! Names of tenants and of standing queries are shown only to readers to whom SHOW would list them in full; others get sums of tenants, and of
//! standing queries the number of readers and the greatest lag: sizes and times tell of answers.

use super::interface::Interface;
use database::{LATENCY_BOUNDS_US, NamedFigures, Standing};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::path::Path;
use std::sync::atomic::Ordering;

/// Bytes of a page of memory, in which the system counts what a process holds.
const SYSTEM_PAGE_BYTES: u64 = 4_096;

/// A page of metrics in the making.
#[derive(Default)]
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP tanglewood_{name} {help}\n# TYPE tanglewood_{name} {kind}");
    }
    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.0, "tanglewood_{name}");
        for (at, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if at == 0 { '{' } else { ',' });
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.head(name, kind, help);
        self.line(name, &[], value);
    }
}

/// The page, with these names.
pub(super) fn text(interface: &Interface, named: NamedFigures) -> String {
    let mut page = Page::default();
    of_server(&mut page, interface);
    of_finished_queries(&mut page, interface);
    of_commits(&mut page, interface);
    of_memory(&mut page, interface, named.standing);
    of_queries(&mut page, interface, named.tenants);
    of_standing(&mut page, interface, named.standing);
    of_traces(&mut page, interface);
    page.0
}

fn of_traces(page: &mut Page, interface: &Interface) {
    let Some(counts) = &interface.traces else { return };
    page.head("traced_queries_total", "counter", "Queries that were traced, by what became of the trace.");
    for (outcome, count) in
        [("sent", &counts.sent), ("dropped", &counts.dropped), ("refused", &counts.refused)]
    {
        page.line("traced_queries_total", &[("outcome", outcome)], count.load(Ordering::Relaxed));
    }
}

fn of_server(page: &mut Page, interface: &Interface) {
    page.head("build_info", "gauge", "The version that runs.");
    page.line("build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let draining = u8::from(interface.database.is_draining());
    page.one("draining", "gauge", "1 while the server waits for running queries before it ends.", draining);
    page.head("connections", "gauge", "Open connections, by interface.");
    for (name, count) in interface.crowd.interfaces() {
        page.line("connections", &[("door", name)], count);
    }
    let http = interface.connections.load(Ordering::Acquire);
    page.one("http_connections", "gauge", "Open connections of HTTP.", http);
    page.one("http_transactions", "gauge", "Open transactions of HTTP.", interface.transactions.count());
    let (good, bad) = interface.gate.log_ons();
    page.head("log_ons_total", "counter", "Passwords and tokens that were looked at, by outcome.");
    page.line("log_ons_total", &[("outcome", "admitted")], good);
    page.line("log_ons_total", &[("outcome", "refused")], bad);
}

/// Queries that have ended, by language, kind and outcome, and how long they took.
fn of_finished_queries(page: &mut Page, interface: &Interface) {
    let figures = interface.database.query_figures();
    page.head("queries_total", "counter", "Queries that ended, by language, kind and outcome.");
    for figure in &figures {
        for (outcome, count) in figure.outcomes.iter().filter(|(_, count)| *count > 0) {
            let labels = [("language", figure.language), ("kind", figure.kind), ("outcome", outcome)];
            page.line("queries_total", &labels, count);
        }
    }
    page.head("query_seconds", "histogram", "Time from the text of a query to its last row.");
    for figure in &figures {
        let (language, kind) = (("language", figure.language), ("kind", figure.kind));
        let mut below = 0;
        for (at, count) in figure.buckets.iter().enumerate() {
            below += count;
            let bound = LATENCY_BOUNDS_US.get(at).map(|bound_us| (*bound_us as f64 / 1e6).to_string());
            let bound = bound.unwrap_or_else(|| "+Inf".to_string());
            page.line("query_seconds_bucket", &[language, kind, ("le", &bound)], below);
        }
        page.line("query_seconds_sum", &[language, kind], figure.total.as_secs_f64());
        page.line("query_seconds_count", &[language, kind], below);
    }
}

fn of_commits(page: &mut Page, interface: &Interface) {
    let counts = interface.database.commit_counts();
    page.one("commits_total", "counter", "Transactions committed.", counts.commits);
    page.one(
        "log_syncs_total",
        "counter",
        "Groups of commits that were made durable at once.",
        counts.groups,
    );
    page.one("conflicts_total", "counter", "Transactions refused because of conflicts.", counts.conflicts);
    let failing = u8::from(interface.database.checkpoint_failure().is_some());
    page.one("checkpoint_failing", "gauge", "1 while the last checkpoint in the background failed.", failing);
    let open = interface.database.open_transactions();
    page.one("transactions_open", "gauge", "Transactions that are open.", open);
}

fn of_memory(page: &mut Page, interface: &Interface, tells_standing: bool) {
    let memory = interface.database.memory();
    let queries: u64 = interface.database.running().iter().map(|query| query.bytes).sum();
    let standing: usize = interface.database.standing().iter().map(|query| query.bytes).sum();
    page.head("memory_bytes", "gauge", "Bytes in memory, by owner; `process` is all that the system counts.");
    for (owner, bytes) in [
        ("pages", memory.page_bytes),
        ("versions", memory.version_bytes),
        ("queries", queries),
        ("standing", standing as u64),
    ]
    .into_iter()
    .filter(|(owner, _)| tells_standing || *owner != "standing")
    {
        page.line("memory_bytes", &[("owner", owner)], bytes);
    }
    if let Some(bytes) = process_bytes() {
        page.line("memory_bytes", &[("owner", "process")], bytes);
    }
    page.one("page_faults_total", "counter", "Pages read from storage.", memory.loads);
    page.one("page_evictions_total", "counter", "Pages that left memory.", memory.evictions);
}

/// Bytes that the system holds in memory for this process.
fn process_bytes() -> Option<u64> {
    let text = world::files::read_text(Path::new("/proc/self/statm")).ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * SYSTEM_PAGE_BYTES)
}

/// Running and waiting queries, and their usage so far, by tenant.
fn of_queries(page: &mut Page, interface: &Interface, has_names: bool) {
    let whose = |tenant: String| if has_names { tenant } else { String::new() };
    let labelled = |tenant: &str, rest: &[(&'static str, &'static str)]| -> Vec<(&'static str, String)> {
        let tenant = has_names.then(|| ("tenant", tenant.to_string()));
        tenant.into_iter().chain(rest.iter().map(|(name, text)| (*name, (*text).to_string()))).collect()
    };
    let mut tenants: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for query in interface.database.running() {
        let [running, waiting, bytes] = tenants.entry(whose(query.tenant)).or_default();
        *(if query.running { running } else { waiting }) += 1;
        *bytes += query.bytes;
    }
    page.head("queries", "gauge", "Queries that run, or wait to be let in.");
    for (tenant, [running, waiting, _]) in &tenants {
        put(page, "queries", &labelled(tenant, &[("state", "running")]), running);
        put(page, "queries", &labelled(tenant, &[("state", "waiting")]), waiting);
    }
    page.head("query_memory_bytes", "gauge", "Bytes that running queries hold.");
    for (tenant, [_, _, bytes]) in &tenants {
        put(page, "query_memory_bytes", &labelled(tenant, &[]), bytes);
    }
    page.head("spilled_bytes_total", "counter", "Bytes that queries put aside on disk.");
    put(page, "spilled_bytes_total", &[], interface.database.spilled_bytes());
    let mut spent: BTreeMap<String, f64> = BTreeMap::new();
    for (tenant, time) in interface.database.tenant_time() {
        *spent.entry(whose(tenant)).or_default() += time.as_secs_f64();
    }
    page.head("executor_seconds_total", "counter", "Time that executors gave to queries.");
    for (tenant, seconds) in &spent {
        put(page, "executor_seconds_total", &labelled(tenant, &[]), seconds);
    }
}

fn put(page: &mut Page, name: &str, labels: &[(&'static str, String)], value: impl Display) {
    let labels: Vec<(&str, &str)> = labels.iter().map(|(name, text)| (*name, text.as_str())).collect();
    page.line(name, &labels, value);
}

fn of_standing(page: &mut Page, interface: &Interface, has_names: bool) {
    let (all, commit_version) = (interface.database.standing(), interface.database.kept().1.commit_version);
    type Figure = fn(&Standing, u64) -> f64;
    let figures: [(&str, &str, &str, Figure); 5] = [
        (
            "standing_lag_commits",
            "gauge",
            "Commits that a standing query has not read yet.",
            |query, commit_version| commit_version.saturating_sub(query.commit_version) as f64,
        ),
        ("standing_rows", "gauge", "Rows of a standing query's answer.", |query, _| query.rows as f64),
        ("standing_subscribers", "gauge", "Readers of a standing query.", |query, _| {
            query.subscribers as f64
        }),
        ("standing_memory_bytes", "gauge", "Bytes that a standing query keeps.", |query, _| {
            query.bytes as f64
        }),
        ("standing_seconds_total", "counter", "Time spent on a standing query.", |query, _| {
            query.used_ns as f64 / 1e9
        }),
    ];
    // Where there is one standing query, its figure is the sum: what tells of an answer is told to none of the others.
    let tells_of_answers = |name: &str| !["standing_lag_commits", "standing_subscribers"].contains(&name);
    for (name, kind, help, figure) in figures {
        if tells_of_answers(name) && !has_names {
            continue;
        }
        page.head(name, kind, help);
        let values = all.iter().map(|query| (query, figure(query, commit_version)));
        match has_names {
            true => values.for_each(|(query, value)| page.line(name, &[("name", &query.name)], value)),
            false if name == "standing_lag_commits" => {
                page.line(name, &[], values.map(|(_, value)| value).fold(0.0, f64::max));
            }
            false => page.line(name, &[], values.map(|(_, value)| value).sum::<f64>()),
        }
    }
}
