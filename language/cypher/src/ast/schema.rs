//! Statements about the schema and the server: indexes, constraints, `SHOW`.

use super::expression::Expression;
use super::name::Name;
use super::query::{Projection, Yield};

/// Creates or drops an index or a constraint.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaCommand {
    /// `CREATE [kind] INDEX [name] [IF NOT EXISTS] FOR … ON …`.
    CreateIndex(CreateIndex),
    /// `CREATE CONSTRAINT [name] [IF NOT EXISTS] FOR … REQUIRE …`.
    CreateConstraint(CreateConstraint),
    /// `DROP INDEX name [IF EXISTS]`.
    DropIndex(DropByName),
    /// `DROP CONSTRAINT name [IF EXISTS]`.
    DropConstraint(DropByName),
}

/// A new index.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// Which kind.
    pub kind: IndexKind,
    /// Its name, if given.
    pub name: Option<Name>,
    /// Do nothing if there is one.
    pub if_not_exists: bool,
    /// Of which nodes or relationships.
    pub entity: SchemaEntity,
    /// The properties, in order; none for a look-up index.
    pub properties: Vec<Name>,
    /// `OPTIONS {…}`, if given.
    pub options: Option<Expression>,
}

/// The kinds of indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// Equality, ranges, prefixes, order: the default of `CREATE INDEX`.
    Range,
    /// Strings by suffix and substring.
    Text,
    /// Spatial values.
    Point,
    /// Nodes by label or relationships by type.
    Lookup,
    /// Words of strings.
    Fulltext,
    /// Nearest neighbours of vectors.
    Vector,
}

/// The target of an index or constraint.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaEntity {
    /// `(n:Label)`; several labels (`n:A|B`) for full text only, none for a look-up index.
    Node(Name, Vec<Name>),
    /// `()-[r:TYPE]-()`; several types for full text only, none for a look-up index.
    Relationship(Name, Vec<Name>),
}

/// A new constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateConstraint {
    /// Its name, if given.
    pub name: Option<Name>,
    /// Do nothing if there is one.
    pub if_not_exists: bool,
    /// Of which nodes or relationships.
    pub entity: SchemaEntity,
    /// Of which properties.
    pub properties: Vec<Name>,
    /// The rule.
    pub requirement: Requirement,
}

/// The rule of a constraint.
#[derive(Clone, Debug, PartialEq)]
pub enum Requirement {
    /// No two have the same values.
    Unique,
    /// Each has the property.
    NotNull,
    /// Both: `IS NODE KEY` or `IS RELATIONSHIP KEY`.
    Key,
    /// `IS :: TYPE`.
    Type(plan::types::TypeTest),
}

/// `DROP … name [IF EXISTS]`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropByName {
    /// Which.
    pub name: Name,
    /// Do nothing if there is none.
    pub if_exists: bool,
}

/// `SHOW [which] what [YIELD …] [WHERE …] [RETURN …]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Show {
    /// The target of the listing.
    pub target: ShowTarget,
    /// Which of them, in upper case: `UNIQUE`, `NODE KEY`, `TEXT`; or of databases, the name of one.
    pub only: Option<String>,
    /// Columns; without a condition.
    pub yields: Option<Yield>,
    /// `ORDER BY`, `SKIP` and `LIMIT` behind `YIELD`.
    pub page: Option<Projection>,
    /// `WHERE`.
    pub condition: Option<Expression>,
    /// A projection of them.
    pub projection: Option<Projection>,
}

/// Targets of listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShowTarget {
    /// `SHOW INDEXES`.
    Indexes,
    /// `SHOW CONSTRAINTS`.
    Constraints,
    /// `SHOW FUNCTIONS`.
    Functions,
    /// `SHOW PROCEDURES`.
    Procedures,
    /// `SHOW CACHES`.
    Caches,
    /// `SHOW PROGRAMS`.
    Programs,
    /// `SHOW QUERIES`.
    Queries,
    /// `SHOW TRANSACTIONS`.
    Transactions,
    /// `SHOW CLUSTER`.
    Cluster,
    /// `SHOW ORDER`.
    Order,
    /// `SHOW TABLETS`.
    Tablets,
    /// `SHOW TENANTS`.
    Tenants,
    /// `SHOW USERS`.
    Users,
    /// `SHOW CURRENT USER`.
    CurrentUser,
    /// `SHOW STANDING QUERIES`.
    StandingQueries,
    /// `SHOW DATABASES`.
    Databases,
    /// `SHOW SETTINGS`.
    Settings,
    /// `SHOW ROLES`.
    Roles,
    /// `SHOW PRIVILEGES`.
    Privileges,
    /// `SHOW ROLE name PRIVILEGES`.
    RolePrivileges,
    /// `SHOW USER [name] PRIVILEGES`; of the caller, if none is named.
    UserPrivileges,
}
