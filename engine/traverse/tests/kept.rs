//! Objects that the graph keeps come back as what they were; and marks tell what a plan would misread.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use gremlin::{Decimal, Instant, Object};
use model::Value;
use plan::hidden::{TAGGED, WIDE};
use std::sync::Arc;
use tanglewood_traverse::Kept;
use tanglewood_traverse::answer::stored_value::{many_of, many_to_value, marks, read, to_object, to_value};
use world::chance::Chance;

/// An object of any kind that can be kept, lists, sets and maps up to so deep.
fn object(chance: &mut Chance, depth: u32) -> Object {
    let inner = |chance: &mut Chance| {
        let count = chance.index(4);
        (0..count).map(|_| object(chance, depth - 1)).collect::<Vec<_>>()
    };
    let number = [0, 1, -1, 100, 1 << 20, i64::from(i32::MAX), i64::from(i32::MIN), 1 << 40, i64::MIN];
    let number = number[chance.index(number.len())];
    match chance.below(if depth == 0 { 15 } else { 18 }) {
        0 => Object::Bool(chance.happens(0.5)),
        1 => Object::Byte(number as i8),
        2 => Object::Short(number as i16),
        3 | 4 => Object::Int(number as i32),
        5 | 6 => Object::Long(number),
        7 => Object::BigInt(Arc::new(i128::from(number) << 20)),
        8 => Object::Float(number as f32 / 3.0),
        9 => Object::Double(number as f64 / 3.0),
        10 => {
            Object::BigDecimal(Arc::new(Decimal { unscaled: i128::from(number), scale: number as i32 % 7 }))
        }
        11 => Object::Char(['a', 'ß', '\u{1F600}'][chance.index(3)]),
        12 => Object::String(["", "text", " kind"][chance.index(3)].into()),
        13 => Object::Uuid(Arc::new(u128::from(chance.next_u64()) << 64 | 7)),
        14 => match chance.below(3) {
            0 => Object::Binary(vec![1, 2, number as u8].into()),
            1 => Object::Duration(number >> 20, 7),
            _ => {
                Object::DateTime(Arc::new(Instant { seconds: number >> 30, nanos: 5, offset_seconds: 3_600 }))
            }
        },
        15 => Object::list(inner(chance)),
        16 => Object::Set(Arc::new(inner(chance))),
        _ => {
            let pairs = inner(chance).into_iter().map(|value| (object(chance, 0), value)).collect();
            Object::map(pairs)
        }
    }
}

/// What it comes back as: plain numbers lose their widths, unless the key is wide; within sets and maps nothing is lost.
fn expected(object: &Object, is_wide: bool) -> Object {
    let whole = |number: i64| match i32::try_from(number) {
        Ok(small) if !is_wide => Object::Int(small),
        _ => Object::Long(number),
    };
    match object {
        Object::Byte(_) | Object::Short(_) | Object::Int(_) | Object::Long(_) => {
            whole(object.as_long().unwrap())
        }
        Object::Float(number) => Object::Double(f64::from(*number)),
        Object::List(elements) => Object::list(elements.iter().map(|one| expected(one, is_wide)).collect()),
        other => other.clone(),
    }
}

fn is_plain(object: &Object) -> bool {
    match object {
        Object::List(elements) => elements.iter().all(is_plain),
        Object::Set(_) | Object::Map(_) | Object::Uuid(_) | Object::Char(_) => false,
        Object::BigInt(_) | Object::BigDecimal(_) => false,
        _ => true,
    }
}

fn told(object: &Object) -> String {
    format!("{object:?}")
}

#[test]
fn what_is_kept_comes_back() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    for case in 0..4_000 {
        let object = object(&mut chance, 3);
        let story = format!("seed {seed} case {case}: {object:?}");
        let value = to_value(&object).unwrap_or_else(|| panic!("{story} is kept"));
        let names = marks("k", &[Kept::plain(object.clone())]);
        let is_wide = names.contains(&WIDE.to_string());
        assert_eq!(is_wide, names.contains(&format!("{WIDE} k")), "{story}");
        let is_tagged = names.contains(&TAGGED.to_string());
        assert_eq!(is_tagged, names.contains(&format!("{TAGGED} k")), "{story}");
        assert_eq!(is_tagged, !is_plain(&object), "{story}");
        assert_eq!(told(&read(&value, is_wide)), told(&expected(&object, is_wide)), "{story}");
        assert_eq!(told(&to_object(&value)), told(&expected(&object, false)), "{story}");
        let many = many_of(&value, is_wide);
        assert_eq!((many.len(), told(&many[0].value)), (1, told(&expected(&object, is_wide))), "{story}");
    }
}

/// Several values of a key, and values with properties of their own, come back exactly.
#[test]
fn several_values_come_back() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    for case in 0..2_000 {
        let count = 1 + chance.index(3);
        let kept: Vec<Kept> = (0..count)
            .map(|_| {
                let metas = if count == 1 { 1 } else { chance.index(3) };
                let meta = (0..metas).map(|at| (format!("m{at}").into(), object(&mut chance, 1))).collect();
                Kept { value: object(&mut chance, 2), meta }
            })
            .collect();
        let story = format!("seed {seed} case {case}: {kept:?}");
        assert_eq!(marks("k", &kept), [TAGGED.to_string(), format!("{TAGGED} k")], "{story}");
        let found = many_of(&many_to_value(&kept).unwrap_or_else(|| panic!("{story} are kept")), false);
        assert_eq!(format!("{found:?}"), format!("{kept:?}"), "{story}");
    }
    assert_eq!(marks("k", &[]), [""; 0]);
    assert!(many_of(&model::Value::Null, false).is_empty());
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let vertex = Object::Vertex(model::VertexId(3));
    for object in
        [vertex.clone(), Object::list(vec![vertex.clone()]), Object::Set(Arc::new(vec![vertex.clone()]))]
    {
        assert!(to_value(&object).is_none(), "{object:?}");
        assert!(many_to_value(&[Kept::plain(object.clone()), Kept::plain(object)]).is_none());
    }
    let nested = |levels: usize| (0..levels).fold(Object::Int(1), |inner, _| Object::list(vec![inner]));
    let most = model::nested::VALUE_DEPTH_MAX / 2;
    assert!(to_value(&nested(most)).is_some());
    assert!(to_value(&nested(most + 1)).is_none());
}

/// Tags of earlier versions are read still; what no version wrote is nothing, whatever stands behind the tag.
#[test]
fn tags_of_earlier_versions_are_read_and_others_are_nothing() {
    let tagged = |kind: &str, value: Value| Value::map([(" kind", Value::string(kind)), (" value", value)]);
    let pair = |seconds: Value, nanos: Value| Value::list(vec![seconds, nanos]);
    let kept = tagged("duration", pair(Value::Int(7), Value::Int(5)));
    assert_eq!(told(&to_object(&kept)), told(&Object::Duration(7, 5)));
    let wrong = [
        ("duration", pair(Value::Int(7), Value::Int(-1))),
        ("duration", Value::list(vec![Value::Int(7)])),
        ("duration", Value::Int(7)),
        ("byte", Value::Int(128)),
        ("byte", Value::string("1")),
        ("short", Value::Int(-32_769)),
        ("long", Value::Float(1.0)),
        ("float", Value::Int(1)),
        ("bigint", Value::string("1.5")),
        ("bigint", Value::Int(1)),
        ("decimal", Value::string("15")),
        ("decimal", Value::string("15/x")),
        ("uuid", Value::string("no uuid")),
        ("char", Value::string("")),
        ("set", Value::Int(1)),
        ("map", Value::string("a")),
        ("unheard", Value::Int(1)),
    ];
    for (kind, value) in wrong {
        assert_eq!(told(&to_object(&tagged(kind, value.clone()))), "Null", "{kind} of {value:?}");
    }
    let right = [
        ("byte", Value::Int(-128), Object::Byte(-128)),
        ("short", Value::Int(32_767), Object::Short(32_767)),
        ("char", Value::string("ab"), Object::Char('a')),
        (
            "decimal",
            Value::string("-15/1"),
            Object::BigDecimal(Arc::new(Decimal { unscaled: -15, scale: 1 })),
        ),
    ];
    for (kind, value, object) in right {
        assert_eq!(told(&to_object(&tagged(kind, value))), told(&object), "{kind}");
    }
}
