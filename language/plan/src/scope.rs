//! How a sub-query or a repeated body runs as a scope: chosen for it, or set by a hint.
//!
//! A scope (Banyan, section 3) is a piece of plan of which instances are made at run time: one for some rows of the plan around it, or one
//! for each round of a loop. Each instance can be ended by itself, and policies say which instance, and which operator in it, runs first.

use crate::vars::Var;
use std::fmt;

/// Which instance of a scope runs first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstanceOrder {
    /// All in turns.
    #[default]
    Fifo,
    /// The oldest, or of a loop the earliest round.
    Bfs,
    /// The youngest, or of a loop the latest round.
    Dfs,
    /// The one whose outer row has the least rank, or with `true` the greatest; for sub-queries only. The rank is stored with the sub-query.
    By(bool),
}

/// Which operator of an instance runs first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OperatorOrder {
    /// All in turns.
    Fifo,
    /// The one nearest to where rows come in.
    Bfs,
    /// The one nearest to where rows go out.
    #[default]
    Dfs,
}

/// A hint, or a setting of a whole statement for all its scopes; absent parts are chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScopeHint {
    /// `OFF`: no instance is ended early, all instances and operators run in turns.
    pub off: bool,
    /// Order of instances.
    pub order: Option<InstanceOrder>,
    /// Order of operators within an instance.
    pub within: Option<OperatorOrder>,
    /// `MAX n`: instances that live at once on an executor (the paper's `MAX_SI`).
    pub instances_max: Option<u32>,
    /// `ROWS n`: rows of one instance.
    pub rows: Option<u32>,
    /// `WIDE`: its instances span executors, where the plan allows.
    pub wide: bool,
}

/// The reason for a scope's settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScopeReason {
    /// Nothing was weighed: the usual.
    #[default]
    Usual,
    /// Hardly anything is done for a row: there is nothing to end early, and no instance is made.
    TinyWork,
    /// Little is done for a row: many rows share an instance, which ends the work for each as it has enough.
    SmallWork,
    /// Much is done for a row and the first answer ends it: few rows share an instance.
    EarlyExit,
    /// Rounds go deep first, since few rows are wanted of many.
    FewWanted,
    /// Rounds go level by level, since all rows are wanted.
    AllWanted,
    /// A hint said so.
    Hint,
    /// `scopes = off` said so.
    Off,
}

/// How a scope runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// Is the work for a row ended once there is enough of it?
    pub early: bool,
    /// Rows of one instance; as many as come together where absent.
    pub rows: Option<u32>,
    /// Which instance runs first.
    pub order: InstanceOrder,
    /// Which operator in it.
    pub within: OperatorOrder,
    /// Instances that live at once on an executor; the usual few where absent.
    pub instances_max: Option<u32>,
    /// Of a loop: may its rounds span executors? Where its body takes row by row, they then do. Of another sub-query: is it so much work that
    /// executors share its outer rows, however few they are? Not where these come from one executor, in an order that people may expect.
    pub wide: bool,
    /// Of a test: the end that its inner plan does not read; it goes to all, and each row asks for its own.
    pub end: Option<Var>,
    /// Why.
    pub reason: ScopeReason,
}

impl Default for Scope {
    fn default() -> Scope {
        Scope {
            early: true,
            rows: None,
            order: InstanceOrder::Fifo,
            within: OperatorOrder::Dfs,
            instances_max: None,
            wide: false,
            end: None,
            reason: ScopeReason::Usual,
        }
    }
}

impl Scope {
    /// Nothing is ended early, all in turns: like a dataflow without scopes.
    pub fn off(reason: ScopeReason) -> Scope {
        Scope { early: false, within: OperatorOrder::Fifo, reason, ..Scope::default() }
    }
    /// By a hint, with defaults for its absent parts.
    pub fn hinted(hint: Option<ScopeHint>) -> Scope {
        let Some(hint) = hint else { return Scope::default() };
        let base = if hint.off { Scope::off(ScopeReason::Hint) } else { Scope::default() };
        Scope {
            order: hint.order.unwrap_or(base.order),
            within: hint.within.unwrap_or(base.within),
            instances_max: hint.instances_max,
            rows: hint.rows,
            wide: hint.wide,
            reason: ScopeReason::Hint,
            ..base
        }
    }
    /// Whether a hint said how it runs, so that nothing is left to choose.
    pub fn is_told(&self) -> bool {
        matches!(self.reason, ScopeReason::Hint | ScopeReason::Off)
    }
}

/// The hint of a whole statement, as [`crate::Statement::hints`] holds it: all its scopes are off.
pub const SCOPES_OFF: &str = "scopes = off";

impl fmt::Display for InstanceOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InstanceOrder::Fifo => "FIFO",
            InstanceOrder::Bfs => "BFS",
            InstanceOrder::Dfs => "DFS",
            InstanceOrder::By(false) => "BY",
            InstanceOrder::By(true) => "BY DESC",
        })
    }
}

impl fmt::Display for OperatorOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OperatorOrder::Fifo => "FIFO",
            OperatorOrder::Bfs => "BFS",
            OperatorOrder::Dfs => "DFS",
        })
    }
}

impl fmt::Display for ScopeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ScopeReason::Usual => "the usual",
            ScopeReason::TinyWork => "hardly any work a row",
            ScopeReason::SmallWork => "little work a row",
            ScopeReason::EarlyExit => "much work a row, the first answer ends it",
            ScopeReason::FewWanted => "few rows are wanted",
            ScopeReason::AllWanted => "all rows are wanted",
            ScopeReason::Hint => "a hint",
            ScopeReason::Off => "scopes = off",
        })
    }
}
