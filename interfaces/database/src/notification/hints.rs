//! Notifications for hints (`USING …`) that a plan cannot follow.

use super::{Notification, Position, Severity};
use plan::expr::Name;
use plan::{Plan, Statement, StatementKind, Var};

/// The hints of an optimised statement that its plan does not follow.
pub(super) fn unfollowed(statement: &Statement) -> Vec<String> {
    let StatementKind::Query { plan, .. } = &statement.kind else { return Vec::new() };
    let asks = |hint: &&String| ["INDEX ", "SCAN ", "JOIN ON "].iter().any(|kind| hint.starts_with(kind));
    let follows = |hint: &str| plan.any(&mut |node| follows(node, hint, &statement.variables));
    statement.hints.iter().filter(asks).filter(|hint| !follows(hint)).cloned().collect()
}

/// Does this node follow the hint?
fn follows(node: &Plan, hint: &str, variables: &[Name]) -> bool {
    let name = |variable: Var| variables.get(variable.0 as usize).map_or("", |name| name);
    match node {
        Plan::SeekVertices(seek) => {
            let keys = hint
                .strip_prefix(&format!("INDEX {}:{}(", name(seek.vertex), seek.label))
                .and_then(|keys| keys.strip_suffix(')'));
            keys.is_some_and(|keys| sorted(keys.split(", ")) == sorted(seek.keys.iter().map(|key| &**key)))
        }
        Plan::ScanVertices(scan) => {
            let asks = |label: &Name| hint == format!("SCAN {}:{label}", name(scan.vertex));
            scan.labels.required().iter().any(asks)
        }
        Plan::Join(join) => hint
            .strip_prefix("JOIN ON ")
            .is_some_and(|wanted| sorted(wanted.split(", ")) == sorted(join.on.iter().map(|on| name(*on)))),
        _ => false,
    }
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

/// The notification of a hint that is not followed.
pub(super) fn told(hint: &str, position: Option<Position>) -> Notification {
    let (code, gql_status, title, why) = match hint {
        hint if hint.starts_with("INDEX ") => (
            "Neo.ClientNotification.Schema.HintedIndexNotFound",
            "01N31",
            "The request (directly or indirectly) referred to an index that does not exist.",
            "there is no such index, or it cannot answer the conditions",
        ),
        hint if hint.starts_with("JOIN ") => (
            "Neo.ClientNotification.Statement.JoinHintUnfulfillableWarning",
            "01N30",
            "The database was unable to plan a hinted join.",
            "no two parts of the pattern can be joined on them alone",
        ),
        _ => (
            "Neo.ClientNotification.Statement.HintUnfulfillableWarning",
            "01N30",
            "The database did not follow a hint.",
            "the pattern does not ask for this label there",
        ),
    };
    let description = format!("the plan does not follow USING {hint}: {why}");
    let (severity, category) = (Severity::Warning, "HINT");
    Notification { code, gql_status, title, description, severity, category, position }
}
