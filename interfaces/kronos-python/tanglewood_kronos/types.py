"""What callers say and hear: orders, constraints, figures. An event is an ``int``, which may be sent to other programs."""

from enum import IntEnum
from typing import List, NamedTuple


class Order(IntEnum):
    """How one event stands to another."""

    CONCURRENT = 0
    """Nobody has ordered the two yet. The only answer that may change."""
    BEFORE = 1
    """The first happens before the second."""
    AFTER = 2
    """The first happens after the second."""

    def reversed(self) -> "Order":
        """The same said of the second and the first."""
        return (Order.CONCURRENT, Order.AFTER, Order.BEFORE)[self]


class Strength(IntEnum):
    """How much a constraint insists."""

    MUST = 0
    """The call is refused if the order cannot be had."""
    PREFER = 1
    """The opposite order is accepted if it already holds."""


class Constraint(NamedTuple):
    """One pair of a batch of :meth:`Kronos.assign_order`. A plain tuple with words does as well: ``(a, "before", b, "must")``."""

    first: int
    order: Order
    second: int
    strength: Strength = Strength.MUST


class Assigned(NamedTuple):
    """What holds of a pair after its batch."""

    order: Order
    """The order that holds, for ever: ``BEFORE`` or ``AFTER``."""
    decided: bool
    """Whether this call decided it."""


class Stats(NamedTuple):
    """What a replica holds and did; see ``docs/formats/kronos.proto`` for each figure."""

    events: int = 0
    edges: int = 0
    references: int = 0
    sessions: int = 0
    created: int = 0
    collected: int = 0
    searches: int = 0
    visited: int = 0
    bytes: int = 0
    leader: str = ""
    leads: bool = False
    term: int = 0
    committed: int = 0
    applied: int = 0
    members: List[str] = []
    questions: int = 0
    confirmed: int = 0
    lag: int = 0
    slowest_lag: int = 0
    log_bytes: int = 0
