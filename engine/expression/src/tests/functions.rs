//! Every function and every operator: a value that only it gives, and which kinds of values each of its arguments takes.

use super::rows::{self, row};
use super::{WALL_US, parameters, reader};
use crate::error::ErrorClass;
use crate::{EvalError, Layout, Request, Scope, compile};
use model::Value;
use plan::expr::{BinaryOperator as B, Constant, UnaryOperator as U};
use plan::{Expr, Function, Var};
use std::fmt::Write;

/// `call => expected`: at least one line for each function, over row 0 of [`rows::batch`].
const VALUES: &str = "
    id(@0) => 1
    elementId(@0) => '4:tanglewood:' + id(@0)
    elementId(@1) => '5:tanglewood:' + id(@1)
    labels(@0) => ['Person']
    type(@1) => 'KNOWS'
    keys(@0) => ['age', 'name', 'weight']
    properties(@3) => {since: 2000}
    startNode(@1) => @0
    endNode(@3) => @0
    nodes(path(@0, @1)) => [@0, endNode(@1)]
    relationships(path(@0, @1)) => [@1]
    length(path(@0, @1, @1)) => 2
    size([4, 5, 6]) => 3
    head([4, 5]) => 4
    last([4, 5]) => 5
    tail([4, 5]) => [5]
    reverse([4, 5]) => [5, 4]
    range(4, 8, 2) => [4, 6, 8]
    range(3, 3) => [3]
    range(3, 3, -1) => [3]
    coalesce(null, 3) => 3
    nullIf(4, 5) => 4
    isEmpty([]) => true
    exists(2) => true
    toIntegerList(['1', 2.5, 'x']) => [1, 2, null]
    toFloatList(['1.5', 2, 'x']) => [1.5, 2.0, null]
    toBooleanList(['true', 0, 'x']) => [true, false, null]
    toStringList([1, true, {}]) => ['1', 'true', null]
    toInteger('42') => 42
    toInteger('9223372036854775807') => 9223372036854775807
    toInteger('9223372036854775808') => null
    toInteger('-9223372036854775809.0') => null
    toIntegerOrNull('42') => 42
    toFloat('1.5') => 1.5
    toFloat('-Infinity') => -Infinity
    toFloatOrNull('1.5') => 1.5
    toBoolean(' TRUE ') => true
    toBoolean('FALSE') => false
    toBooleanOrNull('TRUE') => true
    toString(12) => '12'
    toStringOrNull(12) => '12'
    toUpper('aß') => 'ASS'
    upper('aß') => 'ASS'
    toLower('ÀB') => 'àb'
    toLower('ΑΣ') => 'ας'
    lower('ÀB') => 'àb'
    trim('xax', 'x') => 'a'
    trim(' a ') => 'a'
    btrim('xax', 'x') => 'a'
    lTrim('xax', 'x') => 'ax'
    rTrim('xax', 'x') => 'xa'
    trim('xax', null) => null
    normalize('\u{c5}', 'nfd') => 'A\u{30a}'
    normalize('A\u{30a}') => '\u{c5}'
    normalize('A\u{30a}', 'NFC') => '\u{c5}'
    normalize('\u{fb01}', 'NFKC') => 'fi'
    normalize('\u{fb01}\u{c5}', 'NFKD') => 'fiA\u{30a}'
    normalize('a', 'NFX') => error ArgumentError
    replace('hello', 'l', 'w') => 'hewwo'
    replace('hello', '', 'w') => 'hello'
    substring('hello', 1, 2) => 'el'
    left('hello', 2) => 'he'
    right('hello', 2) => 'lo'
    split('a,b', ',') => ['a', 'b']
    split('a,b', null) => null
    split('a,b', [',', null]) => null
    split('aXYbXc', ['X', 'XY']) => ['a', 'b', 'c']
    split('a-;b;-c', [';', '-']) => ['a', '', 'b', '', 'c']
    abs(-3) => 3
    abs(-3.5) => 3.5
    sign(-2) => -1
    sign(-0.5) => -1
    sign(0.5) => 1
    ceil(1.2) => 2.0
    floor(1.8) => 1.0
    round(1.26, 1, 'DOWN') => 1.2
    sqrt(2) => 1.414214
    exp(1.5) => 4.481689
    log(10) => 2.302585
    log10(1000) => 3.0
    sin(0.5) => 0.479426
    cos(0.5) => 0.877583
    tan(0.5) => 0.546302
    cot(0.5) => 1.830488
    asin(0.5) => 0.523599
    acos(0.5) => 1.047198
    atan(0.5) => 0.463648
    atan2(1, 2) => 0.463648
    degrees(0.5) => 28.647890
    radians(90) => 1.570796
    haversin(0.5) => 0.061209
    pi() => 3.141593
    e() => 2.718282
    isNaN(NaN) => true
    isNaN(1.5) => false
    timestamp() => 1795309201000
    date('2020-02-29') => date({year: 2020, month: 2, day: 29})
    localtime('10:20') => localtime({hour: 10, minute: 20})
    time('10:20+01:00') => time({hour: 10, minute: 20, timezone: '+01:00'})
    localdatetime('2020-02-29T10:20') => localdatetime({year: 2020, month: 2, day: 29, hour: 10, minute: 20})
    datetime('2020-02-29T10:20Z') => datetime({year: 2020, month: 2, day: 29, hour: 10, minute: 20, timezone: 'Z'})
    date(localdatetime('2020-02-29T10:20')) => date('2020-02-29')
    duration('P1DT2S') => duration({days: 1, seconds: 2})
    duration(duration('P1D')) => duration('P1D')
    date.transaction('America/New_York') => date('2026-11-20')
    localtime.transaction('America/New_York') => localtime('19:00')
    time.transaction('+01:00') => time('01:00+01:00')
    localdatetime.transaction('+01:00') => localdatetime('2026-11-21T01:00')
    datetime.transaction('+01:00') => datetime('2026-11-21T01:00+01:00')
    datetime.transaction({timezone: '+01:00'}) => datetime('2026-11-21T01:00+01:00')
    date.statement('America/New_York') => date('2026-11-21')
    localtime.statement('+01:00') => localtime('02:00:01')
    time.statement('+01:00') => time('02:00:01+01:00')
    localdatetime.statement('+01:00') => localdatetime('2026-11-22T02:00:01')
    datetime.statement('+01:00') => datetime('2026-11-22T02:00:01+01:00')
    date() => date('2026-11-22')
    date({timezone: 'America/New_York'}) => date('2026-11-21')
    localtime() => localtime('01:00:01')
    date.truncate('month', date('2020-05-17'), {day: 3}) => date('2020-05-03')
    date.truncate('month') => date('2026-11-01')
    localtime.truncate('hour', localtime('10:20'), {minute: 3}) => localtime('10:03')
    time.truncate('hour', time('10:20+01:00'), {minute: 3}) => time('10:03+01:00')
    localdatetime.truncate('day', localdatetime('2020-05-17T10:20'), {hour: 3}) => localdatetime('2020-05-17T03:00')
    datetime.truncate('day', datetime('2020-05-17T10:20Z'), {hour: 3}) => datetime('2020-05-17T03:00Z')
    datetime.fromepoch(3, 5) => datetime('1970-01-01T00:00:03.000000005Z')
    datetime.fromepochmillis(1500) => datetime('1970-01-01T00:00:01.5Z')
    duration.between(date('2020-01-01'), date('2021-02-03')) => duration('P1Y1M2D')
    duration.inMonths(date('2020-01-01'), date('2021-02-03')) => duration('P13M')
    duration.inDays(date('2020-01-01'), date('2021-02-03')) => duration('P399D')
    duration.inSeconds(date('2020-01-01'), date('2021-02-03')) => duration('PT9576H')
    point({x: 1, y: 2}) => point({y: 2.0, x: 1.0})
    point(point({x: 1, y: 2})) => point({x: 1, y: 2})
    point.distance(point({x: 0, y: 0}), point({x: 3, y: 4})) => 5.0
    point.withinBBox(point({x: 1, y: 1}), point({x: 0, y: 0}), point({x: 2, y: 2})) => true
    vector.similarity.cosine([1, 2], [2, 3]) => 0.996139
    vector.similarity.cosine([2, 3], [-2, -3]) => 0.0
    vector.similarity.cosine([0, 0], [2, 3]) => error ArgumentError
    vector.similarity.cosine([1], [2, 3]) => error not 1 and 2
    vector.similarity.cosine([], []) => error ArgumentError
    vector.similarity.euclidean([1, 2.0], [2, 4]) => 0.166667
    vector.similarity.euclidean([1, null], [2, 4]) => error TypeError
    vector.similarity.euclidean([1, NaN], [2, 4]) => error TypeError
    character_length('häß') => 3
    char_length('häß') => 3
    typeOrder('a') => 2
    typeOrder(1.5) => 0
    typeOrder([1]) => 1
    valueType(1) => 'INTEGER NOT NULL'
";

/// Those whose values no line can tell, and that have a test of their own.
const UNTOLD: [Function; 11] = [
    Function::Rand,
    Function::RandomUuid,
    Function::LineNumber,
    Function::File,
    Function::IsNormalized,
    Function::IsTyped,
    Function::DateRealtime,
    Function::LocalTimeRealtime,
    Function::TimeRealtime,
    Function::LocalDateTimeRealtime,
    Function::DateTimeRealtime,
];

fn lines() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = VALUES.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| line.split_once(" => ").expect("a line of the table has an arrow"))
}

/// Over row 0; the transaction began at [`WALL_US`], the statement a day, an hour and a second later.
fn at_row(expr: &Expr) -> Result<Value, EvalError> {
    let town = super::town::Town::new();
    let statement_us = WALL_US + (25 * 3_600 + 1) * 1_000_000;
    let mut request = Request::fixed(parameters(), WALL_US, 7);
    request.statement_us = statement_us;
    let scope = Scope::new(&town, &request);
    let layout = Layout::new(&[Var(0), Var(1), Var(2), Var(3)]);
    compile(expr, &layout, &town, &request.parameters)?.evaluate_row(&rows::batch(), 0, &scope)
}

/// The same value and type; floats to the six digits that the table gives.
fn is_alike(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Float(found), Value::Float(expected)) if expected.is_finite() => {
            (found - expected).abs() < 1e-6
        }
        _ => Constant(found.clone()) == Constant(expected.clone()),
    }
}

#[test]
fn every_function_gives_its_value() {
    let mut faults = Vec::new();
    for (text, expected) in lines() {
        let found = at_row(&reader::read(text).unwrap());
        let is_right = match (expected.strip_prefix("error "), &found) {
            (Some(part), Err(error)) => error.message.contains(part) || error.code().ends_with(part),
            (None, Ok(found)) => is_alike(found, &at_row(&reader::read(expected).unwrap()).unwrap()),
            _ => false,
        };
        if !is_right {
            faults.push(format!("{text} gave {found:?}, not {expected}"));
        }
    }
    for function in Function::ALL.iter().filter(|function| !UNTOLD.contains(function)) {
        let call = format!("{}(", function.name());
        let is_told = |(text, expected): (&str, &str)| {
            text.starts_with(&call) && !["null", "error"].contains(&expected)
        };
        if !lines().any(is_told) {
            faults.push(format!("no line tells a value of {}", function.name()));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Kinds of values, in the order of the columns of `types.txt`.
const KINDS: [&str; 14] = [
    "null",
    "true",
    "2",
    "1.5",
    "'text'",
    "[1]",
    "{k: 1}",
    "date('2020-02-29')",
    "localtime('10:20')",
    "duration('P1D')",
    "point({x: 1, y: 2})",
    "@0",
    "@1",
    "path(@0, @1)",
];

/// One letter: a value, null (`-`), or the kind of error.
fn outcome(expr: &Expr) -> char {
    match at_row(expr) {
        Ok(Value::Null) => '-',
        Ok(_) => 'v',
        Err(error) => match error.class {
            ErrorClass::Type => 't',
            ErrorClass::Argument => 'a',
            ErrorClass::Arithmetic => 'o',
            ErrorClass::Syntax => 's',
            other => panic!("{other:?}: {error}"),
        },
    }
}

/// What each argument of each function, and each side of each operator, makes of each kind of value: a page that is read when it changes.
#[test]
fn every_argument_takes_what_the_page_says() {
    let kinds = KINDS.map(|kind| reader::read(kind).unwrap());
    let letters =
        |make: &dyn Fn(&Expr) -> Expr| -> String { kinds.iter().map(|kind| outcome(&make(kind))).collect() };
    let mut page = String::new();
    let mut told = Vec::new();
    for (text, expected) in lines() {
        let Ok(Expr::Call(function, arguments)) = reader::read(text) else { panic!("{text} is no call") };
        if told.contains(&(function, arguments.len())) || expected.starts_with("error") {
            continue;
        }
        told.push((function, arguments.len()));
        for at in 0..arguments.len() {
            let with = |kind: &Expr| {
                let mut arguments = arguments.clone();
                arguments[at] = kind.clone();
                Expr::Call(function, arguments)
            };
            writeln!(page, "{} {text}, {}", letters(&with), at + 1).unwrap();
        }
    }
    for operator in [U::Not, U::IsNull, U::IsNotNull, U::Negate, U::Plus] {
        let unary = |kind: &Expr| Expr::Unary(operator, Box::new(kind.clone()));
        writeln!(page, "{} {operator:?}", letters(&unary)).unwrap();
    }
    for operator in [
        B::And,
        B::Or,
        B::Xor,
        B::Equal,
        B::NotEqual,
        B::Less,
        B::GreaterEqual,
        B::In,
        B::StartsWith,
        B::EndsWith,
        B::Contains,
        B::Matches,
        B::Add,
        B::Subtract,
        B::Multiply,
        B::Divide,
        B::Modulo,
        B::Power,
    ] {
        for (left, name) in kinds.iter().zip(KINDS) {
            let binary = |right: &Expr| Expr::binary(operator, left.clone(), right.clone());
            writeln!(page, "{} {name} {operator:?}", letters(&binary)).unwrap();
        }
    }
    let held: Vec<&str> = include_str!("types.txt").lines().filter(|line| !line.starts_with('#')).collect();
    let found: Vec<&str> = page.lines().collect();
    if held != found {
        let new = found.iter().filter(|line| !held.contains(line)).map(|line| format!("+{line}\n"));
        let gone = held.iter().filter(|line| !found.contains(line)).map(|line| format!("-{line}\n"));
        panic!("types.txt is different:\n{}", gone.chain(new).collect::<String>());
    }
}

#[test]
fn operators_that_no_call_names() {
    let call = |function, arguments: &[&str]| {
        let arguments = arguments.iter().map(|text| reader::read(text).unwrap()).collect();
        at_row(&Expr::Call(function, arguments))
    };
    let normal = |arguments: &[&str]| call(Function::IsNormalized, arguments).unwrap();
    for (text, forms) in [
        ("'a'", ["NFC", "NFD", "NFKC", "NFKD"].as_slice()),
        ("'\u{c5}'", &["NFC", "NFKC"]),
        ("'A\u{30a}'", &["NFD", "NFKD"]),
        ("'\u{fb01}'", &["NFC", "NFD"]),
    ] {
        for form in ["NFC", "NFD", "NFKC", "NFKD"] {
            let found = normal(&[text, &format!("'{form}'")]).as_bool();
            assert_eq!(found, Some(forms.contains(&form)), "{text} {form}");
        }
        assert_eq!(normal(&[text]).as_bool(), Some(forms.contains(&"NFC")), "{text}");
    }
    assert!(normal(&["1"]).is_null() && normal(&["'a'", "null"]).is_null());
    assert!(call(Function::IsNormalized, &["'a'", "'NFX'"]).is_err());
    assert!(call(Function::IsTyped, &["'a'", "'no type'"]).is_err());
    for function in [Function::LineNumber, Function::File] {
        assert!(call(function, &[]).unwrap().is_null());
    }
    // As many arguments as the table says, or an error and no panic.
    for function in Function::ALL.iter().filter(|function| **function != Function::Coalesce) {
        let (least, most) = function.arity();
        for count in [least.checked_sub(1), most.checked_add(1)].into_iter().flatten() {
            let error = call(*function, &vec!["1"; count.min(9)]);
            assert!(count > 9 || error.is_err(), "{}: {error:?}", function.name());
        }
    }
}

#[test]
fn clocks_that_go_on() {
    let text = |us: u128| format!("localdatetime(datetime({{epochMillis: {}}}))", us / 1_000);
    let before = text(world::clock::wall_us().into());
    let value = |text: &str| at_row(&reader::read(text).unwrap()).unwrap();
    for (clock, kind) in [("localdatetime", "localdatetime"), ("datetime", "datetime")] {
        let between = format!("{before} <= localdatetime({clock}.realtime()) ");
        assert_eq!(value(&between).as_bool(), Some(true), "{between}");
        let late = format!("localdatetime({kind}.realtime()) <= {before} + duration('PT10M')");
        assert_eq!(value(&late).as_bool(), Some(true), "{late}");
    }
    for (clock, kind) in [("date", "DATE"), ("localtime", "LOCAL TIME"), ("time", "ZONED TIME")] {
        assert_eq!(
            value(&format!("valueType({clock}.realtime())")).as_str(),
            Some(&*format!("{kind} NOT NULL"))
        );
    }
    // Of one instant: what is left of it where the rest is cut off.
    assert_eq!(value("date.realtime() >= date('2026-01-01')").as_bool(), Some(true));
}

fn list(value: &Value) -> &[Value] {
    let Value::List(elements) = value else { panic!("{value:?} is no list") };
    elements
}

#[test]
fn chance_is_drawn_anew_each_time() {
    let value = |text: &str| at_row(&reader::read(text).unwrap()).unwrap();
    let drawn = value("[x IN range(1, 200) | rand()]");
    let drawn: Vec<f64> =
        list(&drawn).iter().map(|value| crate::operators::as_float(value).unwrap()).collect();
    assert!(drawn.iter().all(|float| (0.0..1.0).contains(float)));
    let mean = drawn.iter().sum::<f64>() / 200.0;
    assert!((0.4..0.6).contains(&mean) && drawn[0] != drawn[1], "{mean}");
    let uuids = value("[x IN range(1, 20) | randomUUID()]");
    let mut texts: Vec<String> =
        list(&uuids).iter().map(|value| value.as_str().unwrap().to_string()).collect();
    for text in &texts {
        let parts: Vec<&str> = text.split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{text}");
        assert!(text.chars().all(|letter| letter == '-' || letter.is_ascii_hexdigit()), "{text}");
        assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']), "{text}");
    }
    // Of all bits that chance gives, each is drawn both ways.
    let bit = |text: &str| u128::from_str_radix(&text.replace('-', ""), 16).unwrap();
    let (ones, zeros) =
        texts.iter().fold((0, 0), |(ones, zeros), text| (ones | bit(text), zeros | !bit(text)));
    let fixed: u128 = 0xF000 << 64 | 0b11 << 62;
    assert_eq!((ones | fixed, zeros | fixed), (u128::MAX, u128::MAX));
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 20);
}

/// A text that is no pattern by itself is none between the ends of the text either.
#[test]
fn patterns_stand_for_themselves() {
    for (text, expected) in [
        ("'abc' =~ 'a|ab|abc'", "true"),
        ("'foobar' =~ 'foo|bar'", "false"),
        ("'foo' =~ 'foo)|(?:bar'", "error"),
        ("'foo' =~ ')|('", "error"),
        ("'x\ny' =~ 'x.y'", "false"),
        ("'x\ny' =~ '(?s)x.y'", "true"),
    ] {
        let found = row(text, 0).map(|value| value.as_bool().unwrap().to_string());
        assert_eq!(found.unwrap_or("error".into()), expected, "{text}");
    }
}

#[test]
fn operators_are_shown_as_they_are_written() {
    let all = [
        (B::Or, "OR"),
        (B::Xor, "XOR"),
        (B::And, "AND"),
        (B::Equal, "="),
        (B::NotEqual, "<>"),
        (B::Less, "<"),
        (B::LessEqual, "<="),
        (B::Greater, ">"),
        (B::GreaterEqual, ">="),
        (B::In, "IN"),
        (B::StartsWith, "STARTS WITH"),
        (B::EndsWith, "ENDS WITH"),
        (B::Contains, "CONTAINS"),
        (B::Matches, "=~"),
        (B::Add, "+"),
        (B::Subtract, "-"),
        (B::Multiply, "*"),
        (B::Divide, "/"),
        (B::Modulo, "%"),
        (B::Power, "^"),
    ];
    all.iter().for_each(|(operator, text)| assert_eq!(crate::operators::symbol(*operator), *text));
}

#[test]
fn ranges_know_how_many_they_are() {
    for start in -3..=3_i64 {
        for end in -3..=3 {
            for step in [-4, -3, -2, -1, 1, 2, 3, 4] {
                let arguments = [start, end, step].map(Value::Int);
                let counting = crate::counting(&arguments).unwrap();
                let twin: Vec<i64> = (0..7)
                    .map(|at| start + at * step)
                    .take_while(|number| if step > 0 { *number <= end } else { *number >= end })
                    .collect();
                assert_eq!(counting.len(), twin.len() as i128, "{arguments:?}");
                assert_eq!(counting.collect::<Vec<_>>(), twin, "{arguments:?}");
            }
        }
    }
    let whole = crate::counting(&[i64::MIN, i64::MAX].map(Value::Int)).unwrap();
    assert_eq!(whole.len(), 1 << 64);
    assert!(crate::counting(&[1, 2, 0].map(Value::Int)).is_err());
}

/// At the limit it is a question of bytes; above it nobody asks.
#[test]
fn limits_hold_below_at_and_above() {
    use crate::functions::list::RANGE_ELEMENTS_MAX;
    use crate::operators::check_size;
    use dataflow::watch::{Limited, enter};
    let of = |elements: i128| {
        let _entered = enter(Limited::new(std::time::Duration::MAX, 1 << 20));
        let text = format!("range(1, {elements})");
        at_row(&reader::read(&text).unwrap()).map(|_| ()).map_err(|error| error.class)
    };
    assert_eq!(of(100), Ok(()));
    assert_eq!(of(RANGE_ELEMENTS_MAX), Err(ErrorClass::Stopped));
    assert_eq!(of(RANGE_ELEMENTS_MAX + 1), Err(ErrorClass::Limit));
    assert_eq!((check_size("a", 2, 3), check_size("a", 3, 3)), (Ok(()), Ok(())));
    let error = check_size("a List", 4, 3).unwrap_err();
    assert_eq!(
        (error.class, &*error.message),
        (ErrorClass::Limit, "a List would have size 4; the limit is 3")
    );
}

#[test]
fn columns_are_counted() {
    let layout = Layout::new(&[Var(3), Var(5)]);
    assert_eq!((layout.len(), layout.is_empty()), (2, false));
    assert_eq!((Layout::default().len(), Layout::default().is_empty()), (0, true));
    assert_ne!(layout, Layout::new(&[Var(3)]));
}

/// What reads the clock or chance is computed for each statement, though its arguments are constants.
#[test]
fn what_depends_on_the_statement_is_no_constant() {
    let town = super::town::Town::new();
    for function in Function::ALL {
        let name = function.name();
        let argument = if name.ends_with("truncate") { "'day'" } else { "" };
        let is_clock = matches!(
            function,
            Function::Date
                | Function::LocalTime
                | Function::Time
                | Function::LocalDateTime
                | Function::DateTime
        );
        let is_read = is_clock
            || ["transaction", "statement", "truncate", "timestamp", "rand", "randomUUID"]
                .iter()
                .any(|end| name.ends_with(end));
        if !is_read {
            continue;
        }
        let argument =
            if name == "localtime.truncate" || name == "time.truncate" { "'minute'" } else { argument };
        let mut texts = vec![format!("{name}({argument})")];
        if is_clock {
            texts.push(format!("{name}({{timezone: 'Asia/Tokyo'}})"));
        }
        for text in texts {
            let expr = reader::read(&text).unwrap();
            let compiled = compile(&expr, &Layout::default(), &town, &parameters()).unwrap();
            let at = |days: i64| {
                let hour_us = 3_600_000_000;
                let request = Request::fixed(parameters(), WALL_US + days * 25 * hour_us, days as u64);
                let unit = model::Batch::unit();
                compiled.evaluate_row(&unit, 0, &Scope::new(&town, &request)).unwrap()
            };
            assert_ne!(Constant(at(0)), Constant(at(400)), "{text}");
        }
    }
}

#[test]
fn types_are_asked_by_their_code() {
    let all =
        ["true", "1", "1.5", "'a'", "date('2020-01-01')", "duration('P1D')", "{a: 1}", "@0", "@1", "null"];
    for (code, (name, kind)) in plan::types::PLAIN_TYPES.iter().enumerate() {
        for not_null in [false, true] {
            for text in all {
                let parts = vec![Expr::literal(code as i64), Expr::literal(not_null)];
                let encoded = Expr::List(vec![Expr::List(parts)]);
                let value = reader::read(text).unwrap();
                let held = at_row(&value).unwrap();
                let expected = if held.is_null() { !not_null } else { held.value_type() == *kind };
                let found = at_row(&Expr::Call(Function::IsTyped, vec![value, encoded])).unwrap();
                assert_eq!(found.as_bool(), Some(expected), "{text} is {name}, not null {not_null}");
            }
        }
    }
}
