//! A subscription as server-sent events: `fields` first, then `changes` for each commit that changes something, `progress` for others.
//!
//! The id of an event is the mark behind it, so a browser that reconnects sends in `Last-Event-ID` where it resumes, and nothing is lost.

use super::outlet::Outlet;
use super::parameters;
use super::refusal::{Refusal, write_errors};
use super::route::decoded;
use super::values::{Form, put, write_hydrated, write_list, write_text, write_value};
use database::entity::hydrate;
use database::{Batch, Error, Params, QueryResult, Quoted, Session};
use hyper::StatusCode;
use hyper::header::HeaderMap;
use model::Value;
use model::json::JsonShape;
use std::sync::Arc;
use std::time::Duration;
use world::clock::{after_ns, monotonic_ns};

/// How often a silent subscription looks whether its client is there.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Columns in front of those of the query: commit, time, difference, mark.
const OWN_COLUMNS: usize = 4;
/// Bytes of a mark that a client may give.
const MARK_BYTES_MAX: usize = 200;

/// The request for a subscription.
#[derive(Clone, Debug, Default)]
pub(super) struct Subscribe {
    name: String,
    snapshot: bool,
    from: Option<String>,
    params: Params,
}

impl Subscribe {
    /// Reads `snapshot=true`, `from=MARK` and `param.NAME=JSON`; the header of a reconnecting client overrides `from`.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn of(name: String, query: &str, headers: &HeaderMap) -> Result<Subscribe, Refusal> {
        let mut asked = Subscribe { name, ..Subscribe::default() };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (key, value) = (decoded(key)?, decoded(&value.replace('+', " "))?);
            match key.as_str() {
                "snapshot" => asked.snapshot = matches!(value.as_str(), "" | "true"),
                "from" => asked.from = Some(value),
                key => {
                    let Some(name) = key.strip_prefix("param.") else {
                        return Err(Refusal::invalid("known are snapshot, from, and param.NAME"));
                    };
                    // What reads as JSON is that, anything else is text. What is too deep to be read is neither.
                    if value.trim_start().starts_with(['[', '{']) {
                        let shape = JsonShape::of(value.as_bytes());
                        let wrong = |error| Refusal::invalid(format!("parameter `{name}`: {error}"));
                        shape.check().map_err(wrong)?;
                    }
                    let json = serde_json::from_str(&value).unwrap_or_else(|_| value.as_str().into());
                    let param = parameters::value(&json, Form::Plain).map_err(Refusal::invalid)?;
                    asked.params.insert(Arc::from(name), param);
                }
            }
        }
        if let Some(last) = headers.get("last-event-id").and_then(|last| last.to_str().ok()) {
            // Whoever comes again has the answer up to there.
            (asked.from, asked.snapshot) = (Some(last.to_string()), false);
        }
        Ok(asked)
    }
    fn statement(&self) -> Result<String, Error> {
        let mut text = format!("SUBSCRIBE {}", Quoted(&self.name));
        if let Some(mark) = &self.from {
            let is_mark = |byte: u8| byte.is_ascii_alphanumeric() || b":.-_".contains(&byte);
            if mark.is_empty() || mark.len() > MARK_BYTES_MAX || !mark.bytes().all(is_mark) {
                let code = "Neo.ClientError.Statement.ArgumentError";
                return Err(Error::new(code, "the id of the last event is none of this server"));
            }
            text += &format!(" FROM '{mark}'");
        } else if self.snapshot {
            text += " SNAPSHOT";
        }
        Ok(text)
    }
}

/// Sends events until the client goes or the subscription ends.
///
/// # Errors
/// It could not begin.
pub(super) fn send(
    session: &mut Session,
    asked: &Subscribe,
    keep_alive: Duration,
    out: &mut Outlet,
) -> Result<(), Error> {
    let mut result = session.query(&asked.statement()?, asked.params.clone())?;
    out.set(StatusCode::OK, "text/event-stream");
    out.bytes.extend(b"event: fields\ndata: {\"fields\":");
    write_list(&mut out.bytes, &result.columns()[OWN_COLUMNS..], |bytes, title| write_text(bytes, title));
    out.bytes.extend(b"}\n\n");
    let mut silent_until_ns = after_ns(keep_alive);
    loop {
        if out.flush().is_err() {
            return Ok(());
        }
        match result.next_batch_timeout(LOOK_EVERY) {
            Ok(Some(Some(batch))) => {
                if let Err(error) = event(&result, &batch, &mut out.bytes) {
                    return end(session, error, out);
                }
                silent_until_ns = after_ns(keep_alive);
            }
            Ok(Some(None)) => return Ok(()),
            Ok(None) if out.is_abandoned() => return Ok(()),
            Ok(None) if monotonic_ns() >= silent_until_ns => {
                out.bytes.extend(b": nothing yet\n\n");
                silent_until_ns = after_ns(keep_alive);
            }
            Ok(None) => {}
            Err(error) => return end(session, error, out),
        }
    }
}

fn end(session: &Session, error: Error, out: &mut Outlet) -> Result<(), Error> {
    out.bytes.extend(b"event: error\ndata: {");
    write_errors(&mut out.bytes, &session.database().without_paths(error));
    out.bytes.extend(b"}\n\n");
    Ok(())
}

/// The rows of one commit; the last of them has the mark, and nothing else.
fn event(result: &QueryResult, batch: &Batch, out: &mut Vec<u8>) -> Result<(), Error> {
    let last = batch.len().saturating_sub(1);
    if let Some(mark) = batch.get(last, 3).as_str() {
        put(out, format_args!("id: {mark}\n"));
    }
    out.extend(if last == 0 { &b"event: progress\n"[..] } else { b"event: changes\n" });
    out.extend(b"data: {\"commit\":");
    write_value(out, &batch.get(last, 0), Form::Plain);
    out.extend(b",\"time\":");
    write_value(out, &batch.get(last, 1), Form::Plain);
    out.extend(b",\"rows\":");
    let mut outcome = Ok(());
    write_list(out, 0..last, |out, row| {
        out.extend(b"{\"difference\":");
        write_value(out, &batch.get(row, 2), Form::Plain);
        out.extend(b",\"row\":");
        write_list(out, OWN_COLUMNS..batch.width(), |out, column| {
            let value: Value = batch.get(row, column);
            match hydrate(&value, result.snapshot()) {
                Ok(value) => write_hydrated(out, &value, Form::Plain),
                Err(error) => outcome = Err(error),
            }
        });
        out.push(b'}');
    });
    out.extend(b"}\n\n");
    outcome
}
