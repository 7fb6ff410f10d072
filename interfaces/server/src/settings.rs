//! Settings of the interfaces in `SHOW SETTINGS`, by Neo4j's names where a setting means the same there. Their descriptions are in
//! [`crate::configuration::table`].

use crate::Limits;
use crate::configuration::table::of_key;
use database::{SettingInfo, bytes_text, time_text};
use std::net::SocketAddr;
use std::time::Duration;

/// The setting of a key with its value.
fn of(key: &str, value: impl ToString) -> Option<SettingInfo> {
    of_key(key).map(|row| row.info(value))
}

/// Settings of the Bolt interface: its address, passwords, TLS, and the limits of clients.
pub(crate) fn of_bolt(
    address: SocketAddr,
    asks: bool,
    is_wrapped: bool,
    limits: &Limits,
) -> Vec<SettingInfo> {
    let tls = if is_wrapped { "REQUIRED" } else { "DISABLED" };
    let mut settings = vec![
        SettingInfo::new(
            "dbms.security.auth_enabled",
            asks,
            false,
            "A boolean.",
            "Are users asked for a password?",
        ),
        SettingInfo::new("server.bolt.enabled", true, false, "A boolean.", "Is Bolt spoken?"),
        SettingInfo::new(
            "server.bolt.tls_level",
            tls,
            "DISABLED",
            "REQUIRED or DISABLED.",
            "Is every connection wrapped in TLS?",
        ),
    ];
    settings.extend(of("bolt.address", address));
    settings.extend(of_limits(limits));
    settings
}

/// Settings of the interface for drivers of TinkerPop.
pub(crate) fn of_gremlin(address: SocketAddr) -> Vec<SettingInfo> {
    of("gremlin.address", address).into_iter().collect()
}

/// Settings of the HTTP interface.
pub(crate) fn of_http(
    address: SocketAddr,
    is_wrapped: bool,
    cors: &[String],
    limits: &Limits,
) -> Vec<SettingInfo> {
    let name = if is_wrapped { "server.https.enabled" } else { "server.http.enabled" };
    let mut settings = vec![
        SettingInfo::new(name, true, false, "A boolean.", "Is HTTP spoken?"),
        SettingInfo::new("server.metrics.enabled", true, false, "A boolean.", "Are metrics collected?"),
    ];
    settings.extend(of("http.address", address));
    settings.extend(of("http.cors", cors.join(",")));
    settings.extend(of("http.transaction_timeout", time_text(limits.transaction_idle_timeout)));
    settings.extend(of("http.token_lifetime", time_text(limits.token_lifetime)));
    settings
}

fn of_limits(limits: &Limits) -> Vec<SettingInfo> {
    let counts = [
        ("connections.max", limits.connections_max),
        ("connections.per_address_max", limits.connections_per_address_max),
        ("connections.per_user_max", limits.connections_per_user_max),
        ("connections.strangers_max", limits.strangers_max),
    ];
    let times: [(&str, Duration); 5] = [
        ("connections.logon_timeout", limits.greeting_timeout),
        ("connections.message_timeout", limits.message_timeout),
        ("connections.open_timeout", limits.neglect_timeout),
        ("connections.idle_timeout", limits.idle_timeout),
        ("drain", limits.drain_timeout),
    ];
    let sizes =
        [("messages.max", limits.message_bytes_max), ("messages.unfinished_max", limits.incoming_bytes_max)];
    let counts = counts.into_iter().filter_map(|(key, count)| of(key, count));
    let times = times.into_iter().filter_map(|(key, time)| of(key, time_text(time)));
    let sizes = sizes.into_iter().filter_map(|(key, bytes)| of(key, bytes_text(bytes as u64)));
    counts.chain(times).chain(sizes).collect()
}
