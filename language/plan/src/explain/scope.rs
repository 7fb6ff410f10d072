//! How a scope runs, in words.

use super::text::Printer;
use crate::algebra::{Apply, Repeat};
use crate::physical::Algorithm;
use crate::scope::{InstanceOrder, ScopeReason};

/// From where to where, and how often.
pub(super) fn rounds(repeat: &Repeat, print: &Printer<'_>) -> String {
    let [at, next, to] = [repeat.at, repeat.next, repeat.to].map(|var| print.var(var));
    let once = if repeat.distinct { ", each end once a round" } else { "" };
    format!("({to}) by {}..{} times {at} to {next}{once}", repeat.min, repeat.max)
}

/// Empty for the usual.
pub(super) fn detail(node: &Apply, algorithm: Algorithm, print: &Printer<'_>) -> String {
    let scope = &node.scope;
    if scope.reason == ScopeReason::Usual {
        return String::new();
    }
    let order = match (scope.order, &node.rank) {
        (InstanceOrder::By(descending), Some(rank)) => {
            format!("by {}{}", print.expr(rank), if descending { " desc" } else { "" })
        }
        (order, _) => order.to_string(),
    };
    let early = if scope.early { "" } else { "off, " };
    let rows = scope.rows.map_or("a batch".to_string(), |rows| format!("{rows} rows"));
    let most = scope.instances_max.map_or(String::new(), |most| format!(" max {most}"));
    let wide = if algorithm == (Algorithm::Loop { wide: true }) { " wide" } else { "" };
    let inline = matches!(algorithm, Algorithm::Inline { .. });
    let order = if inline { "inline".to_string() } else { format!("{order}/{}{most}{wide}", scope.within) };
    let end = scope.end.map_or(String::new(), |end| format!(", once for all {}", print.var(end)));
    format!("scope {early}{rows} {order}: {}{end}", scope.reason)
}
