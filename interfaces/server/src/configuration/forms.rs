//! Forms of a setting's text.

use super::units;
use std::net::SocketAddr;
use std::time::Duration;

/// Which texts a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingForm {
    /// An address and a port.
    Address,
    /// A file or a folder of this machine. `SHOW SETTINGS` says only whether there is one.
    Path,
    /// Any text.
    Text,
    /// A number of bytes with a unit.
    Size,
    /// A time with a unit.
    Time,
    /// A time with a unit, at most this; the empty text has the given meaning.
    TimeTo(Duration),
    /// A whole number, at least 1.
    Count,
    /// A whole number, at least 1 and at most this.
    CountTo(u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// How much history is kept.
    History,
    /// Sites whose pages may send requests.
    Sites,
    /// Hosts of URLs that may be read.
    Hosts,
    /// Databases by names: `people=people.db`.
    Sources,
    /// A level, and levels of parts of the log.
    Levels,
}

/// Levels of the log, from silence on.
pub const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
/// Parts of the log that can have a level of their own.
pub const LOG_PARTS: [&str; 5] = ["query", "audit", "storage", "server", "standing"];

impl SettingForm {
    /// A description of the values, for `SHOW SETTINGS`, the help and the guide.
    pub fn description(self) -> String {
        match self {
            SettingForm::Address => "An address and a port.".into(),
            SettingForm::Path => "A boolean.".into(),
            SettingForm::Text => "A text.".into(),
            SettingForm::Size => "A number of bytes with a unit, such as 512MiB.".into(),
            SettingForm::Time => "A time with a unit, such as 30s; 0s for no limit.".into(),
            SettingForm::TimeTo(max) => {
                format!("A time with a unit, such as 500ms; {} at most.", database::time_text(max))
            }
            SettingForm::Count => "A whole number.".into(),
            SettingForm::CountTo(max) => format!("A whole number, {max} at most."),
            SettingForm::Word(words) => format!("One of: {}.", words.join(", ")),
            SettingForm::History => "none, forever, or a time such as 7d.".into(),
            SettingForm::Sites => "Sites such as https://app.example, with commas between them.".into(),
            SettingForm::Hosts => "Hosts such as data.example.org, with commas between them.".into(),
            SettingForm::Sources => {
                "Names of traversal sources and folders, such as people=people.db.".into()
            }
            SettingForm::Levels => {
                "off, error, warn, info, debug or trace; and so of a part: info,query=debug.".into()
            }
        }
    }
    /// The placeholder of a value in the help.
    pub fn value_name(self) -> &'static str {
        match self {
            SettingForm::Address => "ADDR",
            SettingForm::Path => "PATH",
            SettingForm::Text => "TEXT",
            SettingForm::Size => "SIZE",
            SettingForm::Time | SettingForm::TimeTo(_) => "TIME",
            SettingForm::Count | SettingForm::CountTo(_) => "N",
            SettingForm::Word(_) => "WORD",
            SettingForm::History => "HOW",
            SettingForm::Sites => "ORIGIN",
            SettingForm::Hosts => "HOST",
            SettingForm::Sources => "NAME=DB",
            SettingForm::Levels => "LEVEL",
        }
    }
    /// May a setting of it be given several times?
    pub fn is_list(self) -> bool {
        matches!(self, SettingForm::Sites | SettingForm::Sources | SettingForm::Hosts)
    }
    /// Checks whether a text is one of its values; for a list, whether it is one of its items.
    ///
    /// # Errors
    /// It is none; the error describes valid ones.
    pub fn check(self, text: &str) -> Result<(), String> {
        match self {
            SettingForm::Address => address(text).map(drop),
            SettingForm::Path if text.is_empty() => Err("write the path of a file or a folder".into()),
            SettingForm::Path => Ok(()),
            SettingForm::Text if text.trim().is_empty() => Err("write a text".into()),
            SettingForm::Text => Ok(()),
            SettingForm::Size => units::bytes(text).map(drop),
            SettingForm::Time => units::duration(text).map(drop),
            SettingForm::TimeTo(max) => match units::duration(text)? {
                time if time > max => Err(format!("{} at most", database::time_text(max))),
                _ => Ok(()),
            },
            SettingForm::Count => match units::count(text)? {
                0 => Err("at least 1 is needed".into()),
                _ => Ok(()),
            },
            SettingForm::CountTo(max) => match units::count(text)? {
                0 => Err("at least 1 is needed".into()),
                count if count > max => Err(format!("{max} at most")),
                _ => Ok(()),
            },
            SettingForm::Word(words) if words.contains(&text) => Ok(()),
            SettingForm::Word(words) => Err(format!("write one of {}", words.join(", "))),
            SettingForm::History => {
                text.parse::<database::History>().map(drop).map_err(|error| error.to_string())
            }
            SettingForm::Sites => site(text),
            SettingForm::Hosts => database::UrlRules::parse(text).map(drop),
            SettingForm::Sources => named(text).map(drop),
            SettingForm::Levels => levels(text).map(drop),
        }
    }
}

/// An address, where `localhost` is this machine.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let numbers = text.replace("localhost", "127.0.0.1");
    numbers
        .parse()
        .map_err(|_| format!("`{text}` is no address; one looks like 127.0.0.1:7687 or [::1]:7687"))
}

/// A site as browsers name it in `Origin`.
fn site(text: &str) -> Result<(), String> {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match host {
        _ if text == "*" => Ok(()),
        Some(host) if !host.is_empty() && !host.contains('/') => Ok(()),
        _ => Err("write a scheme and a host, without a path, for example https://app.example".to_string()),
    }
}

/// `NAME=DB`
///
/// # Errors
/// A part of it is missing.
pub fn named(text: &str) -> Result<(&str, &str), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name, path)),
        _ => Err("write NAME=DB, for example people=people.db".to_string()),
    }
}

/// The level of everything, and of parts.
pub type LogLevels<'t> = (&'t str, Vec<(&'t str, &'t str)>);

/// `info,query=debug`: the level of everything, and of parts.
///
/// # Errors
/// A level or a part is not known.
pub fn levels(text: &str) -> Result<LogLevels<'_>, String> {
    let known = |level: &str| match LEVELS.contains(&level) {
        true => Ok(()),
        false => Err(format!("`{level}` is no level; there are {}", LEVELS.join(", "))),
    };
    let (mut whole, mut parts) = ("info", Vec::new());
    for one in text.split(',').map(str::trim) {
        let Some((part, level)) = one.split_once('=') else {
            known(one)?;
            whole = one;
            continue;
        };
        if !LOG_PARTS.contains(&part) {
            return Err(format!("`{part}` is no part of the log; there are {}", LOG_PARTS.join(", ")));
        }
        known(level)?;
        parts.push((part, level));
    }
    Ok((whole, parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_values_or_not() {
        let words = SettingForm::Word(&["none", "password"]);
        for (form, good, bad) in [
            (
                SettingForm::Address,
                &["localhost:0", "[::1]:7687", "0.0.0.0:65535"][..],
                &["", "7687", "a:b", "1.2.3.4:65536"][..],
            ),
            (SettingForm::Size, &["1", "2GiB", "512MB"], &["0", "-1", "x", ""]),
            (SettingForm::Time, &["0s", "500ms", "2h"], &["-1s", "1d", ""]),
            (SettingForm::TimeTo(Duration::from_secs(300)), &["0s", "500ms", "5m"], &["301s", "-1s", ""]),
            (SettingForm::Count, &["1", "3_000"], &["0", "-1", "1.5", ""]),
            (SettingForm::CountTo(7), &["1", "6", "7"], &["0", "8", "18446744073709551616", ""]),
            (words, &["none", "password"], &["", "None"]),
            (SettingForm::History, &["none", "forever", "7d"], &["ever", ""]),
            (SettingForm::Sites, &["*", "https://app.example"], &["app.example", "https://a/b", "https://"]),
            (SettingForm::Sources, &["people=people.db"], &["people", "=x", "x="]),
            (
                SettingForm::Levels,
                &["info", "off,audit=info", "warn, query=trace"],
                &["", "loud", "info,x=debug", "query="],
            ),
        ] {
            good.iter().for_each(|text| assert_eq!(form.check(text), Ok(()), "{form:?} {text}"));
            bad.iter().for_each(|text| assert!(form.check(text).is_err(), "{form:?} {text}"));
        }
        assert_eq!(levels("warn, query=trace"), Ok(("warn", vec![("query", "trace")])));
    }
}
