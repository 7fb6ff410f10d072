//! One statement of the Query API: its request, and the writing of its answer.
//!
//! An answer is one object of JSON, or lines of JSON (`Header`, `Record`, `Summary`, `Error`) that are sent as the rows come. An error after the
//! first piece was sent is reported at the end, in `errors`.

use super::outlet::{Outlet, Unsent};
use super::parameters;
use super::refusal::{Refusal, write_error_list, write_errors};
use super::traversal;
use super::values::{Form, put, write_hydrated, write_list, write_text, write_value};
use crate::allowance::{by_whose_clock, unread_in_time};
use crate::bolt::{bookmark, notices};
use database::entity::hydrate;
use database::{Batch, Error, Limits, Params, QueryResult, Session, Summary};
use hyper::StatusCode;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use model::{Map, Value};
use serde_json::Value as Json;
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;
use world::clock::after_ns;

/// How often a thread that waits for rows checks the client, and sends buffered rows.
const FLUSH_AFTER: Duration = Duration::from_millis(5);
/// The media type of typed JSON, without its version.
const TYPED: &str = "application/vnd.neo4j.query";
/// The same in lines.
const TYPED_LINES: &str = "application/vnd.neo4j.query+jsonl";

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub form: Form,
    /// A line for each row, sent as it comes.
    pub in_lines: bool,
}

impl Format {
    /// The format that the client prefers among the supported ones, by `Accept` (RFC 9110, 12.5.1).
    ///
    /// # Errors
    /// There is none.
    pub fn accepted(headers: &HeaderMap) -> Result<Format, Refusal> {
        let texts = headers.get_all(ACCEPT).iter().map(|accept| accept.to_str().unwrap_or_default());
        let ranges: Vec<MediaRange> =
            texts.flat_map(|text| text.split(',')).filter_map(MediaRange::parse).collect();
        if ranges.is_empty() {
            return Ok(FORMATS[0].1);
        }
        let liked = |(at, (mime, format)): (usize, &(&str, Format))| {
            // Of several ranges that a type falls under, the one that names it most closely counts.
            let range = ranges.iter().enumerate().max_by_key(|(_, range)| range.fits(mime))?;
            let (place, range) =
                Some(range).filter(|(_, range)| range.fits(mime) > 0 && range.per_mille > 0)?;
            Some(((range.per_mille, Reverse(place), Reverse(at)), *format))
        };
        let best = FORMATS.iter().enumerate().filter_map(liked).max_by_key(|(order, _)| *order);
        best.map(|(_, format)| format).ok_or_else(|| {
            let message = "no format that is accepted is written here; application/json is";
            Refusal::new(StatusCode::NOT_ACCEPTABLE, message)
        })
    }
    fn mime(self) -> &'static str {
        match (self.form, self.in_lines) {
            (Form::Plain, false) => "application/json",
            (Form::Plain, true) => "application/x-ndjson",
            (Form::Typed, false) => "application/vnd.neo4j.query.v1.1",
            (Form::Typed, true) => "application/vnd.neo4j.query.v1.1+jsonl",
        }
    }
}

/// Supported formats and their media types; the first is the default.
const FORMATS: [(&str, Format); 5] = [
    ("application/json", Format { form: Form::Plain, in_lines: false }),
    ("application/x-ndjson", Format { form: Form::Plain, in_lines: true }),
    ("application/jsonl", Format { form: Form::Plain, in_lines: true }),
    (TYPED, Format { form: Form::Typed, in_lines: false }),
    (TYPED_LINES, Format { form: Form::Typed, in_lines: true }),
];

/// One of the ranges of types that a client accepts.
struct MediaRange {
    /// In small letters; of typed JSON without its version.
    mime: String,
    /// How much the client likes it; 0 is not at all.
    per_mille: u32,
}

impl MediaRange {
    fn parse(text: &str) -> Option<MediaRange> {
        let mut parts = text.split(';').map(str::trim);
        let mime = parts.next().unwrap_or_default().to_ascii_lowercase();
        let mime = match mime.strip_prefix(TYPED) {
            Some(rest) if rest.ends_with("+jsonl") => TYPED_LINES.to_string(),
            Some(rest) if rest.is_empty() || rest.starts_with('.') => TYPED.to_string(),
            _ => mime,
        };
        let weight = |part: &str| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse::<f64>().unwrap_or(0.0))
        };
        let liking = parts.find_map(weight).unwrap_or(1.0);
        (!mime.is_empty()).then(|| MediaRange { mime, per_mille: (liking.clamp(0.0, 1.0) * 1_000.0) as u32 })
    }
    /// How closely it names a type; 0 is not at all.
    fn fits(&self, mime: &str) -> u32 {
        match self.mime.as_str() {
            "*/*" => 1,
            "application/*" => 2,
            one if one == mime => 3,
            _ => 0,
        }
    }
}

/// The form of a request's parameters, by the type of its body.
///
/// # Errors
/// The type is not supported.
pub(super) fn form_of_body(headers: &HeaderMap) -> Result<Form, Refusal> {
    let mime = headers.get(CONTENT_TYPE).and_then(|mime| mime.to_str().ok()).unwrap_or_default();
    match mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/json" => Ok(Form::Plain),
        typed if typed.starts_with(TYPED) => Ok(Form::Typed),
        _ => {
            let message = "the body must be of the type application/json or application/vnd.neo4j.query";
            Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
        }
    }
}

/// The content of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct QueryRequest {
    /// None only where a transaction begins, goes on or ends without one.
    pub statement: Option<String>,
    pub params: Params,
    pub bookmarks: Map,
    /// May it only read? None where the client does not say.
    pub reads_only: Option<bool>,
    pub timeout: Option<Duration>,
    pub wants_counters: bool,
    /// The user to impersonate.
    pub acts_as: Option<String>,
    /// Is the statement Gremlin?
    pub is_gremlin: bool,
    /// The parent trace, by the header of W3C Trace Context.
    pub trace_parent: Option<String>,
}

impl QueryRequest {
    /// Parses the object of a request; an empty body is the empty object.
    ///
    /// # Errors
    /// It is none, or a field of it is of the wrong type.
    pub fn of(json: &Json, form: Form) -> Result<QueryRequest, Refusal> {
        let Json::Object(fields) = json else {
            return Err(Refusal::invalid("the body is no JSON object"));
        };
        let mut asked = QueryRequest::default();
        for (name, field) in fields.iter().filter(|(_, field)| !field.is_null()) {
            let wrong = |what: &str| Refusal::invalid(format!("`{name}` must be {what}"));
            match name.as_str() {
                "statement" => {
                    let text = field.as_str().ok_or_else(|| wrong("a text"))?;
                    asked.statement = (!text.trim().is_empty()).then(|| text.to_string());
                }
                "parameters" => {
                    let fields = field.as_object().ok_or_else(|| wrong("an object"))?;
                    asked.params = params(fields, form)?;
                }
                "bookmarks" => {
                    let texts = field.as_array().ok_or_else(|| wrong("a list of texts"))?;
                    let bookmarks = texts.iter().map(|text| text.as_str().map(Value::from));
                    let bookmarks =
                        bookmarks.collect::<Option<_>>().ok_or_else(|| wrong("a list of texts"))?;
                    asked.bookmarks = [("bookmarks".into(), Value::list(bookmarks))].into_iter().collect();
                }
                "accessMode" => match field.as_str().map(str::to_ascii_uppercase).as_deref() {
                    Some("READ") => asked.reads_only = Some(true),
                    Some("WRITE") => asked.reads_only = Some(false),
                    _ => return Err(wrong("READ or WRITE")),
                },
                "maxExecutionTime" => {
                    let seconds = field.as_u64().ok_or_else(|| wrong("a number of seconds"))?;
                    asked.timeout = (seconds > 0).then(|| Duration::from_secs(seconds));
                }
                "includeCounters" => {
                    asked.wants_counters = field.as_bool().ok_or_else(|| wrong("true or false"))?;
                }
                "language" => match field.as_str().map(str::to_ascii_lowercase).as_deref() {
                    Some("cypher" | "datalog") => asked.is_gremlin = false,
                    Some("gremlin") => asked.is_gremlin = true,
                    _ => return Err(wrong("cypher, datalog or gremlin")),
                },
                "impersonatedUser" => {
                    asked.acts_as = Some(field.as_str().ok_or_else(|| wrong("a text"))?.to_string());
                }
                _ => {}
            }
        }
        Ok(asked)
    }
}

fn params(fields: &serde_json::Map<String, Json>, form: Form) -> Result<Params, Refusal> {
    let param = |(name, json): (&String, &Json)| {
        let value = parameters::value(json, form);
        let value = value.map_err(|why| Refusal::invalid(format!("parameter `{name}`: {why}")))?;
        Ok((Arc::from(name.as_str()), value))
    };
    fields.iter().map(param).collect()
}

/// The end of an answer beside the rows.
pub(super) enum Ending {
    /// The statement was a transaction of its own: the bookmark of its commit.
    Bookmark,
    /// The transaction that stays open: its id, and when it ends unless it is used.
    Transaction { id: String, expires: String },
    /// The transaction is committed after the statement.
    Commit,
}

/// Runs a statement and writes its answer; its client gave the transaction time up to this reading of the clock. The error, if it fails: `None` where its client is gone.
pub(super) fn answer(
    session: &mut Session,
    asked: &QueryRequest,
    format: Format,
    ending: &Ending,
    client_until_ns: Option<u64>,
    out: &mut Outlet,
) -> Result<(), Option<Error>> {
    let until_ns = client_until_ns.into_iter().chain(asked.timeout.map(after_ns)).min();
    out.set(StatusCode::ACCEPTED, format.mime());
    let mut writer = Writer { out, format, rows: 0, is_headed: false };
    match writer.run(session, asked, ending) {
        Err(Stop::Failed(error)) => {
            let (database, error) = (session.database(), by_whose_clock(error, until_ns));
            let error = database.without_paths(database.while_ending(error));
            match writer.out.is_begun() {
                true => writer.tell_late(&error),
                false => writer.out.bytes.clear(),
            }
            Err(Some(error))
        }
        Err(Stop::Gone) => Err(None),
        Ok(()) => Ok(()),
    }
}

pub(super) enum Stop {
    Failed(Error),
    Gone,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

impl From<Unsent> for Stop {
    fn from(unsent: Unsent) -> Stop {
        match unsent {
            Unsent::Gone => Stop::Gone,
            Unsent::Late => Stop::Failed(unread_in_time()),
        }
    }
}

/// Writes the answer of one statement.
pub(super) struct Writer<'w> {
    pub out: &'w mut Outlet,
    format: Format,
    rows: u64,
    is_headed: bool,
}

impl Writer<'_> {
    fn run(&mut self, session: &mut Session, asked: &QueryRequest, ending: &Ending) -> Result<(), Stop> {
        let parent = asked.trace_parent.as_deref();
        session.set_metadata(parent.map(|parent| Value::map([("traceparent", parent.into())])))?;
        let Some(statement) = &asked.statement else {
            self.out.bytes.push(b'{');
            self.end(session, ending, 0)?;
            return Ok(());
        };
        self.out.end_by(session.deadline_of(asked.timeout));
        if asked.is_gremlin {
            return traversal::run(self, session, statement, asked, ending);
        }
        let limits = Limits { timeout: asked.timeout, bytes_max: None };
        let in_transaction = session.in_transaction();
        let mut result = match asked.reads_only == Some(true) && !in_transaction {
            true => session.query_reading(statement, asked.params.clone(), &limits)?,
            false => session.query_within(statement, asked.params.clone(), &limits)?,
        };
        if result.is_endless() && !self.format.in_lines {
            let error = Error::new(
                "Neo.ClientError.Request.Invalid",
                "the rows of a subscription have no end, and so do not fit one object of JSON",
            );
            return Err(error
                .hint("accept application/x-ndjson, or read /db/neo4j/subscriptions/NAME")
                .into());
        }
        if result.is_endless() {
            self.out.end_by(None);
        }
        self.head(result.columns());
        while let Some(batch) = self.next(&mut result)? {
            for row in 0..batch.len() {
                self.row(&result, &batch, row)?;
                self.out.overflow()?;
            }
        }
        self.tail(session, &result, asked, ending)
    }

    /// The next rows; buffered lines are sent meanwhile, if the client takes lines.
    fn next(&mut self, result: &mut QueryResult) -> Result<Option<Batch>, Stop> {
        loop {
            if let Some(next) = result.next_batch_timeout(FLUSH_AFTER)? {
                return Ok(next);
            }
            if self.out.is_abandoned() {
                return Err(Stop::Gone);
            }
            self.flush_lines()?;
        }
    }

    /// Sends the buffered lines, if the client takes lines.
    pub fn flush_lines(&mut self) -> Result<(), Unsent> {
        if self.format.in_lines { self.out.flush() } else { Ok(()) }
    }

    /// The names of the columns.
    pub fn head(&mut self, titles: &[Arc<str>]) {
        let bytes = &mut self.out.bytes;
        bytes.extend(if self.format.in_lines {
            &b"{\"$event\":\"Header\",\"_body\":{\"fields\":"[..]
        } else {
            b"{\"data\":{\"fields\":"
        });
        write_list(bytes, titles, |bytes, title| write_text(bytes, title));
        bytes.extend(if self.format.in_lines { &b"}}\n"[..] } else { b",\"values\":[" });
        self.is_headed = true;
    }

    fn row(&mut self, result: &QueryResult, batch: &Batch, row: usize) -> Result<(), Error> {
        let before = self.out.bytes.len();
        let mut outcome = Ok(());
        self.record(|bytes, form| {
            write_list(bytes, 0..batch.width(), |bytes, column| {
                match hydrate(&batch.get(row, column), result.snapshot()) {
                    Ok(value) => write_hydrated(bytes, &value, form),
                    Err(error) => outcome = Err(error),
                }
            });
        });
        if outcome.is_err() {
            self.out.bytes.truncate(before);
            self.rows -= 1;
        }
        outcome
    }

    /// A row, as `write` writes its list of values.
    pub fn record(&mut self, write: impl FnOnce(&mut Vec<u8>, Form)) {
        let (in_lines, form) = (self.format.in_lines, self.format.form);
        let bytes = &mut self.out.bytes;
        if in_lines {
            bytes.extend(b"{\"$event\":\"Record\",\"_body\":");
        } else if self.rows > 0 {
            bytes.push(b',');
        }
        write(bytes, form);
        if in_lines {
            bytes.extend(b"}\n");
        }
        self.rows += 1;
    }

    fn tail(
        &mut self,
        session: &mut Session,
        result: &QueryResult,
        asked: &QueryRequest,
        ending: &Ending,
    ) -> Result<(), Stop> {
        let summary = result.summary();
        self.begin_tail();
        let bytes = &mut self.out.bytes;
        if asked.wants_counters {
            write_counters(bytes, summary);
            bytes.push(b',');
        }
        if let Some(plan) = &summary.plan {
            let name = if summary.profiled { "profiledQueryPlan" } else { "queryPlan" };
            put(bytes, format_args!("\"{name}\":"));
            write_plan(bytes, &database::plan_value(plan));
            bytes.push(b',');
        }
        if !summary.notifications.is_empty() {
            bytes.extend(b"\"notifications\":");
            write_list(bytes, &summary.notifications, |bytes, notice| {
                write_value(bytes, &notices::notification(notice), Form::Plain);
            });
            bytes.push(b',');
        }
        self.close(session, ending, summary.commit_version)
    }

    /// The text between the rows and the summary.
    pub fn begin_tail(&mut self) {
        let is_line = self.format.in_lines;
        self.out.bytes.extend(if is_line { &b"{\"$event\":\"Summary\",\"_body\":{"[..] } else { b"]}," });
    }

    /// The end of the answer.
    pub fn close(&mut self, session: &mut Session, ending: &Ending, commit_version: u64) -> Result<(), Stop> {
        self.end(session, ending, commit_version)?;
        if self.format.in_lines {
            self.out.bytes.extend(b"}\n");
        }
        Ok(())
    }

    /// The end of the object, which is open: the status of the transaction.
    fn end(&mut self, session: &mut Session, ending: &Ending, commit_version: u64) -> Result<(), Error> {
        let commit_version = match ending {
            Ending::Bookmark => commit_version,
            Ending::Commit => session.commit()?,
            Ending::Transaction { id, expires } => {
                let bytes = &mut self.out.bytes;
                bytes.extend(b"\"transaction\":{\"id\":");
                write_text(bytes, id);
                bytes.extend(b",\"expires\":");
                write_text(bytes, expires);
                bytes.extend(b"}}");
                return Ok(());
            }
        };
        self.out.bytes.extend(b"\"bookmarks\":[");
        write_value(&mut self.out.bytes, &bookmark::of(commit_version), Form::Plain);
        self.out.bytes.extend(b"]}");
        Ok(())
    }

    /// The statement failed when some of its answer was sent.
    fn tell_late(&mut self, error: &Error) {
        let bytes = &mut self.out.bytes;
        if self.format.in_lines {
            bytes.extend(b"{\"$event\":\"Error\",\"_body\":");
            write_error_list(bytes, error);
            bytes.extend(b"}\n");
        } else {
            bytes.extend(b"]},");
            write_errors(bytes, error);
            bytes.push(b'}');
        }
    }
}

fn write_counters(out: &mut Vec<u8>, summary: &Summary) {
    let (counters, schema) = (&summary.counters, &summary.schema);
    let counts = [
        ("nodesCreated", counters.nodes_created),
        ("nodesDeleted", counters.nodes_deleted),
        ("propertiesSet", counters.properties_set),
        ("relationshipsCreated", counters.relationships_created),
        ("relationshipsDeleted", counters.relationships_deleted),
        ("labelsAdded", counters.labels_added),
        ("labelsRemoved", counters.labels_removed),
        ("indexesAdded", schema.indexes_added),
        ("indexesRemoved", schema.indexes_removed),
        ("constraintsAdded", schema.constraints_added),
        ("constraintsRemoved", schema.constraints_removed),
    ];
    let updates = counts.iter().any(|(_, count)| *count > 0);
    put(out, format_args!("\"counters\":{{\"containsUpdates\":{updates}"));
    counts.iter().for_each(|(name, count)| put(out, format_args!(",\"{name}\":{count}")));
    out.extend(b",\"containsSystemUpdates\":false,\"systemUpdates\":0}");
}

/// A plan as Bolt has it, with the name that the Query API gives to the arguments.
fn write_plan(out: &mut Vec<u8>, plan: &Value) {
    let Value::Map(fields) = plan else { return write_value(out, plan, Form::Plain) };
    out.push(b'{');
    for (at, (name, field)) in fields.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_text(out, if &**name == "args" { "arguments" } else { name });
        out.push(b':');
        match field {
            Value::List(children) if &**name == "children" => {
                write_list(out, children.iter(), write_plan);
            }
            field => write_value(out, field, Form::Plain),
        }
    }
    out.push(b'}');
}
