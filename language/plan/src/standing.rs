//! Commands about standing queries, as their text says them.

use crate::expr::Name;
use std::fmt;

/// A command about standing queries.
#[derive(Clone, Debug, PartialEq)]
pub enum StandingCommand {
    /// `CREATE STANDING QUERY name [IF NOT EXISTS] [FOR TENANT tenant] AS query`
    Create {
        /// Its name.
        name: Name,
        /// Do nothing if there is one of this name.
        if_not_exists: bool,
        /// Who pays for it: whoever makes it, where nobody is named.
        tenant: Option<Name>,
        /// The query's own text.
        text: Name,
    },
    /// `DROP STANDING QUERY name [IF EXISTS]`
    Drop {
        /// Its name.
        name: Name,
        /// Do nothing if there is none.
        if_exists: bool,
    },
    /// `ALTER STANDING QUERY name RETRY`
    Retry {
        /// Its name.
        name: Name,
    },
    /// `SUBSCRIBE name [FROM place] [SNAPSHOT] [ENVELOPE UPSERT (column, …)]`
    Subscribe {
        /// Its name.
        name: Name,
        /// What was received last; from now on where absent.
        from: Option<Resume>,
        /// The whole answer first.
        snapshot: bool,
        /// The columns by which the newest row of each is told, instead of differences.
        key: Vec<Name>,
    },
}

/// The place of the commit after which a subscription goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Resume {
    /// Written out.
    Place(u64),
    /// In this parameter.
    Parameter(Name),
}

impl StandingCommand {
    /// Does it change what the database keeps?
    pub fn writes(&self) -> bool {
        !matches!(self, StandingCommand::Subscribe { .. })
    }
}

/// A name as a text may write it: in backticks.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0.replace('`', "``"))
    }
}

impl fmt::Display for StandingCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StandingCommand::Create { name, if_not_exists, tenant, text } => {
                let unless = if *if_not_exists { " IF NOT EXISTS" } else { "" };
                write!(f, "CREATE STANDING QUERY {}{unless}", Quoted(name))?;
                if let Some(tenant) = tenant {
                    write!(f, " FOR TENANT {}", Quoted(tenant))?;
                }
                write!(f, " AS {text}")
            }
            StandingCommand::Drop { name, if_exists } => {
                write!(
                    f,
                    "DROP STANDING QUERY {}{}",
                    Quoted(name),
                    if *if_exists { " IF EXISTS" } else { "" }
                )
            }
            StandingCommand::Retry { name } => write!(f, "ALTER STANDING QUERY {} RETRY", Quoted(name)),
            StandingCommand::Subscribe { name, from, snapshot, key } => {
                write!(f, "SUBSCRIBE {}", Quoted(name))?;
                match from {
                    Some(Resume::Place(place)) => write!(f, " FROM {place}")?,
                    Some(Resume::Parameter(name)) => write!(f, " FROM ${name}")?,
                    None => {}
                }
                write!(f, "{}", if *snapshot { " SNAPSHOT" } else { "" })?;
                for (number, name) in key.iter().enumerate() {
                    let before = if number == 0 { " ENVELOPE UPSERT (" } else { ", " };
                    write!(f, "{before}{}", Quoted(name))?;
                }
                write!(f, "{}", if key.is_empty() { "" } else { ")" })
            }
        }
    }
}
