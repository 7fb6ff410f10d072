//! What the server did and holds, in the text format of Prometheus.

use super::door::Door;
use database::Standing;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::atomic::Ordering;

/// A page of metrics as it is written.
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

/// The page.
pub(super) fn text(door: &Door) -> String {
    let mut page = Page::default();
    let database = &door.database;
    page.one(
        "http_connections",
        "gauge",
        "Open connections of HTTP.",
        door.connections.load(Ordering::Acquire),
    );
    page.one("http_transactions", "gauge", "Open transactions of HTTP.", door.transactions.count());
    let counts = database.commit_counts();
    page.one("commits_total", "counter", "Transactions committed.", counts.commits);
    page.one(
        "log_syncs_total",
        "counter",
        "Groups of commits that were made durable at once.",
        counts.groups,
    );
    page.one("conflicts_total", "counter", "Transactions refused because of conflicts.", counts.conflicts);
    of_memory(&mut page, door);
    of_queries(&mut page, door);
    of_standing(&mut page, door);
    page.0
}

fn of_memory(page: &mut Page, door: &Door) {
    let memory = door.database.memory();
    page.head("graph_memory_bytes", "gauge", "Bytes of the graph in memory, by owner.");
    for (owner, bytes) in [("pages", memory.page_bytes), ("versions", memory.version_bytes)] {
        page.line("graph_memory_bytes", &[("owner", owner)], bytes);
    }
    page.one("page_faults_total", "counter", "Pages read from storage.", memory.loads);
    page.one("page_evictions_total", "counter", "Pages that left memory.", memory.evictions);
}

/// Queries that run or wait now, and what they took so far, by tenant.
fn of_queries(page: &mut Page, door: &Door) {
    let mut tenants: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for query in door.database.running() {
        let [running, waiting, bytes] = tenants.entry(query.tenant).or_default();
        *(if query.running { running } else { waiting }) += 1;
        *bytes += query.bytes;
    }
    page.head("queries", "gauge", "Queries that run, or wait to be let in.");
    for (tenant, [running, waiting, _]) in &tenants {
        page.line("queries", &[("tenant", tenant), ("state", "running")], running);
        page.line("queries", &[("tenant", tenant), ("state", "waiting")], waiting);
    }
    page.head("query_memory_bytes", "gauge", "Bytes that running queries hold.");
    for (tenant, [_, _, bytes]) in &tenants {
        page.line("query_memory_bytes", &[("tenant", tenant)], bytes);
    }
}

fn of_standing(page: &mut Page, door: &Door) {
    let (all, place) = (door.database.standing(), door.database.snapshot().place());
    type Figure = fn(&Standing, u64) -> f64;
    let figures: [(&str, &str, &str, Figure); 5] = [
        (
            "standing_lag_commits",
            "gauge",
            "Commits that a standing query has not read yet.",
            |query, place| place.saturating_sub(query.place) as f64,
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
    for (name, kind, help, figure) in figures {
        page.head(name, kind, help);
        all.iter().for_each(|query| page.line(name, &[("name", &query.name)], figure(query, place)));
    }
}
