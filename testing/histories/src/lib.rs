//! # histories: recorded transactions, and whether one order explains them
//!
//! Did concurrent transactions behave as if they had run one after another, in an order that agrees with real time? This crate knows no
//! database: whoever runs transactions, in a simulator, on threads or against real processes, records what came back, and asks.
//!
//! ```text
//!   recorder ──> history ──> edges (precedence) ──> cycles ──> the shortest one in words
//! ```
//!
//! Reading order: [`history`] (the record), [`check`] (the anomalies it proves), [`infer`] (edges), [`cycle`] (cycles), [`anomaly`] (findings).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod history;

pub mod check;

pub mod infer;

pub mod cycle;

pub mod anomaly;
