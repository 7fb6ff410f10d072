"""Kronos: which of two events happened first, as far as anybody has said.

    from tanglewood_kronos import Kronos, Order

    with Kronos("127.0.0.1:7700") as kronos:
        question, answer, other = kronos.create_events(3)
        kronos.assign_order([(question, "before", answer, "must")])
        assert kronos.query_order([(answer, question)]) == [Order.AFTER]
        assert kronos.query_order([(answer, other)]) == [Order.CONCURRENT]

A client holds a session, whose lease is renewed in the background; calls go to another replica where one cannot answer, and are carried out once
however often they are sent; pairs that are ordered are remembered, since that can never change.
"""

from .client import BATCH_MAX, CACHED_PAIRS_MAX, Kronos
from .errors import (
    Contradiction,
    Exhausted,
    Forbidden,
    InvalidArgument,
    KronosError,
    NoEvent,
    OtherError,
    Precondition,
    SessionOver,
    Unauthenticated,
    Unavailable,
)
from .types import Assigned, Constraint, Order, Stats, Strength

__all__ = [
    "Assigned",
    "BATCH_MAX",
    "CACHED_PAIRS_MAX",
    "Constraint",
    "Contradiction",
    "Exhausted",
    "Forbidden",
    "InvalidArgument",
    "Kronos",
    "KronosError",
    "NoEvent",
    "Order",
    "OtherError",
    "Precondition",
    "SessionOver",
    "Stats",
    "Strength",
    "Unauthenticated",
    "Unavailable",
]
__version__ = "0.1.0"
