//! Settings as they are listed, and those that interfaces add while they serve.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// A setting and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingInfo {
    /// Its name, such as `server.bolt.listen_address`.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// Its default.
    pub default: String,
    /// Its description.
    pub description: &'static str,
    /// Which values it takes.
    pub valid: String,
}

impl SettingInfo {
    /// A setting with its value and its default.
    pub fn new(
        name: &'static str,
        value: impl ToString,
        default: impl ToString,
        valid: &'static str,
        description: &'static str,
    ) -> SettingInfo {
        let (value, default) = (value.to_string(), default.to_string());
        SettingInfo { name, value, default, description, valid: valid.into() }
    }
    /// One that is the same everywhere.
    pub(crate) fn fixed(name: &'static str, value: &str, description: &'static str) -> SettingInfo {
        SettingInfo::new(name, value, value, "This value alone.", description)
    }
}

/// The settings that interfaces added, by interface.
#[derive(Debug, Default)]
pub(crate) struct InterfaceSettings(pub Mutex<BTreeMap<String, Vec<SettingInfo>>>);
