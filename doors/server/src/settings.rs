//! What the doors tell of themselves in `SHOW SETTINGS`, by Neo4j's names where a setting means the same there.

use crate::Limits;
use database::{SettingInfo, bytes_text, time_text};
use std::net::SocketAddr;

/// Settings of the Bolt door: where it listens, whether it asks for passwords and speaks TLS, and what a client may cost.
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
            "server.bolt.listen_address",
            address,
            "127.0.0.1:7687",
            "An address and a port.",
            "Where drivers of Neo4j are listened to.",
        ),
        SettingInfo::new(
            "server.bolt.tls_level",
            tls,
            "DISABLED",
            "REQUIRED or DISABLED.",
            "Is every connection wrapped in TLS?",
        ),
    ];
    settings.extend(of_limits(limits));
    settings
}

/// Settings of the door for drivers of TinkerPop.
pub(crate) fn of_gremlin(address: SocketAddr) -> Vec<SettingInfo> {
    vec![SettingInfo::new(
        "tanglewood.gremlin.listen_address",
        address,
        "",
        "An address and a port.",
        "Where drivers of TinkerPop are listened to.",
    )]
}

/// Settings of the HTTP door.
pub(crate) fn of_http(
    address: SocketAddr,
    is_wrapped: bool,
    cors: &[String],
    limits: &Limits,
) -> Vec<SettingInfo> {
    let usual = Limits::default();
    let name = if is_wrapped { "server.https.enabled" } else { "server.http.enabled" };
    let time = |of: fn(&Limits) -> std::time::Duration| (time_text(of(limits)), time_text(of(&usual)));
    let (idle, token) =
        (time(|limits| limits.transaction_idle_timeout), time(|limits| limits.token_lifetime));
    const TIME: &str = "A time with a unit, such as 30s.";
    vec![
        SettingInfo::new(name, true, false, "A boolean.", "Is HTTP spoken?"),
        SettingInfo::new(
            "server.http.listen_address",
            address,
            "",
            "An address and a port.",
            "Where HTTP clients are listened to.",
        ),
        SettingInfo::new(
            "dbms.security.http_access_control_allow_origin",
            cors.join(","),
            "",
            "Sites such as https://app.example, with commas between them.",
            "Sites whose pages may ask this server.",
        ),
        SettingInfo::new(
            "server.http.transaction_idle_timeout",
            idle.0,
            idle.1,
            TIME,
            "Time in which nothing is asked in a transaction over HTTP before it is rolled back.",
        ),
        SettingInfo::new(
            "tanglewood.http.token_lifetime",
            token.0,
            token.1,
            TIME,
            "Time for which a bearer token is good.",
        ),
    ]
}

fn of_limits(limits: &Limits) -> Vec<SettingInfo> {
    let usual = Limits::default();
    let count = |name, of: fn(&Limits) -> usize, help| {
        SettingInfo::new(name, of(limits), of(&usual), "A whole number.", help)
    };
    let size = |name, of: fn(&Limits) -> usize, help| {
        let text = |limits| bytes_text(of(limits) as u64);
        SettingInfo::new(
            name,
            text(limits),
            text(&usual),
            "A number of bytes with a unit, such as 64MiB.",
            help,
        )
    };
    let time = |name, of: fn(&Limits) -> std::time::Duration, help| {
        let text = |limits| time_text(of(limits));
        SettingInfo::new(name, text(limits), text(&usual), "A time with a unit, such as 30s.", help)
    };
    vec![
        count("tanglewood.connections.max", |limits| limits.connections_max, "Connections served at once."),
        count(
            "tanglewood.connections.per_address_max",
            |limits| limits.connections_per_address_max,
            "Of these, connections of one address.",
        ),
        count(
            "tanglewood.connections.per_user_max",
            |limits| limits.connections_per_user_max,
            "Of these, connections of one user.",
        ),
        count(
            "tanglewood.connections.strangers_max",
            |limits| limits.strangers_max,
            "Connections that have not logged on yet.",
        ),
        time(
            "tanglewood.connections.logon_timeout",
            |limits| limits.greeting_timeout,
            "Time from connecting until the client has logged on.",
        ),
        time(
            "tanglewood.connections.message_timeout",
            |limits| limits.message_timeout,
            "Silence within a message.",
        ),
        time(
            "tanglewood.connections.open_timeout",
            |limits| limits.neglect_timeout,
            "Silence while a transaction or a result is open.",
        ),
        time(
            "tanglewood.connections.idle_timeout",
            |limits| limits.idle_timeout,
            "Silence while nothing is open.",
        ),
        size(
            "tanglewood.messages.max",
            |limits| limits.message_bytes_max,
            "Size of one message of a client.",
        ),
        size(
            "tanglewood.messages.unfinished_max",
            |limits| limits.incoming_bytes_max,
            "Size of all messages that are not whole or not unpacked.",
        ),
    ]
}
