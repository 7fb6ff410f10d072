"""Standing queries: answers that stay true, read as iterators, with ``for`` and with ``async for``."""

import asyncio
import collections
import concurrent.futures
import time

from ._native import Database
from .attach import method_of
from .graph import record_class

#: How long an asynchronous reader waits in a thread before it looks whether it was cancelled.
_LOOK_SECONDS = 0.25
#: Columns in front of those of the query: commit, time, difference, mark.
_OWN = 4


class Change:
    """A row that came (``difference`` is positive) or went (negative), in a commit.

    Behind the last row of a commit comes a change without a row: its ``mark`` is where to go on after an interruption.
    """

    __slots__ = ("commit", "time", "difference", "mark", "row")

    def __init__(self, commit, time, difference, mark, row):
        self.commit, self.time, self.difference, self.mark, self.row = commit, time, difference, mark, row

    def __repr__(self):
        if self.row is None:
            return "<Change commit=%d mark=%r>" % (self.commit, self.mark)
        return "<Change commit=%d %+d %r>" % (self.commit, self.difference, self.row)


class Subscription:
    """What changes of a standing query, from now on. It ends with ``close``, or with the database.

    ``for change in subscription`` waits for changes; ``subscription.next(timeout=1)`` waits so long and gives None if there was none;
    ``async for`` lets others run meanwhile. Changes without a row (marks) come only with ``marks=True``; ``subscription.mark`` is the last.
    """

    def __init__(self, session, result, marks):
        self._session, self._result, self._marks = session, result, marks
        #: The columns of the query.
        self.columns = tuple(result.columns[_OWN:])
        self._row = record_class(self.columns)
        self._waiting = collections.deque()
        # Of asynchronous readers: a thread, and what it waits for.
        self._thread, self._work = None, None
        #: Where to go on after the last commit whose rows were all handed out.
        self.mark = None

    def _pop(self):
        while True:
            try:
                commit, at, difference, mark, *values = self._waiting.popleft()
            except IndexError:
                return None
            if mark is not None or difference == 0:
                self.mark = mark
                if self._marks:
                    return Change(commit, at, 0, mark, None)
            else:
                return Change(commit, at, difference, None, self._row(values))

    def next(self, timeout=None):
        """The next change; None if none came in so many seconds.

        :raises StopIteration: the subscription was closed
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            change = self._pop()
            if change is not None:
                return change
            left = None if until is None else max(0.0, until - time.monotonic())
            result = self._result
            if result is None:
                raise StopIteration
            rows = result._wait(left)
            if rows is None:
                raise StopIteration
            self._waiting.extend(rows)
            if not rows and left is not None and time.monotonic() >= until:
                return None

    def __iter__(self):
        return self

    def __next__(self):
        return self.next()

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self._thread is None:
            self._thread = concurrent.futures.ThreadPoolExecutor(1, "tanglewood subscription")
        while True:
            if self._work is None:
                self._work = self._thread.submit(self._next_or_end)
            try:
                change = await asyncio.shield(asyncio.wrap_future(self._work))
            except asyncio.CancelledError:
                # What comes for who gave up waiting is for who waits next.
                raise
            except BaseException:
                self._work = None
                raise
            self._work = None
            if change is _END:
                raise StopAsyncIteration
            if change is not None:
                return change

    def _next_or_end(self):
        try:
            return self.next(_LOOK_SECONDS)
        except StopIteration:
            return _END

    def close(self):
        """Ends the subscription."""
        result, self._result = self._result, None
        if result is not None:
            result.close()
            self._session.close()
            if self._thread is not None:
                self._thread.shutdown(wait=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.close()


_END = object()


def quoted(name):
    """A name as Cypher takes any name."""
    return "`%s`" % name.replace("`", "``")


@method_of(Database)
def create_standing(self, name, text, *, retain=None):
    """Makes a standing query: its answer is kept true from now on. ``retain``: how long changes can be asked for again, such as ``"1h"``."""
    tail = " RETAIN %s" % retain if retain else ""
    self.query("CREATE STANDING QUERY %s AS %s%s" % (quoted(name), text, tail)).close()


@method_of(Database)
def drop_standing(self, name):
    """Ends a standing query and its subscriptions."""
    self.query("DROP STANDING QUERY %s" % quoted(name)).close()


@method_of(Database)
def subscribe(self, name, params=None, *, snapshot=False, after=None, marks=False):
    """Reads a standing query: what changes from now on.

    :param params: its arguments
    :param snapshot: its whole answer first
    :param after: a mark of an earlier subscription, or the number of a commit: what changed since comes first
    :param marks: give changes without a row, which have marks, too
    """
    params = dict(params or {})
    text = "SUBSCRIBE %s" % quoted(name)
    if after is not None:
        params["_after"] = after
        text += " FROM $_after"
    if snapshot:
        text += " SNAPSHOT"
    session = self.session()
    return Subscription(session, session.query(text, params), marks)
