//! What the server did and holds, in the text format of Prometheus.

use super::door::Door;
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
    page.0
}
