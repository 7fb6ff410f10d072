//! The settings of a server: one table ([`table`]), the forms of their texts ([`forms`], [`units`]), and how a file, the environment and flags are
//! merged ([`reading`]).

pub mod forms;
pub mod reading;
pub mod table;
pub mod units;

pub use reading::{Configuration, ConfigurationFaults, DATABASE_KEY, DATABASE_VARIABLE, SettingOrigin};
pub use table::{GROUPS, SETTINGS, SettingRow};
