//! Notifications of the database about a statement, in the form of the client's version, and filtered by the client.

use super::gql;
use database::{Notification, Severity};
use model::{Map, Value};

/// The client's filter.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Nothing less severe, if this is said.
    least: Option<Least>,
    disabled: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Least {
    Off,
    Warning,
    Information,
}

/// Kinds that a client may disable; more than there are.
const DISABLED_MAX: usize = 32;

impl Filter {
    /// The filter in `extra` of HELLO, LOGON, BEGIN or RUN; absent parts are those of the one before.
    pub fn from(extra: &Map, before: &Filter) -> Filter {
        let least = match extra.get("notifications_minimum_severity").and_then(Value::as_str) {
            Some("OFF") => Some(Least::Off),
            Some("WARNING") => Some(Least::Warning),
            Some(_) => Some(Least::Information),
            None => before.least,
        };
        let disabled = extra
            .get("notifications_disabled_classifications")
            .or_else(|| extra.get("notifications_disabled_categories"));
        let disabled = match disabled {
            Some(Value::List(kinds)) => kinds
                .iter()
                .take(DISABLED_MAX)
                .filter_map(|kind| kind.as_str().map(str::to_uppercase))
                .collect(),
            _ => before.disabled.clone(),
        };
        Filter { least, disabled }
    }
    /// Does the client want to know of it?
    pub fn passes(&self, notice: &Notification) -> bool {
        let severe = match self.least {
            Some(Least::Off) => false,
            Some(Least::Warning) => notice.severity == Severity::Warning,
            Some(Least::Information) | None => true,
        };
        severe && !self.disabled.iter().any(|kind| kind == notice.category)
    }
}

fn severity(notice: &Notification) -> Value {
    match notice.severity {
        Severity::Warning => "WARNING",
        Severity::Information => "INFORMATION",
    }
    .into()
}

fn position(notice: &Notification) -> Option<Value> {
    let place = notice.position?;
    let int = |number: usize| Value::Int(number as i64);
    Some(Value::map([
        ("offset", int(place.offset)),
        ("line", int(place.line)),
        ("column", int(place.column)),
    ]))
}

/// As Bolt up to 5.4 has it.
pub fn notification(notice: &Notification) -> Value {
    let pairs = [
        ("code", notice.code.into()),
        ("title", notice.title.into()),
        ("description", notice.description.as_str().into()),
        ("severity", severity(notice)),
        ("category", notice.category.into()),
    ];
    Value::map(pairs.into_iter().chain(position(notice).map(|place| ("position", place))))
}

/// As Bolt from 5.6 on has it: a status.
pub fn status(notice: &Notification) -> Value {
    let more = [("_severity", severity(notice)), ("_classification", notice.category.into())];
    let more = more.into_iter().chain(position(notice).map(|place| ("_position", place)));
    let kind = match notice.severity {
        Severity::Warning => "warn",
        Severity::Information => "info",
    };
    Value::map([
        ("gql_status", notice.gql_status.into()),
        ("status_description", format!("{kind}: {}", notice.description).into()),
        ("neo4j_code", notice.code.into()),
        ("title", notice.title.into()),
        ("description", notice.description.as_str().into()),
        ("diagnostic_record", gql::diagnostic_record(more)),
    ])
}
