//! Ids of tenants, users, queries, vertices and scopes, and the levels of accounts.

use std::fmt;

/// A tenant, to which queries are charged. Tenants need no declaration; an unknown one has a share of 100.
pub type TenantNo = u32;

/// A user within a tenant; 0 where users are not distinguished.
pub type UserNo = u32;

/// A query's number, unique in its runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueryId(pub u64);

/// A running query, in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryInfo {
    /// Its number.
    pub id: QueryId,
    /// The tenant that is charged, which a rule may have changed.
    pub tenant: TenantNo,
    /// The user within the tenant.
    pub user: UserNo,
    /// False while it waits to be let in.
    pub running: bool,
    /// The label from its options.
    pub label: String,
    /// Time since it was submitted, in nanoseconds.
    pub age_ns: u64,
    /// CPU time used so far, in nanoseconds.
    pub cpu_ns: u64,
    /// Bytes charged now.
    pub bytes: u64,
    /// Rows its operators sent so far.
    pub rows: u64,
}

/// A vertex of the graph under construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VertexNo(pub(crate) usize);

impl VertexNo {
    /// Its number, from 0, in the order of creation; also its index in a profile.
    pub fn index(self) -> usize {
        self.0
    }
}

/// A scope of the graph under construction. `ScopeNo::ROOT` is outside all scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScopeNo(pub(crate) usize);

impl ScopeNo {
    /// Outside all scopes.
    pub const ROOT: ScopeNo = ScopeNo(0);
}

impl Default for ScopeNo {
    fn default() -> ScopeNo {
        ScopeNo::ROOT
    }
}

/// The level of an account whose limit was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The query's own.
    Query,
    /// The user's.
    User,
    /// The tenant's.
    Tenant,
    /// The machine's.
    Machine,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Query => "query",
            Level::User => "user",
            Level::Tenant => "tenant",
            Level::Machine => "machine",
        })
    }
}

/// A tablet's number, from 0.
pub type TabletNo = usize;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_named_in_errors() {
        let named = [Level::Query, Level::User, Level::Tenant, Level::Machine].map(|level| level.to_string());
        assert_eq!(named, ["query", "user", "tenant", "machine"]);
    }
}
