//! Commands about tenants and their users, and their limits.
//!
//! A command prints as the text it is written as ([`std::fmt::Display`]), and that text is stored: the catalogue keeps a list of `CREATE TENANT`
//! and `ALTER TENANT … ADD USER` statements.

use crate::expr::Name;
use crate::quoted::Quoted;
use std::fmt;

/// Settings of one command.
pub const SETTINGS_MAX: usize = 64;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountCommand {
    /// CREATE TENANT.
    CreateTenant {
        /// Its name.
        name: Name,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// Its limits.
        settings: Vec<Setting>,
    },
    /// ALTER TENANT … SET.
    AlterTenant {
        /// Its name.
        name: Name,
        /// IF EXISTS.
        if_exists: bool,
        /// The changed settings.
        settings: Vec<Setting>,
    },
    /// ALTER TENANT … ADD USER: the user belongs to this tenant from now on, and to no other.
    AddUser {
        /// The tenant.
        tenant: Name,
        /// The user.
        user: Name,
        /// The user's changed settings within the tenant.
        settings: Vec<Setting>,
    },
    /// ALTER TENANT … REMOVE USER.
    RemoveUser {
        /// The tenant.
        tenant: Name,
        /// The user.
        user: Name,
    },
    /// DROP TENANT.
    DropTenant {
        /// Its name.
        name: Name,
        /// IF EXISTS.
        if_exists: bool,
    },
}

/// One thing that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// SHARE n: share of the machine, relative to others that have work; the default is 100.
    Share(u32),
    /// MEMORY '1GB': bytes that all its queries together may hold; none for no limit.
    Memory(Option<u64>),
    /// SPILL '10GB': bytes that all queries together put aside on disk; none for no limit.
    Spill(Option<u64>),
    /// CONCURRENT n: queries that run at once, further ones wait; none for no limit.
    Concurrent(Option<u64>),
    /// TIME '10s': milliseconds after which a query ends; none for no limit.
    Time(Option<u64>),
    /// RULE WHEN … THEN …: one more rule for queries that run away.
    Rule(RunawayRule),
    /// NO RULES: forgets those set before.
    NoRules,
}

/// A rule for queries that run away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunawayRule {
    /// The measure.
    pub measure: Measure,
    /// More than this: milliseconds, rows, or bytes.
    pub beyond: u64,
    /// The action.
    pub then: Remedy,
}

/// The measure of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Time since it began.
    Time,
    /// Processor time on all executors.
    Cpu,
    /// Rows that its operators passed on.
    Rows,
    /// Bytes it holds.
    Memory,
}

/// The action on a query that a rule applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// It ends with an error.
    Kill,
    /// It weighs so little from then on, where 100 is the weight of a fresh query of the same user.
    Slow(u32),
    /// It runs on the share of this tenant from then on.
    Move(Name),
}

impl fmt::Display for AccountCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flag = |set: bool, words: &'static str| if set { words } else { "" };
        let (head, settings): (String, &[Setting]) = match self {
            AccountCommand::CreateTenant { name, if_not_exists, settings } => (
                format!("CREATE TENANT {}{}", Quoted(name), flag(*if_not_exists, " IF NOT EXISTS")),
                settings,
            ),
            AccountCommand::AlterTenant { name, if_exists, settings } => {
                (format!("ALTER TENANT {}{}", Quoted(name), flag(*if_exists, " IF EXISTS")), settings)
            }
            AccountCommand::AddUser { tenant, user, settings } => {
                (format!("ALTER TENANT {} ADD USER {}", Quoted(tenant), Quoted(user)), settings)
            }
            AccountCommand::RemoveUser { tenant, user } => {
                (format!("ALTER TENANT {} REMOVE USER {}", Quoted(tenant), Quoted(user)), &[])
            }
            AccountCommand::DropTenant { name, if_exists } => {
                (format!("DROP TENANT {}{}", Quoted(name), flag(*if_exists, " IF EXISTS")), &[])
            }
        };
        f.write_str(&head)?;
        for (at, setting) in settings.iter().enumerate() {
            write!(f, "{} {setting}", if at == 0 { " SET" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Share(share) => write!(f, "SHARE {share}"),
            Setting::Memory(Some(bytes)) => write!(f, "MEMORY '{bytes}B'"),
            Setting::Memory(None) => f.write_str("MEMORY NONE"),
            Setting::Spill(Some(bytes)) => write!(f, "SPILL '{bytes}B'"),
            Setting::Spill(None) => f.write_str("SPILL NONE"),
            Setting::Concurrent(Some(count)) => write!(f, "CONCURRENT {count}"),
            Setting::Concurrent(None) => f.write_str("CONCURRENT NONE"),
            Setting::Time(Some(ms)) => write!(f, "TIME '{ms}ms'"),
            Setting::Time(None) => f.write_str("TIME NONE"),
            Setting::Rule(rule) => write!(f, "RULE {rule}"),
            Setting::NoRules => f.write_str("NO RULES"),
        }
    }
}

impl fmt::Display for RunawayRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let beyond = self.beyond;
        match self.measure {
            Measure::Time => write!(f, "WHEN TIME > '{beyond}ms'")?,
            Measure::Cpu => write!(f, "WHEN CPU > '{beyond}ms'")?,
            Measure::Rows => write!(f, "WHEN ROWS > {beyond}")?,
            Measure::Memory => write!(f, "WHEN MEMORY > '{beyond}B'")?,
        }
        match &self.then {
            Remedy::Kill => f.write_str(" THEN KILL"),
            Remedy::Slow(weight) => write!(f, " THEN SLOW TO {weight}"),
            Remedy::Move(tenant) => write!(f, " THEN MOVE TO {}", Quoted(tenant)),
        }
    }
}
