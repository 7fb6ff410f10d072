//! GraphBinary: what can be read costs no more than its bytes, and a plain value that was read is written so that it is read alike.

use super::gremlin_interface::BYTECODE;
use gremlin::{Argument, Object};
use server::gremlin::message::{Format, Request};
use server::gremlin::reading::Reader;
use server::gremlin::writing::Writer;

/// Reads values and a request from the same bytes.
pub fn graphbinary(bytes: &[u8]) {
    drop(Request::of(Format::Binary, bytes));
    drop(Request::read(bytes));
    let mut reader = Reader::new(bytes);
    while !reader.is_empty() {
        match reader.argument() {
            Ok(Argument::Value(object)) => again(&object),
            Ok(_) => {}
            Err(_) => break,
        }
    }
}

fn again(object: &Object) {
    let Ok(first) = written(object) else { return };
    let read = Reader::new(&first).object();
    // An element of the client is written as its id alone.
    let read =
        read.unwrap_or_else(|error| panic!("{object:?} is written so that it cannot be read: {error}"));
    let second = written(&read).expect("what was read can be written");
    assert_eq!(first, second, "{object:?} is written otherwise the second time");
}

fn written(object: &Object) -> Result<Vec<u8>, database::Error> {
    let mut writer = Writer::new(None);
    writer.object(object)?;
    Ok(writer.bytes)
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let values = [
        Object::list(vec![
            Object::Int(1),
            Object::Long(-2),
            Object::Null,
            Object::from("text"),
            Object::Double(0.5),
        ]),
        Object::map(vec![(Object::from("a"), Object::Bool(true)), (Object::Short(7), Object::Char('ß'))]),
        Object::list(vec![
            Object::BigInt((-5_i128 << 70).into()),
            Object::Uuid(7_u128.into()),
            Object::Duration(5, 6),
            Object::Binary(vec![1, 2, 3].into()),
            Object::Float(1.5),
            Object::Byte(-1),
        ]),
    ];
    let values = values.iter().map(|object| written(object).expect("plain values are written"));
    values.chain([BYTECODE.to_vec()]).collect()
}
