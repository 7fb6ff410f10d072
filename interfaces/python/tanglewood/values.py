"""Values that Python has no exact type for: durations with months, instants beyond its years and microseconds, points."""

import datetime

__all__ = ["Duration", "Temporal", "Point"]


class Duration:
    """Months, days, seconds and nanoseconds, which do not convert into each other.

    A duration that ``datetime.timedelta`` holds exactly comes as one; this class is for the others.
    """

    __slots__ = ("months", "days", "seconds", "nanoseconds")

    def __init__(self, months=0, days=0, seconds=0, nanoseconds=0):
        carried, nanoseconds = divmod(nanoseconds, 1_000_000_000)
        self.months, self.days, self.seconds, self.nanoseconds = months, days, seconds + carried, nanoseconds

    def _parts(self):
        return self.months, self.days, self.seconds, self.nanoseconds

    def __eq__(self, other):
        return self._parts() == other._parts() if isinstance(other, Duration) else NotImplemented

    def __hash__(self):
        return hash(self._parts())

    def __repr__(self):
        return "Duration(months=%d, days=%d, seconds=%d, nanoseconds=%d)" % self._parts()

    def to_timedelta(self):
        """As a ``datetime.timedelta``, cut to microseconds; a day counts 24 hours.

        :raises ValueError: it has months, which have no length in days
        """
        if self.months:
            raise ValueError("months have no length in days: %r" % self)
        micros = self.nanoseconds // 1_000
        return datetime.timedelta(days=self.days, seconds=self.seconds, microseconds=micros)


class Temporal:
    """An instant that Python's ``datetime`` cannot hold exactly: nanoseconds, or a year before 1 or after 9999.

    ``str()`` is its ISO 8601 text; ``kind`` is date, localtime, time, localdatetime or datetime.
    """

    __slots__ = ("kind", "_text")

    def __init__(self, kind, text):
        self.kind, self._text = kind, text

    def __str__(self):
        return self._text

    def __repr__(self):
        return "Temporal(%r, %r)" % (self.kind, self._text)

    def __eq__(self, other):
        same = isinstance(other, Temporal)
        return (self.kind, self._text) == (other.kind, other._text) if same else NotImplemented

    def __hash__(self):
        return hash((self.kind, self._text))


_SYSTEMS = {7203: "cartesian", 9157: "cartesian-3d", 4326: "wgs-84", 4979: "wgs-84-3d"}


class Point:
    """A point; ``srid`` is 7203 or 9157 (Cartesian, 2 or 3 dimensions), 4326 or 4979 (on the globe: x is the longitude)."""

    __slots__ = ("srid", "x", "y", "z")

    def __init__(self, srid, x, y, z=None):
        if srid not in _SYSTEMS:
            raise ValueError("srid is one of %s" % ", ".join(map(str, _SYSTEMS)))
        if (z is None) == (srid in (9157, 4979)):
            raise ValueError("%s takes %d coordinates" % (_SYSTEMS[srid], 3 if z is None else 2))
        self.srid, self.x, self.y = srid, float(x), float(y)
        self.z = None if z is None else float(z)

    def _parts(self):
        return self.srid, self.x, self.y, self.z

    def __eq__(self, other):
        return self._parts() == other._parts() if isinstance(other, Point) else NotImplemented

    def __hash__(self):
        return hash(self._parts())

    def __iter__(self):
        return iter(self._parts()[1:3] if self.z is None else self._parts()[1:])

    def __repr__(self):
        return "Point(%d, %r, %r%s)" % (self.srid, self.x, self.y, "" if self.z is None else ", %r" % self.z)


def zone(name):
    """The zone of a name; None where this machine does not know it."""
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


def zone_name(tzinfo):
    """The IANA name of a zone, where it has one (zoneinfo, pytz)."""
    name = getattr(tzinfo, "key", None) or getattr(tzinfo, "zone", None)
    return name if isinstance(name, str) else None
