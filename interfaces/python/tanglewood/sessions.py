"""Databases, sessions and answers: what is convenient, on top of what is native. Transactions by context and by function."""

import itertools
import random
import time

from ._native import Database, Result, Session
from .attach import method_of
from .errors import DataError, Error, InterfaceError

#: How long a function that is retried is tried again, in seconds.
RETRY_SECONDS = 30.0
_PAUSE_FIRST, _PAUSE_MAX = 0.001, 0.25


class Summary:
    """What a statement did: counters such as ``nodes_created``, ``commit``, ``elapsed``, ``plan``, ``notifications``."""

    def __init__(self, parts):
        self.__dict__.update(parts)

    @property
    def counters(self):
        """The counters that are not zero, as a dict."""
        names = ("_created", "_deleted", "_set", "_added", "_removed")
        return {name: count for name, count in self.__dict__.items() if name.endswith(names) and count}

    def __repr__(self):
        return "<Summary %s>" % (" ".join("%s=%d" % item for item in self.counters.items()) or "nothing changed")


class Transaction:
    """An open transaction. As a context it commits at the end, and rolls back if an error leaves it."""

    def __init__(self, session, read_only=False, timeout=None):
        self._session, self._open = session, True
        session.begin(read_only=read_only, timeout=timeout)

    def query(self, text, params=None, **limits):
        """Runs one statement in the transaction."""
        self._check()
        return self._session.query(text, params, **limits)

    def run(self, text, parameters=None, **named):
        """As ``query``; parameters may be given by name."""
        return self.query(text, _joined(parameters, named))

    def gremlin(self, text, bindings=None, **limits):
        """Runs a text of Gremlin in the transaction."""
        self._check()
        return self._session.gremlin(text, bindings, **limits)

    def commit(self):
        """Commits; returns the number of the commit."""
        self._check()
        self._open = False
        return self._session.commit()

    def rollback(self):
        """Forgets what the transaction did."""
        self._check()
        self._open = False
        self._session.rollback()

    def close(self):
        """Rolls back if it is open."""
        if self._open:
            self.rollback()

    @property
    def closed(self):
        """Was it committed or rolled back?"""
        return not self._open

    def _check(self):
        if not self._open:
            hint = "begin another one"
            raise InterfaceError("the transaction has ended", code="Tanglewood.ClientError.Interface.Ended", hint=hint)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if not self._open:
            return
        if kind is None:
            self.commit()
            return
        self._open = False
        if not self._session.closed:
            self._session.rollback()


def _joined(parameters, named):
    if not named:
        return parameters
    return {**(parameters or {}), **named}


@method_of(Session)
def run(self, text, parameters=None, **named):
    """As ``query``; parameters may be given by name, as with neo4j's driver."""
    return self.query(text, _joined(parameters, named))


@method_of(Session)
def transaction(self, *, read_only=False, timeout=None):
    """Begins a transaction: ``with session.transaction() as tx: tx.query(…)``. It is not retried."""
    return Transaction(self, read_only, timeout)


@method_of(Session)
def begin_transaction(self, **options):
    """As ``transaction``, in the words of neo4j's driver."""
    return Transaction(self, **options)


def _execute(session, read_only, function, args, kwargs):
    until, pause = time.monotonic() + RETRY_SECONDS, _PAUSE_FIRST
    while True:
        try:
            with Transaction(session, read_only) as tx:
                result = function(tx, *args, **kwargs)
                if isinstance(result, Result):
                    result.peek(2**62)  # it cannot be read behind the commit
            return result
        except Error as error:
            if not error.retryable or time.monotonic() + pause > until:
                raise
        time.sleep(pause * random.uniform(0.5, 1))
        pause = min(pause * 2, _PAUSE_MAX)


@method_of(Session)
def execute_write(self, function, *args, **kwargs):
    """Calls ``function(tx, …)`` in a transaction that is committed behind it, and again if another transaction was in the way."""
    return _execute(self, False, function, args, kwargs)


@method_of(Session)
def execute_read(self, function, *args, **kwargs):
    """Calls ``function(tx, …)`` in a transaction that only reads."""
    return _execute(self, True, function, args, kwargs)


def _enter(self):
    return self


def _exit(self, *_):
    self.close()


for _cls in (Database, Session, Result):
    _cls.__enter__, _cls.__exit__ = _enter, _exit


@method_of(Database)
def query(self, text, params=None, **limits):
    """Runs one statement in a session of its own."""
    return self.session().query(text, params, **limits)


@method_of(Database)
def gremlin(self, text, bindings=None, **limits):
    """Runs a text of Gremlin in a session of its own."""
    return self.session().gremlin(text, bindings, **limits)


@method_of(Database)
def datalog(self, program, params=None, **limits):
    """Runs a Datalog program, without the braces around it, in a session of its own."""
    return self.session().datalog(program, params, **limits)


@method_of(Database)
def execute_write(self, function, *args, **kwargs):  # noqa: F811
    """Calls ``function(tx, …)`` in a transaction of a session of its own; see ``Session.execute_write``."""
    with self.session() as session:
        return session.execute_write(function, *args, **kwargs)


@method_of(Database)
def execute_read(self, function, *args, **kwargs):  # noqa: F811
    """Calls ``function(tx, …)`` in a transaction that only reads."""
    with self.session() as session:
        return session.execute_read(function, *args, **kwargs)


@method_of(Database)
def __repr__(self):
    return "<Database %r%s>" % (self.path, " closed" if self.closed else "")


@method_of(Result)
def keys(self):
    """The names of the columns."""
    return list(self.columns)


@method_of(Result)
def data(self):
    """As ``dicts``, in the words of neo4j's driver."""
    return self.dicts()


@method_of(Result)
def single(self):
    """The only row.

    :raises DataError: there is none, or there are several
    """
    rows = self.peek(2)
    if len(rows) != 1:
        raise DataError(
            "expected one row, there %s" % ("are more" if rows else "is none"), code="Tanglewood.ClientError.Interface.Result"
        )
    return next(self)


@method_of(Result)
def value(self):
    """The first value of the only row."""
    return self.single()[0]


@method_of(Result)
def fetchone(self):
    """The next row, or None: DB-API."""
    return next(self, None)


@method_of(Result)
def fetchmany(self, size=1):
    """The next rows, at most so many: DB-API."""
    return list(itertools.islice(self, max(size, 0)))


@method_of(Result)
def fetchall(self):
    """All rows that are left; they are handed out: DB-API."""
    return list(self)


@method_of(Result)
def summary(self):
    """What the statement did; whole once its last row was read."""
    return Summary(self._summary())


@method_of(Result)
def consume(self):
    """Gives up the rows that are left, and tells what the statement did."""
    self.close()
    return self.summary()
