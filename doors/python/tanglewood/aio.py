"""Sessions for asyncio: what waits, waits in a thread of the session, and others run meanwhile.

``async with db.async_session() as session: result = await session.query(…)``. A task that is cancelled ends its statement.
"""

import asyncio
import concurrent.futures

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
    "to_arrow to_pandas to_polars to_networkx to_edge_index"
).split():
    setattr(AsyncResult, _name, _later(_name))


class AsyncSession:
    """A session for asyncio; its statements run one after the other, in a thread of its own."""

    def __init__(self, database):
        self._session = database.session()
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "tanglewood session")

    async def _call(self, function, *args):
        work = asyncio.get_running_loop().run_in_executor(self._thread, function, *args)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            # What runs is ended, and waited for: the next statement finds the session free.
            while not work.done():
                self._session.interrupt()
                await asyncio.wait([work], timeout=0.02)
            work.exception()
            raise

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
        await self._call(lambda: self._session.begin(**options))

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
            await self._session.commit()
        elif not self._session._session.closed:
            await self._session.rollback()


@method_of(Database)
def async_session(self):
    """A session for asyncio."""
    return AsyncSession(self)
