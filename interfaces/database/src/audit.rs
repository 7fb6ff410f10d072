//! The audit log: changes and refusals, with their users, as lines of the log under the target `tanglewood::audit`.
//!
//! Every statement that administers (indexes, constraints, users, roles, tenants, standing queries, kills) has a line with its outcome, and so has
//! every statement that was refused for a missing privilege. Log-ons are logged by the interfaces. No line holds a password.

use crate::Error;
use crate::cache::Planned;
use crate::clients::Client;
use plan::StatementKind;
use plan::users::UserCommand;
use std::borrow::Cow;

const FORBIDDEN: &str = "Neo.ClientError.Security.Forbidden";

/// Logs a statement with its outcome.
pub(crate) fn log(planned: &Planned, user: Option<&str>, client: &Client, outcome: Result<(), &Error>) {
    let kind = &planned.plan.statement.kind;
    let refused = outcome.is_err_and(|error| error.code == FORBIDDEN);
    if !refused && matches!(kind, StatementKind::Query { .. }) {
        return;
    }
    let text: Cow<'_, str> = match kind {
        StatementKind::Users(command) => described(command).into(),
        _ => (&*planned.text).into(),
    };
    let (connection, address) = (&*client.connection_id, &*client.address);
    match outcome {
        Ok(()) => {
            tracing::info!(target: "tanglewood::audit", user, connection, address, statement = &*text, "done");
        }
        Err(error) => {
            let code = error.code.as_str();
            tracing::warn!(target: "tanglewood::audit", user, connection, address, statement = &*text, code, "refused");
        }
    }
}

/// A command about users without its passwords.
fn described(command: &UserCommand) -> String {
    match command {
        UserCommand::Create { name, .. } => format!("CREATE USER {name}"),
        UserCommand::Alter { name, password, suspended, .. } => {
            let password = if password.is_some() { " SET PASSWORD" } else { "" };
            let status = match suspended {
                Some(true) => " SET STATUS SUSPENDED",
                Some(false) => " SET STATUS ACTIVE",
                None => "",
            };
            format!("ALTER USER {name}{password}{status}")
        }
        UserCommand::AlterCurrent { .. } => "ALTER CURRENT USER SET PASSWORD".to_string(),
        UserCommand::Drop { name, .. } => format!("DROP USER {name}"),
    }
}
