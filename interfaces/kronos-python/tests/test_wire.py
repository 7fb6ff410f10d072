"""The tables are those of the proto file, and messages are read as they were written."""

import pathlib
import random
import re

import pytest

from tanglewood_kronos import wire

PROTO = pathlib.Path(__file__).parents[3] / "docs" / "formats" / "kronos.proto"


def test_the_tables_are_those_of_the_proto_file():
    text = re.sub(r"//[^\n]*", "", PROTO.read_text())
    tables = {}
    for name, body in re.findall(r"message (\w+) \{([^}]*)\}", text):
        fields = re.findall(r"(repeated )?(\w+) (\w+) = (\d+);", body)
        tables[name] = {int(number): (field, repeated + kind) for repeated, kind, field, number in fields}
    assert wire.TABLES.keys() == tables.keys()
    for name, table in tables.items():
        # Fields that are not in a table are passed over; those that are must be as in the file.
        own = wire.TABLES[name]
        assert own.items() <= table.items(), name
        assert name == "StatsResponse" or own == table, name


def random_value(chance, kind):
    if kind.startswith("repeated "):
        return [random_value(chance, kind[9:]) for _ in range(chance.randrange(4))]
    if kind == "bool":
        return chance.random() < 0.5
    if kind == "string":
        return chance.choice(["", "a", "naïve", "x" * 200])
    if kind in ("Order", "Strength"):
        return chance.randrange(3)
    if kind in wire.TABLES:
        return {name: random_value(chance, one) for name, one in wire.TABLES[kind].values()}
    bits = 32 if kind == "uint32" else 64
    return chance.choice([0, 1, 127, 128, chance.getrandbits(bits), (1 << bits) - 1])


def test_messages_are_read_as_they_were_written():
    chance = random.Random(1)
    for _ in range(50):
        for name, table in wire.TABLES.items():
            values = {field: random_value(chance, kind) for field, kind in table.values()}
            values = {field: value for field, value in values.items() if not isinstance(value, dict)}
            read = wire.decode(name, wire.encode(name, values))
            assert {field: read[field] for field in values} == values


def test_known_bytes():
    request = {"count": 300, "caller": {"session": 7, "request": 1}}
    assert wire.encode("CreateEventsRequest", request) == b"\x08\xac\x02\x12\x04\x08\x07\x10\x01"
    pair = {"pairs": [{"first": 1, "second": 2}]}
    assert wire.encode("QueryOrderRequest", pair).hex() == "0a1209010000000000000011" + "0200000000000000"
    assert wire.decode("QueryOrderResponse", b"\x0a\x03\x00\x01\x02") == {"orders": [0, 1, 2]}
    assert wire.decode("QueryOrderResponse", b"\x08\x01\x08\x02\x78\x05") == {"orders": [1, 2]}


def test_what_is_no_message_is_refused():
    for data in [b"\x08", b"\x0a\x05\x01", b"\x0b", b"\x08" + b"\xff" * 11, b"\x09\x01"]:
        with pytest.raises(ValueError):
            wire.decode("QueryOrderResponse", data)
