//! Limits of nested values, below, at and above; and that every walk fits a small stack at the limit.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use super::*;
use crate::compare::{equals, hash_value, total_order};

fn nested(
    depth: usize,
    mut wrap: impl FnMut(Value) -> Result<Value, ValueTooLarge>,
) -> Result<Value, ValueTooLarge> {
    (0..depth).try_fold(Value::Int(1), |value, _| wrap(value))
}

#[test]
fn nesting_ends_at_the_limit() {
    let list = |value| Value::try_list(vec![value]);
    let map = |value| Value::try_map([("a", value)]);
    for wrap in [&list as &dyn Fn(Value) -> Result<Value, ValueTooLarge>, &map] {
        assert!(nested(VALUE_DEPTH_MAX, wrap).is_ok());
        assert_eq!(nested(VALUE_DEPTH_MAX + 1, wrap).unwrap_err(), ValueTooLarge::Deep);
    }
}

#[test]
fn doubling_a_value_ends_at_the_limit() {
    let twice = |value: Value| Value::try_list(vec![value.clone(), value]);
    assert!(nested(25, twice).is_ok());
    assert_eq!(nested(60, twice).unwrap_err(), ValueTooLarge::Wide);
}

#[test]
fn a_value_is_equal_to_itself_unless_something_in_it_is_unknown() {
    for (part, expected) in
        [(Value::Int(1), Some(true)), (Value::Null, None), (Value::Float(f64::NAN), Some(false))]
    {
        let value = nested(20, |value| Value::try_list(vec![value.clone(), value, part.clone()])).unwrap();
        assert_eq!(equals(&value, &value), expected);
        assert!(total_order(&value, &value).is_eq());
    }
}

#[test]
fn the_bytes_of_a_list_grow_with_what_it_holds() {
    let text = Value::string("x".repeat(1000));
    let list = Value::list(vec![text.clone(), text]);
    assert!((2000..2200).contains(&list.heap_bytes()), "{}", list.heap_bytes());
}

#[test]
fn every_walk_at_the_limit_fits_a_small_stack() {
    let walk = || {
        let mut at = 0;
        let mut mixed = |value: Value| {
            at += 1;
            if at % 2 == 0 { Value::try_list(vec![value]) } else { Value::try_map([("a", value)]) }
        };
        let (a, b) =
            (nested(VALUE_DEPTH_MAX, &mut mixed).unwrap(), nested(VALUE_DEPTH_MAX, &mut mixed).unwrap());
        assert_eq!(equals(&a, &b), Some(true));
        assert!(total_order(&a, &b).is_eq());
        hash_value(&a, &mut std::collections::hash_map::DefaultHasher::new());
        assert!(!format!("{a:?}").is_empty());
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(walk).unwrap().join().unwrap();
}

/// Each list has both of the one before it in it, so `2^n - 1` parts.
#[test]
fn the_last_part_that_fits_fits() {
    let twice = |value: Value| Value::try_list(vec![value.clone(), value]).unwrap();
    let half = (0..24).fold(Value::list(Vec::new()), |value, _| twice(value));
    assert_eq!(extent_of(&half).parts as usize, VALUE_PARTS_MAX / 2 - 1);
    let full = Value::try_list(vec![half.clone(), half.clone(), Value::Null]).unwrap();
    assert_eq!(extent_of(&full).parts as usize, VALUE_PARTS_MAX);
    let over = Value::try_list(vec![half.clone(), half, Value::Null, Value::Null]);
    assert_eq!(over.unwrap_err(), ValueTooLarge::Wide);
}

#[test]
fn errors_tell_what_is_wrong_and_what_helps() {
    let mut told = Vec::new();
    for error in [ValueTooLarge::Deep, ValueTooLarge::Wide] {
        assert!(error.to_string().contains(' ') && error.hint().contains(' '), "{error} {}", error.hint());
        told.extend([error.to_string(), error.hint().to_string()]);
    }
    told.sort();
    told.dedup();
    assert_eq!(told.len(), 4);
}

#[test]
fn a_value_in_two_places_is_the_same_one() {
    let (Value::List(list), Value::Map(map)) =
        (Value::list(vec![Value::Int(1)]), Value::map([("a", Value::Int(1))]))
    else {
        unreachable!("made as these")
    };
    let (Value::List(other), Value::Map(another)) =
        (Value::list(vec![Value::Int(1)]), Value::map([("a", Value::Int(1))]))
    else {
        unreachable!("made as these")
    };
    assert!(list.is_same(&list.clone()) && !list.is_same(&other));
    assert!(map.is_same(&map.clone()) && !map.is_same(&another));
    assert_eq!(list.as_slice().len(), 1);
    assert_eq!(MapValue::default().extent(), extent_of(&Value::map([] as [(&str, Value); 0])));
}

/// A value that is identical to the other is not walked: a walk of this many pairs would take minutes.
#[test]
fn a_value_beside_itself_is_not_walked() {
    let grown =
        |first: Value| (0..24).fold(first, |value, _| Value::try_list(vec![value.clone(), value]).unwrap());
    for value in
        [grown(Value::list(Vec::new())), Value::try_map([("a", grown(Value::list(Vec::new())))]).unwrap()]
    {
        for _ in 0..200 {
            assert_eq!(equals(&value, &value.clone()), Some(true));
            assert!(total_order(&value, &value.clone()).is_eq());
        }
    }
}
