//! GraphSON: what can be read costs no more than its bytes, and a plain value that was read is written so that it is read alike.

use super::gremlin_interface::{BYTECODE_3, EVAL_2};
use gremlin::{Argument, Object, graphson as reading};
use server::gremlin::graphson::{Dialect, JsonWriter};
use server::gremlin::message::{Format, Request};

/// Reads a value and a request from the same text.
pub fn graphson(bytes: &[u8]) {
    drop(Request::of(Format::Json(Dialect::DEFAULT), bytes));
    drop(Request::read(bytes));
    let Ok(json) = serde_json::from_slice(bytes) else { return };
    drop(reading::named_arguments(&json));
    if let Ok(Argument::Value(object)) = reading::argument(&json) {
        for dialect in Dialect::all() {
            if let Ok(text) = written(dialect, &object) {
                let read: Result<serde_json::Value, _> = serde_json::from_str(&text);
                assert!(read.is_ok(), "{object:?} is written as no JSON: {text}");
            }
        }
        let Ok(first) = written(Dialect::DEFAULT, &object) else { return };
        let json = serde_json::from_str(&first).expect("what is written is JSON");
        // What takes 128 bits is a number without a type to JSON's reader.
        let Ok(read) = reading::object(&json) else { return };
        let second = written(Dialect::DEFAULT, &read).expect("what was read can be written");
        assert_eq!(first, second, "{object:?} is written otherwise the second time");
    }
}

fn written(dialect: Dialect, object: &Object) -> Result<String, database::Error> {
    let mut writer = JsonWriter::new(dialect, None);
    writer.object(object)?;
    Ok(writer.text)
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let values = [
        r#"{"@type":"g:List","@value":[{"@type":"g:Int32","@value":1},{"@type":"g:Double","@value":"NaN"},{"@type":"gx:Duration","@value":"PT5.5S"}]}"#,
        r#"{"@type":"g:Map","@value":["a",{"@type":"g:Set","@value":[1,true,null]},{"@type":"g:T","@value":"id"},{"@type":"g:UUID","@value":"00112233-4455-6677-8899-aabbccddeeff"}]}"#,
        r#"{"@type":"g:BulkSet","@value":["x",{"@type":"g:Int64","@value":3}]}"#,
        r#"{"@type":"g:Vertex","@value":{"id":{"@type":"g:Int64","@value":1},"label":"person"}}"#,
        r#"[1,2.5,"text",{"a":[null]},{"@type":"gx:BigDecimal","@value":1.5},{"@type":"gx:OffsetDateTime","@value":"2026-11-22T10:00:00Z"}]"#,
    ];
    values.iter().chain([&BYTECODE_3, &EVAL_2]).map(|text| text.as_bytes().to_vec()).collect()
}
