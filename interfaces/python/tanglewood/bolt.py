"""A database that runs elsewhere, over Bolt: the same sessions and answers, by neo4j's driver (``pip install neo4j``).

What a server has not: Gremlin, imports and backups by this package (`tanglewood import` and the Gremlin door do them), a query's own limit
of memory, and nodes as parameters.
"""

import datetime
import itertools

from . import errors, sessions, standing
from ._native import Database, Result, Session
from .errors import NotSupportedError
from .frames import _package
from .graph import Node, Path, Relationship, record_class
from .plain import plain
from .values import Duration, Point, Temporal

#: Nodes of a server are of no database of this process.
_HOME = 0
_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


def is_address(text):
    """Is it the address of a server?"""
    return text.split("://")[0] in _SCHEMES


def _not_here(what, hint):
    return NotSupportedError(
        "%s is not done over Bolt" % what, code="Tanglewood.ClientError.Interface.Bolt", hint=hint
    )


class _Told:
    """Errors of the driver as those of this package."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        import neo4j.exceptions as of_driver

        if isinstance(error, of_driver.Neo4jError):
            message, _, hint = (error.message or "").partition("\nhint: ")
            raise errors.of(error.code or "", message, hint or None, None, error.is_retryable()) from error
        if isinstance(error, of_driver.DriverError):
            raise errors.OperationalError(str(error), code="Tanglewood.ClientError.Interface.Driver") from error


_told = _Told()


def _outgoing(value, path):
    """A parameter as the driver has it."""
    if value is None or isinstance(value, (bool, int, float, str, bytes, bytearray)):
        return value
    if isinstance(value, (list, tuple)):
        return [_outgoing(item, "%s[%d]" % (path, at)) for at, item in enumerate(value)]
    if isinstance(value, dict):
        return {key: _outgoing(item, "%s.%s" % (path, key)) for key, item in value.items()}
    import neo4j.spatial
    import neo4j.time

    if isinstance(value, Duration):
        months, days, seconds, nanoseconds = value._parts()
        return neo4j.time.Duration(months=months, days=days, seconds=seconds, nanoseconds=nanoseconds)
    if isinstance(value, Point):
        point = neo4j.spatial.CartesianPoint if value.srid in (7203, 9157) else neo4j.spatial.WGS84Point
        return point(tuple(value))
    if isinstance(value, (Node, Relationship, Path)):
        raise _unfit(path, "it is no parameter over Bolt", "send its id or element_id, and look it up")
    if type(value) in (datetime.datetime, datetime.date, datetime.time, datetime.timedelta):
        return value
    if isinstance(value, Temporal):
        raise _unfit(path, "it is no parameter over Bolt", "send str(x), and make it by %s($x)" % value.kind)
    fits, made, hint = plain(value)
    if not fits:
        raise _unfit(path, made, hint)
    return _outgoing(made, path) if type(made) is not type(value) else made


def _unfit(path, message, hint):
    code = "Tanglewood.ClientError.Interface.Parameter"
    return errors.ParameterError("parameter %s: %s" % (path, message), code=code, hint=hint)


def _incoming(value):
    """A value of the driver as this package has it."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, list):
        return [_incoming(item) for item in value]
    if isinstance(value, dict):
        return {key: _incoming(item) for key, item in value.items()}
    kind = type(value)
    if kind.__module__.startswith("neo4j.time"):
        return _instant(value, kind.__name__)
    if kind.__module__.startswith("neo4j.spatial") or kind.__name__.endswith("Point"):
        return Point(value.srid, *value)
    if hasattr(value, "labels"):
        return Node(_HOME, _number(value), value.element_id, tuple(sorted(value.labels)), _incoming(dict(value.items())))
    if hasattr(value, "relationships"):
        return Path(tuple(map(_incoming, value.nodes)), tuple(map(_incoming, value.relationships)))
    ends = (_number(value.start_node), _number(value.end_node))
    return Relationship(_HOME, _number(value), value.element_id, value.type, ends, _incoming(dict(value.items())))


def _number(entity):
    return int(entity.element_id.rpartition(":")[2])


def _instant(value, name):
    if name == "Duration":
        months, days, seconds, nanoseconds = value.months, value.days, value.seconds, value.nanoseconds
        if not months and 0 <= seconds < 86_400 and nanoseconds % 1_000 == 0:
            return datetime.timedelta(days=days, seconds=seconds, microseconds=nanoseconds // 1_000)
        return Duration(months, days, seconds, nanoseconds)
    if name == "Date" or value.nanosecond % 1_000 == 0:
        return value.to_native()
    zoned = value.tzinfo is not None
    kind = {"Time": ("localtime", "time"), "DateTime": ("localdatetime", "datetime")}[name][zoned]
    return Temporal(kind, value.iso_format())


class BoltResult:
    """The answer of a statement; see ``Result``."""

    def __init__(self, result):
        with _told:
            self._result, self.columns = result, tuple(result.keys())
        self._kept, self._record, self._closed, self._told = [], record_class(self.columns), False, None

    def _more(self, count):
        if self._closed:
            raise errors.InterfaceError("the result is closed", code="Tanglewood.ClientError.Interface.Misused")
        with _told:
            while len(self._kept) < count:
                record = next(iter(self._result), None)
                if record is None:
                    break
                self._kept.append(tuple(map(_incoming, record.values())))

    def __iter__(self):
        return self

    def __next__(self):
        self._more(1)
        if not self._kept:
            raise StopIteration
        return self._record(self._kept.pop(0))

    def peek(self, count):
        """Up to ``count`` rows that are left, as tuples; they stay."""
        self._more(count)
        return self._kept[:count]

    def rows(self):
        """All rows that are left, as tuples."""
        self._more(float("inf"))
        return list(self._kept)

    def dicts(self):
        """All rows that are left, as dicts."""
        return [dict(zip(self.columns, row)) for row in self.rows()]

    def _flat(self):
        self._more(float("inf"))
        return [False] * len(self.columns)

    def _column(self, at):
        return [row[at] for row in self.rows()]

    def _wait(self, seconds=None):
        if seconds is not None:
            raise _not_here("waiting for a bounded time", "read in a thread of its own")
        self._more(1)
        rows, self._kept = self._kept, []
        return rows or None

    @property
    def _ready(self):
        return len(self._kept)

    def _summary(self):
        if self._told is None:
            self._more(float("inf")) if not self._closed else None
            with _told:
                self._told = self._result.consume()
        counters = self._told.counters
        names = [name + end for name in ("nodes", "relationships") for end in ("_created", "_deleted")]
        names += ["properties_set", "labels_added", "labels_removed"]
        names += [name + end for name in ("indexes", "constraints") for end in ("_added", "_removed")]
        milliseconds = (self._told.result_available_after or 0, self._told.result_consumed_after or 0)
        parts = {name: getattr(counters, name) for name in names}
        objects = getattr(self._told, "gql_status_objects", None)
        if objects is None:
            notes = [(note.get("title"), note.get("description")) for note in self._told.notifications or ()]
        else:
            notes = [(one.gql_status, one.status_description) for one in objects if one.is_notification]
        parts.update(first_after=milliseconds[0] / 1e3, elapsed=sum(milliseconds) / 1e3, notifications=notes)
        return {**parts, "commit": None, "plan": (self._told.plan or {}).get("args", {}).get("string-representation"), "said": None}

    def close(self):
        """Gives up the rows that are left."""
        if not self._closed:
            self._closed, self._kept = True, []
            with _told:
                self._told = self._result.consume()


class BoltSession:
    """One client's conversation with a server; see ``Session``."""

    def __init__(self, driver, options):
        self._driver, self._options = driver, options
        self._session, self._transaction, self.closed = driver.session(**options), None, False

    def _open(self):
        if self.closed:
            raise errors.InterfaceError("the session is closed", code="Tanglewood.ClientError.Interface.Misused")
        return self._session

    def query(self, text, params=None, *, timeout=None, memory=None, read_only=False):
        """Runs one statement of Cypher, or a Datalog program in braces."""
        import neo4j

        if memory is not None:
            raise _not_here("a limit of memory", "start the server with --query-memory")
        params = {name: _outgoing(value, "$" + name) for name, value in dict(params or {}).items()}
        session = self._open()
        with _told:
            if self._transaction is not None:
                return BoltResult(self._transaction.run(text, params))
            query = neo4j.Query(text, timeout=timeout)
            if read_only:
                return BoltResult(self._driver.session(default_access_mode=neo4j.READ_ACCESS, **self._options).run(query, params))
            return BoltResult(session.run(query, params))

    def datalog(self, program, params=None, **limits):
        """Runs a Datalog program, without the braces around it."""
        return self.query("DATALOG {%s\n}" % program, params, **limits)

    def gremlin(self, text, bindings=None, **limits):
        raise _not_here("Gremlin", "start the server with --gremlin, and use gremlinpython")

    def begin(self, *, read_only=False, timeout=None):
        """Begins a transaction."""
        with _told:
            if read_only:
                self._session.close()
                self._session = self._driver.session(default_access_mode="READ", **self._options)
            self._transaction, self._is_reading = self._open().begin_transaction(timeout=timeout), read_only

    def _end(self, how):
        transaction, self._transaction = self._transaction, None
        if transaction is None:
            code = "Neo.ClientError.Transaction.TransactionNotFound"
            raise errors.of(code, "no transaction is open", "begin one first", None, False)
        try:
            with _told:
                getattr(transaction, how)()
        finally:
            if self._is_reading:
                self._session.close()
                self._session = self._driver.session(**self._options)

    def commit(self):
        """Commits the open transaction."""
        self._end("commit")

    def rollback(self):
        """Forgets the open transaction."""
        self._end("rollback")

    @property
    def in_transaction(self):
        """Is a transaction open?"""
        return self._transaction is not None

    def interrupt(self):
        """Ends what this session runs now, and the session: its connection is given up."""
        self._session.cancel()

    def close(self):
        """Forgets the open transaction, and serves nothing any more."""
        if not self.closed:
            self.closed, self._transaction = True, None
            with _told:
                self._session.close()


class BoltDatabase:
    """A database that a server has open; see ``Database``."""

    def __init__(self, address, user=None, password=None, database=None, **options):
        neo4j = _package("neo4j", "connect(%r)" % address)
        self.path, self.closed = address, False
        self._options = {} if database is None else {"database": database}
        auth = None if user is None else (user, password)
        with _told:
            self._driver = neo4j.GraphDatabase.driver(address, auth=auth, **options)
            self._driver.verify_connectivity()

    def session(self):
        """A session; sessions are not shared by threads."""
        if self.closed:
            raise errors.InterfaceError("the database is closed", code="Tanglewood.ClientError.Interface.Misused")
        return BoltSession(self._driver, self._options)

    def gremlin(self, text, bindings=None, **limits):
        return self.session().gremlin(text)

    def close(self):
        """Closes the connections."""
        if not self.closed:
            self.closed = True
            self._driver.close()


def _share(cls, native, modules):
    """Gives a class the methods that its native sister has from Python."""
    names = {module.__name__ for module in modules}
    for name, member in vars(native).items():
        if getattr(member, "__module__", None) in names and name not in vars(cls):
            setattr(cls, name, member)


def _shared():
    from . import drawing, frames, notebook

    for cls, native in ((BoltResult, Result), (BoltSession, Session), (BoltDatabase, Database)):
        _share(cls, native, (drawing, frames, notebook, sessions, standing))
    # The way of records, not of iterators that a `for` makes anew.
    BoltResult.fetchmany = lambda self, size=1: list(itertools.islice(self, max(size, 0)))


_shared()
