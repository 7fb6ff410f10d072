//! A literal of RDF as a value: by its datatype of XML Schema, else the text that it is.

use crate::cell;
use model::Value;
use model::temporal::Kind as Instant;
use model::temporal::build::{duration_from_text, from_text};

/// The prefix of datatypes of XML Schema.
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// The value of a literal. One that its type cannot express without loss, such as a whole number of more than 64 bits, stays a text.
pub(super) fn value(text: &str, datatype: &str) -> Value {
    let typed = datatype.strip_prefix(XSD).and_then(|name| typed(text.trim(), name));
    typed.unwrap_or_else(|| Value::string(text))
}

fn typed(text: &str, name: &str) -> Option<Value> {
    let bytes = text.as_bytes();
    let instant = |kind: Instant| from_text(kind, text).ok();
    Some(match name {
        "integer" | "int" | "long" | "short" | "byte" | "nonNegativeInteger" | "positiveInteger"
        | "nonPositiveInteger" | "negativeInteger" | "unsignedLong" | "unsignedInt" | "unsignedShort"
        | "unsignedByte" => Value::Int(cell::int(bytes)?),
        "decimal" | "double" | "float" => Value::Float(cell::float(bytes)?),
        "boolean" => Value::Bool(match bytes {
            b"1" => true,
            b"0" => false,
            _ => cell::truth(bytes)?,
        }),
        "date" => instant(Instant::Date)?,
        "dateTime" | "dateTimeStamp" if has_zone(text) => instant(Instant::DateTime)?,
        "dateTime" => instant(Instant::LocalDateTime)?,
        "time" if has_zone(text) => instant(Instant::Time)?,
        "time" => instant(Instant::LocalTime)?,
        "duration" | "dayTimeDuration" | "yearMonthDuration" => Value::from(duration_from_text(text).ok()?),
        _ => return None,
    })
}

/// Does a time end in `Z` or an offset such as `+02:00`?
fn has_zone(text: &str) -> bool {
    let time = text.split_once('T').map_or(text, |(_, time)| time);
    time.ends_with('Z') || time.contains(['+', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_values_of_their_types_or_the_texts_they_are() {
        let shown = |text: &str, name: &str| format!("{:?}", value(text, &format!("{XSD}{name}")));
        assert_eq!(shown("007", "integer"), "Int(7)");
        assert_eq!(shown("18446744073709551616", "integer"), shown("18446744073709551616", "string"));
        assert_eq!(shown("1.50", "decimal"), "Float(1.5)");
        assert_eq!(shown("INF", "double"), "Float(inf)");
        assert_eq!(shown("1", "boolean"), "Bool(true)");
        for (text, name) in [("2024-02-30", "date"), ("soon", "dateTime"), ("x", "boolean"), ("", "integer")]
        {
            assert_eq!(shown(text, name), format!("{:?}", Value::string(text)));
        }
        assert!(matches!(value("2024-02-29T10:00:00+02:00", &format!("{XSD}dateTime")), Value::DateTime(_)));
        assert!(matches!(value("2024-02-29T10:00:00", &format!("{XSD}dateTime")), Value::LocalDateTime(_)));
        assert!(matches!(value("10:00:00-05:00", &format!("{XSD}time")), Value::Time(_)));
        assert!(matches!(value("P1DT2H", &format!("{XSD}duration")), Value::Duration(_)));
        assert_eq!(value("7", "http://example.org/mine").as_str(), Some("7"));
    }
}
