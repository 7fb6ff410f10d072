//! Commands about standing queries, as their text says them.

use crate::expr::Name;
use crate::quoted::Quoted;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How long the changes of a standing query's answer are retained by default.
pub const RETAIN_DEFAULT: Retain = Retain(10 * 60);
/// The longest time that a text may say: ten years, in seconds.
const RETAIN_SECONDS_MAX: u64 = 3_650 * 86_400;
/// Units of a retention in its text form, in seconds; the longest first.
const UNITS: [(&str, u64); 5] = [("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

/// How long the changes of a standing query's answer are retained: whole seconds, none for `NONE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Retain(u64);

impl Retain {
    /// Only changes in memory.
    pub const NONE: Retain = Retain(0);
    /// As a span of time.
    pub fn duration(self) -> Duration {
        Duration::from_secs(self.0)
    }
}

impl fmt::Display for Retain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Days read better than weeks.
        match UNITS.iter().skip(1).find(|(_, unit)| self.0 > 0 && self.0.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "NONE"),
        }
    }
}

impl FromStr for Retain {
    type Err = String;
    /// `NONE`, or a whole number with a unit: `90s`, `30m`, `12h`, `7d`, `4w`.
    fn from_str(text: &str) -> Result<Retain, String> {
        let usage = || format!("`{text}` is not NONE or a time such as 30m, 12h or 7d");
        let lower = text.trim().to_ascii_lowercase();
        if lower == "none" {
            return Ok(Retain::NONE);
        }
        let (number, unit) = UNITS
            .iter()
            .find_map(|(name, unit)| Some((lower.strip_suffix(name)?, unit)))
            .ok_or_else(usage)?;
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(usage());
        }
        match number.parse::<u64>().ok().and_then(|number| number.checked_mul(*unit)) {
            Some(0) => Err(format!("`{text}` is no time; write RETAIN NONE")),
            Some(seconds) if seconds <= RETAIN_SECONDS_MAX => Ok(Retain(seconds)),
            _ => Err(format!("`{text}` is longer than ten years, the longest time that can be asked for")),
        }
    }
}

/// A command about standing queries.
#[derive(Clone, Debug, PartialEq)]
pub enum StandingCommand {
    /// `CREATE STANDING QUERY name [IF NOT EXISTS] [FOR TENANT tenant] AS query [RETAIN time]`
    Create {
        /// Its name.
        name: Name,
        /// Do nothing if there is one of this name.
        if_not_exists: bool,
        /// The tenant that pays for it: the creator's, if absent.
        tenant: Option<Name>,
        /// The query's own text.
        text: Name,
        /// How long its changes are retained; [`RETAIN_DEFAULT`] if absent.
        retain: Option<Retain>,
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
    /// `SUBSCRIBE name [FROM mark] [SNAPSHOT] [ENVELOPE UPSERT (column, …)]`
    Subscribe {
        /// Its name.
        name: Name,
        /// The point to resume after; from now on if absent.
        from: Option<Resume>,
        /// The whole answer first.
        snapshot: bool,
        /// The columns by which the newest row of each key is sent, instead of deltas.
        key: Vec<Name>,
    },
}

/// The point after which a subscription resumes.
#[derive(Clone, Debug, PartialEq)]
pub enum Resume {
    /// The commit with this version.
    CommitVersion(u64),
    /// The mark of this text.
    Mark(Name),
    /// The value of this parameter: a commit version, or the text of a mark.
    Parameter(Name),
}

impl StandingCommand {
    /// Does it change the database?
    pub fn writes(&self) -> bool {
        !matches!(self, StandingCommand::Subscribe { .. })
    }
}

impl fmt::Display for StandingCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StandingCommand::Create { name, if_not_exists, tenant, text, retain } => {
                let unless = if *if_not_exists { " IF NOT EXISTS" } else { "" };
                write!(f, "CREATE STANDING QUERY {}{unless}", Quoted(name))?;
                if let Some(tenant) = tenant {
                    write!(f, " FOR TENANT {}", Quoted(tenant))?;
                }
                write!(f, " AS {text}")?;
                retain.map_or(Ok(()), |retain| write!(f, " RETAIN {retain}"))
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
                    Some(Resume::CommitVersion(version)) => write!(f, " FROM {version}")?,
                    Some(Resume::Mark(mark)) => {
                        write!(f, " FROM '{}'", mark.replace('\\', "\\\\").replace('\'', "\\'"))?;
                    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retentions_are_read_and_written_alike() {
        for text in ["NONE", "90s", "30m", "12h", "7d", "3650d"] {
            assert_eq!(text.parse::<Retain>().unwrap().to_string(), text);
        }
        assert_eq!("4W".parse::<Retain>().unwrap().to_string(), "28d");
        assert_eq!("60s".parse::<Retain>().unwrap().duration(), Duration::from_secs(60));
        assert_eq!(RETAIN_DEFAULT.to_string(), "10m");
        let wrong =
            ["", "h", "1", "0s", "-1h", "1.5h", "1 h", "1y", "3651d", "99999999999999999999d", "é", "+1h"];
        for wrong in wrong {
            assert!(wrong.parse::<Retain>().is_err(), "{wrong}");
        }
    }
}
