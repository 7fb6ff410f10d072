//! The settings of this process, as `SHOW SETTINGS` and `CALL dbms.listConfig()` show them.
//!
//! Idea: the database knows the options it was opened with; each interface that serves it adds its own settings for as long as it serves. A name is
//! Neo4j's where the setting means the same there, and begins with `tanglewood.` elsewhere. Folders of this machine are not shown. Invariant: a name
//! is listed once; an interface's value replaces the database's of the same name, except for settings that may have been changed since the database
//! was opened.

use crate::interface_settings::SettingInfo;
use crate::{Database, History, Options, Point};
use model::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// Settings that statements change while the database is open: the database knows the present value, an interface only the initial one.
const CHANGEABLE: &[&str] = &["tanglewood.history"];

impl Database {
    /// Lists the settings of an interface from now on; none of them once it has closed.
    pub fn set_interface_settings(&self, interface: &str, settings: Vec<SettingInfo>) {
        let mut interfaces = self.interface_settings().0.lock();
        match settings.is_empty() {
            true => interfaces.remove(interface),
            false => interfaces.insert(interface.to_string(), settings),
        };
    }
    /// The settings of the database and of its interfaces, by name.
    pub fn settings(&self) -> Vec<SettingInfo> {
        let kept = self.kept();
        let own = own_settings(self.options(), self.executors(), (self.history(), kept));
        let interfaces = self.interface_settings().0.lock();
        let told = interfaces.values().flatten().filter(|setting| !CHANGEABLE.contains(&setting.name));
        let all = own.into_iter().chain(told.cloned());
        let by_name: BTreeMap<&str, SettingInfo> = all.map(|setting| (setting.name, setting)).collect();
        by_name.into_values().collect()
    }
}

/// The rows that the listings take: name, value, default, description, valid values.
pub(crate) fn rows(database: &Database) -> Vec<Vec<Value>> {
    let row = |setting: SettingInfo| {
        let SettingInfo { name, value, default, description, valid } = setting;
        vec![name.into(), value.into(), default.into(), description.into(), valid.into()]
    };
    database.settings().into_iter().map(row).collect()
}

const YES_OR_NO: &str = "A boolean.";
const COUNT: &str = "A whole number.";
const SIZE: &str = "A number of bytes with a unit, such as 512MiB, or none.";
const TIME: &str = "A time with a unit, such as 30s; 0s for no limit.";

fn own_settings(
    options: &Options,
    executors: usize,
    (history, (oldest, newest)): (History, (Point, Point)),
) -> Vec<SettingInfo> {
    let usual = Options::default();
    let size = |bytes: Option<u64>| bytes.map_or("none".into(), bytes_text);
    let time = |limit: Option<Duration>| time_text(limit.unwrap_or_default());
    let (backs_up, imports) = (options.backup_folder.is_some(), options.import_folder.is_some());
    vec![
        SettingInfo::fixed("db.query.default_language", "CYPHER_5", "Language of a query that names none."),
        SettingInfo::new(
            "dbms.security.allow_csv_import_from_file_urls",
            imports,
            false,
            YES_OR_NO,
            "May LOAD CSV read files, below the folder for imports?",
        ),
        SettingInfo::fixed("initial.dbms.default_database", "neo4j", "Name of the one database."),
        SettingInfo::new("server.bolt.enabled", false, false, YES_OR_NO, "Is Bolt spoken?"),
        SettingInfo::fixed(
            "server.databases.default_to_read_only",
            "false",
            "Is the database for reading only?",
        ),
        SettingInfo::fixed("server.metrics.enabled", "false", "Are metrics collected?"),
        SettingInfo::new(
            "tanglewood.backup.enabled",
            backs_up,
            false,
            YES_OR_NO,
            "May CALL dbms.backup make backups, and EXPORT DATABASE write files?",
        ),
        SettingInfo::new(
            "tanglewood.checkpoint.log_size",
            bytes_text(options.checkpoint_log_bytes),
            bytes_text(usual.checkpoint_log_bytes),
            SIZE,
            "Size of the log after which a checkpoint is made.",
        ),
        SettingInfo::new(
            "tanglewood.executors",
            executors,
            execute::executors_by_default(),
            COUNT,
            "Threads that answer queries.",
        ),
        SettingInfo::new(
            "tanglewood.gatekeepers",
            options.gatekeepers,
            usual.gatekeepers,
            COUNT,
            "Gatekeepers that stamp commits.",
        ),
        SettingInfo::new(
            "tanglewood.graph.memory",
            size(options.memory_bytes),
            size(usual.memory_bytes),
            SIZE,
            "Memory that the graph may hold.",
        ),
        SettingInfo::new(
            "tanglewood.import.urls",
            &options.import_urls,
            "",
            "Hosts, with commas between them.",
            "Hosts of which LOAD may read URLs.",
        ),
        SettingInfo::new(
            "tanglewood.history",
            history,
            History::default(),
            "none, forever, or a time such as 7d.",
            "How far back the past is kept.",
        ),
        SettingInfo::new(
            "tanglewood.history.newest",
            newest,
            "",
            "",
            "The newest commit that can be asked for with AS OF.",
        ),
        SettingInfo::new(
            "tanglewood.history.oldest",
            oldest,
            "",
            "",
            "The oldest commit that can be asked for with AS OF.",
        ),
        SettingInfo::new(
            "tanglewood.query.memory",
            bytes_text(options.query_bytes_max),
            bytes_text(usual.query_bytes_max),
            SIZE,
            "Memory that one query may hold.",
        ),
        SettingInfo::new(
            "tanglewood.query.timeout",
            time(options.query_timeout),
            time(usual.query_timeout),
            TIME,
            "Time that one query may take.",
        ),
        SettingInfo::new(
            "tanglewood.transaction.attempts",
            options.attempts_max,
            usual.attempts_max,
            COUNT,
            "Times that a statement alone is tried before a conflict is reported.",
        ),
    ]
}

/// A number of bytes in the largest unit that leaves no fraction.
pub fn bytes_text(bytes: u64) -> String {
    let unit = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = unit.into_iter().find(|(_, bits)| bytes > 0 && bytes.trailing_zeros() >= *bits);
    unit.map_or_else(|| format!("{bytes}B"), |(unit, bits)| format!("{}{unit}", bytes >> bits))
}

/// A time in the largest unit that leaves no fraction.
pub fn time_text(time: Duration) -> String {
    let ms = time.as_millis();
    let units = [("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    let unit = units.into_iter().find(|(_, length)| ms > 0 && ms.is_multiple_of(*length));
    match unit {
        Some((unit, length)) => format!("{}{unit}", ms / length),
        None if ms == 0 => "0s".into(),
        None => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_the_largest_unit_that_fits() {
        for (bytes, text) in [
            (0, "0B"),
            (1, "1B"),
            (1_023, "1023B"),
            (1_024, "1KiB"),
            (1_536, "1536B"),
            (2 << 30, "2GiB"),
            (3 << 20, "3MiB"),
        ] {
            assert_eq!(bytes_text(bytes), text);
        }
        for (ms, text) in [
            (0, "0s"),
            (1, "1ms"),
            (1_000, "1s"),
            (1_500, "1500ms"),
            (60_000, "1m"),
            (7_200_000, "2h"),
            (90_000, "90s"),
        ] {
            assert_eq!(time_text(Duration::from_millis(ms)), text);
        }
    }
}
