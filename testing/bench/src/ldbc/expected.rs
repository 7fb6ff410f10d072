//! Expected rows: one JSON object a line, with the query's name, its parameters, and the rows.
//!
//! Rows come in two forms: under `rows` as lists (parameters are texts then), or under `result` as maps in the order of the columns,
//! where a query of a single row may give the map alone.

use database::{Params, Value};
use serde_json::Value as Json;

/// Milliseconds of a day: durations are given in days, our texts ask for the end of the period.
const DAY_MS: i64 = 86_400_000;

/// One query with parameters and the rows that are right.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Name of the query: `IC1`.
    pub query: String,
    /// Its parameters, as our text wants them.
    pub params: Params,
    /// The right rows, in order.
    pub rows: Vec<Vec<Json>>,
}

/// Reads all lines.
///
/// # Errors
/// A line is malformed.
pub fn read(text: &str) -> Result<Vec<Expected>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| expected(line).ok_or_else(|| format!("line {}: not an expected answer", at + 1)))
        .collect()
}

fn expected(line: &str) -> Option<Expected> {
    let object: Json = serde_json::from_str(line).ok()?;
    let params = object.get("params")?.as_object()?;
    let mut params: Params =
        params.iter().map(|(name, value)| (name.as_str().into(), parameter(value))).collect();
    if let (Some(Value::Int(start)), Some(Value::Int(days))) =
        (params.get("startDate"), params.get("durationDays"))
    {
        let end = start + days * DAY_MS;
        params.insert("endDate".into(), Value::Int(end));
    }
    let rows = match object.get("rows").or(object.get("result"))? {
        Json::Array(rows) => rows.iter().map(cells).collect::<Option<_>>()?,
        Json::Null => Vec::new(),
        row => vec![cells(row)?],
    };
    Some(Expected { query: object.get("query")?.as_str()?.to_string(), params, rows })
}

fn cells(row: &Json) -> Option<Vec<Json>> {
    match row {
        Json::Array(cells) => Some(cells.clone()),
        Json::Object(cells) => Some(cells.values().cloned().collect()),
        _ => None,
    }
}

/// Numbers may come as texts; names never look like numbers.
fn parameter(value: &Json) -> Value {
    match value {
        Json::String(text) => text.parse().map_or_else(|_| text.as_str().into(), Value::Int),
        Json::Number(number) => number.as_i64().map_or(Value::Null, Value::Int),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_texts_and_periods_get_an_end() {
        let line = r#"{"query":"IC4","params":{"personId":"7","startDate":"1000","durationDays":"2"},"rows":[["Bach",1]]}"#;
        let read = read(line).unwrap().remove(0);
        assert!(matches!(read.params["endDate"], Value::Int(172_801_000)));
        assert_eq!((read.query.as_str(), read.rows[0][1].as_i64()), ("IC4", Some(1)));
        let single = r#"{"query":"IC13","params":{"person1Id":1},"result":{"shortestPathLength":3}}"#;
        assert_eq!(super::read(single).unwrap()[0].rows, [[Json::from(3)]]);
        assert_eq!(super::read("{}").unwrap_err(), "line 1: not an expected answer");
    }
}
