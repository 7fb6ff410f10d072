//! # standing: answers that stay true while the graph changes
//!
//! A standing query is a Cypher query whose answer is kept: after each commit its subscribers are told which rows came and which
//! went. The law: the deltas up to a commit add up to what the query would answer on the snapshot of that commit.
//!
//! Nothing of the graph is copied. A query reads the store's own snapshots, corrected by the few changes that the present turn is
//! working on ([`view`]); it keeps what its own steps need (groups, distinct rows, rows in order), and patterns need nothing at all.
//!
//! Reading order: [`row`], [`view`] (the graph at a timestamp), [`event_context`] (what goes from step to step), [`shape`] and [`analysis`] with [`demand`] (from a plan to steps), [`join`]
//! (patterns), [`operator`] (steps with state), [`steps`] and [`network`] (all steps of a query), [`weight`] (what they keep, in bytes), [`status`] (what lists say), [`follower`] (the change feed), [`shown`] (commits as a restricted reader sees them), [`installing`] (what the first answer may cost), [`query`] (one query and its readers), [`keeper`] (all
//! queries of a database), [`subscription`] and [`upsert`] (who is told, and how), [`mark`] and [`resume`] (a reader who goes on where it was). Datalog programs are kept by [`rules`], which reads them from the graph
//! at a timestamp ([`facts`]: what a commit changed of it); [`answer_keeper`] is where the two kinds of query meet.

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
