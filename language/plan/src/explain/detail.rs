//! The details of each operator, in one line.

use super::text::{Printer, labels};
use crate::algebra::*;
use crate::expr::{Expr, LabelExpr, Name, Var};
use crate::pattern::{PathMode, Selector};
use crate::physical::Algorithm;
use model::Direction;

pub(super) fn detail(plan: &Plan, algorithm: Algorithm, print: &Printer<'_>) -> String {
    match plan {
        Plan::Unit => String::new(),
        Plan::Argument(columns) => print.vars(columns),
        Plan::Match(node) => {
            let vertices = node
                .pattern
                .vertices
                .iter()
                .map(|vertex| vertex_text(print, vertex.variable, &vertex.labels));
            vertices.collect::<Vec<_>>().join(", ")
        }
        Plan::ScanVertices(node) => vertex_text(print, node.vertex, &node.labels),
        Plan::SeekVertices(node) => {
            let var = print.var(node.vertex);
            let what = seek(&var, &node.keys, &node.seek, print);
            format!("({var}:{}) by index: {what}", node.label)
        }
        Plan::SeekEdges(node) => {
            let (from, to) = (print.var(node.from), print.var(node.to));
            let var = print.var(node.edge);
            let (left, right) = match node.direction {
                Direction::Out => ("-", "->"),
                Direction::In => ("<-", "-"),
                Direction::Both => ("-", "-"),
            };
            let what = seek(&var, &node.keys, &node.seek, print);
            format!("({from}){left}[{var}:{}]{right}({to}) by index: {what}", node.edge_type)
        }
        Plan::SeekIds(node) => format!("id({}) = {}", print.var(node.vertex), print.expr(&node.ids)),
        Plan::Expand(node) => expand(node, print),
        Plan::ExpandPath(node) => expand_path(node, print),
        Plan::ExpandPattern(node) => super::path_pattern::detail(node, print),
        Plan::CountMatches(node) => count_matches(node, print),
        Plan::CountStored(node) => count_stored(node, print),
        Plan::Intersect(node) => intersect(node, print),
        Plan::Filter(node) => print.expr(&node.predicate),
        Plan::Extend(node) => items(&node.items, print),
        Plan::Project(node) => items(&node.items, print),
        Plan::Aggregate(node) => aggregate(node, print),
        Plan::Distinct(node) if node.carried.is_empty() => print.vars(&node.columns),
        Plan::Distinct(node) => {
            format!("{} with the first {}", print.vars(&node.columns), print.vars(&node.carried))
        }
        Plan::Sort(node) => sort(node, print),
        Plan::Skip(node) => print.expr(&node.count),
        Plan::Limit(node) => print.expr(&node.count),
        Plan::Unwind(node) => format!("{} AS {}", print.expr(&node.list), print.var(node.variable)),
        Plan::Join(node) if node.once => format!("{}, built once", print.vars(&node.on)),
        Plan::Join(node) => print.vars(&node.on),
        Plan::Apply(node) => apply(node, algorithm, print),
        Plan::Union(node) => {
            let each = node.columns.iter().map(|(out, ..)| *out).collect::<Vec<_>>();
            print.vars(&each)
        }
        Plan::CallProcedure(node) => {
            let yields = node.yields.iter().map(|(field, var)| format!("{field} AS {}", print.var(*var)));
            format!(
                "{}({}){} {}",
                node.name,
                print.exprs(&node.arguments),
                if node.is_cached { " CACHED" } else { "" },
                yields.collect::<Vec<_>>().join(", ")
            )
        }
        Plan::Create(node) => create(&node.vertices, &node.edges, print),
        Plan::Merge(node) => create(&node.vertices, &node.edges, print),
        Plan::Set(node) => node.items.iter().map(|item| change(item, print)).collect::<Vec<_>>().join(", "),
        Plan::Delete(node) => {
            format!("{}{}", if node.detach { "DETACH " } else { "" }, print.exprs(&node.targets))
        }
        Plan::ForEach(node) => format!("{} IN {}", print.var(node.variable), print.expr(&node.list)),
    }
}

fn vertex_text(print: &Printer<'_>, var: Var, expr: &LabelExpr) -> String {
    let colon = if expr.is_any() { "" } else { ":" };
    format!("({}{colon}{})", print.var(var), labels(expr))
}

fn seek(var: &str, keys: &[Name], seek: &Seek, print: &Printer<'_>) -> String {
    let key = |key: &Name| format!("{var}.{key}");
    let first = keys.first().map(key).unwrap_or_default();
    match seek {
        Seek::Equal(values) => {
            let each =
                keys.iter().zip(values).map(|(k, value)| format!("{} = {}", key(k), print.expr(value)));
            each.collect::<Vec<_>>().join(" AND ")
        }
        Seek::In(list) => format!("{first} IN {}", print.expr(list)),
        Seek::Prefix(text) => format!("{first} STARTS WITH {}", print.expr(text)),
        Seek::Range(low, high) => {
            let bound = |bound: &Option<(Expr, bool)>, strict: &str, included: &str| {
                bound.as_ref().map(|(value, with)| {
                    format!("{first} {} {}", if *with { included } else { strict }, print.expr(value))
                })
            };
            let both = [bound(low, ">", ">="), bound(high, "<", "<=")];
            both.into_iter().flatten().collect::<Vec<_>>().join(" AND ")
        }
    }
}

/// `-[inside]->`
fn arrow(direction: Direction, inside: String) -> String {
    let inside = if inside.is_empty() { String::new() } else { format!("[{inside}]") };
    match direction {
        Direction::Out => format!("-{inside}->"),
        Direction::In => format!("<-{inside}-"),
        Direction::Both => format!("-{inside}-"),
    }
}

fn typed(name: String, types: &[Name]) -> String {
    if types.is_empty() { name } else { format!("{name}:{}", types.join("|")) }
}

/// The core in the order of binding, with the trees of each vertex in braces.
fn count_matches(node: &CountMatches, print: &Printer<'_>) -> String {
    let times = match node.times {
        1 => String::new(),
        -1 => "minus ".to_string(),
        times => format!("{times} times "),
    };
    let mut text = format!("{times}({}){}", print.var(node.start), trees(&node.trees));
    for step in &node.steps {
        let arm = |arm: &CountArm| {
            let edge = arrow(arm.direction, typed(String::new(), &arm.types));
            format!("({}){edge}", print.var(arm.other))
        };
        let arms = step.arms.iter().map(arm).collect::<Vec<_>>().join(" & ");
        text += &format!(", {arms}{}{}", vertex_text(print, step.vertex, &step.labels), trees(&step.trees));
        step.absent.iter().for_each(|absent| text += &format!(" & not {}", arm(absent)));
        step.differs.iter().for_each(|other| text += &format!(" <> {}", print.var(*other)));
    }
    text
}

fn count_stored(node: &CountStored, print: &Printer<'_>) -> String {
    let vertex = |carried: &LabelExpr| {
        let colon = if carried.is_any() { "" } else { ":" };
        format!("({colon}{})", labels(carried))
    };
    let what = match &node.counted {
        Counted::Vertices(carried) => vertex(carried),
        Counted::Edges { types, labels, direction } => {
            format!("{}{}()", vertex(labels), arrow(*direction, typed(String::new(), types)))
        }
    };
    format!("{what} AS {}", print.var(node.count))
}

fn trees(all: &[CountTree]) -> String {
    let each = all.iter().map(|tree| {
        let edge = arrow(tree.direction, typed(String::new(), &tree.types));
        let colon = if tree.labels.is_any() { "" } else { ":" };
        let optional = if tree.optional { "?" } else { "" };
        let loops = if tree.is_loop { " loop" } else { "" };
        format!(" {{{optional}{edge}({colon}{}){}{loops}}}", labels(&tree.labels), trees(&tree.trees))
    });
    each.collect()
}

/// All arms; the labels of the vertex where they meet stand at the first.
fn intersect(node: &Intersect, print: &Printer<'_>) -> String {
    let each = node.arms.iter().enumerate().map(|(number, arm)| {
        let edge = arrow(arm.direction, typed(String::new(), &arm.types));
        let labels = if number == 0 { &node.labels } else { &LabelExpr::Any };
        let once = if arm.once { " once" } else { "" };
        format!("({}){edge}{}{once}", print.var(arm.from), vertex_text(print, node.to, labels))
    });
    each.collect::<Vec<_>>().join(" & ")
}

fn expand(node: &Expand, print: &Printer<'_>) -> String {
    let edge = node.edge.map_or(String::new(), |edge| print.var(edge));
    let arrow = arrow(node.direction, typed(edge, &node.types));
    let into = match (node.into, node.loops_twice) {
        (true, _) => " into",
        (_, true) => " loops twice",
        _ => "",
    };
    let read: Vec<String> = {
        let column = |(key, column): &(Name, Var)| format!(", .{key} AS {}", print.var(*column));
        node.properties.iter().map(column).collect()
    };
    let to = vertex_text(print, node.to, &node.labels);
    format!("({}){arrow}{to}{into}{}", print.var(node.from), read.join(""))
}

fn expand_path(node: &ExpandPath, print: &Printer<'_>) -> String {
    let edges = node.edges.map_or(String::new(), |edges| print.var(edges));
    let max = node.max.map_or(String::new(), |max| max.to_string());
    let inside = format!("{}*{}..{max}", typed(edges, &node.types), node.min);
    let mut text = format!(
        "({}){}{}",
        print.var(node.from),
        arrow(node.direction, inside),
        vertex_text(print, node.to, &node.labels)
    );
    let mut say = |said: bool, word: &str| {
        if said {
            text += " ";
            text += word
        }
    };
    say(node.into, "into");
    say(node.selector == Selector::AnyShortest, "shortest");
    say(node.selector == Selector::AllShortest, "all shortest");
    say(node.mode == PathMode::Walk, "walk");
    say(node.mode == PathMode::Acyclic, "acyclic");
    say(node.mode == PathMode::Simple, "simple");
    say(node.distinct_ends, "distinct ends");
    say(node.edges.is_some() && node.edges_reversed, "reversed");
    if let Some(length) = node.length {
        text += &format!(" length {}", print.var(length))
    }
    if let Some((variable, predicate)) = &node.edge_predicate {
        text += &format!(" where each {}: {}", print.var(*variable), print.expr(predicate))
    }
    text
}

fn items(items: &[(Var, Expr)], print: &Printer<'_>) -> String {
    let each = items.iter().map(|(var, expr)| match expr {
        Expr::Variable(same) if same == var => print.var(*var),
        other => format!("{} AS {}", print.expr(other), print.var(*var)),
    });
    each.collect::<Vec<_>>().join(", ")
}

fn aggregate(node: &Aggregate, print: &Printer<'_>) -> String {
    let each = node.aggregates.iter().map(|(var, call)| {
        let name = call.function.name();
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        let text = match name.ends_with(')') {
            true => name.to_string(),
            false => format!("{name}({distinct}{})", print.exprs(&call.arguments)),
        };
        format!("{text} AS {}", print.var(*var))
    });
    let each = each.collect::<Vec<_>>().join(", ");
    if node.keys.is_empty() {
        each
    } else {
        format!("by {}; {each}", items(&node.keys, print)).trim_end_matches("; ").into()
    }
}

fn sort(node: &Sort, print: &Printer<'_>) -> String {
    let each = node.keys.iter().map(|key| {
        let typed = if key.order == KeyOrder::Typed { " by type" } else { "" };
        format!("{}{typed}{}", print.expr(&key.expr), if key.descending { " DESC" } else { "" })
    });
    let keys = each.collect::<Vec<_>>().join(", ");
    match &node.limit {
        Some(limit) => format!("{keys} first {}", print.expr(limit)),
        None => keys,
    }
}

fn apply(node: &Apply, algorithm: Algorithm, print: &Printer<'_>) -> String {
    let columns = match &node.kind {
        ApplyKind::Inner(columns) | ApplyKind::Optional(columns) => print.vars(columns),
        ApplyKind::Exists(var) | ApplyKind::Count(var) => print.var(*var),
        ApplyKind::Collect { list, column } => format!("{} AS {}", print.var(*column), print.var(*list)),
        ApplyKind::Repeat(repeat) => super::scope::rounds(repeat, print),
        ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Unit => String::new(),
    };
    let scope = super::scope::detail(node, algorithm, print);
    let both = [columns, scope];
    both.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("  ")
}

fn create(vertices: &[CreateVertex], edges: &[CreateEdge], print: &Printer<'_>) -> String {
    let properties =
        |map: &Option<Expr>| map.as_ref().map_or(String::new(), |map| format!(" {}", print.expr(map)));
    let vertices = vertices.iter().map(|made| {
        let labels: String = made.labels.iter().map(|label| format!(":{label}")).collect();
        format!("({}{labels}{})", print.var(made.variable), properties(&made.properties))
    });
    let edges = edges.iter().map(|made| {
        let (source, target) = (print.var(made.source), print.var(made.target));
        let edge = print.var(made.variable);
        let dynamic = made.dynamic_type.as_ref().map(|value| format!("$({})", print.expr(value)));
        let edge_type = dynamic.unwrap_or_else(|| made.edge_type.to_string());
        format!("({source})-[{edge}:{edge_type}{}]->({target})", properties(&made.properties))
    });
    vertices.chain(edges).collect::<Vec<_>>().join(", ")
}

fn change(item: &SetItem, print: &Printer<'_>) -> String {
    match item {
        SetItem::Property(subject, key, value) => {
            format!("{}.{key} = {}", print.expr(subject), print.expr(value))
        }
        SetItem::DynamicProperty(subject, key, value) => {
            format!("{}[{}] = {}", print.expr(subject), print.expr(key), print.expr(value))
        }
        SetItem::Properties { variable, value, merge } => {
            let operator = if *merge { "+=" } else { "=" };
            format!("{} {operator} {}", print.var(*variable), print.expr(value))
        }
        SetItem::AddLabels(variable, names) => format!("{}:{}", print.var(*variable), names.join(":")),
        SetItem::DynamicLabels { variable, labels, add } => {
            let verb = if *add { "" } else { "remove " };
            format!("{verb}{}:$({})", print.var(*variable), print.expr(labels))
        }
        SetItem::RemoveLabels(variable, names) => {
            format!("remove {}:{}", print.var(*variable), names.join(":"))
        }
    }
}
