//! Fields as values.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use super::*;
use model::temporal;
use world::chance::Chance;

#[test]
fn integers_are_read_as_the_standard_library_reads_them() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    for _ in 0..50_000 {
        let length = chance.below(22) as usize;
        let text: String =
            (0..length).map(|_| char::from(b"0123456789-+9x"[chance.below(14) as usize])).collect();
        assert_eq!(int(text.as_bytes()), text.parse().ok(), "{text:?}");
    }
    for edge in [i64::MIN, i64::MAX] {
        assert_eq!(int(edge.to_string().as_bytes()), Some(edge));
    }
    assert_eq!(int(b"9223372036854775808"), None);
    assert_eq!(int(b"-9223372036854775809"), None);
}

fn read(type_name: &str, text: &str) -> Result<String, String> {
    let kind = kind_named(type_name, b';').unwrap();
    value(&kind, text).map(|value| temporal::text(&value).unwrap_or_else(|| format!("{value:?}")))
}

#[test]
fn every_type_of_a_header_is_read() {
    let good = [
        ("int", "-7", "Int(-7)"),
        ("long", "9000000000", "Int(9000000000)"),
        ("double", "2.5e3", "Float(2500.0)"),
        ("boolean", "TRUE", "Bool(true)"),
        ("string", "a b", "String(\"a b\")"),
        ("date", "2024-02-29", "2024-02-29"),
        ("time", "12:30:00+01:00", "12:30+01:00"),
        ("localtime", "12:30:01", "12:30:01"),
        ("localdatetime", "2024-02-29T12:30:00", "2024-02-29T12:30"),
        ("datetime", "2024-02-29T12:30:00Z", "2024-02-29T12:30Z"),
        ("duration", "P1DT2H", "P1DT2H"),
        ("int[]", "1;2;3", "List([Int(1), Int(2), Int(3)])"),
        ("string[]", "a;b", "List([String(\"a\"), String(\"b\")])"),
    ];
    for (name, text, expected) in good {
        assert_eq!(read(name, text).as_deref(), Ok(expected), "{name}");
    }
    let Value::Point(point) = value(&Kind::Point, "{latitude: 51.5, longitude: -0.1}").unwrap() else {
        panic!("it is a point")
    };
    assert_eq!((point.srid, point.x, point.y), (point::WGS_84, -0.1, 51.5));
    for (name, text) in
        [("int", "1.5"), ("boolean", "yes"), ("date", "2023-02-29"), ("double", "x"), ("int[]", "1;b")]
    {
        assert!(read(name, text).is_err(), "{name} {text}");
    }
    assert_eq!(kind_named("integerish", b';'), None);
}

#[test]
fn numbers_of_few_bits_are_refused_below_and_above_their_limits() {
    for (name, least, most) in [
        ("byte", -128i64, 127i64),
        ("short", -32_768, 32_767),
        ("int32", i64::from(i32::MIN), i64::from(i32::MAX)),
    ] {
        let kind = kind_named(name, b';').unwrap();
        let mut cells = Cells::new(&kind);
        let mut push =
            |text: String| cells.push(&Field { bytes: text.as_bytes(), quoted: false, doubled: false });
        for good in [least, 0, most] {
            assert_eq!(push(good.to_string()), Ok(()), "{name} {good}");
        }
        for wrong in [least - 1, most + 1, i64::MIN, i64::MAX] {
            let told = push(wrong.to_string()).unwrap_err();
            assert_eq!(told, format!("`{wrong}` is no {name}: whole numbers from {least} to {most}"));
        }
        assert!(read(&format!("{name}[]"), &format!("1;{}", most + 1)).is_err());
        assert!(push("x".into()).is_err());
        assert_eq!(cells.finish().len(), 8);
    }
    assert_eq!(read("float32", "3.4e38").as_deref(), Ok("Float(3.4e38)"));
    assert!(read("float32", "3.5e38").is_err() && read("float32", "inf").is_ok());
    assert_eq!(read("char", "é").as_deref(), Ok("String(\"é\")"));
    assert!(read("char", "ab").unwrap_err().ends_with("one character"));
}

#[test]
fn a_wrong_field_leaves_a_null_and_a_message() {
    let mut cells = Cells::new(&Kind::Int);
    let field = |bytes| Field { bytes, quoted: false, doubled: false };
    assert_eq!(cells.push(&field(b"4")), Ok(()));
    assert_eq!(cells.push(&field(b"four")), Err("`four` is no integer".into()));
    assert_eq!(cells.push(&field(b"")), Ok(()));
    let column = cells.finish();
    assert_eq!(
        (column.len(), column.is_null(0), column.is_null(1), column.is_null(2)),
        (3, false, true, true)
    );
}

#[test]
fn doubled_quotes_are_single_and_quoted_nothing_is_an_empty_text() {
    let mut cells = Cells::new(&Kind::Text);
    cells.push(&Field { bytes: b"say \"\"hi\"\"", quoted: true, doubled: true }).unwrap();
    cells.push(&Field { bytes: b"", quoted: true, doubled: false }).unwrap();
    cells.push(&Field { bytes: b"", quoted: false, doubled: false }).unwrap();
    assert!(cells.push(&Field { bytes: b"\xff", quoted: false, doubled: false }).is_err());
    let column = cells.finish();
    assert_eq!(column.get(0).as_str(), Some("say \"hi\""));
    assert_eq!(column.get(1).as_str(), Some(""));
    assert!(column.is_null(2) && column.is_null(3));
}
