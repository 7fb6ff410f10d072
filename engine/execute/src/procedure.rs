//! Procedures: a small registry of what CALL can reach. Each is a function from the graph and its arguments to rows.

use crate::ExecuteError;
use model::Value;
use model::schema::{ConstraintRule, SchemaTarget};
use plan::{AggregateFunction, Function};
use store::Snapshot;

/// A procedure.
#[derive(Debug)]
pub struct Procedure {
    /// Full name.
    pub name: &'static str,
    /// Names of the arguments.
    pub arguments: &'static [&'static str],
    /// Names of the fields it yields, in column order.
    pub fields: &'static [&'static str],
    /// One line of documentation.
    pub help: &'static str,
    run: fn(&Snapshot, &[Value]) -> Rows,
}

/// All procedures, by name.
pub static PROCEDURES: &[Procedure] = &[
    Procedure {
        name: "db.constraints",
        arguments: &[],
        fields: &["name", "type", "entityType", "labelsOrTypes", "properties"],
        help: "All constraints",
        run: constraints,
    },
    Procedure {
        name: "db.indexes",
        arguments: &[],
        fields: &["name", "state", "type", "entityType", "labelsOrTypes", "properties", "uniqueness"],
        help: "All indexes",
        run: indexes,
    },
    Procedure { name: "db.labels", arguments: &[], fields: &["label"], help: "Labels in use", run: labels },
    Procedure {
        name: "db.propertyKeys",
        arguments: &[],
        fields: &["propertyKey"],
        help: "All property keys",
        run: property_keys,
    },
    Procedure {
        name: "db.relationshipTypes",
        arguments: &[],
        fields: &["relationshipType"],
        help: "Relationship types in use",
        run: relationship_types,
    },
    Procedure {
        name: "db.statistics",
        arguments: &[],
        fields: &["nodes", "relationships", "commit"],
        help: "Sizes of the graph",
        run: statistics,
    },
    Procedure {
        name: "dbms.components",
        arguments: &[],
        fields: &["name", "versions", "edition"],
        help: "Name and version of this engine",
        run: components,
    },
    Procedure {
        name: "dbms.functions",
        arguments: &[],
        fields: &["name", "signature", "description", "aggregating"],
        help: "All functions",
        run: functions,
    },
    Procedure {
        name: "dbms.procedures",
        arguments: &[],
        fields: &["name", "signature", "description"],
        help: "All procedures",
        run: procedures,
    },
];

/// The procedure of this name, whatever its case.
pub fn by_name(name: &str) -> Option<&'static Procedure> {
    PROCEDURES.iter().find(|procedure| procedure.name.eq_ignore_ascii_case(name))
}

impl Procedure {
    /// Rows for these arguments.
    ///
    /// # Errors
    /// What the procedure says.
    pub fn call(&self, snapshot: &Snapshot, arguments: &[Value]) -> Result<Vec<Vec<Value>>, ExecuteError> {
        (self.run)(snapshot, arguments)
    }
    /// Signature as documented.
    pub fn signature(&self) -> String {
        format!("{}({}) :: ({})", self.name, self.arguments.join(", "), self.fields.join(", "))
    }
}

type Rows = Result<Vec<Vec<Value>>, ExecuteError>;

/// One column of names, in their order.
fn names<'a>(names: impl Iterator<Item = &'a std::sync::Arc<str>>) -> Rows {
    let mut names: Vec<_> = names.cloned().collect();
    names.sort();
    Ok(names.into_iter().map(|name| vec![Value::from(name)]).collect())
}

fn labels(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let all = snapshot.catalog().names().labels().iter().enumerate();
    let used = |at: usize| snapshot.statistics().vertices_with_label(model::LabelId(at as u16)) > 0;
    names(all.filter(|(at, _)| used(*at)).map(|(_, name)| name))
}

fn relationship_types(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let used = snapshot.statistics().edge_types();
    names(used.into_iter().filter_map(|id| snapshot.catalog().edge_type_name(id)))
}

fn property_keys(snapshot: &Snapshot, _: &[Value]) -> Rows {
    names(snapshot.catalog().names().keys().iter())
}

fn statistics(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let statistics = snapshot.statistics();
    let row = [statistics.vertices() as i64, statistics.edges() as i64, snapshot.place() as i64];
    Ok(vec![row.into_iter().map(Value::Int).collect()])
}

fn components(_: &Snapshot, _: &[Value]) -> Rows {
    let versions = Value::list(vec![env!("CARGO_PKG_VERSION").into()]);
    Ok(vec![vec!["Tanglewood".into(), versions, "community".into()]])
}

fn functions(_: &Snapshot, _: &[Value]) -> Rows {
    let scalar = Function::ALL.iter().map(|f| (f.name(), f.signature(), f.help(), false));
    let aggregating = AggregateFunction::ALL.iter().map(|f| (f.name(), f.signature(), f.help(), true));
    let row = |(name, signature, help, aggregating): (&str, &str, &str, bool)| {
        vec![name.into(), signature.into(), help.into(), aggregating.into()]
    };
    Ok(scalar.chain(aggregating).map(row).collect())
}

fn procedures(_: &Snapshot, _: &[Value]) -> Rows {
    let row = |procedure: &Procedure| {
        vec![procedure.name.into(), procedure.signature().into(), procedure.help.into()]
    };
    Ok(PROCEDURES.iter().map(row).collect())
}

/// Entity type and names of what an index or a constraint is about.
fn target(snapshot: &Snapshot, target: SchemaTarget) -> (Value, Value) {
    let (kind, name) = match target {
        SchemaTarget::Vertices(label) => ("NODE", snapshot.catalog().label_name(label)),
        SchemaTarget::Edges(edge_type) => ("RELATIONSHIP", snapshot.catalog().edge_type_name(edge_type)),
    };
    (kind.into(), Value::list(name.into_iter().map(|name| Value::from(name.clone())).collect()))
}

fn keys(snapshot: &Snapshot, keys: &[model::KeyId]) -> Value {
    let names = keys.iter().filter_map(|key| snapshot.catalog().key_name(*key));
    Value::list(names.map(|name| Value::from(name.clone())).collect())
}

fn indexes(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let row = |index: &model::schema::IndexDefinition| {
        let (entity, names) = target(snapshot, index.target);
        let uniqueness = if index.unique { "UNIQUE" } else { "NONUNIQUE" };
        let keys = keys(snapshot, &index.keys);
        vec![
            index.name.as_str().into(),
            "ONLINE".into(),
            "RANGE".into(),
            entity,
            names,
            keys,
            uniqueness.into(),
        ]
    };
    Ok(snapshot.catalog().indexes().iter().map(row).collect())
}

fn constraints(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let row = |constraint: &model::schema::ConstraintDefinition| {
        let (entity, names) = target(snapshot, constraint.target);
        let rule = match constraint.rule {
            ConstraintRule::Unique(_) => "UNIQUENESS",
            ConstraintRule::Exists => "PROPERTY_EXISTENCE",
            ConstraintRule::NodeKey(_) => "NODE_KEY",
            ConstraintRule::Typed(_) => "PROPERTY_TYPE",
        };
        vec![constraint.name.as_str().into(), rule.into(), entity, names, keys(snapshot, &constraint.keys)]
    };
    Ok(snapshot.catalog().constraints().iter().map(row).collect())
}
