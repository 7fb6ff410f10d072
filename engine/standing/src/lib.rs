//! # standing: answers maintained while the graph changes
//!
//! A standing query is a Cypher query whose answer is maintained: after each commit its subscribers get the rows that came and the rows that went.
//! The law: the deltas up to a commit add up to the query's answer on the snapshot of that commit.
//!
//! Nothing of the graph is copied. A query reads the store's own snapshots, corrected by the few changes of the present turn ([`view`]); it keeps the
//! state of its own steps (groups, distinct rows, rows in order), and patterns need nothing at all.
//!
//! Reading order: [`row`], [`view`] (the graph at a timestamp), [`event_context`] (the event of a timestamp), [`shape`] and [`analysis`] with
//! [`demand`] (from a plan to steps), [`join`] (patterns), [`operator`] (steps with state), [`steps`] and [`network`] (all steps of a query),
//! [`weight`] (bytes of their state), [`status`] (rows of lists), [`follower`] (the change feed), [`shown`] (commits as a restricted reader sees
//! them), [`installing`] (bounds of the first answer), [`query`] (one query and its readers), [`keeper`] (all queries of a database),
//! [`subscription`] and [`upsert`] (readers and their events), [`mark`] and [`resume`] (resuming readers). Datalog programs are maintained by
//! [`rules`], which reads them from the graph at a timestamp ([`facts`]: the changes of a commit); [`answer_keeper`] is where the two kinds of query
//! meet.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod analysis;
mod answer_keeper;
mod demand;
mod error;
mod evaluate;
mod event_context;
mod facts;
mod follower;
mod installing;
mod join;
mod keeper;
mod limits;
mod mark;
mod network;
mod operator;
mod query;
mod resume;
mod row;
mod rules;
mod shape;
mod shown;
mod status;
mod steps;
mod subscription;
mod table;
mod upsert;
mod view;
mod weight;

pub use answer_keeper::Definition;
pub use error::StandingError;
pub use installing::Installing;
pub use keeper::{Keeper, PlaceWaker, TurnEnd, Upkeep};
pub use limits::{QUERIES_MAX, REMEMBERED_ROWS_MAX, SUBSCRIBER_ROWS_MAX};
pub use mark::{Mark, Resume};
pub use row::Row;
pub use status::{Ledger, Standing, State};
pub use subscription::{Begin, Column, Event, Subscription, SubscriptionEnd};
pub use upsert::{Upsert, Upserts};
