//! transact
