//! The values of a file of JSON for LOAD JSON, one after another: the elements of a list, or values behind each other, such as an object a line.
//!
//! Whole numbers of 64 bits are integers, other numbers floats; objects are maps. A value is charged part by part while it is read.

use crate::ExecuteError;
use dataflow::watch::{LoopBytes, Stopped};
use expression::EvalError;
use formats::json_reader::{Json, JsonError, JsonReader};
use model::Value;
use parking_lot::Mutex;
use std::io::{self, Read};
use std::sync::Arc;

/// Bytes of a part of a value for each byte while it is read, about: both are held for a moment.
const PARTS_HELD: usize = 2;

/// Where in a file reading is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Begin,
    /// Between the elements of a list; before the first?
    List {
        is_first: bool,
    },
    /// Between values that stand behind each other.
    Values,
    End,
}

pub(super) struct JsonValues {
    reader: JsonReader,
    position: Position,
    line: u64,
    /// Bytes of the value that is being read.
    held: Arc<Mutex<LoopBytes>>,
}

impl JsonValues {
    pub(super) fn new(source: Box<dyn Read + Send>) -> Result<JsonValues, ExecuteError> {
        let held: Arc<Mutex<LoopBytes>> = Arc::default();
        let told = held.clone();
        let meter =
            move |bytes: usize| told.lock().grow((PARTS_HELD * bytes) as u64).map_err(io::Error::other);
        let reader = JsonReader::metered(source, Box::new(meter)).map_err(refusal)?;
        Ok(JsonValues { reader, position: Position::Begin, line: 0, held })
    }
    /// The first line of the last value, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }
    /// Bytes of the file that are buffered.
    pub(super) fn held_bytes(&self) -> usize {
        self.reader.held_bytes()
    }
    /// The next value; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Value>, ExecuteError> {
        if !self.advance().map_err(refusal)? {
            self.position = Position::End;
            return Ok(None);
        }
        self.line = self.reader.line();
        let json = self.reader.value().map_err(refusal)?;
        let value = value_of(json)?;
        self.held.lock().set(0).map_err(EvalError::from)?;
        Ok(Some(value))
    }
    /// Up to the next value; false where there is none.
    fn advance(&mut self) -> Result<bool, JsonError> {
        if self.position == Position::Begin {
            self.position = match self.reader.passes(b'[')? {
                true => Position::List { is_first: true },
                false => Position::Values,
            };
        }
        match self.position {
            Position::List { is_first } => {
                self.position = Position::List { is_first: false };
                if self.reader.passes(b']')? {
                    return match self.reader.next_byte()? {
                        None => Ok(false),
                        Some(_) => Err(self.reader.wrong("the text goes on after the list")),
                    };
                }
                if !is_first && !self.reader.passes(b',')? {
                    return Err(self.reader.wrong("`,` or `]` is expected"));
                }
                // Up to the value, so that its own line is told.
                self.reader.next_byte()?;
                Ok(true)
            }
            Position::Values => Ok(self.reader.next_byte()?.is_some()),
            Position::Begin | Position::End => Ok(false),
        }
    }
}

/// The error for a malformed file, or for a read that was ended.
fn refusal(error: JsonError) -> ExecuteError {
    match error {
        JsonError::Wrong { line, column, what } => {
            ExecuteError::FileContent(format!("line {line} of the file, column {column}: {what}"))
        }
        JsonError::Unreadable(error) => match error.downcast::<Stopped>() {
            Ok(stopped) => EvalError::from(stopped).into(),
            Err(error) => ExecuteError::FileContent(format!("the file cannot be read: {error}")),
        },
    }
}

fn value_of(json: Json) -> Result<Value, ExecuteError> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(truth),
        Json::Text(text) => Value::from(text),
        Json::Number(number) => number_of(&number),
        Json::List(items) => {
            let items = items.into_iter().map(value_of).collect::<Result<Vec<Value>, ExecuteError>>()?;
            Value::try_list(items).map_err(EvalError::from)?
        }
        Json::Object(entries) => {
            let entries = entries.into_iter().map(|(name, value)| Ok((Arc::from(name), value_of(value)?)));
            let entries = entries.collect::<Result<Vec<(Arc<str>, Value)>, ExecuteError>>()?;
            Value::try_map(entries).map_err(EvalError::from)?
        }
    })
}

fn number_of(number: &str) -> Value {
    match number {
        "NaN" => Value::Float(f64::NAN),
        "Infinity" => Value::Float(f64::INFINITY),
        "-Infinity" => Value::Float(f64::NEG_INFINITY),
        _ => match number.parse::<i64>() {
            Ok(int) => Value::Int(int),
            // The reader lets only numbers through.
            Err(_) => Value::Float(number.parse().unwrap_or(f64::NAN)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &'static str) -> Result<Vec<String>, String> {
        let mut values = JsonValues::new(Box::new(text.as_bytes())).map_err(|error| error.to_string())?;
        let mut found = Vec::new();
        while let Some(value) = values.next().map_err(|error| error.to_string())? {
            found.push(format!("{}: {value:?}", values.line()));
        }
        Ok(found)
    }

    #[test]
    fn a_list_or_values_behind_each_other() {
        let expected = ["1: Int(1)", "2: Float(2.5)", "2: Bool(true)"];
        assert_eq!(all("[1,\n 2.5, true]").unwrap(), expected);
        assert_eq!(all("1\n2.5 true").unwrap(), expected);
        assert_eq!(all("\u{feff} [ ] ").unwrap(), [""; 0]);
        assert_eq!(all("").unwrap(), [""; 0]);
        assert_eq!(all("9223372036854775808").unwrap(), ["1: Float(9.223372036854776e18)"]);
        for (text, wanted) in [
            ("[1", "line 1 of the file, column 3"),
            ("[1,]", "column 4: `]` begins no value"),
            ("[1] 2", "goes on after the list"),
            ("{\"a\":\nx}", "line 2 of the file, column 1"),
        ] {
            let error = all(text).unwrap_err();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
