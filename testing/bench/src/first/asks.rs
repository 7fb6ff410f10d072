//! The system under test: a database in this process, or a server.

use super::told;
use database::entity::Hydrated;
use database::{Counters, Error, Params, Session, Value};
use server::client::Client;

/// A statement that conflicts is tried again so often.
const TRIES_MAX: usize = 100;

/// A connection that runs statements.
pub(crate) trait Asks {
    /// The rows that a statement gives.
    fn rows(&mut self, text: &str, params: &Params) -> Result<Vec<Vec<Value>>, String>;
    /// Runs a statement; its counters of changes.
    fn changes(&mut self, text: &str, params: &Params) -> Result<Counters, String>;

    /// The one number that a statement gives.
    fn number(&mut self, text: &str) -> Result<i64, String> {
        match self.rows(text, &Params::new())?.first().and_then(|row| row.first()) {
            Some(Value::Int(number)) => Ok(*number),
            other => Err(format!("{text}: {other:?}")),
        }
    }
}

impl Asks for Session {
    fn rows(&mut self, text: &str, params: &Params) -> Result<Vec<Vec<Value>>, String> {
        self.query(text, params.clone()).and_then(|result| result.rows()).map_err(|error| told(&error))
    }
    fn changes(&mut self, text: &str, params: &Params) -> Result<Counters, String> {
        let finished = self.query(text, params.clone()).and_then(|result| result.finish());
        finished.map(|summary| summary.counters).map_err(|error| told(&error))
    }
}

impl Asks for Client {
    fn rows(&mut self, text: &str, params: &Params) -> Result<Vec<Vec<Value>>, String> {
        let plain = |value: Hydrated| match value {
            Hydrated::Plain(value) => Ok(value),
            _ => Err(format!("{text}: an entity was not expected")),
        };
        let (found, _) = asked(self, text, params)?;
        found.into_iter().map(|row| row.into_iter().map(plain).collect()).collect()
    }
    fn changes(&mut self, text: &str, params: &Params) -> Result<Counters, String> {
        asked(self, text, params).map(|(_, counters)| counters)
    }
}

/// Asks until it does not conflict.
fn asked(client: &mut Client, text: &str, params: &Params) -> Result<(Vec<Vec<Hydrated>>, Counters), String> {
    let mut once = || -> Result<_, Error> {
        let (mut found, mut rows) = (Vec::new(), client.run(text, params)?);
        while let Some(some) = rows.next_rows()? {
            found.extend(some);
        }
        Ok((found, rows.summary().counters))
    };
    let mut tries = 0;
    loop {
        match once() {
            Err(error) if error.retryable && tries < TRIES_MAX => tries += 1,
            outcome => return outcome.map_err(|error| told(&error)),
        }
    }
}
