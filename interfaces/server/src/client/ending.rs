//! The metadata at the end of a result, as the summary of a query in this process: counters, plan, notices, and errors.

use database::{Counters, Error, Notification, Position, RequestKind, SchemaCounters, Severity, Summary};
use model::{Map, Value};
use std::fmt::Write;
use std::time::Duration;

/// Codes of notices that we know by name; another one is called [`OTHER_NOTICE`].
const NOTICES: [&str; 9] = [
    "Neo.ClientNotification.Statement.UnknownLabelWarning",
    "Neo.ClientNotification.Statement.UnknownRelationshipTypeWarning",
    "Neo.ClientNotification.Statement.UnknownPropertyKeyWarning",
    "Neo.ClientNotification.Statement.CartesianProduct",
    "Neo.ClientNotification.Statement.CartesianProductWarning",
    "Neo.ClientNotification.Statement.UnboundedVariableLengthPatternWarning",
    "Neo.ClientNotification.Statement.FeatureDeprecationWarning",
    "Neo.ClientNotification.Statement.HintUnfulfillableWarning",
    "Neo.ClientNotification.Statement.ParameterNotProvided",
];
const OTHER_NOTICE: &str = "Neo.ClientNotification.Statement.Notice";
/// Operators of a plan above one another; a value is not deeper.
const PLAN_LEVELS_MAX: usize = 64;

/// The error of a FAILURE. Hint and excerpt stand in the message, where a Tanglewood server sent it.
pub(super) fn error(metadata: &Map) -> Error {
    let text = |key: &str| metadata.get(key).and_then(Value::as_str);
    let code =
        text("code").or_else(|| text("neo4j_code")).unwrap_or("Neo.DatabaseError.General.UnknownError");
    let message = text("message").unwrap_or("the server failed and does not say why");
    let (message, hint) = match message.split_once("\nhint: ") {
        Some((message, hint)) => (message, Some(hint.to_string())),
        None => (message, None),
    };
    let (message, excerpt) = match message.split_once('\n') {
        Some((first, rest)) if rest.trim_start().starts_with("-->") => (first, Some(rest.to_string())),
        _ => (message, None),
    };
    let retryable = code.contains(".TransientError.");
    Error { hint, excerpt, retryable, ..Error::new(code, message) }
}

/// The summary of a result that was read to its end.
pub(super) fn summary(metadata: &Map, elapsed: Duration, first_after: Duration) -> Summary {
    let kind = match metadata.get("type").and_then(Value::as_str) {
        Some("rw") => RequestKind::ReadWrite,
        Some("w") => RequestKind::Write,
        Some("s") => RequestKind::Schema,
        _ => RequestKind::Read,
    };
    let count = |name: &str| {
        let stats = metadata.get("stats").and_then(as_map);
        stats.and_then(|stats| stats.get(name)?.as_int()).and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
    };
    let counters = Counters {
        nodes_created: count("nodes-created"),
        nodes_deleted: count("nodes-deleted"),
        relationships_created: count("relationships-created"),
        relationships_deleted: count("relationships-deleted"),
        properties_set: count("properties-set"),
        labels_added: count("labels-added"),
        labels_removed: count("labels-removed"),
    };
    let schema = SchemaCounters {
        indexes_added: count("indexes-added"),
        indexes_removed: count("indexes-removed"),
        constraints_added: count("constraints-added"),
        constraints_removed: count("constraints-removed"),
    };
    let profile = metadata.get("profile").and_then(as_map);
    let plan = profile.or_else(|| metadata.get("plan").and_then(as_map));
    let plan_text = plan.map(|plan| {
        let mut text = String::new();
        write_plan(plan, 0, &mut text);
        text
    });
    Summary {
        kind,
        counters,
        schema_changes: schema.total(),
        schema,
        commit_version: 0,
        first_after,
        elapsed,
        plan_text,
        plan: None,
        notifications: notices(metadata),
        profiled: profile.is_some(),
        said: None,
    }
}

fn as_map(value: &Value) -> Option<&Map> {
    match value {
        Value::Map(map) => Some(map),
        _ => None,
    }
}

fn list<'m>(map: &'m Map, key: &str) -> &'m [Value] {
    match map.get(key) {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}

/// One operator a line, the last one first, with those below it indented.
fn write_plan(plan: &Map, level: usize, out: &mut String) {
    let name = plan.get("operatorType").and_then(Value::as_str).unwrap_or("?");
    let name = name.split('@').next().unwrap_or(name);
    let empty = Map::default();
    let arguments = plan.get("args").and_then(as_map).unwrap_or(&empty);
    let _ = write!(out, "{:indent$}{name}", "", indent = level * 2);
    if let Some(details) = arguments.get("Details").and_then(Value::as_str) {
        let _ = write!(out, " {details}");
    }
    if let Some(Value::Float(rows)) = arguments.get("EstimatedRows") {
        let _ = write!(out, "  ~{rows:.0} rows");
    }
    if let Some(rows) = plan.get("rows").and_then(Value::as_int) {
        let _ = write!(out, "  {rows} rows");
    }
    out.push('\n');
    if level < PLAN_LEVELS_MAX {
        let below = list(plan, "children").iter().filter_map(as_map);
        below.for_each(|child| write_plan(child, level + 1, out));
    }
}

fn notices(metadata: &Map) -> Vec<Notification> {
    let of = |map: &Map| {
        let text = |key: &str| map.get(key).and_then(Value::as_str);
        let code = text("code").or_else(|| text("neo4j_code"))?;
        let severity = match text("severity") {
            Some("WARNING") => Severity::Warning,
            _ => Severity::Information,
        };
        let position = map.get("position").and_then(as_map).and_then(|place| {
            let number = |key: &str| usize::try_from(place.get(key)?.as_int()?).ok();
            Some(Position { offset: number("offset")?, line: number("line")?, column: number("column")? })
        });
        Some(Notification {
            code: NOTICES.into_iter().find(|known| *known == code).unwrap_or(OTHER_NOTICE),
            gql_status: "",
            title: "",
            description: text("description").or_else(|| text("title")).unwrap_or(code).to_string(),
            severity,
            category: "",
            position,
        })
    };
    let all = list(metadata, "notifications").iter().filter_map(as_map);
    all.take(database::NOTIFICATIONS_MAX).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map<const N: usize>(pairs: [(&str, Value); N]) -> Map {
        pairs.into_iter().map(|(key, value)| (key.into(), value)).collect()
    }

    #[test]
    fn an_error_has_its_parts_again() {
        let sent = Error {
            excerpt: Some(" --> line 1, column 8\n1 | RETURN x\n  |        ^".into()),
            hint: Some("write y".into()),
            ..Error::new("Neo.ClientError.Statement.SyntaxError", "x is not known")
        };
        let told = error(&map([("code", sent.code.as_str().into()), ("message", sent.to_string().into())]));
        assert_eq!(told, sent);
        let foreign = error(&map([
            ("code", "Neo.TransientError.Transaction.DeadlockDetected".into()),
            ("message", "two\nlines".into()),
        ]));
        assert_eq!((foreign.message.as_str(), foreign.retryable), ("two\nlines", true));
    }

    #[test]
    fn counters_plans_and_notices_are_read() {
        let leaf = Value::map([("operatorType", "Scan@neo4j".into()), ("rows", 7.into())]);
        let plan = [("operatorType", "Produce@neo4j".into()), ("children", Value::list(vec![leaf]))];
        let notice =
            [("code", NOTICES[0].into()), ("severity", "WARNING".into()), ("description", "d".into())];
        let told = map([
            ("type", "w".into()),
            ("stats", Value::map([("nodes-created", 3.into())])),
            ("profile", Value::map(plan)),
            ("notifications", Value::list(vec![Value::map(notice)])),
        ]);
        let summary = summary(&told, Duration::ZERO, Duration::ZERO);
        assert_eq!((summary.kind, summary.counters.nodes_created), (RequestKind::Write, 3));
        assert_eq!(summary.plan_text.as_deref(), Some("Produce\n  Scan  7 rows\n"));
        assert_eq!(summary.notifications[0].severity, Severity::Warning);
    }
}
