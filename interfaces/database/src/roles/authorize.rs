//! Authorisation of a statement as a whole. Its reads and writes of the graph are decided below, by its snapshot and its transaction.

use super::{RestrictedView, forbidden};
use crate::Error;
use plan::procedures::{
    BACKED_UP, BACKUP, EXPORT, EXPORTED, HISTORY_SET, LIST_CONFIG, LISTED_CACHES, LISTED_CLUSTER,
    LISTED_ORDER, LISTED_PRIVILEGES, LISTED_QUERIES, LISTED_ROLE_PRIVILEGES, LISTED_ROLES, LISTED_SETTINGS,
    LISTED_STANDING, LISTED_TABLETS, LISTED_TENANTS, LISTED_TRANSACTIONS, LISTED_USERS, LOAD_CSV, LOAD_JSON,
    LOAD_PARQUET, Procedure, SET_HISTORY,
};
use plan::roles::Action;
use plan::standing::StandingCommand;
use plan::statement::{SchemaCommand, Target};
use plan::users::UserCommand;
use plan::{Plan, Statement, StatementKind};
use store::Snapshot;

/// A standing query runs over the whole graph for all its readers, and the reason why one cannot be maintained may tell of any part.
const WHOLE_GRAPH: &str =
    "change standing queries: they are kept over the whole graph, and a part of it is hidden from this user";

/// An index and a constraint know of everything with their label or type.
const PARTLY_HIDDEN: &str = "make an index or a constraint over what may be hidden from this user: all labels and properties that it is about must be shown, and none denied";

impl RestrictedView {
    /// Fails if the kind of the statement, or a procedure that it calls, is not allowed. `known` is the present graph as the caller may see it.
    pub(crate) fn authorize(&self, statement: &Statement, known: &Snapshot) -> Result<(), Error> {
        for parameter in statement.parameters.iter().filter(|name| name.starts_with(' ')) {
            self.demand_listing(parameter)?;
        }
        if let Some(batches) = &statement.in_transactions {
            self.authorize(&batches.input, known)?;
            self.authorize(&batches.batch, known)?;
        }
        match &statement.kind {
            StatementKind::Query { plan, .. } => self.demand_calls(plan),
            StatementKind::Schema(command) => self.demand_schema(command, known),
            StatementKind::Kill(_) => self.demand((Action::TransactionManagement, "end what others run")),
            StatementKind::Standing(StandingCommand::Subscribe { .. }) => self.demand_subscription(),
            StatementKind::Standing(_) if self.hides() => Err(forbidden(WHOLE_GRAPH)),
            StatementKind::Standing(_) => {
                self.demand((Action::StandingQueryManagement, "change standing queries"))
            }
            // Everybody may change its own password.
            StatementKind::Users(UserCommand::AlterCurrent { .. }) => Ok(()),
            StatementKind::Users(_) => self.demand((Action::UserManagement, "change users")),
            StatementKind::Roles(_) => self.demand((Action::RoleManagement, "change roles")),
            StatementKind::Program(_) => self.demand((Action::ProgramManagement, "deploy and drop programs")),
            StatementKind::Account(_) => self.demand((Action::TenantManagement, "change tenants")),
        }
    }
    fn demand_schema(&self, command: &SchemaCommand, known: &Snapshot) -> Result<(), Error> {
        let (indexes, constraints) = (
            (Action::IndexManagement, "change indexes"),
            (Action::ConstraintManagement, "change constraints"),
        );
        let (target, keys) = match command {
            SchemaCommand::DropIndex { .. } => return self.demand(indexes),
            SchemaCommand::DropConstraint { .. } => return self.demand(constraints),
            SchemaCommand::CreateIndex { target, keys, .. } => {
                self.demand(indexes)?;
                (target, keys)
            }
            SchemaCommand::CreateConstraint { target, keys, .. } => {
                self.demand(constraints)?;
                (target, keys)
            }
        };
        // What they would tell, of values that are twice there or missing, must be shown to whoever makes them.
        if self.hides() && !self.rights.shows_all(target, keys) {
            return Err(forbidden(PARTLY_HIDDEN));
        }
        if self.rights.allows_whole(Action::NameManagement) {
            return Ok(());
        }
        let mut is_known = match target {
            Target::Vertices(label) => known.knows_label(label)?,
            Target::Edges(edge_type) => known.knows_edge_type(edge_type)?,
        };
        for key in keys {
            is_known = is_known && known.knows_key(key)?;
        }
        match is_known {
            true => Ok(()),
            false => Err(forbidden("use names that the graph does not know")),
        }
    }
    fn demand(&self, (action, what): (Action, &str)) -> Result<(), Error> {
        if self.rights.allows_whole(action) { Ok(()) } else { Err(forbidden(what)) }
    }
    fn demand_listing(&self, parameter: &str) -> Result<(), Error> {
        match parameter {
            LISTED_USERS => self.demand((Action::UserManagement, "list users")),
            LISTED_ROLES | LISTED_PRIVILEGES | LISTED_ROLE_PRIVILEGES => {
                self.demand((Action::RoleManagement, "list roles and their privileges"))
            }
            LISTED_QUERIES | LISTED_TRANSACTIONS => {
                self.demand((Action::TransactionManagement, "list what others run"))
            }
            LISTED_TENANTS | LISTED_TABLETS => self.demand((Action::TenantManagement, "list tenants")),
            LISTED_CLUSTER | LISTED_ORDER => self.demand((Action::ShowSetting, "list the cluster")),
            LISTED_CACHES => self.demand((Action::ShowSetting, "list caches")),
            LISTED_SETTINGS => self.demand((Action::ShowSetting, "list settings")),
            LISTED_STANDING => self.demand((Action::Subscribe, "list standing queries")),
            name if name.starts_with(BACKED_UP) => Err(forbidden("make backups")),
            name if name.starts_with(EXPORTED) => Err(forbidden("export the graph")),
            name if name.starts_with(HISTORY_SET) => Err(forbidden("change how far back the past is kept")),
            _ => Ok(()),
        }
    }
    fn demand_calls(&self, plan: &Plan) -> Result<(), Error> {
        let mut refused = Ok(());
        plan.any(&mut |plan| {
            if let Some(name) = called(plan) {
                refused = self.demand_call(name);
            }
            refused.is_err()
        });
        refused
    }
    fn demand_call(&self, name: &str) -> Result<(), Error> {
        match name {
            LOAD_CSV | LOAD_JSON | LOAD_PARQUET => self.demand((Action::Load, "read files")),
            BACKUP => Err(forbidden("make backups")),
            EXPORT => Err(forbidden("export the graph")),
            SET_HISTORY => Err(forbidden("change how far back the past is kept")),
            LIST_CONFIG => self.demand((Action::ShowSetting, "list settings")),
            // A listing has been asked about.
            name if name.contains(' ') || self.rights.may_call(name) => Ok(()),
            name => Err(forbidden(&format!("call the procedure `{name}`"))),
        }
    }
    /// Fails unless standing queries may be followed.
    pub(crate) fn demand_subscription(&self) -> Result<(), Error> {
        self.demand((Action::Subscribe, "follow standing queries"))
    }
    /// Fails unless files may be read.
    pub(crate) fn demand_load(&self) -> Result<(), Error> {
        self.demand((Action::Load, "read files"))
    }
}

/// The procedure that this node calls.
fn called(plan: &Plan) -> Option<&str> {
    match plan {
        // By its name in the table, however it was written.
        Plan::CallProcedure(call) => {
            Some(Procedure::by_name(&call.name).map_or(&*call.name, |known| known.name))
        }
        _ => None,
    }
}
