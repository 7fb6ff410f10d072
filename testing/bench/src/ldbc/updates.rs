//! The update stream: what happened on the network after the data was cut off, in order of time.
//!
//! A line is `time|dependency time|kind|fields…`; kinds 1 to 8 are IU1 to IU8. Lists inside a field are separated by `;`, their parts
//! by `,`; -1 stands for no message.

use super::{Query, UPDATES};
use database::{Params, Value};

/// One update, ready to run.
#[derive(Clone, Debug)]
pub struct Update {
    /// When it happened, in milliseconds of the epoch.
    pub time_ms: i64,
    /// Which of [`UPDATES`] it is, from 0.
    pub kind: usize,
    /// Its parameters.
    pub params: Params,
    /// Vertices it must create.
    pub vertices: u64,
    /// Edges it must create.
    pub edges: u64,
}

impl Update {
    /// The query it runs.
    pub fn query(&self) -> Query {
        UPDATES[self.kind]
    }
}

/// The first `count` updates of several streams, in order of time.
///
/// # Errors
/// A line is not an update.
pub fn read(streams: &[String], count: usize) -> Result<Vec<Update>, String> {
    let lines = streams.iter().flat_map(|stream| stream.lines());
    let mut timed: Vec<(i64, &str)> = lines
        .map(|line| {
            let time = line.split('|').next().and_then(|time| time.parse().ok());
            time.map(|time| (time, line)).ok_or_else(|| fault(line))
        })
        .collect::<Result<_, _>>()?;
    timed.sort_by_key(|(time, _)| *time);
    timed.into_iter().take(count).map(|(_, line)| parse(line).ok_or_else(|| fault(line))).collect()
}

fn fault(line: &str) -> String {
    format!("not an update: {}", line.chars().take(80).collect::<String>())
}

fn parse(line: &str) -> Option<Update> {
    let fields: Vec<&str> = line.split('|').collect();
    let kind = fields.get(2)?.parse::<usize>().ok()?.checked_sub(1)?;
    let field = |at: usize| fields.get(at + 3).copied();
    let int = |at: usize| Some(Value::Int(field(at)?.parse().ok()?));
    let text = |at: usize| Some(Value::from(field(at)?));
    let ints = |at: usize| Some(list(field(at)?, |item| item.parse().ok().map(Value::Int)));
    let texts = |at: usize| Some(list(field(at)?, |item| Some(item.into())));
    let pairs = |at: usize| Some(list(field(at)?, pair));
    let named: Vec<(&str, Value)> = match kind {
        0 => vec![
            ("personId", int(0)?),
            ("firstName", text(1)?),
            ("lastName", text(2)?),
            ("gender", text(3)?),
            ("birthday", int(4)?),
            ("creationDate", int(5)?),
            ("locationIP", text(6)?),
            ("browserUsed", text(7)?),
            ("cityId", int(8)?),
            ("speaks", texts(9)?),
            ("emails", texts(10)?),
            ("tagIds", ints(11)?),
            ("studyAt", pairs(12)?),
            ("workAt", pairs(13)?),
        ],
        1 => vec![("personId", int(0)?), ("postId", int(1)?), ("creationDate", int(2)?)],
        2 => vec![("personId", int(0)?), ("commentId", int(1)?), ("creationDate", int(2)?)],
        3 => vec![
            ("forumId", int(0)?),
            ("title", text(1)?),
            ("creationDate", int(2)?),
            ("moderatorId", int(3)?),
            ("tagIds", ints(4)?),
        ],
        4 => vec![("forumId", int(0)?), ("personId", int(1)?), ("joinDate", int(2)?)],
        5 => vec![
            ("postId", int(0)?),
            ("imageFile", text(1)?),
            ("creationDate", int(2)?),
            ("locationIP", text(3)?),
            ("browserUsed", text(4)?),
            ("language", text(5)?),
            ("content", text(6)?),
            ("length", int(7)?),
            ("authorId", int(8)?),
            ("forumId", int(9)?),
            ("countryId", int(10)?),
            ("tagIds", ints(11)?),
        ],
        6 => vec![
            ("commentId", int(0)?),
            ("creationDate", int(1)?),
            ("locationIP", text(2)?),
            ("browserUsed", text(3)?),
            ("content", text(4)?),
            ("length", int(5)?),
            ("authorId", int(6)?),
            ("countryId", int(7)?),
            ("replyToId", replied(field(8)?, field(9)?)?),
            ("tagIds", ints(10)?),
        ],
        7 => vec![("person1Id", int(0)?), ("person2Id", int(1)?), ("creationDate", int(2)?)],
        _ => return None,
    };
    let params: Params = named.into_iter().map(|(name, value)| (name.into(), value)).collect();
    let (vertices, edges) = created(kind, &params);
    Some(Update { time_ms: fields[0].parse().ok()?, kind, params, vertices, edges })
}

/// Vertices and edges that an update of this kind creates.
fn created(kind: usize, params: &Params) -> (u64, u64) {
    let length = |name: &str| match params.get(name) {
        Some(Value::List(items)) => items.len() as u64,
        _ => 0,
    };
    let listed = length("tagIds") + length("studyAt") + length("workAt");
    match kind {
        0 | 3 => (1, 1 + listed),
        5 | 6 => (1, 3 + listed),
        _ => (0, 1),
    }
}

fn list(field: &str, item: impl Fn(&str) -> Option<Value>) -> Value {
    Value::list(field.split(';').filter(|part| !part.is_empty()).filter_map(item).collect())
}

fn pair(item: &str) -> Option<Value> {
    let (id, year) = item.split_once(',')?;
    Some(Value::list(vec![Value::Int(id.parse().ok()?), Value::Int(year.parse().ok()?)]))
}

fn replied(post: &str, comment: &str) -> Option<Value> {
    let id = if post == "-1" { comment } else { post };
    Some(Value::Int(id.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_merged_by_time_and_read_field_by_field() {
        let persons = "30|0|1|7|Ada|L|female|1|30|1.2.3.4|Firefox|5|en;fr|a@b|8;9|1,1999|".to_string();
        let forums = "20|0|8|1|2|20\n10|0|7|11|10|ip|Chrome|hi|2|3|4|-1|12|6\n40|0|5|1|2|40".to_string();
        let updates = read(&[persons, forums], 3).unwrap();
        let kinds: Vec<&str> = updates.iter().map(|update| update.query().name).collect();
        assert_eq!(kinds, ["IU7", "IU8", "IU1"]);
        assert!(matches!(updates[0].params["replyToId"], Value::Int(12)));
        assert_eq!((updates[0].vertices, updates[0].edges), (1, 4));
        assert_eq!((updates[2].vertices, updates[2].edges), (1, 4));
        assert!(read(&["x|y".into()], 1).is_err());
    }
}
