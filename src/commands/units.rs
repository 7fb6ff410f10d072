//! Numbers with units on the command line: `5s`, `512MB`.

pub use server::configuration::units::{bytes, count, duration};
