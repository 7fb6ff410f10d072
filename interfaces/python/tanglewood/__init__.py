"""Tanglewood: a graph database in this process, or one that runs elsewhere.

>>> import tanglewood
>>> db = tanglewood.connect(":memory:")
>>> db.query("CREATE (:Person {name: $name})", {"name": "Ada"}).summary().nodes_created
1
>>> db.query("MATCH (p:Person) RETURN p.name AS name").rows()
[('Ada',)]

``connect`` gives a database, ``.session()`` a session, ``.query(text, params)`` an answer: rows, dicts, Arrow, pandas, polars, networkx.
"""

from ._native import Database, Result, Session
from .errors import *  # noqa: F401,F403
from .errors import __all__ as _errors
from .graph import Node, Path, Record, Relationship
from .values import Duration, Point, Temporal
from . import drawing, frames, importing, notebook, sessions, standing  # noqa: F401  (they give the classes their methods)
from .aio import AsyncResult, AsyncSession
from .connecting import connect
from .drawing import Drawing
from .importing import ImportReport, Nodes, Relationships
from .sessions import Summary, Transaction
from .standing import Change, Subscription

__version__ = "0.1.0"

# DB-API 2.0
apilevel = "2.0"
threadsafety = 3
paramstyle = "named"

__all__ = [
    "connect",
    "Database",
    "Session",
    "Result",
    "Transaction",
    "Summary",
    "Record",
    "Node",
    "Relationship",
    "Path",
    "Duration",
    "Temporal",
    "Point",
    "Subscription",
    "Change",
    "AsyncSession",
    "AsyncResult",
    "Nodes",
    "Relationships",
    "ImportReport",
    "Drawing",
] + _errors
