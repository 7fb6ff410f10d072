//! cypher
