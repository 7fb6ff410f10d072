//! The texts of the business intelligence queries, one file a query and a language.

/// A query in the wording of each engine.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// `q1` to `q20`.
    pub name: &'static str,
    /// For us.
    pub cypher: &'static str,
    /// For DuckDB.
    pub sql: &'static str,
    /// For Kuzu, whose labels and functions differ; statements are separated by `;`.
    pub kuzu: &'static str,
}

/// Relationships that are stored once, after the import: their weights depend on no parameter.
pub const DERIVED: [&str; 2] =
    [include_str!("../../queries/bi/interacted.cypher"), include_str!("../../queries/bi/studied.cypher")];

macro_rules! file {
    ($name:literal, $language:literal) => {
        include_str!(concat!("../../queries/bi/", $name, ".", $language))
    };
}

macro_rules! query {
    ($name:literal) => {
        Query {
            name: $name,
            cypher: file!($name, "cypher"),
            sql: file!($name, "sql"),
            kuzu: file!($name, "kuzu"),
        }
    };
}

/// In the order of their numbers.
pub const QUERIES: [Query; 20] = [
    query!("q1"),
    query!("q2"),
    query!("q3"),
    query!("q4"),
    query!("q5"),
    query!("q6"),
    query!("q7"),
    query!("q8"),
    query!("q9"),
    query!("q10"),
    query!("q11"),
    query!("q12"),
    query!("q13"),
    query!("q14"),
    query!("q15"),
    query!("q16"),
    query!("q17"),
    query!("q18"),
    query!("q19"),
    query!("q20"),
];
