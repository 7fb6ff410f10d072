//! Structures of Bolt: nodes, relationships, paths, temporal values, points; how each is laid out in fields.

use super::Version;
use super::packstream::Packer;
use super::packstream::Unreadable::{self, Refused};
use database::entity::{Hydrated, Node, Relationship, edge_element_id, vertex_element_id};
use model::temporal::{Date, Duration, LocalDateTime, LocalTime, Zone, ZonedDateTime, ZonedTime};
use model::value::Point;
use model::{Map, Value, VertexId};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const NODE: u8 = 0x4E;
pub(super) const RELATIONSHIP: u8 = 0x52;
pub(super) const UNBOUND_RELATIONSHIP: u8 = 0x72;
pub(super) const PATH: u8 = 0x50;
const DATE: u8 = 0x44;
const TIME: u8 = 0x54;
const LOCAL_TIME: u8 = 0x74;
const LOCAL_DATE_TIME: u8 = 0x64;
const DATE_TIME_UTC: u8 = 0x49;
const DATE_TIME_UTC_ZONE: u8 = 0x69;
const DATE_TIME_LEGACY: u8 = 0x46;
const DATE_TIME_LEGACY_ZONE: u8 = 0x66;
const DURATION: u8 = 0x45;
const POINT_2D: u8 = 0x58;
const POINT_3D: u8 = 0x59;

/// Writes a value that holds no entity; `utc` says how instants are sent.
pub fn pack(packer: &mut Packer, value: &Value, utc: bool) {
    match value {
        Value::Null => packer.null(),
        Value::Bool(value) => packer.bool(*value),
        Value::Int(value) => packer.int(*value),
        Value::Float(value) => packer.float(*value),
        Value::String(text) => packer.text(text),
        Value::Bytes(bytes) => packer.blob(bytes),
        Value::List(list) => {
            packer.list(list.len());
            list.iter().for_each(|item| pack(packer, item, utc));
        }
        Value::Map(map) => pack_map(packer, map, utc),
        Value::Vertex(_) | Value::Edge(_) | Value::Path(_) => packer.null(),
        temporal_or_point => pack_structure(packer, temporal_or_point, utc),
    }
}

/// Writes a map that holds no entity.
pub fn pack_map(packer: &mut Packer, map: &Map, utc: bool) {
    packer.map(map.len());
    map.iter().for_each(|(key, item)| {
        packer.text(key);
        pack(packer, item, utc)
    });
}

fn pack_structure(packer: &mut Packer, value: &Value, utc: bool) {
    let mut ints = |tag: u8, fields: &[i64]| {
        packer.structure(tag, fields.len() as u8);
        fields.iter().for_each(|field| packer.int(*field));
    };
    match value {
        Value::Date(date) => ints(DATE, &[date.days]),
        Value::LocalTime(time) => ints(LOCAL_TIME, &[time.nanos as i64]),
        Value::Time(time) => ints(TIME, &[time.nanos as i64, time.offset_seconds as i64]),
        Value::LocalDateTime(local) => ints(LOCAL_DATE_TIME, &[local.seconds, local.nanos as i64]),
        Value::Duration(d) => ints(DURATION, &[d.months, d.days, d.seconds, d.nanos as i64]),
        Value::DateTime(instant) => pack_instant(packer, instant, utc),
        Value::Point(point) => {
            packer.structure(
                if point.z.is_some() { POINT_3D } else { POINT_2D },
                if point.z.is_some() { 4 } else { 3 },
            );
            packer.int(point.srid as i64);
            [Some(point.x), Some(point.y), point.z].into_iter().flatten().for_each(|part| packer.float(part));
        }
        _ => packer.null(),
    }
}

fn pack_instant(packer: &mut Packer, instant: &ZonedDateTime, utc: bool) {
    let seconds = if utc { instant.seconds } else { instant.seconds + instant.offset_seconds as i64 };
    let tag = match (utc, &instant.zone) {
        (true, None) => DATE_TIME_UTC,
        (true, Some(_)) => DATE_TIME_UTC_ZONE,
        (false, None) => DATE_TIME_LEGACY,
        (false, Some(_)) => DATE_TIME_LEGACY_ZONE,
    };
    packer.structure(tag, 3);
    packer.int(seconds);
    packer.int(instant.nanos as i64);
    match &instant.zone {
        Some(zone) => packer.text(zone),
        None => packer.int(instant.offset_seconds as i64),
    }
}

/// Writes any value of a row.
pub fn pack_hydrated(packer: &mut Packer, value: &Hydrated, version: Version) {
    match value {
        Hydrated::Plain(value) => pack(packer, value, version.sends_utc()),
        Hydrated::List(list) => {
            packer.list(list.len());
            list.iter().for_each(|item| pack_hydrated(packer, item, version));
        }
        Hydrated::Map(map) => {
            packer.map(map.len());
            map.iter().for_each(|(key, item)| {
                packer.text(key);
                pack_hydrated(packer, item, version)
            });
        }
        Hydrated::Node(node) => pack_node(packer, node, version),
        Hydrated::Relationship(relationship) => pack_relationship(packer, relationship, version),
        Hydrated::Path(nodes, relationships) => pack_path(packer, nodes, relationships, version),
    }
}

fn pack_node(packer: &mut Packer, node: &Node, version: Version) {
    packer.structure(NODE, if version.has_element_ids() { 4 } else { 3 });
    packer.int(node.id.0 as i64);
    packer.list(node.labels.len());
    node.labels.iter().for_each(|label| packer.text(label));
    pack_properties(packer, &node.properties, version);
    if version.has_element_ids() {
        packer.text(&vertex_element_id(node.id));
    }
}

fn pack_relationship(packer: &mut Packer, relationship: &Relationship, version: Version) {
    let edge = relationship.edge;
    packer.structure(RELATIONSHIP, if version.has_element_ids() { 8 } else { 5 });
    [edge.id.0, edge.source.0, edge.target.0].into_iter().for_each(|id| packer.int(id as i64));
    packer.text(&relationship.edge_type);
    pack_properties(packer, &relationship.properties, version);
    if version.has_element_ids() {
        packer.text(&edge_element_id(edge.id));
        packer.text(&vertex_element_id(edge.source));
        packer.text(&vertex_element_id(edge.target));
    }
}

/// Distinct nodes, distinct relationships, and a list of indexes: for each step the relationship (from 1, negative against
/// its direction) and the node (from 0).
fn pack_path(packer: &mut Packer, nodes: &[Node], relationships: &[Relationship], version: Version) {
    let mut distinct_nodes = Numbered::default();
    let mut distinct = Numbered::default();
    let mut steps = Vec::with_capacity(relationships.len() * 2);
    nodes.first().map(|node| distinct_nodes.number(node.id.0, node));
    for (at, relationship) in relationships.iter().enumerate() {
        let number = distinct.number(relationship.edge.id.0, relationship) + 1;
        steps.push(if is_forward(relationship, nodes[at].id) { number } else { -number });
        let node = &nodes[at + 1];
        steps.push(distinct_nodes.number(node.id.0, node));
    }
    let (distinct_nodes, distinct) = (distinct_nodes.items, distinct.items);
    packer.structure(PATH, 3);
    packer.list(distinct_nodes.len());
    distinct_nodes.iter().for_each(|node| pack_node(packer, node, version));
    packer.list(distinct.len());
    distinct.iter().for_each(|relationship| pack_unbound(packer, relationship, version));
    packer.list(steps.len());
    steps.iter().for_each(|step| packer.int(*step));
}

/// Different things, numbered as they come.
struct Numbered<'a, T> {
    items: Vec<&'a T>,
    places: BTreeMap<u64, i64>,
}

impl<T> Default for Numbered<'_, T> {
    fn default() -> Self {
        Numbered { items: Vec::new(), places: BTreeMap::new() }
    }
}

impl<'a, T> Numbered<'a, T> {
    fn number(&mut self, id: u64, item: &'a T) -> i64 {
        *self.places.entry(id).or_insert_with(|| {
            self.items.push(item);
            self.items.len() as i64 - 1
        })
    }
}

fn is_forward(relationship: &Relationship, from: VertexId) -> bool {
    relationship.edge.source == from
}

fn pack_unbound(packer: &mut Packer, relationship: &Relationship, version: Version) {
    packer.structure(UNBOUND_RELATIONSHIP, if version.has_element_ids() { 4 } else { 3 });
    packer.int(relationship.edge.id.0 as i64);
    packer.text(&relationship.edge_type);
    pack_properties(packer, &relationship.properties, version);
    if version.has_element_ids() {
        packer.text(&edge_element_id(relationship.edge.id));
    }
}

fn pack_properties(packer: &mut Packer, properties: &[(Arc<str>, Value)], version: Version) {
    packer.map(properties.len());
    properties.iter().for_each(|(key, value)| {
        packer.text(key);
        pack(packer, value, version.sends_utc());
    });
}

/// The value of a structure that a client sent. Entities cannot be sent.
pub fn value_from(tag: u8, fields: &[Value]) -> Result<Value, Unreadable> {
    Ok(match (tag, fields) {
        (DATE, [Value::Int(days)]) => date(*days)?.into(),
        (LOCAL_TIME, [Value::Int(nanos)]) => LocalTime { nanos: nanos_of_day(*nanos)? }.into(),
        (TIME, [Value::Int(nanos), Value::Int(offset)]) => {
            ZonedTime { nanos: nanos_of_day(*nanos)?, offset_seconds: offset_seconds(*offset)? }.into()
        }
        (LOCAL_DATE_TIME, [Value::Int(seconds), Value::Int(nanos)]) => {
            LocalDateTime { seconds: in_calendar(*seconds)?, nanos: nanos_of_second(*nanos)? }.into()
        }
        (DATE_TIME_UTC | DATE_TIME_LEGACY, [Value::Int(seconds), Value::Int(nanos), Value::Int(offset)]) => {
            let offset_seconds = offset_seconds(*offset)?;
            let utc_seconds = if tag == DATE_TIME_UTC { *seconds } else { seconds.saturating_sub(*offset) };
            let seconds = in_calendar(utc_seconds)?;
            ZonedDateTime { seconds, nanos: nanos_of_second(*nanos)?, offset_seconds, zone: None }.into()
        }
        (
            DATE_TIME_UTC_ZONE | DATE_TIME_LEGACY_ZONE,
            [Value::Int(seconds), Value::Int(nanos), Value::String(name)],
        ) => {
            let zone = Zone::parse(name).map_err(|_| Refused("unknown time zone"))?;
            let (seconds, nanos) = (in_calendar(*seconds)?, nanos_of_second(*nanos)?);
            match tag {
                DATE_TIME_UTC_ZONE => ZonedDateTime::of_instant(seconds, nanos, &zone).into(),
                _ => ZonedDateTime::of_local(LocalDateTime { seconds, nanos }, &zone).into(),
            }
        }
        (DURATION, [Value::Int(months), Value::Int(days), Value::Int(seconds), Value::Int(nanos)]) => {
            let carry = nanos.div_euclid(1_000_000_000);
            let nanos = nanos.rem_euclid(1_000_000_000) as u32;
            Duration { months: *months, days: *days, seconds: seconds.saturating_add(carry), nanos }.into()
        }
        (POINT_2D, [Value::Int(srid), Value::Float(x), Value::Float(y)]) => point(*srid, *x, *y, None)?,
        (POINT_3D, [Value::Int(srid), Value::Float(x), Value::Float(y), Value::Float(z)]) => {
            point(*srid, *x, *y, Some(*z))?
        }
        (NODE | RELATIONSHIP | PATH | UNBOUND_RELATIONSHIP, _) => {
            return Err(Refused("nodes, relationships and paths cannot be parameters; send their ids"));
        }
        _ => return Err(Refused("unknown structure")),
    })
}

fn point(srid: i64, x: f64, y: f64, z: Option<f64>) -> Result<Value, Unreadable> {
    let srid = u32::try_from(srid).map_err(|_| Refused("unknown coordinate system"))?;
    Ok(Value::Point(Arc::new(Point { srid, x, y, z })))
}

fn date(days: i64) -> Result<Date, Unreadable> {
    Date::of_days(days.into()).map_err(|_| Refused("date out of range"))
}

/// At least a day from the calendar's ends, so that it is in the calendar in every zone.
fn in_calendar(seconds: i64) -> Result<i64, Unreadable> {
    let days = seconds.div_euclid(86_400);
    date(days - 1).and_then(|_| date(days + 1)).map(|_| seconds)
}

fn nanos_of_day(nanos: i64) -> Result<u64, Unreadable> {
    u64::try_from(nanos).ok().filter(|n| *n < 86_400_000_000_000).ok_or(Refused("time of day out of range"))
}

fn nanos_of_second(nanos: i64) -> Result<u32, Unreadable> {
    u32::try_from(nanos).ok().filter(|n| *n < 1_000_000_000).ok_or(Refused("nanoseconds out of range"))
}

fn offset_seconds(seconds: i64) -> Result<i32, Unreadable> {
    i32::try_from(seconds).ok().filter(|s| s.abs() <= 18 * 3_600).ok_or(Refused("zone offset out of range"))
}
