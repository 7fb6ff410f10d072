//! # database: the façade
//!
//! Open a [`Database`], take a [`Session`], ask it: that is all a program needs. No algorithm lives here; this crate joins the
//! languages, the executors and the commits, and holds the one table from inner errors to what users see.
//!
//! Reading order: [`Database`], [`Session`], [`QueryResult`], [`Error`], [`entity`] (vertices and edges with their properties).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod accounts;
mod as_of;
mod async_session;
mod at_gate;
mod audit;
mod cache;
mod catalogue;
mod clients;
mod database;
mod datalog;
mod drain;
pub mod entity;
mod entries;
mod error;
mod export;
mod files;
mod graphson;
pub mod gremlin;
mod guesses;
mod housekeeping;
mod impersonator;
mod interface_settings;
mod interrupt;
mod job;
mod migrate;
mod notes;
mod notification;
mod options;
mod params;
mod profile;
mod programs;
mod progress;
mod query_log;
mod query_trace;
mod replica;
mod result;
mod result_row;
mod roles;
mod running;
mod session;
mod set_aside;
mod settings;
mod shared_limits;
mod standing;
mod users;

pub use ::standing::{Column, Event, Mark, Row, Standing, Subscription, SubscriptionEnd, Upsert, Upserts};
pub use ::text::nearest;
pub use accounts::{Allowance, DEFAULT_TENANT, TENANTS_MAX, Tenant};
pub use async_session::{ASYNC_CALLS_MAX, AsyncCall, AsyncRows, AsyncSession};
pub use database::{Database, MEMORY, restore};
pub use drain::unavailable;
pub use entries::SetAside;
pub use error::{Error, ErrorClass};
pub use execute::{Counters, TabletInfo, TabletMove, TabletNo};
pub use export::ExportFormat;
pub use files::{CHECK_INSTALL_TIME_MAX, Checked, backup, check, check_within, open_backup};
pub use graphson::GraphsonImport;
pub use guesses::{ATTEMPTS_MAX, LOCK_TIME, PasswordAttempt, PasswordGuesses};
pub use ingest::{
    ExistingPolicy, ExportReport, ImportOptions, ImportReport, Layout as ImportLayout, MappedColumn,
    MappedEdges, MappedEnd, MappedFile, MappedNodes, Mapping, Progress as ImportProgress, ProgressListener,
    Understood, UnderstoodColumn, UnderstoodListener, UrlRules,
};
pub use interface_settings::SettingInfo;
pub use interrupt::Interrupter;
pub use model::{Batch, Value};
pub use notification::{NOTIFICATIONS_MAX, Notification, Position, Severity};
pub use options::Options;
pub use params::Params;
pub use plan::Quoted;
pub use plan::accounts::{AccountCommand, Measure, Remedy, RunawayRule, Setting};
pub use plan::explain::PlanDescription;
pub use plan::hidden::is_hidden as is_hidden_key;
pub use profile::plan_value;
pub use progress::OperatorProgress;
pub use query_log::{LATENCY_BOUNDS_US, QueryFigures};
pub use query_trace::{OperatorTrace, QueryTrace, TRACED_OPERATORS_MAX, TraceListener};
pub use replica::{Interrupted, REPLICA_PATIENCE, ReplicaHost};
pub use result::{QueryResult, RequestKind, SchemaCounters, Summary};
pub use result_row::{ResultRow, ResultRows};
pub use running::RunningQuery;
pub use session::gremlin_text::GremlinRows;
pub use session::{Limits, NamedFigures, Session, TransactionScope};
pub use set_aside::set_aside;
pub use settings::{bytes_text, time_text};
pub use shared_limits::GateUsage;
pub use transact::{BackupReport, History, Mode, Moment, Point, Problem, Report};
pub use users::{
    Credential, PASSWORD_BYTES_MAX, TokenLife, USER_NAME_BYTES_MAX, USERS_MAX, UserInfo, Users, UsersError,
};
