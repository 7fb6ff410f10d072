//! # histories: what clients saw, and whether one order explains it
//!
//! Did concurrent transactions behave as if they had run one after another, in an order that agrees with real time? This crate knows no
//! database: whoever runs transactions, in a simulator, on threads or against real processes, records what came back, and asks.
//!
//! ```text
//!   recorder ──> history ──> edges (who must come before whom) ──> cycles ──> the shortest one in words
//! ```
//!
//! Reading order: [`history`] (what was seen), [`check`] (what it proves), [`infer`] (edges), [`cycle`] (cycles), [`anomaly`] (findings).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod history;

pub mod check;

pub mod infer;

pub mod cycle;

pub mod anomaly;
