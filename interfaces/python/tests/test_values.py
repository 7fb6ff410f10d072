"""Values there and back: what is exact comes back as it went."""

import datetime as dt
import decimal
import enum
import math
import random
import uuid
import zoneinfo

import pytest

import tanglewood
from tanglewood import Duration, Point, Temporal

UTC = dt.timezone.utc


def back(db, value):
    return db.query("RETURN $x AS x", {"x": value}).value()


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -1,
        2**63 - 1,
        -(2**63),
        0.0,
        -1.5,
        1e308,
        math.inf,
        "",
        "a",
        "zero \0 and 🦀",
        "x" * 100_000,
        b"",
        b"\0\xff",
        [],
        [1, "a", None, [2.5, []]],
        {},
        {"a": 1, "b": {"c": [None]}, "": 2},
        dt.date(1, 1, 1),
        dt.date(9999, 12, 31),
        dt.time(0, 0),
        dt.time(23, 59, 59, 999999),
        dt.time(12, 0, tzinfo=UTC),
        dt.time(12, 0, tzinfo=dt.timezone(dt.timedelta(hours=-5, minutes=-30))),
        dt.datetime(1, 1, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
        dt.datetime(2024, 2, 29, 12, 30, tzinfo=UTC),
        dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))),
        dt.datetime(2024, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo("Europe/Stockholm")),
        dt.timedelta(0),
        dt.timedelta(days=-1, seconds=5),
        dt.timedelta(days=3, microseconds=1),
        Duration(months=14, days=3, seconds=4, nanoseconds=5),
        Duration(seconds=90_000),
        Temporal("date", "+12345-01-01"),
        Temporal("localdatetime", "2024-01-01T00:00:00.000000001"),
        Temporal("localtime", "00:00:00.123456789"),
        Point(7203, 1, 2),
        Point(9157, 1, 2, 3),
        Point(4326, 13.0, 52.5),
    ],
)
def test_values_come_back(db, value):
    found = back(db, value)
    assert found == value and type(found) is type(value)
    assert back(db, [value]) == [value]
    assert back(db, {"k": value}) == {"k": value}


def test_zones_keep_their_names_and_both_folds(db):
    stockholm = zoneinfo.ZoneInfo("Europe/Stockholm")
    for fold in (0, 1):
        value = dt.datetime(2024, 10, 27, 2, 30, tzinfo=stockholm, fold=fold)
        found = back(db, value)
        assert found.tzinfo.key == "Europe/Stockholm"
        assert found.utcoffset() == value.utcoffset() and found == value
        assert db.query("RETURN $x.timezone", {"x": value}).value() == "Europe/Stockholm"


def test_nan_comes_back(db):
    assert math.isnan(back(db, math.nan))


def test_values_of_the_database(db):
    one = lambda text: db.query("RETURN %s AS x" % text).value()
    assert one("date('2024-02-29')") == dt.date(2024, 2, 29)
    assert one("duration('P1D')") == dt.timedelta(days=1)
    assert one("duration('P1M')") == Duration(months=1)
    assert one("localdatetime('2024-01-01T00:00:00.5')") == dt.datetime(2024, 1, 1, microsecond=500000)
    assert str(one("datetime('2024-01-01T00:00:00.123456789Z')")) == "2024-01-01T00:00:00.123456789Z"
    assert one("point({x: 1, y: 2})") == Point(7203, 1, 2)


class Colour(enum.Enum):
    RED = "red"


def test_things_that_are_made_plain(db):
    import collections
    import dataclasses

    @dataclasses.dataclass
    class Person:
        name: str
        tags: list

    some = uuid.UUID(int=7)
    assert back(db, some) == str(some)
    assert back(db, Colour.RED) == "red"
    assert back(db, (1, 2)) == [1, 2]
    assert back(db, range(3)) == [0, 1, 2]
    assert back(db, bytearray(b"ab")) == b"ab" == back(db, memoryview(b"ab"))
    assert back(db, Person("Ada", [Colour.RED])) == {"name": "Ada", "tags": ["red"]}
    assert back(db, collections.OrderedDict(a=some)) == {"a": str(some)}
    assert back(db, collections.deque([1])) == [1]


def test_numpy(db):
    np = pytest.importorskip("numpy")
    for value in (np.int8(-3), np.uint64(7), np.float32(0.5), np.float64(0.1), np.bool_(True), np.str_("a"), np.bytes_(b"b")):
        assert back(db, value) == value.item()
    assert back(db, np.arange(3)) == [0, 1, 2]
    assert back(db, np.array([[1.5, 2.0], [3.0, 4.0]])) == [[1.5, 2.0], [3.0, 4.0]]
    assert back(db, np.array(["a", None], dtype=object)) == ["a", None]
    assert back(db, np.array([], dtype=np.int64)) == []
    assert back(db, np.datetime64("2024-01-02")) == dt.date(2024, 1, 2)
    assert back(db, np.datetime64("2024-01-02T03:04:05.000000")) == dt.datetime(2024, 1, 2, 3, 4, 5)
    assert str(back(db, np.datetime64("2024-01-02T03:04:05.123456789"))).endswith("05.123456789")
    assert back(db, np.datetime64("NaT")) is None is back(db, np.timedelta64("NaT"))
    assert back(db, np.timedelta64(90, "s")) == dt.timedelta(seconds=90)
    assert back(db, np.timedelta64(2, "Y")) == Duration(months=24)
    assert back(db, np.array(["2024-01-02", "NaT"], dtype="datetime64[D]")) == [dt.date(2024, 1, 2), None]
    with pytest.raises(tanglewood.ParameterError):
        back(db, np.array([1j]))
    with pytest.raises(tanglewood.ParameterError, match="too large"):
        back(db, np.uint64(2**63))


def test_pandas_and_arrow(db):
    pd = pytest.importorskip("pandas")
    assert back(db, pd.Timestamp("2024-01-01 12:00")) == dt.datetime(2024, 1, 1, 12)
    assert str(back(db, pd.Timestamp("2024-01-01T00:00:00.000000001"))).endswith("000000001")
    assert back(db, pd.NaT) is None is back(db, pd.NA)
    assert back(db, pd.Timedelta(days=1, nanoseconds=1)) == Duration(days=1, nanoseconds=1)
    assert back(db, pd.Series([1, 2])) == [1, 2]
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    assert db.query("UNWIND $rows AS row RETURN row.a, row.b", {"rows": frame}).rows() == [(1, "x"), (2, "y")]
    pa = pytest.importorskip("pyarrow")
    assert back(db, pa.array([1, None])) == [1, None] and back(db, pa.scalar(3)) == 3


def deep(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


class Odd:
    pass


@pytest.mark.parametrize(
    "value, path, hint",
    [
        (decimal.Decimal("1.5"), "$x:", "float(x)"),
        ([1, {"price": decimal.Decimal(2)}], "$x[1].price:", "float(x)"),
        ({"a": [{"b": Odd()}]}, "$x.a[0].b:", "a list"),
        ({"a": {1: 2}}, "$x.a:", "str(key)"),
        ({1, 2}, "$x:", "list(x)"),
        (2**63, "$x:", "float(x)"),
        ([-(2**63) - 1], "$x[0]:", "float(x)"),
        ("\ud800", "$x:", "bytes"),
        (1j, "$x:", "real"),
        (iter([1]), "$x:", "list(x)"),
        (dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(microseconds=1))), "$x:", "whole seconds"),
        (deep(500), "$x", "flatten"),
    ],
)
def test_what_does_not_fit_is_named_with_its_path(db, value, path, hint):
    with pytest.raises(tanglewood.ParameterError) as caught:
        back(db, value)
    assert path in str(caught.value) and hint in caught.value.hint
    assert isinstance(caught.value, TypeError)


def test_a_list_in_itself_is_refused(db):
    endless = []
    endless.append(endless)
    with pytest.raises(tanglewood.ParameterError):
        back(db, endless)
    assert back(db, deep(128)) == deep(128)
    with pytest.raises(tanglewood.ParameterError):
        back(db, deep(129))


def test_parameters_are_a_dict(db):
    for wrong in ([1], "x", 5, {1: 2}):
        with pytest.raises(tanglewood.ParameterError):
            db.query("RETURN 1", wrong)
    with pytest.raises(tanglewood.ProgrammingError, match=r"\$name"):
        db.query("RETURN $name")


def test_nodes_are_parameters(people):
    node, edge = people.query("MATCH (a {name: 'Mary'})-[r]->() RETURN a, r").single()
    assert people.query("MATCH (n) WHERE n = $n RETURN n.name", {"n": node}).value() == "Mary"
    assert people.query("MATCH ()-[r]->() WHERE r = $r RETURN r.since", {"r": edge}).value() == 1834
    with tanglewood.connect(":memory:") as other:
        with pytest.raises(tanglewood.ParameterError, match="another database"):
            other.query("RETURN $n", {"n": [node]})


def a_value(random, depth):
    kinds = [
        lambda: None,
        lambda: random.choice([True, False]),
        lambda: random.randint(-(2**63), 2**63 - 1),
        lambda: random.uniform(-1e9, 1e9),
        lambda: "".join(chr(random.choice([random.randint(0, 0xD7FF), random.randint(0xE000, 0x10FFFF)])) for _ in range(5)),
        lambda: random.randbytes(random.randint(0, 9)),
        lambda: dt.datetime.min + dt.timedelta(microseconds=random.randint(0, 10**17 * 3)),
        lambda: dt.timedelta(microseconds=random.randint(-(10**17), 10**17)),
    ]
    if depth:
        kinds.append(lambda: [a_value(random, depth - 1) for _ in range(random.randint(0, 3))])
        kinds.append(lambda: {str(key): a_value(random, depth - 1) for key in range(random.randint(0, 3))})
    return random.choice(kinds)()


def test_random_values_come_back(db):
    chance = random.Random(7)
    with db.session() as session:
        for _ in range(500):
            value = a_value(chance, 4)
            assert session.query("RETURN $x AS x", {"x": value}).value() == value


@pytest.mark.parametrize("count, unit, days", [(200_000, "D", 200_000), (-200_000, "D", -200_000), (30_000, "W", 210_000), (3, "25h", 3)])
def test_long_durations_of_numpy(db, count, unit, days):
    np = pytest.importorskip("numpy")
    text = "RETURN $d = duration({days: $days, hours: $hours})"
    hours = 3 if unit == "25h" else 0
    given = {"d": np.timedelta64(count, unit), "days": days, "hours": hours}
    assert db.query(text, given).value() is True
