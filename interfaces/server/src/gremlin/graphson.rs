//! Responses in GraphSON: the frame around the objects of an answer, and answers without objects.

use super::status::{Status, Wrapping};
use database::Error;
use database::gremlin::GremlinAnswer;
use gremlin::Object;

pub use gremlin::graphson::Dialect;

/// Writes values and responses of an answer.
pub type JsonWriter<'a> = gremlin::graphson::JsonWriter<'a, GremlinAnswer>;

/// Begins a response: its objects come next.
pub fn begin_response(writer: &mut JsonWriter<'_>, id: &str, status: Status) {
    writer.put(format_args!(
        "{{\"requestId\":\"{id}\",\"status\":{{\"message\":\"\",\"code\":{}",
        status as i32
    ));
    writer.put(",\"attributes\":");
    writer.empty_map();
    writer.put("},\"result\":{\"data\":");
    writer.put(if writer.is_wrapped() { "{\"@type\":\"g:List\",\"@value\":[" } else { "[" });
}

/// Objects of a response, repeated by their multiplicities, or with their bulks.
///
/// # Errors
/// See [`JsonWriter::object`].
pub fn elements(
    writer: &mut JsonWriter<'_>,
    objects: &[(Object, u64)],
    wrapping: Wrapping,
    is_first: &mut bool,
) -> Result<(), Error> {
    for (object, bulk) in objects {
        let (times, bulk) = match wrapping {
            Wrapping::Traversers => (1, *bulk),
            Wrapping::Plain => (*bulk, 1),
        };
        for _ in 0..times {
            if !std::mem::take(is_first) {
                writer.text.push(',');
            }
            match wrapping {
                Wrapping::Plain => writer.object(object)?,
                Wrapping::Traversers => writer.typed("g:Traverser", |writer| {
                    writer.put("{\"bulk\":");
                    writer.plain("g:Int64", bulk)?;
                    writer.put(",\"value\":");
                    writer.object(object)?;
                    writer.text.push('}');
                    Ok(())
                })?,
            }
        }
    }
    Ok(())
}

/// Ends a response behind its objects.
pub fn end_response(writer: &mut JsonWriter<'_>) {
    writer.put(if writer.is_wrapped() { "]}" } else { "]" });
    writer.put(",\"meta\":");
    writer.empty_map();
    writer.put("}}");
}

/// A response with an error.
pub fn failure(
    writer: &mut JsonWriter<'_>,
    id: Option<&str>,
    status: Status,
    message: &str,
    exception: &str,
) {
    writer.put("{\"requestId\":");
    match id {
        Some(id) => writer.quote(id),
        None => writer.put("null"),
    }
    writer.put(",\"status\":{\"message\":");
    writer.quote(message);
    writer.put(format_args!(",\"code\":{},\"attributes\":", status as i32));
    let exceptions = Object::list(vec![Object::string(exception)]);
    let attributes =
        [(Object::from("exceptions"), exceptions), (Object::from("stackTrace"), Object::from(message))];
    writer.map(&attributes).expect("texts need nothing looked up");
    writer.put("},\"result\":{\"data\":null,\"meta\":");
    writer.empty_map();
    writer.put("}}");
}

/// A response that demands authentication.
pub fn challenge(writer: &mut JsonWriter<'_>, id: &str) {
    let code = Status::Authenticate as i32;
    writer.put(format_args!(
        "{{\"requestId\":\"{id}\",\"status\":{{\"message\":\"\",\"code\":{code},\"attributes\":"
    ));
    writer.empty_map();
    writer.put("},\"result\":{\"data\":null,\"meta\":");
    writer.empty_map();
    writer.put("}}");
}
