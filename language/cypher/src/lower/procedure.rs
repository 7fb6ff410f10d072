//! The procedures that `CALL` knows, with what they take and yield.

use super::Lowered;
use crate::error::{CypherError, ErrorKind};
use crate::span::Span;
use crate::suggest::nearest;

/// A procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Procedure {
    /// Its full name.
    pub name: &'static str,
    /// Names of its arguments.
    pub arguments: &'static [&'static str],
    /// Names of the columns it yields.
    pub yields: &'static [&'static str],
    /// One line of documentation.
    pub help: &'static str,
}

/// Every procedure. `execute` runs them by name, and yields the same columns.
pub const PROCEDURES: &[Procedure] = &[
    Procedure {
        name: "db.constraints",
        arguments: &[],
        yields: &["name", "type", "entityType", "labelsOrTypes", "properties"],
        help: "All constraints",
    },
    Procedure {
        name: "db.indexes",
        arguments: &[],
        yields: &["name", "state", "type", "entityType", "labelsOrTypes", "properties", "uniqueness"],
        help: "All indexes",
    },
    Procedure { name: "db.labels", arguments: &[], yields: &["label"], help: "Labels in use" },
    Procedure {
        name: "db.propertyKeys",
        arguments: &[],
        yields: &["propertyKey"],
        help: "All property keys",
    },
    Procedure {
        name: "db.relationshipTypes",
        arguments: &[],
        yields: &["relationshipType"],
        help: "Relationship types in use",
    },
    Procedure {
        name: "db.statistics",
        arguments: &[],
        yields: &["nodes", "relationships", "commit"],
        help: "Sizes of the graph",
    },
    Procedure {
        name: "dbms.components",
        arguments: &[],
        yields: &["name", "versions", "edition"],
        help: "Name and version of this engine",
    },
    Procedure {
        name: "dbms.functions",
        arguments: &[],
        yields: &["name", "signature", "description", "aggregating"],
        help: "All functions",
    },
    Procedure {
        name: "dbms.procedures",
        arguments: &[],
        yields: &["name", "signature", "description"],
        help: "All procedures",
    },
];

/// The procedure of a name, whatever its case.
pub(super) fn find(name: &str, span: Span) -> Lowered<&'static Procedure> {
    if let Some(found) = PROCEDURES.iter().find(|procedure| procedure.name.eq_ignore_ascii_case(name)) {
        return Ok(found);
    }
    let error = CypherError::new(ErrorKind::ProcedureNotFound, format!("there is no procedure {name}"), span);
    let known = PROCEDURES.iter().map(|procedure| procedure.name);
    Err(Box::new(error.with_suggestion(nearest(name, known))))
}
