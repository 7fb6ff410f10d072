//! Notifications about valid statements that are perhaps not meant: names that the graph does not know, disconnected patterns. Codes, titles and
//! statuses are Neo4j's, so that its drivers' filters work.
//!
//! A statement is examined once, when it is planned; its suspicions are checked again whenever it runs, since the graph may have learnt a name
//! meanwhile. A statement without suspicions costs nothing.

mod hints;

use plan::expr::{Expr, LabelExpr};
use plan::pattern::Pattern;
use plan::{Plan, Statement, StatementKind, Var, Vars};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use store::Snapshot;

/// Notifications of one statement.
pub const NOTIFICATIONS_MAX: usize = 32;
/// Known names that are looked through for the one that a misspelt name may mean.
const NAMES_COMPARED_MAX: usize = 2_000;
/// Candidates for a misspelt name: the nearest may be hidden from a reader.
const MEANT_MAX: usize = 3;
/// Near names for which a search decides whether a reader may know them: each may search the whole graph.
const NAMES_LOOKED_FOR_MAX: usize = 8;

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The answer may not be the intended one.
    Warning,
    /// Good to know.
    Information,
}

/// A position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Characters before it.
    pub offset: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
}

/// Something noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Neo4j's code.
    pub code: &'static str,
    /// GQL's status.
    pub gql_status: &'static str,
    /// A few words.
    pub title: &'static str,
    /// The description, with the names concerned.
    pub description: String,
    /// How much it matters.
    pub severity: Severity,
    /// Neo4j's category (which is also the classification of statuses).
    pub category: &'static str,
    /// Where in the text.
    pub position: Option<Position>,
}

/// Kinds of suspicions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Suspicion {
    Label(Arc<str>),
    EdgeType(Arc<str>),
    Key(Arc<str>),
    Product,
    /// A hint that the plan does not follow.
    Hint(String),
}

/// A suspicion, its position in the text, and the known names that may be meant, the nearest first.
#[derive(Debug)]
struct Suspect {
    suspicion: Suspicion,
    place: Option<Position>,
    meant: Vec<Arc<str>>,
}

/// Suspicions about a statement.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    suspects: Vec<Suspect>,
}

impl Notices {
    /// The notices of a statement as it was written, before it is rewritten.
    pub fn of(statement: &Statement, text: &str, snapshot: &Snapshot) -> Notices {
        let StatementKind::Query { plan, .. } = &statement.kind else { return Notices::default() };
        let mut found = BTreeSet::new();
        // Writing makes names known, so only what is read is looked at.
        plan.any(&mut |node| {
            if let Plan::Match(node) = node {
                of_pattern(&node.pattern, &node.input, &mut found);
            }
            if !node.writes_here() {
                node.expressions(&mut |expr| of_expression(expr, &mut found));
            }
            false
        });
        // What a transaction alone knows may be unknown to the next one who asks this.
        let knows_more = snapshot.is_restricted() && !snapshot.is_committed();
        let suspects = found
            .into_iter()
            .filter(|suspicion| knows_more || is_founded(suspicion, snapshot))
            .take(NOTIFICATIONS_MAX)
            .map(|suspicion| {
                let (place, meant) = (place_of(&suspicion, text), meant_by(&suspicion, snapshot));
                Suspect { suspicion, place, meant }
            });
        Notices { suspects: suspects.collect() }
    }
    /// Adds notices of hints that the optimised plan does not follow.
    pub fn add_hints(&mut self, optimised: &Statement) {
        let hints = hints::unfollowed(optimised).into_iter();
        let suspect = |hint| Suspect { suspicion: Suspicion::Hint(hint), place: None, meant: Vec::new() };
        self.suspects.extend(hints.map(suspect));
        self.suspects.truncate(NOTIFICATIONS_MAX);
    }
    /// The notifications that hold now.
    pub fn now(&self, snapshot: &Snapshot) -> Vec<Notification> {
        let founded = self.suspects.iter().filter(|suspect| is_founded(&suspect.suspicion, snapshot));
        founded.map(|suspect| told(suspect, snapshot)).collect()
    }
}

fn of_pattern(pattern: &Pattern, input: &Plan, found: &mut BTreeSet<Suspicion>) {
    pattern.vertices.iter().for_each(|vertex| of_labels(&vertex.labels, found));
    pattern.edges.iter().flat_map(|edge| &edge.types).for_each(|name| {
        found.insert(Suspicion::EdgeType(name.clone()));
    });
    if falls_apart(pattern, input) {
        found.insert(Suspicion::Product);
    }
}

/// Has the pattern parts that neither an edge nor a bound vertex joins?
fn falls_apart(pattern: &Pattern, input: &Plan) -> bool {
    let Some(first) = pattern.vertices.first() else { return false };
    let bound = input.columns();
    let mut neighbours: HashMap<Var, Vec<Var>> = HashMap::new();
    for edge in &pattern.edges {
        neighbours.entry(edge.from).or_default().push(edge.to);
        neighbours.entry(edge.to).or_default().push(edge.from);
    }
    let mut reached = Vars::from_iter([first.variable]);
    reached.extend(pattern.vertices.iter().map(|vertex| vertex.variable).filter(|v| bound.contains(v)));
    let mut next = 0;
    while let Some(vertex) = reached.get(next).copied() {
        reached.extend(neighbours.get(&vertex).into_iter().flatten().copied());
        next += 1;
    }
    pattern.vertices.iter().any(|vertex| !reached.contains(&vertex.variable))
}

fn of_labels(labels: &LabelExpr, found: &mut BTreeSet<Suspicion>) {
    match labels {
        LabelExpr::Has(name) => {
            found.insert(Suspicion::Label(name.clone()));
        }
        LabelExpr::And(a, b) | LabelExpr::Or(a, b) => {
            of_labels(a, found);
            of_labels(b, found);
        }
        // What must not be there need not be known.
        LabelExpr::Any | LabelExpr::Some | LabelExpr::Not(_) => {}
    }
}

fn of_expression(expr: &Expr, found: &mut BTreeSet<Suspicion>) {
    if let Expr::Property(subject, key) = expr
        && matches!(**subject, Expr::Variable(_))
    {
        found.insert(Suspicion::Key(key.clone()));
    }
    expr.children(&mut |child| of_expression(child, found));
}

fn is_founded(suspicion: &Suspicion, snapshot: &Snapshot) -> bool {
    match suspicion {
        Suspicion::Key(name) if is_component(name) => false,
        Suspicion::Label(name) | Suspicion::EdgeType(name) | Suspicion::Key(name) => {
            !knows(suspicion, name, snapshot)
        }
        Suspicion::Product | Suspicion::Hint(_) => true,
    }
}

/// May the reader of this snapshot know a name of the kind of this suspicion? False if it cannot be read now.
fn knows(suspicion: &Suspicion, name: &str, snapshot: &Snapshot) -> bool {
    let known = match suspicion {
        Suspicion::Label(_) => snapshot.knows_label(name),
        Suspicion::EdgeType(_) => snapshot.knows_edge_type(name),
        Suspicion::Key(_) => snapshot.knows_key(name),
        Suspicion::Product | Suspicion::Hint(_) => Ok(true),
    };
    known.unwrap_or(true)
}

/// Known names that the unknown name of a suspicion may mean, the nearest first.
fn meant_by(suspicion: &Suspicion, snapshot: &Snapshot) -> Vec<Arc<str>> {
    let names = snapshot.catalog().names();
    let (name, known) = match suspicion {
        Suspicion::Label(name) => (name, names.labels()),
        Suspicion::EdgeType(name) => (name, names.edge_types()),
        Suspicion::Key(name) => (name, names.keys()),
        Suspicion::Product | Suspicion::Hint(_) => return Vec::new(),
    };
    // Names that a reader does not see are empty.
    let is_shown = |name: &&Arc<str>| !name.is_empty() && !crate::is_hidden_key(name);
    let mut left: Vec<&Arc<str>> = known.iter().filter(is_shown).take(NAMES_COMPARED_MAX).collect();
    let (mut meant, mut looked_for) = (Vec::new(), 0);
    while meant.len() < MEANT_MAX
        && looked_for < NAMES_LOOKED_FOR_MAX
        && let Some(near) = text::nearest(name, left.iter().map(|name| &***name))
        && let Some(at) = left.iter().position(|name| ***name == *near)
    {
        let near = left.remove(at);
        looked_for += 1;
        if knows(suspicion, near, snapshot) {
            meant.push(near.clone());
        }
    }
    meant
}

/// Parts of temporal values and points, which are no property keys.
fn is_component(name: &str) -> bool {
    const COMPONENTS: [&str; 50] = [
        "year",
        "quarter",
        "month",
        "week",
        "weekYear",
        "day",
        "ordinalDay",
        "weekDay",
        "dayOfWeek",
        "dayOfQuarter",
        "quarterDay",
        "hour",
        "minute",
        "second",
        "millisecond",
        "microsecond",
        "nanosecond",
        "timezone",
        "offset",
        "offsetMinutes",
        "offsetSeconds",
        "epochMillis",
        "epochSeconds",
        "years",
        "quarters",
        "months",
        "weeks",
        "days",
        "hours",
        "minutes",
        "seconds",
        "milliseconds",
        "microseconds",
        "nanoseconds",
        "quartersOfYear",
        "monthsOfQuarter",
        "monthsOfYear",
        "daysOfWeek",
        "minutesOfHour",
        "secondsOfMinute",
        "millisecondsOfSecond",
        "microsecondsOfSecond",
        "nanosecondsOfSecond",
        "x",
        "y",
        "z",
        "latitude",
        "longitude",
        "height",
        "srid",
    ];
    COMPONENTS.contains(&name) || name == "crs"
}

/// The first position of the name in the text as a word of its own.
fn place_of(suspicion: &Suspicion, text: &str) -> Option<Position> {
    let (Suspicion::Label(name) | Suspicion::EdgeType(name) | Suspicion::Key(name)) = suspicion else {
        return Some(Position { offset: 0, line: 1, column: 1 });
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let at = text
        .match_indices(&**name)
        .map(|(at, _)| at)
        .find(|at| !text[..*at].ends_with(is_word) && !text[at + name.len()..].starts_with(is_word))?;
    let before = &text[..at];
    let (line, column) = text::line_and_column(text, at);
    Some(Position { offset: before.chars().count(), line, column })
}

fn told(suspect: &Suspect, snapshot: &Snapshot) -> Notification {
    let Suspect { suspicion, place: position, meant } = suspect;
    let position = *position;
    // Plans are shared: what this reader does not see is not suggested, either.
    let is_seen = |name: &&Arc<str>| knows(suspicion, name, snapshot);
    let question = match meant.iter().find(is_seen) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "is it spelt right?".into(),
    };
    let unknown = |code, gql_status, title, what: &str, name: &str| Notification {
        code,
        gql_status,
        title,
        description: format!("the {what} `{name}` is not known to the database; {question}"),
        severity: Severity::Warning,
        category: "UNRECOGNIZED",
        position,
    };
    match suspicion {
        Suspicion::Label(name) => unknown(
            "Neo.ClientNotification.Statement.UnknownLabelWarning",
            "01N50",
            "The provided label is not in the database.",
            "label",
            name,
        ),
        Suspicion::EdgeType(name) => unknown(
            "Neo.ClientNotification.Statement.UnknownRelationshipTypeWarning",
            "01N51",
            "The provided relationship type is not in the database.",
            "relationship type",
            name,
        ),
        Suspicion::Key(name) => unknown(
            "Neo.ClientNotification.Statement.UnknownPropertyKeyWarning",
            "01N52",
            "The provided property key is not in the database",
            "property key",
            name,
        ),
        Suspicion::Hint(hint) => hints::told(hint, position),
        Suspicion::Product => Notification {
            code: "Neo.ClientNotification.Statement.CartesianProduct",
            gql_status: "03N90",
            title: "This query builds a cartesian product between disconnected patterns.",
            description: "parts of the pattern are not connected with each other, so every match of one is combined with every match \
                          of the others"
                .into(),
            severity: Severity::Information,
            category: "PERFORMANCE",
            position,
        },
    }
}
