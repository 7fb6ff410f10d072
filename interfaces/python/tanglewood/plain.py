"""Objects of other packages as plain ones, for parameters: numpy, pandas, polars, Arrow, UUID, enums, data classes.

None of these packages is imported here: an object is known by what it has.
"""

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import fractions
import uuid

from .values import Duration, Temporal


def plain(thing):
    """``(True, plain object, None)``, or ``(False, what is wrong, what to do)``."""
    kind = type(thing)
    root = kind.__module__.split(".")[0]
    if isinstance(thing, decimal.Decimal):
        return False, "a Decimal has no exact form in the graph", "use float(x), str(x), or an int of the smallest unit"
    if isinstance(thing, fractions.Fraction):
        return False, "a Fraction has no exact form in the graph", "use float(x), or two integers"
    if isinstance(thing, uuid.UUID):
        return True, str(thing), None
    if isinstance(thing, enum.Enum):
        return True, thing.value, None
    if root == "pandas":
        found = _pandas(thing, kind.__name__)
        if found is not None:
            return found
    if root == "numpy":
        return _numpy(thing, kind.__name__)
    if isinstance(thing, datetime.datetime):
        return True, datetime.datetime.combine(thing.date(), thing.timetz()), None
    if isinstance(thing, datetime.date):
        return True, datetime.date(thing.year, thing.month, thing.day), None
    if isinstance(thing, (datetime.time, datetime.timedelta)):
        return True, thing, None
    for name in ("to_pylist", "to_dicts", "to_list", "as_py"):  # Arrow, polars
        if root in ("pyarrow", "polars") and hasattr(thing, name):
            return True, getattr(thing, name)(), None
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = dataclasses.fields(thing)
        return True, {field.name: getattr(thing, field.name) for field in fields}, None
    if isinstance(thing, memoryview):
        return True, thing.tobytes(), None
    if isinstance(thing, collections.abc.Mapping):
        return True, dict(thing), None
    if isinstance(thing, (set, frozenset)):
        return False, "a set has no order, and the graph has no sets", "use list(x), or sorted(x)"
    if isinstance(thing, (range, collections.abc.Sequence)):
        return True, list(thing), None
    if isinstance(thing, complex):
        return False, "the graph has no complex numbers", "use [x.real, x.imag]"
    if isinstance(thing, collections.abc.Iterator):
        return False, "%s is an iterator, which is read once" % kind.__name__, "use list(x)"
    name = kind.__qualname__ if kind.__module__ == "builtins" else "%s.%s" % (kind.__module__, kind.__qualname__)
    hint = "use str, int, float, bool, bytes, a date or time, a list, or a dict of these"
    return False, "%s has no form in the graph" % name, hint


def _pandas(thing, name):
    if name in ("NAType", "NaTType"):
        return True, None, None
    if name == "Timestamp":
        if not thing.nanosecond:
            return True, thing.to_pydatetime(), None
        kind = "localdatetime" if thing.tzinfo is None else "datetime"
        return True, Temporal(kind, thing.isoformat()), None
    if name == "Timedelta":
        return _timedelta(thing.value)
    if name == "DataFrame":
        return True, thing.to_dict("records"), None
    if hasattr(thing, "tolist"):  # Series, Index, arrays
        return True, thing.tolist(), None
    return None


_SECOND = 1_000_000_000
#: Of the units of numpy.
_NANOSECONDS = {
    "W": 604_800 * _SECOND,
    "D": 86_400 * _SECOND,
    "h": 3_600 * _SECOND,
    "m": 60 * _SECOND,
    "s": _SECOND,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}


def _timedelta(nanoseconds):
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    days, seconds = divmod(seconds, 86_400)
    return True, Duration(0, days, seconds, rest), None


def _numpy(thing, name):
    if name == "datetime64":
        return _datetime64(thing)
    if name == "timedelta64":
        if str(thing) == "NaT":
            return True, None, None
        unit = str(thing.dtype).partition("[")[2].rstrip("]")
        if unit.endswith(("Y", "M")):
            months = int(thing.astype("timedelta64[M]").astype("int64"))
            return True, Duration(months), None
        name = unit.lstrip("0123456789")
        if name in _NANOSECONDS:
            # Long ones do not fit into 64 bits of nanoseconds.
            return _timedelta(int(thing.astype("int64")) * int(unit[: len(unit) - len(name)] or 1) * _NANOSECONDS[name])
        return _timedelta(int(thing.astype("timedelta64[ns]").astype("int64")))
    if name == "ndarray":
        if thing.dtype.kind in "mM":
            return True, list(thing), None
        if thing.dtype.kind == "c":
            return False, "the graph has no complex numbers", "use two arrays, x.real and x.imag"
        return True, thing.tolist(), None
    if name.startswith("complex"):
        return False, "the graph has no complex numbers", "use [x.real, x.imag]"
    if name == "void":
        return True, list(thing.item()), None
    return True, float(thing) if name in ("longdouble", "float128") else thing.item(), None


def _datetime64(thing):
    if str(thing) == "NaT":
        return True, None, None
    unit = str(thing.dtype).partition("[")[2].rstrip("]")
    if unit in ("Y", "M", "W", "D"):
        return True, Temporal("date", str(thing.astype("datetime64[D]"))), None
    return True, Temporal("localdatetime", str(thing)), None
