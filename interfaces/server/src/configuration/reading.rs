//! Settings from a file (TOML), the environment and flags, in rising precedence; and their typed values.

use super::forms::{self, SettingForm};
use super::table::{self, SETTINGS, SettingRow};
use super::units;
use crate::Limits;
use crate::limits::share;
use database::{Options, SettingInfo, UrlRules};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a file of settings.
const FILE_BYTES_MAX: usize = 1 << 20;
/// The key of the database's folder, which is no flag: it is an argument on the command line.
pub const DATABASE_KEY: &str = "database";
/// Its variable in the environment.
pub const DATABASE_VARIABLE: &str = "TANGLEWOOD_DATABASE";
/// Bytes of a text that a message repeats.
const SHOWN_BYTES_MAX: usize = 100;

/// The origin of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingOrigin {
    /// The default.
    Default,
    /// The file.
    File,
    /// A variable of the environment.
    Environment,
    /// A flag.
    Flag,
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SettingOrigin::Default => "default",
            SettingOrigin::File => "file",
            SettingOrigin::Environment => "environment",
            SettingOrigin::Flag => "flag",
        })
    }
}

/// All faults of settings, a line for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationFaults(pub Vec<String>);

impl fmt::Display for ConfigurationFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for ConfigurationFaults {}

/// The values of settings, with their origins.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    said: BTreeMap<&'static str, (Vec<String>, SettingOrigin)>,
}

impl Configuration {
    /// Puts settings together: those of the file, then those of the environment, then flags by their keys. Paths in a file are those
    /// beside it.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn read(
        file: Option<&Path>,
        variable: impl Fn(&str) -> Option<String>,
        flags: BTreeMap<&'static str, Vec<String>>,
    ) -> Result<Configuration, ConfigurationFaults> {
        let (mut configuration, mut faults) = (Configuration::default(), Vec::new());
        if let Some(file) = file {
            configuration.read_file(file, &mut faults);
        }
        let names = SETTINGS.iter().map(|row| (row.key, row.variable()));
        for (key, name) in names.chain([(DATABASE_KEY, DATABASE_VARIABLE.to_string())]) {
            let Some(text) = variable(&name) else { continue };
            let is_list = table::of_key(key).is_some_and(|row| row.form.is_list());
            let texts = if is_list { text.split(',').map(str::to_string).collect() } else { vec![text] };
            configuration.say(key, texts, SettingOrigin::Environment, &name, &mut faults);
        }
        for (key, texts) in flags {
            let flag = table::of_key(key).map_or("DB".to_string(), |row| format!("--{}", row.flag));
            configuration.say(key, texts, SettingOrigin::Flag, &flag, &mut faults);
        }
        configuration.check_together(&mut faults);
        if faults.is_empty() { Ok(configuration) } else { Err(ConfigurationFaults(faults)) }
    }

    fn say(
        &mut self,
        key: &'static str,
        texts: Vec<String>,
        origin: SettingOrigin,
        place: &str,
        faults: &mut Vec<String>,
    ) {
        let form = table::of_key(key).map_or(SettingForm::Path, |row| row.form);
        for text in &texts {
            if let Err(why) = form.check(text) {
                let shown = &text[..text.floor_char_boundary(SHOWN_BYTES_MAX)];
                faults.push(format!("{place}: `{shown}`: {why}"));
            }
        }
        self.said.insert(key, (texts, origin));
    }

    fn read_file(&mut self, file: &Path, faults: &mut Vec<String>) {
        let shown = file.display();
        let bytes = match world::files::read_bytes(file) {
            Ok(bytes) if bytes.len() <= FILE_BYTES_MAX => bytes,
            Ok(_) => return faults.push(format!("{shown} has more than {FILE_BYTES_MAX} bytes")),
            Err(error) => return faults.push(format!("{shown} cannot be read: {error}")),
        };
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => {
                let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
                return faults.push(format!("{shown} is no TOML: line {line} is not UTF-8"));
            }
        };
        let root: toml::Table = match toml::from_str(text) {
            Ok(root) => root,
            Err(error) => return faults.push(format!("{shown} is no TOML: {error}")),
        };
        let mut found = Vec::new();
        for (name, value) in &root {
            match value {
                toml::Value::Table(section) => {
                    found.extend(section.iter().map(|(key, value)| (format!("{name}.{key}"), value)));
                }
                value => found.push((name.clone(), value)),
            }
        }
        let beside = file.parent().unwrap_or(Path::new(""));
        for (key, value) in found {
            let row = table::of_key(&key);
            let (Some(known), form) = (match row {
                Some(row) => (Some(row.key), row.form),
                None => ((key == DATABASE_KEY).then_some(DATABASE_KEY), SettingForm::Path),
            }) else {
                faults.push(format!("{shown}: `{key}` is no setting; {}", neighbours(&key)));
                continue;
            };
            match texts(value, form) {
                Some(texts) => {
                    let texts = texts.into_iter().map(|text| placed(text, form, beside)).collect();
                    self.say(known, texts, SettingOrigin::File, &format!("{shown}: {key}"), faults);
                }
                None => {
                    let kind = if form.is_list() { "a list of texts" } else { "a text or a whole number" };
                    faults.push(format!("{shown}: {key}: {kind} is needed"));
                }
            }
        }
    }

    /// Faults of combinations of settings.
    fn check_together(&self, faults: &mut Vec<String>) {
        let mut needs = |key: &str, other: &str| {
            if self.text(key).is_some_and(|_| self.origin(key) > SettingOrigin::Default)
                && self.text(other).is_none()
            {
                let flag = table::of_key(other).map_or("", |row| row.flag);
                faults.push(format!("`{key}` has no effect without `{other}` (--{flag}): set both, or none"));
            }
        };
        needs("tls.certificate", "tls.key");
        needs("tls.key", "tls.certificate");
        needs("jwt.keys", "jwt.issuer");
        needs("jwt.keys", "jwt.audience");
        needs("jwt.issuer", "jwt.keys");
        needs("jwt.audience", "jwt.keys");
        needs("gremlin.sources", "gremlin.address");
        needs("gremlin.timeout", "gremlin.address");
        needs("http.metrics", "http.address");
        let is_open = |key| self.text(key).is_some();
        if self.origin("http.cors") > SettingOrigin::Default
            && !is_open("http.address")
            && !is_open("gremlin.address")
        {
            let why =
                "`http.cors` has no effect without `http.address` (--http) or `gremlin.address` (--gremlin)";
            faults.push(why.to_string());
        }
        if let (Some(usual), Some(max)) = (self.time("query.timeout"), self.time("query.timeout_max"))
            && usual > max
        {
            faults.push("`query.timeout` is longer than `query.timeout_max`".to_string());
        }
    }

    /// Takes over those that a SIGHUP reads again.
    pub fn take_reloaded(&mut self, other: &Configuration) {
        for row in SETTINGS.iter().filter(|row| row.reloads) {
            match other.said.get(row.key) {
                Some(said) => drop(self.said.insert(row.key, said.clone())),
                None => drop(self.said.remove(row.key)),
            }
        }
    }
    /// The origin of a setting's value.
    pub fn origin(&self, key: &str) -> SettingOrigin {
        self.said.get(key).map_or(SettingOrigin::Default, |(_, origin)| *origin)
    }
    /// The text of a setting, said or by default.
    pub fn text(&self, key: &str) -> Option<&str> {
        let said = self.said.get(key).and_then(|(texts, _)| texts.last().map(String::as_str));
        let usual = || table::of_key(key).map(|row| row.default).filter(|text| !text.is_empty());
        said.or_else(usual)
    }
    /// The texts of a list.
    pub fn texts(&self, key: &str) -> &[String] {
        self.said.get(key).map_or(&[], |(texts, _)| texts)
    }
    /// A path.
    pub fn path(&self, key: &str) -> Option<PathBuf> {
        self.text(key).map(PathBuf::from)
    }
    /// A number of bytes.
    pub fn size(&self, key: &str) -> Option<u64> {
        self.text(key).and_then(|text| units::bytes(text).ok())
    }
    /// A time; none where it is 0.
    pub fn time(&self, key: &str) -> Option<Duration> {
        self.text(key).and_then(|text| units::duration(text).ok()).filter(|time| !time.is_zero())
    }
    /// A number.
    pub fn count(&self, key: &str) -> Option<u64> {
        self.text(key).and_then(|text| units::count(text).ok())
    }

    /// How the database is opened.
    pub fn options(&self) -> Options {
        let usual = Options::default();
        Options {
            executors: self.count("executors").map(as_usize),
            query_bytes_max: self.size("query.memory").unwrap_or(usual.query_bytes_max),
            query_timeout: self.time("query.timeout"),
            query_timeout_max: self.time("query.timeout_max"),
            query_rows_max: self.count("query.rows_max"),
            queries_bytes_max: self.size("query.memory_all"),
            spill_bytes_max: self.size("query.spill").unwrap_or(usual.spill_bytes_max),
            spill_folder: self.path("query.spill_folder"),
            queries_max: self.count("query.concurrent"),
            checkpoint_log_bytes: self.size("checkpoint_log_size").unwrap_or(usual.checkpoint_log_bytes),
            memory_bytes: self.size("memory"),
            import_folder: self.path("import_folder"),
            import_urls: self
                .texts("import_urls")
                .iter()
                .filter_map(|text| UrlRules::parse(text).ok())
                .collect(),
            backup_folder: self.path("backup_folder"),
            password_chars_min: self.count("passwords.length_min").map_or(usual.password_chars_min, as_usize),
            history: self.text("history").and_then(|text| text.parse().ok()),
            ..usual
        }
    }

    /// The limits of clients.
    pub fn limits(&self) -> Limits {
        let usual = Limits::default();
        let count = |key| self.count(key).map(as_usize);
        let time = |key, usual| self.time(key).unwrap_or(usual);
        let places = Limits::of_connections(count("connections.max").unwrap_or(usual.connections_max));
        let strangers = count("connections.strangers_max").unwrap_or(usual.strangers_max);
        let unfinished = self.size("messages.unfinished_max").map_or(usual.incoming_bytes_max, as_usize);
        Limits {
            connections_per_address_max: count("connections.per_address_max")
                .unwrap_or(places.connections_per_address_max),
            connections_per_user_max: count("connections.per_user_max")
                .unwrap_or(places.connections_per_user_max),
            strangers_max: strangers,
            strangers_per_address_max: strangers.div_ceil(2),
            greeting_timeout: time("connections.logon_timeout", usual.greeting_timeout),
            message_timeout: time("connections.message_timeout", usual.message_timeout),
            neglect_timeout: time("connections.open_timeout", usual.neglect_timeout),
            idle_timeout: time("connections.idle_timeout", usual.idle_timeout),
            message_bytes_max: self.size("messages.max").map_or(usual.message_bytes_max, as_usize),
            incoming_bytes_max: unfinished,
            incoming_bytes_per_address_max: share(unfinished),
            transaction_idle_timeout: time("http.transaction_timeout", usual.transaction_idle_timeout),
            token_lifetime: time("http.token_lifetime", usual.token_lifetime),
            drain_timeout: self.time("drain").unwrap_or_default(),
            ..places
        }
    }

    /// All settings with their values, for `SHOW SETTINGS`. Paths are not shown, only whether they are set.
    pub fn settings(&self) -> Vec<SettingInfo> {
        SETTINGS.iter().map(|row| row.info(self.shown(row))).collect()
    }
    /// All settings with their origins, for operators of the server.
    pub fn lines(&self) -> Vec<(&'static SettingRow, String, SettingOrigin)> {
        SETTINGS.iter().map(|row| (row, self.joined(row.key), self.origin(row.key))).collect()
    }
    fn joined(&self, key: &str) -> String {
        match self.texts(key) {
            [] => self.text(key).unwrap_or_default().to_string(),
            texts => texts.join(","),
        }
    }
    fn shown(&self, row: &SettingRow) -> String {
        match row.form {
            SettingForm::Path => self.text(row.key).is_some().to_string(),
            // The names, without the folders.
            SettingForm::Sources => {
                let names = self.texts(row.key).iter().filter_map(|text| forms::named(text).ok());
                names.map(|(name, _)| name).collect::<Vec<_>>().join(",")
            }
            SettingForm::Size => self.size(row.key).map_or(String::new(), database::bytes_text),
            SettingForm::Time | SettingForm::TimeTo(_) if self.text(row.key).is_some() => {
                database::time_text(self.time(row.key).unwrap_or_default())
            }
            _ => self.joined(row.key),
        }
    }
}

fn as_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A value of TOML as texts.
fn texts(value: &toml::Value, form: SettingForm) -> Option<Vec<String>> {
    let one = |value: &toml::Value| match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        _ => None,
    };
    match value {
        toml::Value::Array(items) if form.is_list() => items.iter().map(one).collect(),
        value => one(value).map(|text| vec![text]),
    }
}

/// A path of a file of settings: one that is not absolute lies beside the file.
fn placed(text: String, form: SettingForm, beside: &Path) -> String {
    let join = |path: &str| beside.join(path).display().to_string();
    match form {
        SettingForm::Path if !text.is_empty() && text != database::MEMORY => join(&text),
        SettingForm::Sources => match forms::named(&text) {
            Ok((name, path)) if path != database::MEMORY => format!("{name}={}", join(path)),
            _ => text,
        },
        _ => text,
    }
}

/// Similar settings, for a key that does not exist.
fn neighbours(key: &str) -> String {
    let (section, name) = key.split_once('.').unwrap_or(("", key));
    let of_section: Vec<&str> = SETTINGS
        .iter()
        .map(|row| row.key)
        .filter(|known| known.split_once('.').map_or("", |(section, _)| section) == section)
        .collect();
    let elsewhere = SETTINGS.iter().map(|row| row.key).find(|known| {
        *known == name
            || known.split_once('.').is_some_and(|(_, known)| known == name)
            || known.replace('.', "_") == key
    });
    match (elsewhere, of_section.is_empty()) {
        (Some(known), _) => format!("there is `{known}`"),
        (None, false) => format!("there are {}", of_section.join(", ")),
        (None, true) => "`tanglewood serve --help` lists them".to_string(),
    }
}

#[cfg(test)]
mod tests;
