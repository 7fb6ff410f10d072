//! Responses in GraphSON: what stands around the objects of an answer, and answers without objects.

use super::{JsonWriter, Written};
use crate::gremlin::message::{Status, Wrapping};
use gremlin::Object;

impl JsonWriter<'_> {
    /// Begins a response: what comes next are its objects.
    pub fn begin_response(&mut self, id: &str, status: Status) {
        self.put(format_args!(
            "{{\"requestId\":\"{id}\",\"status\":{{\"message\":\"\",\"code\":{}",
            status as i32
        ));
        self.put(",\"attributes\":");
        self.empty_map();
        self.put("},\"result\":{\"data\":");
        self.put(if self.is_wrapped() { "{\"@type\":\"g:List\",\"@value\":[" } else { "[" });
    }
    /// Objects of a response, each as often as it is there, or with its bulk.
    ///
    /// # Errors
    /// See [`JsonWriter::object`].
    pub fn elements(
        &mut self,
        objects: &[(Object, u64)],
        wrapping: Wrapping,
        is_first: &mut bool,
    ) -> Written {
        for (object, bulk) in objects {
            let (times, bulk) = match wrapping {
                Wrapping::Traversers => (1, *bulk),
                Wrapping::Plain => (*bulk, 1),
            };
            for _ in 0..times {
                if !std::mem::take(is_first) {
                    self.text.push(',');
                }
                match wrapping {
                    Wrapping::Plain => self.object(object)?,
                    Wrapping::Traversers => self.typed("g:Traverser", |writer| {
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
    pub fn end_response(&mut self) {
        self.put(if self.is_wrapped() { "]}" } else { "]" });
        self.put(",\"meta\":");
        self.empty_map();
        self.put("}}");
    }
    /// A response that says what went wrong.
    pub fn failure(&mut self, id: Option<&str>, status: Status, message: &str, exception: &str) {
        self.put("{\"requestId\":");
        match id {
            Some(id) => self.quote(id),
            None => self.put("null"),
        }
        self.put(",\"status\":{\"message\":");
        self.quote(message);
        self.put(format_args!(",\"code\":{},\"attributes\":", status as i32));
        let exceptions = Object::list(vec![Object::string(exception)]);
        let attributes =
            [(Object::from("exceptions"), exceptions), (Object::from("stackTrace"), Object::from(message))];
        self.map(&attributes).expect("texts need nothing looked up");
        self.put("},\"result\":{\"data\":null,\"meta\":");
        self.empty_map();
        self.put("}}");
    }
    /// A response that asks who the client is.
    pub fn challenge(&mut self, id: &str) {
        let code = Status::Authenticate as i32;
        self.put(format_args!(
            "{{\"requestId\":\"{id}\",\"status\":{{\"message\":\"\",\"code\":{code},\"attributes\":"
        ));
        self.empty_map();
        self.put("},\"result\":{\"data\":null,\"meta\":");
        self.empty_map();
        self.put("}}");
    }
}
