//! Tables of expressions and what they must give.

use super::check;

#[test]
fn three_valued_logic() {
    check(
        "
        true AND null => null
        false AND null => false
        null AND false => false
        null AND null => null
        true OR null => true
        null OR true => true
        null OR false => null
        true XOR null => null
        true XOR false => true
        NOT null => null
        NOT true => false
        false AND 1 / 0 = 1 => false
        true OR 1 / 0 = 1 => true
        true AND 1 => error TypeError
        NOT 'a' => error TypeError
        ",
    );
}

#[test]
fn equality_and_order() {
    check(
        "
        1 = 1.0 => true
        1 = '1' => false
        null = null => null
        null <> 1 => null
        NaN = NaN => false
        NaN <> NaN => true
        0.0 / 0.0 > 1 => false
        0.0 / 0.0 <= 1 => false
        0.0 / 0.0 > 'a' => null
        1 < 'a' => null
        'a' < 'b' => true
        'B' < 'a' => true
        false < true => true
        [1, 2] = [1, 2] => true
        [1, null] = [1, 2] => null
        [1, null] = [2, null] => false
        [1] = [1, null] => false
        [1, 2] < [1, 3] => true
        [1] < [1, 2] => true
        [1, null] < [1, 2] => null
        {a: 1, b: null} = {a: 1, b: 1} => null
        {a: 1} = {b: 1} => false
        9007199254740993 = 9007199254740992.0 => false
        date('2020-01-01') < date('2020-01-02') => true
        date('2020-01-01') < 1 => null
        duration('P1D') < duration('P2D') => null
        duration('P1D') = duration('PT24H') => false
        ",
    );
}

#[test]
fn arithmetic() {
    check(
        "
        1 + 2 => 3
        1 + 2.0 => 3.0
        7 / 2 => 3
        -7 / 2 => -3
        -7 % 3 => -1
        7 / 2.0 => 3.5
        2 ^ 3 => 8.0
        1 + null => null
        1.0 / 0 => Infinity
        1.0 % 0 => NaN
        1 / 0 => error ArithmeticError
        1 % 0 => error / by zero
        9223372036854775807 + 1 => error ArithmeticError
        -9223372036854775808 / -1 => error ArithmeticError
        -9223372036854775808 % -1 => 0
        9223372036854775807 * 2 => error does not fit
        -(-9223372036854775808) => error ArithmeticError
        'a' + 'b' => 'ab'
        'a' + 1 => 'a1'
        1.5 + 'a' => '1.5a'
        [1] + [2] => [1, 2]
        [1] + 2 => [1, 2]
        0 + [1] => [0, 1]
        [1] + null => null
        1 + true => error TypeError
        5.5 - 2 => 3.5
        7 - 2 => 5
        1.5 * 4 => 6.0
        7.5 / 2.5 => 3.0
        7.5 % 2 => 1.5
        7 % 4 => 3
        2.5 ^ 2 => 6.25
        4 ^ 0.5 => 2.0
        -(2.5) => -2.5
        +(3) => 3
        duration('P2D') - duration('P1D') => duration('P1D')
        duration('P2D') * 2 => duration('P4D')
        2 * duration('P2D') => duration('P4D')
        duration('P3D') / 2 => duration('P1DT12H')
        date('2020-01-02') - duration('P1D') => date('2020-01-01')
        duration('P1D') + date('2020-01-01') => date('2020-01-02')
        -(duration('P1D')) => duration('P-1D')
        'a' + 1.5 => 'a1.5'
        'a' + date('2020-01-01') => 'a2020-01-01'
        {a: 1} * 2 => error TypeError
        true - 1 => error TypeError
        ",
    );
}

#[test]
fn membership() {
    check(
        "
        1 IN [1, 2] => true
        3 IN [1, 2] => false
        3 IN [1, null] => null
        1 IN [1, null] => true
        null IN [] => false
        null IN [1] => null
        1.0 IN [1, 2] => true
        NaN IN [NaN] => false
        [1] IN [[1], [2]] => true
        [null] IN [[1]] => null
        [1, 2] IN [[1, null]] => null
        1 IN null => null
        1 IN 1 => error TypeError
        null IN [null] => null
        2 IN [1, NaN] => false
        NaN IN [1, null] => null
        'b' IN ['a', null] => null
        [1, 2] IN [[1, 2], null] => true
        {a: 1} IN [{a: 1.0}] => true
        {a: 1} IN [{a: 2}, null] => null
        point({x: 1, y: 2}) IN [point({x: 1, y: 2})] => true
        1 IN [] + 1 => true
        2 IN $list => true
        'a' IN ['b', 'a'] => true
        duration('P1D') IN [duration('PT24H')] => false
        ",
    );
}

#[test]
fn texts() {
    check(
        "
        'abc' STARTS WITH 'ab' => true
        'abc' ENDS WITH '' => true
        'abc' CONTAINS 'd' => false
        'abc' CONTAINS null => null
        1 STARTS WITH 'a' => null
        'abc' =~ 'a.c' => true
        'abcd' =~ 'abc' => false
        'ABC' =~ '(?i)abc' => true
        'ab' =~ 'a|ab' => true
        null =~ 'a' => null
        'a' =~ '(' => error Invalid regular expression
        toUpper('aß') => 'ASS'
        toLower('ÀB') => 'àb'
        trim('  a b ') => 'a b'
        ltrim(' a ') => 'a '
        rtrim(' a ') => ' a'
        left('hello', 2) => 'he'
        left('hello', 9) => 'hello'
        left('hello', -1) => error ArgumentError
        left(null, 1) => null
        right('hello', 2) => 'lo'
        right('hello', 9) => 'hello'
        substring('hello', 1) => 'ello'
        substring('hello', 1, 2) => 'el'
        substring('hello', 9) => ''
        substring('hello', -1) => error ArgumentError
        substring('hello', null) => error TypeError
        replace('hello', 'l', 'w') => 'hewwo'
        replace('hello', null, 'w') => null
        reverse('abc') => 'cba'
        split('a,b,,c', ',') => ['a', 'b', '', 'c']
        split('abc', '') => ['a', 'b', 'c']
        split('a,b;c', [',', ';']) => ['a', 'b', 'c']
        split(null, ',') => null
        size('häß') => 3
        char_length('abc') => 3
        toUpper(1) => error TypeError
        ",
    );
}

#[test]
fn conversions() {
    check(
        "
        toInteger('42') => 42
        toInteger(' 42 ') => 42
        toInteger('2.9') => 2
        toInteger('1e3') => 1000
        toInteger(-2.9) => -2
        toInteger('foo') => null
        toInteger('') => null
        toInteger(true) => 1
        toInteger([1]) => error TypeError
        toIntegerOrNull([1]) => null
        toFloat('1.5') => 1.5
        toFloat(2) => 2.0
        toFloat('inf') => null
        toFloat(true) => error TypeError
        toBoolean('TRUE') => true
        toBoolean('yes') => null
        toBoolean(0) => false
        toBoolean(1.5) => error TypeError
        toString(1) => '1'
        toString(1.0) => '1.0'
        toString(1.5e10) => '1.5E10'
        toString(1e7) => '1.0E7'
        toString(1234567.0) => '1234567.0'
        toString(0.001) => '0.001'
        toString(0.00012) => '1.2E-4'
        toString(true) => 'true'
        toString(null) => null
        toString([1]) => error TypeError
        toStringOrNull([1]) => null
        toString(date('2020-02-29')) => '2020-02-29'
        toString(point({x: 1, y: 2})) => 'point({x: 1.0, y: 2.0, crs: ''
        valueType(1) => 'INTEGER NOT NULL'
        valueType(null) => 'NULL'
        valueType([1, 2]) => 'LIST<INTEGER NOT NULL> NOT NULL'
        valueType([1, 'a', null]) => 'LIST<INTEGER | STRING> NOT NULL'
        "
        .replace("        toString(point({x: 1, y: 2})) => 'point({x: 1.0, y: 2.0, crs: ''\n", "")
        .as_str(),
    );
}

#[test]
fn numbers() {
    check(
        "
        abs(-3) => 3
        abs(-3.5) => 3.5
        abs(-9223372036854775808) => error ArithmeticError
        sign(-2) => -1
        sign(0.0) => 0
        ceil(1.2) => 2.0
        floor(-1.2) => -2.0
        round(1.5) => 2.0
        round(-1.5) => -1.0
        round(2.5) => 3.0
        round(0.49999999999999994) => 0.0
        round(3.14159, 2) => 3.14
        round(1.005, 2) => 1.01
        round(-1.55, 1) => -1.6
        round(9.99, 1) => 10.0
        round(1.249, 1, 'UP') => 1.3
        round(-1.25, 1, 'CEILING') => -1.2
        round(1.25, 1, 'FLOOR') => 1.2
        round(1.25, 1, 'HALF_DOWN') => 1.2
        round(1.25, 1, 'HALF_EVEN') => 1.2
        round(1.35, 1, 'HALF_EVEN') => 1.4
        round(1.29, 1, 'DOWN') => 1.2
        round(1.5, 0, 'NO') => error ArgumentError
        round(1.5, -1) => error ArgumentError
        round(null) => null
        round(-1.5, 0) => -1.0
        round(1.5, 0) => 2.0
        round(1.2501, 1, 'HALF_EVEN') => 1.3
        round(1.2501, 1, 'HALF_DOWN') => 1.3
        round(0.95, 1, 'HALF_UP') => 1.0
        round(-1.25, 1, 'FLOOR') => -1.3
        round(1.25, 1, 'CEILING') => 1.3
        round(1.2, 1, 'UP') => 1.2
        round(1.5, 324) => 1.5
        round(1.5, 325) => error ArgumentError
        round(1e300, 2) => 1e300
        sign(0) => 0
        sign(-0.0) => 0
        abs(9223372036854775807) => 9223372036854775807
        toFloat('+Infinity') => Infinity
        toFloat('Infinity') => Infinity
        toFloat('NaN') => NaN
        sqrt(16) => 4.0
        sqrt(-1) => NaN
        exp(0) => 1.0
        log(1) => 0.0
        log10(100) => 2.0
        atan2(0, 1) => 0.0
        degrees(pi()) => 180.0
        isNaN(0.0 / 0.0) => true
        haversin(0) => 0.0
        sqrt('a') => error TypeError
        ",
    );
}

#[test]
fn lists_and_maps() {
    check(
        "
        [1, 2, 3][0] => 1
        [1, 2, 3][-1] => 3
        [1, 2, 3][5] => null
        [1][null] => null
        [1]['a'] => error TypeError
        [1, 2, 3][1..] => [2, 3]
        [1, 2, 3][..-1] => [1, 2]
        [1, 2, 3][-2..9] => [2, 3]
        [1, 2, 3][2..1] => []
        [1, 2, 3][null..2] => null
        {a: 1}['a'] => 1
        {a: 1}.b => null
        {a: {b: 2}}.a.b => 2
        null.a => null
        (1).a => error TypeError
        head([]) => null
        last([1, 2]) => 2
        tail([1, 2, 3]) => [2, 3]
        reverse([1, 2]) => [2, 1]
        size([1, 2]) => 2
        size(null) => null
        size(1) => error TypeError
        isEmpty('') => true
        isEmpty({}) => true
        range(1, 3) => [1, 2, 3]
        range(3, 1, -2) => [3, 1]
        range(3, 1) => []
        range(1, 10, 4) => [1, 5, 9]
        range(0, 1, 0) => error ArgumentError
        range(0, 9223372036854775807) => error LimitExceeded
        range(9223372036854775806, 9223372036854775807) => [9223372036854775806, 9223372036854775807]
        keys({b: 1, a: 2}) => ['a', 'b']
        properties({a: 1}) => {a: 1}
        coalesce(null, 2, 1 / 0) => 2
        coalesce(null, null) => null
        nullIf(1, 1.0) => null
        nullIf(1, 2) => 1
        exists({a: 1}.a) => true
        $one + $one => 2
        $missing => error ParameterMissing
        {a: 1, b: 2}{.a, c: 3} => {a: 1, c: 3}
        {a: 1, b: 2}{.*, b: 5} => {a: 1, b: 5}
        ",
    );
}

#[test]
fn case_comprehensions_quantifiers_reduce() {
    check(
        "
        CASE 2 WHEN 1 THEN 'a' WHEN 2.0 THEN 'b' END => 'b'
        CASE null WHEN null THEN 1 ELSE 2 END => 2
        CASE WHEN null THEN 1 WHEN true THEN 2 END => 2
        CASE WHEN false THEN 1 END => null
        CASE WHEN 1 = 1 THEN 1 ELSE 1 / 0 END => 1
        [x IN [1, 2, 3] WHERE x > 1 | x * 2] => [4, 6]
        [x IN [1, 2]] => [1, 2]
        [x IN null | x] => null
        [x IN [1, 2] | [y IN [10, 20] | x + y]] => [[11, 21], [12, 22]]
        [x IN [1, null, 3] WHERE x > 1] => [3]
        any(x IN [1, null] WHERE x = 1) => true
        any(x IN [2, null] WHERE x = 1) => null
        any(x IN [] WHERE x = 1) => false
        all(x IN [1, null] WHERE x = 1) => null
        all(x IN [2, null] WHERE x = 1) => false
        all(x IN [] WHERE x = 1) => true
        none(x IN [2, null] WHERE x = 1) => null
        none(x IN [1, null] WHERE x = 1) => false
        none(x IN [2] WHERE x = 1) => true
        single(x IN [1, null] WHERE x = 1) => null
        single(x IN [1, 2] WHERE x = 1) => true
        single(x IN [1, 1, null] WHERE x = 1) => false
        reduce(s = 0, x IN [1, 2, 3] | s + x) => 6
        reduce(s = '', x IN [] | s + x) => ''
        reduce(s = 'a', x IN range(1, 99) | s + s) => error LimitExceeded
        reduce(s = [1], x IN range(1, 99) | s + s) => error LimitExceeded
        reduce(s = 'a', x IN range(1, 99) | replace(s, 'a', 'aaaa')) => error LimitExceeded
        reduce(s = 0, x IN null | s + x) => null
        reduce(s = 0, x IN [1, 2] | s + reduce(t = x, y IN [10] | t + y)) => 23
        ",
    );
}

#[test]
fn temporal_functions() {
    check(
        "
        toString(date({year: 1984, month: 10, day: 11})) => '1984-10-11'
        toString(date({year: 1817, week: 1, dayOfWeek: 2})) => '1816-12-31'
        toString(datetime('2015-06-24T12:50:35.556+0100')) => '2015-06-24T12:50:35.556+01:00'
        toString(datetime('2015-06-24T12:50:35.556+01:00[Europe/Stockholm]')) => '2015-06-24T12:50:35.556+02:00[Europe/Stockholm]'
        toString(date()) => '2026-11-21'
        toString(date({timezone: 'America/Los Angeles'})) => '2026-11-20'
        toString(datetime.transaction()) => '2026-11-21T00:00Z'
        timestamp() => 1795219200000
        toString(date('2020-01-31') + duration('P1M')) => '2020-02-29'
        toString(date('2020-03-01') - duration('P1D')) => '2020-02-29'
        toString(localtime('23:30') + duration('PT1H')) => '00:30'
        toString(duration('P1Y2M3DT4H5M6.789S')) => 'P1Y2M3DT4H5M6.789S'
        toString(duration('P1D') * 1.5) => 'P1DT12H'
        toString(duration({months: 0.75})) => 'P22DT19H51M49.5S'
        toString(duration.between(date('2015-06-24'), localdatetime('2015-07-21T21:40:32.142'))) => 'P27DT21H40M32.142S'
        toString(duration.inSeconds(datetime('2017-10-29T00:00[Europe/Stockholm]'), localdatetime('2017-10-29T04:00'))) => 'PT5H'
        date('2015-01-01').weekYear => 2015
        date('2015-01-01').nothing => error No such field
        duration('PT1M1S').secondsOfMinute => 1
        date(null) => null
        date('not a date') => error cannot be parsed
        datetime.fromepoch(0, 5).nanosecond => 5
        date.truncate('month', date('2020-05-17')).day => 1
        duration('P1D') = duration('P1D') => true
        date('2020-01-01') + 1 => error TypeError
        ",
    );
}

#[test]
fn points() {
    check(
        "
        point({x: 1, y: 2}).x => 1.0
        point({longitude: 13, latitude: 55}).srid => 4326
        point({x: 1, y: 2, z: 3}).crs => 'cartesian-3d'
        point({x: 0, y: 0}) = point({x: 0, y: 0}) => true
        point.distance(point({x: 0, y: 0}), point({x: 3, y: 4})) => 5.0
        point.distance(point({x: 0, y: 0}), point({longitude: 3, latitude: 4})) => null
        round(point.distance(point({longitude: 12.78, latitude: 56.7}), point({longitude: 12.78, latitude: 56.8}))) => 11132.0
        point.withinBBox(point({x: 1, y: 1}), point({x: 0, y: 0}), point({x: 2, y: 2})) => true
        point({x: 1}) => error needs x and y
        point({x: 1, y: null}) => null
        point({longitude: 1, latitude: 91}) => error ArgumentError
        ",
    );
}
