//! Queries as spans: names, attributes and ids as OpenTelemetry has them for databases.
//!
//! A query's span lasts from its text to its last row. An operator's span begins with its query and is as long as the operator was busy, on all
//! executors together, but never longer than its query: operators run in turns, and single turns are not recorded.

use database::{OperatorTrace, QueryTrace};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use world::chance::Chance;
use world::clock::{monotonic_ns, wall_us};

/// Makes messages; ids are drawn at random.
pub(super) struct Encoder {
    service: String,
    chance: Chance,
}

/// The trace and the span that a client wants its query to be a part of.
struct Parent {
    trace: Vec<u8>,
    span: Vec<u8>,
}

impl Parent {
    /// Of `00-<trace>-<span>-<flags>`, as W3C Trace Context writes it.
    fn of(text: &str) -> Option<Parent> {
        let mut parts = text.split('-');
        let version = parts.next()?;
        let bytes = |hex: &str| data_encoding::HEXLOWER.decode(hex.as_bytes()).ok();
        let (trace, span, flags) = (bytes(parts.next()?)?, bytes(parts.next()?)?, parts.next()?);
        let is_whole =
            version.len() == 2 && version != "ff" && trace.len() == 16 && span.len() == 8 && flags.len() == 2;
        let is_set = trace.iter().any(|byte| *byte != 0) && span.iter().any(|byte| *byte != 0);
        (is_whole && is_set).then_some(Parent { trace, span })
    }
}

impl Encoder {
    pub fn new(service: &str) -> Encoder {
        Encoder { service: service.to_string(), chance: Chance::from_system() }
    }
    pub fn message(&mut self, queries: &[QueryTrace]) -> ExportTraceServiceRequest {
        // What the clock of spans says when the queries' own says nothing.
        let offset_ns = (wall_us() * 1_000).wrapping_sub(monotonic_ns());
        let spans = queries.iter().flat_map(|query| self.spans(query, offset_ns)).collect();
        let scope = InstrumentationScope {
            name: "tanglewood".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            ..InstrumentationScope::default()
        };
        let resource = Resource {
            attributes: vec![
                text("service.name", &self.service),
                text("service.version", env!("CARGO_PKG_VERSION")),
                number("process.pid", i64::from(std::process::id())),
            ],
            ..Resource::default()
        };
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, schema_url: String::new() }];
        let resource_spans =
            vec![ResourceSpans { resource: Some(resource), scope_spans, schema_url: String::new() }];
        ExportTraceServiceRequest { resource_spans }
    }
    fn spans(&mut self, query: &QueryTrace, offset_ns: u64) -> Vec<Span> {
        let parent = query.parent.as_deref().and_then(Parent::of);
        let trace = parent.as_ref().map_or_else(|| self.chance.bytes(16), |parent| parent.trace.clone());
        let above = parent.map_or_else(Vec::new, |parent| parent.span);
        let at = |ns: u64| ns.wrapping_add(offset_ns);
        let own = self.chance.bytes(8);
        let mut spans = vec![query_span(query, &trace, &own, above, &at)];
        let ids: Vec<Vec<u8>> = query.operators.iter().map(|_| self.chance.bytes(8)).collect();
        for (operator, id) in query.operators.iter().zip(&ids) {
            let above = operator.above.map_or(&own, |above| &ids[above]);
            spans.push(operator_span(query, operator, (&trace, id, above), &at));
        }
        spans
    }
}

fn query_span(query: &QueryTrace, trace: &[u8], id: &[u8], above: Vec<u8>, at: &dyn Fn(u64) -> u64) -> Span {
    let mut attributes = vec![
        text("db.system.name", "tanglewood"),
        text("db.query.text", &query.text),
        text("db.operation.name", query.kind),
        number("db.response.returned_rows", i64::try_from(query.rows).unwrap_or(i64::MAX)),
        text("tanglewood.language", query.language),
        text("tanglewood.outcome", query.outcome),
    ];
    attributes.extend(query.user.as_deref().map(|user| text("user.name", user)));
    attributes.extend(query.code.as_deref().map(|code| text("error.type", code)));
    let first = query.first_ns.map(|ns| (ns.saturating_sub(query.started_ns) / 1_000) as i64);
    attributes.extend(first.map(|micros| number("tanglewood.first_row_us", micros)));
    let status = match &query.code {
        Some(code) => Status { message: code.clone(), code: StatusCode::Error as i32 },
        None => Status { message: String::new(), code: StatusCode::Unset as i32 },
    };
    Span {
        trace_id: trace.to_vec(),
        span_id: id.to_vec(),
        parent_span_id: above,
        name: format!("{} {}", query.language, query.kind),
        kind: SpanKind::Server as i32,
        start_time_unix_nano: at(query.started_ns),
        end_time_unix_nano: at(query.ended_ns),
        attributes,
        status: Some(status),
        ..Span::default()
    }
}

fn operator_span(
    query: &QueryTrace,
    operator: &OperatorTrace,
    (trace, id, above): (&[u8], &[u8], &[u8]),
    at: &dyn Fn(u64) -> u64,
) -> Span {
    let mut attributes = vec![
        number("tanglewood.rows", i64::try_from(operator.rows).unwrap_or(i64::MAX)),
        number("tanglewood.busy_ns", i64::try_from(operator.busy_ns).unwrap_or(i64::MAX)),
    ];
    let estimated = operator.estimated_rows.filter(|rows| rows.is_finite());
    attributes.extend(estimated.map(|rows| attribute("tanglewood.estimated_rows", Any::DoubleValue(rows))));
    let end_ns = query.started_ns.saturating_add(operator.busy_ns).min(query.ended_ns);
    Span {
        trace_id: trace.to_vec(),
        span_id: id.to_vec(),
        parent_span_id: above.to_vec(),
        name: operator.name.to_string(),
        kind: SpanKind::Internal as i32,
        start_time_unix_nano: at(query.started_ns),
        end_time_unix_nano: at(end_ns),
        attributes,
        ..Span::default()
    }
}

fn attribute(key: &str, value: Any) -> KeyValue {
    KeyValue { key: key.into(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Any::StringValue(value.into()))
}

fn number(key: &str, value: i64) -> KeyValue {
    attribute(key, Any::IntValue(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_taken_only_where_it_is_whole() {
        let whole = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert!(Parent::of(whole).is_some_and(|parent| parent.span[0] == 0xb7 && parent.trace[15] == 0x9c));
        for wrong in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c8031-b7ad6b7169203331-01",
        ] {
            assert!(Parent::of(wrong).is_none(), "{wrong}");
        }
    }
}
