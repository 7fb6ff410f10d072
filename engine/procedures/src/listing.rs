//! The content of the catalogue and the tables of functions and procedures, as rows.

use super::Rows;
use model::Value;
use model::schema::{ConstraintDefinition, ConstraintRule, IndexDefinition, SchemaTarget};
use plan::Quoted;
use plan::functions::BINDING_FORMS;
use plan::hidden::is_hidden;
use plan::procedures::Procedure;
use plan::{AggregateFunction, Function};
use store::Snapshot;

/// Entity type and names of an index's or a constraint's target.
fn target(snapshot: &Snapshot, target: SchemaTarget) -> (Value, Value) {
    let (kind, name) = match target {
        SchemaTarget::Vertices(label) => ("NODE", snapshot.catalog().label_name(label)),
        SchemaTarget::Edges(edge_type) => ("RELATIONSHIP", snapshot.catalog().edge_type_name(edge_type)),
    };
    (kind.into(), Value::list(name.into_iter().map(|name| Value::from(name.clone())).collect()))
}

pub(super) fn keys(snapshot: &Snapshot, keys: &[model::KeyId]) -> Value {
    let names = keys.iter().filter_map(|key| snapshot.catalog().key_name(*key));
    Value::list(names.map(|name| Value::from(name.clone())).collect())
}

fn uniqueness(index: &IndexDefinition) -> Value {
    if index.unique { "UNIQUE".into() } else { "NONUNIQUE".into() }
}

fn rule(constraint: &ConstraintDefinition) -> &'static str {
    let vertices = matches!(constraint.target, SchemaTarget::Vertices(_));
    match (&constraint.rule, vertices) {
        (ConstraintRule::Unique(_), true) => "UNIQUENESS",
        (ConstraintRule::Unique(_), false) => "RELATIONSHIP_UNIQUENESS",
        (ConstraintRule::Exists, true) => "NODE_PROPERTY_EXISTENCE",
        (ConstraintRule::Exists, false) => "RELATIONSHIP_PROPERTY_EXISTENCE",
        (ConstraintRule::NodeKey(_), true) => "NODE_KEY",
        (ConstraintRule::NodeKey(_), false) => "RELATIONSHIP_KEY",
        (ConstraintRule::Typed(_), true) => "NODE_PROPERTY_TYPE",
        (ConstraintRule::Typed(_), false) => "RELATIONSHIP_PROPERTY_TYPE",
    }
}

/// The index that a constraint keeps, if it does.
pub(super) fn owned(constraint: &ConstraintDefinition) -> Option<model::schema::IndexId> {
    match constraint.rule {
        ConstraintRule::Unique(id) | ConstraintRule::NodeKey(id) => Some(id),
        _ => None,
    }
}

/// Must each element have the property?
pub(super) fn requires(constraint: &ConstraintDefinition) -> bool {
    matches!(constraint.rule, ConstraintRule::Exists | ConstraintRule::NodeKey(_))
}

/// Indexes that users made: not those over keys that no interface shows.
pub(super) fn shown_indexes(snapshot: &Snapshot) -> impl Iterator<Item = &IndexDefinition> {
    let catalog = snapshot.catalog();
    let hides = |key: &model::KeyId| catalog.key_name(*key).is_some_and(|name| is_hidden(name));
    catalog.indexes().iter().filter(move |index| !index.keys.iter().any(hides))
}

pub(super) fn db_indexes(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let row = |index: &IndexDefinition| {
        let (entity, names) = target(snapshot, index.target);
        let name = index.name.as_str().into();
        let keys = keys(snapshot, &index.keys);
        vec![name, "ONLINE".into(), "RANGE".into(), entity, names, keys, uniqueness(index)]
    };
    Ok(shown_indexes(snapshot).map(row).collect())
}

pub(super) fn db_constraints(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let row = |constraint: &ConstraintDefinition| {
        let (entity, names) = target(snapshot, constraint.target);
        let name = constraint.name.as_str().into();
        vec![name, rule(constraint).into(), entity, names, keys(snapshot, &constraint.keys)]
    };
    Ok(snapshot.catalog().constraints().iter().map(row).collect())
}

/// Neo4j's name of the only kind of index there is.
const PROVIDER: &str = "range-1.0";

/// `(n:`Label`)` or `()-[r:`TYPE`]-()`, and `n.`a`, n.`b``.
fn pattern(snapshot: &Snapshot, target: SchemaTarget, keys: &[model::KeyId]) -> (String, String) {
    let (name, subject) = match target {
        SchemaTarget::Vertices(label) => (snapshot.catalog().label_name(label), "n"),
        SchemaTarget::Edges(edge_type) => (snapshot.catalog().edge_type_name(edge_type), "r"),
    };
    let name = Quoted(name.map_or("", |name| name));
    let entity = match target {
        SchemaTarget::Vertices(_) => format!("(n:{name})"),
        SchemaTarget::Edges(_) => format!("()-[r:{name}]-()"),
    };
    let names = keys.iter().filter_map(|key| snapshot.catalog().key_name(*key));
    let keys: Vec<String> = names.map(|key| format!("{subject}.{}", Quoted(key))).collect();
    (entity, keys.join(", "))
}

/// The options that both listings show: there are none to choose.
fn options() -> Value {
    let config: [(&str, Value); 0] = [];
    Value::map([("indexConfig", Value::map(config)), ("indexProvider", PROVIDER.into())])
}

fn create_constraint(snapshot: &Snapshot, constraint: &ConstraintDefinition) -> String {
    let (entity, keys) = pattern(snapshot, constraint.target, &constraint.keys);
    let vertices = matches!(constraint.target, SchemaTarget::Vertices(_));
    let rule = match (&constraint.rule, vertices) {
        (ConstraintRule::Unique(_), _) => "IS UNIQUE".to_string(),
        (ConstraintRule::Exists, _) => "IS NOT NULL".to_string(),
        (ConstraintRule::NodeKey(_), true) => "IS NODE KEY".to_string(),
        (ConstraintRule::NodeKey(_), false) => "IS RELATIONSHIP KEY".to_string(),
        (ConstraintRule::Typed(value_type), _) => format!("IS :: {}", value_type.name()),
    };
    let name = Quoted(&constraint.name);
    format!("CREATE CONSTRAINT {name} FOR {entity} REQUIRE ({keys}) {rule}")
}

/// The kind that a listing is restricted to: all, where that is empty.
fn which(arguments: &[Value]) -> &str {
    arguments.first().and_then(Value::as_str).unwrap_or_default()
}

/// Is it a constraint of the kind that these words name, such as `NODE KEY`?
fn is_of_kind(kind: &str, words: &str) -> bool {
    words.split_whitespace().all(|word| match word {
        "NODE" => !kind.starts_with("RELATIONSHIP"),
        "REL" | "RELATIONSHIP" => kind.starts_with("RELATIONSHIP"),
        "UNIQUE" | "UNIQUENESS" => kind.ends_with("UNIQUENESS"),
        "EXIST" | "EXISTENCE" => kind.ends_with("EXISTENCE"),
        "TYPE" => kind.ends_with("PROPERTY_TYPE"),
        "KEY" => kind.ends_with("KEY"),
        _ => true,
    })
}

pub(super) fn indexes(snapshot: &Snapshot, arguments: &[Value]) -> Rows {
    if !["", "ALL", "RANGE"].contains(&which(arguments)) {
        return Ok(Vec::new());
    }
    let constraints = snapshot.catalog().constraints();
    let row = |(at, index): (usize, &IndexDefinition)| {
        let (entity, names) = target(snapshot, index.target);
        // Numbers that are left out would tell of indexes that are.
        let number = if snapshot.is_restricted() { at as i64 } else { index.id.0 as i64 };
        let owner = constraints.iter().find(|constraint| owned(constraint) == Some(index.id));
        let (subject, keys_read) = pattern(snapshot, index.target, &index.keys);
        let create = match owner {
            Some(constraint) => create_constraint(snapshot, constraint),
            None => format!("CREATE RANGE INDEX {} FOR {subject} ON ({keys_read})", Quoted(&index.name)),
        };
        let size = snapshot.statistics().index(index.id);
        let count = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        vec![
            Value::Int(number),
            index.name.as_str().into(),
            "ONLINE".into(),
            Value::Float(100.0),
            "RANGE".into(),
            entity,
            names,
            keys(snapshot, &index.keys),
            PROVIDER.into(),
            owner.map(|constraint| constraint.name.as_str()).into(),
            // Who reads an index is not counted.
            Value::Null,
            Value::Null,
            Value::Null,
            options(),
            "".into(),
            create.into(),
            uniqueness(index),
            size.map_or(Value::Null, |size| count(size.entries)),
            size.map_or(Value::Null, |size| count(size.distinct)),
        ]
    };
    Ok(shown_indexes(snapshot).enumerate().map(row).collect())
}

pub(super) fn constraints(snapshot: &Snapshot, arguments: &[Value]) -> Rows {
    let words = which(arguments);
    let row = |(at, constraint): (usize, &ConstraintDefinition)| {
        let (entity, names) = target(snapshot, constraint.target);
        let index = owned(constraint).and_then(|id| snapshot.catalog().index(id));
        let property_type = match constraint.rule {
            ConstraintRule::Typed(ref value_type) => value_type.name().into(),
            _ => Value::Null,
        };
        vec![
            Value::Int(at as i64),
            constraint.name.as_str().into(),
            rule(constraint).into(),
            entity,
            names,
            keys(snapshot, &constraint.keys),
            index.map(|index| index.name.as_str()).into(),
            property_type,
            if index.is_some() { options() } else { Value::Null },
            create_constraint(snapshot, constraint).into(),
        ]
    };
    let all = snapshot.catalog().constraints().iter().enumerate();
    Ok(all.filter(|(_, constraint)| is_of_kind(rule(constraint), words)).map(row).collect())
}

/// The one database, as Neo4j's drivers and tools know it.
pub(super) fn databases(_: &Snapshot, arguments: &[Value]) -> Rows {
    if !["", "neo4j"].contains(&which(arguments).to_lowercase().as_str()) {
        return Ok(Vec::new());
    }
    let none = || Value::list(Vec::new());
    let texts = ["read-write", "", "primary"].map(Value::from);
    let [access, address, role] = texts;
    Ok(vec![vec![
        "neo4j".into(),
        "standard".into(),
        none(),
        access,
        address,
        role,
        true.into(),
        "online".into(),
        "online".into(),
        "".into(),
        true.into(),
        true.into(),
        none(),
    ]])
}

/// The settings that the interfaces know, as rows of a name, a value, a default, a description and the valid values, that `wanted` lets through.
fn known_settings<'a>(settings: Option<&'a Value>, wanted: impl Fn(&str) -> bool) -> Vec<&'a [Value]> {
    let Some(Value::List(rows)) = settings else { return Vec::new() };
    let row = |row: &'a Value| match row {
        Value::List(cells) if cells.len() == 5 => Some(&cells[..]),
        _ => None,
    };
    rows.iter().filter_map(row).filter(|row| row[0].as_str().is_some_and(&wanted)).collect()
}

/// First names of settings, with commas between them; all where there is none.
pub(super) fn settings(_: &Snapshot, arguments: &[Value]) -> Rows {
    let wanted: Vec<&str> = which(arguments).split(',').filter(|name| !name.is_empty()).collect();
    let asked = |name: &str| wanted.is_empty() || wanted.contains(&name);
    let row = |row: &[Value]| {
        let [name, value, default, help, valid] = [0, 1, 2, 3, 4].map(|at| row[at].clone());
        let (no, is_set) = (Value::Bool(false), Value::Bool(value.as_str() != default.as_str()));
        vec![name, value.clone(), no.clone(), default, help, value, is_set, valid, no]
    };
    Ok(known_settings(arguments.get(1), asked).into_iter().map(row).collect())
}

pub(super) fn list_config(_: &Snapshot, arguments: &[Value]) -> Rows {
    let part = which(arguments).to_lowercase();
    let row = |row: &[Value]| vec![row[0].clone(), row[3].clone(), row[1].clone(), Value::Bool(false)];
    let holds = |name: &str| name.to_lowercase().contains(&part);
    Ok(known_settings(arguments.get(1), holds).into_iter().map(row).collect())
}

/// Name, signature, help and whether it aggregates, of every function, by name.
fn all_functions() -> Vec<(&'static str, &'static str, &'static str, bool)> {
    let called = Function::ALL.iter().filter(|f| !f.name().starts_with(' '));
    let scalar = called.map(|f| (f.name(), f.signature(), f.help(), false));
    let aggregating = AggregateFunction::ALL.iter().map(|f| (f.name(), f.signature(), f.help(), true));
    let binding = BINDING_FORMS.iter().map(|(name, signature, help)| (*name, *signature, *help, false));
    let mut all: Vec<_> = scalar.chain(aggregating).chain(binding).collect();
    all.sort_unstable();
    all
}

pub(super) fn dbms_functions(_: &Snapshot, _: &[Value]) -> Rows {
    let row = |(name, signature, help, aggregating): (&str, &str, &str, bool)| {
        vec![name.into(), signature.into(), help.into(), aggregating.into()]
    };
    Ok(all_functions().into_iter().map(row).collect())
}

/// An argument as tools read of it.
fn argument(name: &str, kind: &str) -> Value {
    let description = format!("{name} :: {kind}");
    Value::map([
        ("name", Value::from(name)),
        ("type", kind.into()),
        ("description", description.into()),
        ("isDeprecated", false.into()),
    ])
}

/// The arguments that the signature of a function names.
fn arguments_of(signature: &str) -> Vec<Value> {
    let inside = signature.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let Some((inside, _)) = inside else { return Vec::new() };
    let clean =
        |part: &str| part.chars().filter(|one| !"[]…".contains(*one)).collect::<String>().trim().to_string();
    let names = inside.split(',').map(clean).filter(|name| !name.is_empty());
    names.map(|name| argument(&name, "ANY")).collect()
}

pub(super) fn functions(_: &Snapshot, _: &[Value]) -> Rows {
    let row = |(name, signature, help, aggregating): (&str, &str, &str, bool)| {
        let category = category(name, aggregating);
        let (built_in, deprecated) = (Value::Bool(true), Value::Bool(false));
        vec![
            name.into(),
            category.into(),
            help.into(),
            signature.into(),
            built_in,
            aggregating.into(),
            deprecated,
            Value::list(arguments_of(signature)),
        ]
    };
    Ok(all_functions().into_iter().map(row).collect())
}

fn category(name: &str, aggregating: bool) -> &'static str {
    let family = name.split('.').next().unwrap_or(name);
    match family {
        _ if aggregating => "Aggregating",
        "date" | "time" | "localtime" | "datetime" | "localdatetime" | "duration" => "Temporal",
        "point" => "Spatial",
        "abs" | "ceil" | "floor" | "isNaN" | "rand" | "round" | "sign" => "Numeric",
        "e" | "exp" | "log" | "log10" | "sqrt" => "Logarithmic",
        "acos" | "asin" | "atan" | "atan2" | "cos" | "cot" | "degrees" | "haversin" | "pi" | "radians"
        | "sin" | "tan" => "Trigonometric",
        "left" | "lTrim" | "lower" | "replace" | "right" | "rTrim" | "split" | "substring" | "toLower"
        | "toString" | "toStringOrNull" | "toUpper" | "trim" | "upper" => "String",
        "keys" | "labels" | "nodes" | "range" | "reduce" | "relationships" | "reverse" | "tail" => "List",
        "all" | "any" | "exists" | "isEmpty" | "none" | "single" => "Predicate",
        _ => "Scalar",
    }
}

pub(super) fn dbms_procedures(_: &Snapshot, _: &[Value]) -> Rows {
    let row = |procedure: &Procedure| {
        vec![
            procedure.name.into(),
            procedure.signature().into(),
            procedure.help.into(),
            procedure.mode().into(),
        ]
    };
    Ok(Procedure::named().map(row).collect())
}

pub(super) fn procedures(_: &Snapshot, _: &[Value]) -> Rows {
    let row = |procedure: &Procedure| {
        let (help, mode) = (procedure.help.into(), procedure.mode().into());
        let arguments = procedure.arguments.iter().map(|(name, kind)| argument(name, kind)).collect();
        let signature = procedure.signature().into();
        vec![procedure.name.into(), help, mode, false.into(), signature, Value::list(arguments)]
    };
    Ok(Procedure::named().map(row).collect())
}

/// The rows of the second argument whose last cell is the first argument, without that cell.
pub(super) fn given_of(snapshot: &Snapshot, arguments: &[Value]) -> Rows {
    let [of, rows, ..] = arguments else { return Ok(Vec::new()) };
    let mut rows = given(snapshot, std::slice::from_ref(rows))?;
    rows.retain_mut(|row| row.pop().is_some_and(|last| last.as_str() == of.as_str()));
    Ok(rows)
}

/// The rows of the argument, a list of lists.
pub(super) fn given(_: &Snapshot, arguments: &[Value]) -> Rows {
    let Some(Value::List(rows)) = arguments.first() else { return Ok(Vec::new()) };
    let row = |row: &Value| match row {
        Value::List(cells) => cells.to_vec(),
        other => vec![other.clone()],
    };
    Ok(rows.iter().map(row).collect())
}
