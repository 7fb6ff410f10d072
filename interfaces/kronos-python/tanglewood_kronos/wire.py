"""The messages of ``docs/formats/kronos.proto``, written and read by hand: a table a message, one writer and one reader.

Fields are as Protocol Buffers have them: a varint with number and kind, then the value. A field that is zero or empty is left out;
fields that are not in a table are passed over, so that a later server is understood.
"""

import struct
from typing import Any, Dict, List, Tuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

# Kinds of fields: bool, uint32, uint64, enum; fixed64s, enums and strings are repeated; a message is the name of its table.
Table = Dict[int, Tuple[str, str]]

TABLES: Dict[str, Table] = {
    "Caller": {1: ("session", "uint64"), 2: ("request", "uint64")},
    "CreateEventsRequest": {1: ("count", "uint32"), 2: ("caller", "Caller")},
    "CreateEventsResponse": {1: ("events", "repeated fixed64")},
    "AcquireRefsRequest": {1: ("events", "repeated fixed64"), 2: ("caller", "Caller")},
    "AcquireRefsResponse": {},
    "ReleaseRefsRequest": {1: ("events", "repeated fixed64"), 2: ("caller", "Caller")},
    "ReleaseRefsResponse": {1: ("collected", "uint64")},
    "Pair": {1: ("first", "fixed64"), 2: ("second", "fixed64")},
    "QueryOrderRequest": {1: ("pairs", "repeated Pair")},
    "QueryOrderResponse": {1: ("orders", "repeated Order")},
    "Constraint": {1: ("first", "fixed64"), 2: ("order", "Order"), 3: ("second", "fixed64"), 4: ("strength", "Strength")},
    "AssignOrderRequest": {1: ("constraints", "repeated Constraint"), 2: ("caller", "Caller")},
    "Assigned": {1: ("order", "Order"), 2: ("decided", "bool")},
    "AssignOrderResponse": {1: ("assigned", "repeated Assigned")},
    "StatsRequest": {},
    "StatsResponse": {
        1: ("events", "uint64"),
        2: ("edges", "uint64"),
        3: ("references", "uint64"),
        4: ("sessions", "uint64"),
        5: ("created", "uint64"),
        6: ("collected", "uint64"),
        7: ("searches", "uint64"),
        8: ("visited", "uint64"),
        9: ("bytes", "uint64"),
        10: ("leader", "string"),
        11: ("leads", "bool"),
        12: ("term", "uint64"),
        13: ("committed", "uint64"),
        14: ("applied", "uint64"),
        15: ("members", "repeated string"),
        16: ("questions", "uint64"),
        17: ("confirmed", "uint64"),
        18: ("lag", "uint64"),
        19: ("slowest_lag", "uint64"),
        20: ("log_bytes", "uint64"),
    },
    "OpenSessionRequest": {1: ("lease_ms", "uint32")},
    "OpenSessionResponse": {1: ("session", "uint64")},
    "KeepAliveRequest": {1: ("session", "uint64")},
    "KeepAliveResponse": {},
    "CloseSessionRequest": {1: ("session", "uint64")},
    "CloseSessionResponse": {},
    "ChangeMembersRequest": {1: ("address", "string"), 2: ("remove", "bool")},
    "ChangeMembersResponse": {},
}

_NUMBERS = {"bool", "uint32", "uint64", "Order", "Strength"}


def varint(value: int, out: bytearray) -> None:
    """Writes a number in as many bytes as it needs."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def encode(message: str, values: Dict[str, Any]) -> bytes:
    """The bytes of a message, from the values of its fields."""
    out = bytearray()
    for number, (name, kind) in TABLES[message].items():
        value = values.get(name)
        if not value:
            continue
        one, repeated = _parted(kind)
        if one == "fixed64" and repeated:
            _head(number, BYTES, out)
            varint(8 * len(value), out)
            out += struct.pack("<%dQ" % len(value), *value)
        elif one == "fixed64":
            _head(number, FIXED64, out)
            out += struct.pack("<Q", value)
        elif one in _NUMBERS and repeated:
            packed = bytearray()
            for part in value:
                varint(int(part), packed)
            _head(number, BYTES, out)
            varint(len(packed), out)
            out += packed
        elif one in _NUMBERS:
            _head(number, VARINT, out)
            varint(int(value), out)
        else:
            for part in value if repeated else [value]:
                part = part.encode() if one == "string" else encode(one, part)
                _head(number, BYTES, out)
                varint(len(part), out)
                out += part
    return bytes(out)


def decode(message: str, data: bytes) -> Dict[str, Any]:
    """The values of a message's fields; those that were left out are zero or empty.

    Raises ``ValueError`` where the bytes are no such message.
    """
    table = TABLES[message]
    found: Dict[str, Any] = {}
    for name, kind in table.values():
        found[name] = [] if kind.startswith("repeated") else "" if kind == "string" else False if kind == "bool" else 0
    at, end = 0, len(data)
    while at < end:
        head, at = _varint_at(data, at)
        number, form = head >> 3, head & 7
        value: Any
        if form == VARINT:
            value, at = _varint_at(data, at)
        elif form == FIXED64 or form == FIXED32:
            size = 8 if form == FIXED64 else 4
            value, at = data[at : at + size], at + size
        elif form == BYTES:
            size, at = _varint_at(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise ValueError("a field of an unknown form")
        if at > end:
            raise ValueError("a message that is cut off")
        if number in table:
            _put(found, *table[number], form, value)
    return found


def _put(found: Dict[str, Any], name: str, kind: str, form: int, value: Any) -> None:
    one, repeated = _parted(kind)
    if one == "fixed64":
        values = [part for (part,) in struct.iter_unpack("<Q", value)]
    elif one in _NUMBERS:
        values = [value] if form == VARINT else _varints(value)
        values = [bool(part) for part in values] if one == "bool" else values
    elif one == "string":
        values = [value.decode()]
    else:
        values = [decode(one, value)]
    if repeated:
        found[name].extend(values)
    elif values:
        found[name] = values[-1]


def _parted(kind: str) -> Tuple[str, bool]:
    return (kind[9:], True) if kind.startswith("repeated ") else (kind, False)


def _head(number: int, form: int, out: bytearray) -> None:
    varint(number << 3 | form, out)


def _varint_at(data: bytes, at: int) -> Tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
    raise ValueError("a message that is cut off")


def _varints(data: bytes) -> List[int]:
    values, at = [], 0
    while at < len(data):
        value, at = _varint_at(data, at)
        values.append(value)
    return values
