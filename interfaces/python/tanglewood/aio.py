"""Sessions for asyncio: what waits, waits in a thread of the session, and others run meanwhile.

``async with db.async_session() as session: result = await session.query(…)``. A task that is cancelled ends its statement.
"""

import asyncio
import concurrent.futures
import threading

from ._native import Database
from .attach import method_of

_END = object()


class AsyncResult:
    """The answer of a statement: ``async for row in result``, ``await result.rows()``."""

    def __init__(self, session, result):
        self._session, self._result = session, result

    @property
    def columns(self):
        """The names of the columns."""
        return self._result.columns

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self._result._ready:
            await self._session._call(self._result.peek, 1)
        # Nothing to wait for: rows are there, or there are none.
        row = next(self._result, _END)
        if row is _END:
            raise StopAsyncIteration
        return row

    async def close(self):
        """Gives up the rows that are left."""
        await self._session._call(self._result.close)


def _later(name):
    async def method(self, *args, **kwargs):
        return await self._session._call(lambda: getattr(self._result, name)(*args, **kwargs))

    method.__name__, method.__doc__ = name, "As ``Result.%s``." % name
    return method


for _name in (
    "rows dicts data peek single value fetchone fetchmany fetchall summary consume "
    "to_arrow to_pandas to_polars to_networkx to_edge_index draw"
).split():
    setattr(AsyncResult, _name, _later(_name))


class AsyncSession:
    """A session for asyncio; its statements run one after the other, in a thread of its own."""

    def __init__(self, database):
        self._session = database.session()
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "tanglewood session")
        # The call that the thread works at, so that a task which gives up ends its own.
        self._lock, self._current = threading.Lock(), None

    async def _call(self, function, *args):
        own = object()

        def work():
            with self._lock:
                self._current = own
            try:
                return function(*args)
            finally:
                with self._lock:
                    self._current = None

        future = self._thread.submit(work)
        waiting = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            # What did not begin never does. What runs is ended, and waited for: the next statement finds the session free.
            if not future.cancel():
                await self._ended(own, waiting)
            raise

    async def _ended(self, own, waiting):
        while not waiting.done():
            with self._lock:
                if self._current is own:
                    self._session.interrupt()
            try:
                await asyncio.wait([waiting], timeout=0.02)
            except asyncio.CancelledError:
                pass  # It is told so already.
        if not waiting.cancelled():
            waiting.exception()

    async def query(self, text, params=None, **limits):
        """Runs one statement."""
        result = await self._call(lambda: self._session.query(text, params, **limits))
        return AsyncResult(self, result)

    async def run(self, text, parameters=None, **named):
        """As ``query``; parameters may be given by name."""
        return AsyncResult(self, await self._call(lambda: self._session.run(text, parameters, **named)))

    async def gremlin(self, text, bindings=None, **limits):
        """Runs a text of Gremlin."""
        return AsyncResult(self, await self._call(lambda: self._session.gremlin(text, bindings, **limits)))

    async def datalog(self, program, params=None, **limits):
        """Runs a Datalog program."""
        return AsyncResult(self, await self._call(lambda: self._session.datalog(program, params, **limits)))

    async def begin(self, **options):
        """Begins a transaction."""
        begun = []
        try:
            await self._call(lambda: begun.append(self._session.begin(**options)))
        except asyncio.CancelledError:
            if begun:
                # Nobody would end it.
                await self._surely(self._session.rollback)
            raise

    async def _surely(self, function):
        """Calls it, also if the task is cancelled once more."""
        await asyncio.shield(asyncio.ensure_future(self._call(function)))

    async def commit(self):
        """Commits the open transaction; returns the number of the commit."""
        return await self._call(self._session.commit)

    async def rollback(self):
        """Forgets the open transaction."""
        await self._call(self._session.rollback)

    def transaction(self, **options):
        """``async with session.transaction(): …``: commits at the end, rolls back if an error leaves it."""
        return _AsyncTransaction(self, options)

    async def close(self):
        """Ends the session."""
        self._session.close()
        self._thread.shutdown(wait=False)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.close()


class _AsyncTransaction:
    def __init__(self, session, options):
        self._session, self._options = session, options

    async def __aenter__(self):
        await self._session.begin(**self._options)
        return self._session

    async def __aexit__(self, kind, error, trace):
        if kind is None:
            began = []
            try:
                await self._session._call(lambda: (began.append(True), self._session._session.commit()))
            except asyncio.CancelledError:
                if not began:
                    await self._session._surely(self._session._session.rollback)
                raise
        elif not self._session._session.closed:
            await self._session._surely(self._session._session.rollback)


@method_of(Database)
def async_session(self):
    """A session for asyncio."""
    return AsyncSession(self)
