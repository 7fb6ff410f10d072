"""The client: one session, the calls, failover, request numbers, a cache, the lease renewed in the background."""

import contextlib
import threading
import time
import weakref
from collections import deque
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import grpc

from . import wire
from .errors import InvalidArgument, KronosError, OtherError, SessionOver, Unavailable, from_call
from .types import Assigned, Constraint, Order, Stats, Strength

BATCH_MAX = 1 << 16
"""Events, pairs or constraints of one call; the server's limit."""
CACHED_PAIRS_MAX = 1 << 18
"""Pairs that a client remembers, if not said otherwise."""
REPLICAS_MAX = 64
"""Addresses that a client knows: those it was given, and leaders that were named to it."""

_MESSAGE_BYTES_MAX = 4 << 20
_OPEN_MAX = 64  # requests whose answers the server keeps for a session
_OPEN_ITEMS_MAX = BATCH_MAX  # events and orders in those answers
_ATTEMPT_SECONDS = 1.0  # how long a replica may be silent before another is asked; doubled with every try
_ATTEMPT_SECONDS_MAX = 8.0
_PAUSE_SECONDS = 0.01  # between two tries when nobody leads; doubled
_PAUSE_SECONDS_MAX = 0.2
_RENEWALS_PER_LEASE = 3
_LEASE_SECONDS_MAX = 86_400.0  # the server's limit
_SECONDS_MAX = 1e9  # any longer is for ever
_LEADER_KEY = "kronos-leader"
_SERVICE = "/kronos.v1.Kronos/"
_PASSING = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.UNKNOWN,
}
_ORDERS: Dict[Any, Order] = {name: order for order in (Order.BEFORE, Order.AFTER) for name in (order, order.name.lower())}
_STRENGTHS: Dict[Any, Strength] = {name: one for one in Strength for name in (one, one.name.lower())}

ConstraintLike = Union[Constraint, Tuple[int, Union[Order, str], int, Union[Strength, str]]]


class Kronos:
    """A client of the service. May be used by several threads at once; they share its session.

    :param replicas: ``"host:port"``, or several. One is enough; with all of them the client outlives the one it knows.
    :param token: what the server asks for.
    :param tls_ca: certificates (PEM) that the servers' are checked against; with them the connection is wrapped in TLS.
    :param tls_name: the name in the servers' certificates, if it is not the host of their addresses.
    :param lease: seconds that the session, and the references it holds, outlive the client's last sign of life: 1 to 86,400.
    :param patience: seconds that a call is tried at all replicas before :class:`Unavailable` is raised.
    :param cached_pairs: ordered pairs that are remembered; 0 asks every time.
    :param spread: ask a different replica with each question of orders, so that all of them share the work.
    """

    def __init__(
        self,
        replicas: Union[str, Sequence[str]],
        *,
        token: Optional[str] = None,
        tls_ca: Optional[bytes] = None,
        tls_name: Optional[str] = None,
        lease: float = 30.0,
        patience: float = 15.0,
        cached_pairs: int = CACHED_PAIRS_MAX,
        spread: bool = False,
    ) -> None:
        lease = min(max(_seconds("lease", lease), 1.0), _LEASE_SECONDS_MAX)
        patience = _seconds("patience", patience)
        cached_pairs = _count("the number of cached pairs", cached_pairs)
        addresses = [replicas] if isinstance(replicas, (str, bytes)) else _list("replicas", replicas)
        self._replicas = _Replicas(addresses, token, tls_ca, tls_name, patience)
        self._window = _Window()
        self._cache = _Cache(cached_pairs)
        self._spread = spread
        self._over = threading.Event()
        try:
            opened = self._replicas.call("OpenSession", {"lease_ms": int(lease * 1000)})
        except BaseException:
            self._replicas.close()
            raise
        self._session: int = opened["session"]
        pause = lease / _RENEWALS_PER_LEASE
        renew = threading.Thread(
            target=_renew,
            args=(weakref.ref(self), self._over, pause),
            name="kronos-lease",
            daemon=True,
        )
        renew.start()

    def __enter__(self) -> "Kronos":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends the session: its references are released. If nobody answers, the lease ends it."""
        if self._replicas.is_closed:
            return
        self._over.set()
        try:
            self._replicas.call("CloseSession", {"session": self._session})
        except (SessionOver, Unavailable):
            pass
        finally:
            self._replicas.close()

    @property
    def is_over(self) -> bool:
        """Whether the session's lease is over, so that its references are gone. Questions of orders still work."""
        return self._over.is_set()

    @property
    def cached_pairs(self) -> int:
        """Ordered pairs that are remembered."""
        return len(self._cache)

    def create_events(self, count: int) -> List[int]:
        """New events, concurrent with all others, each with one reference of this session."""
        if _count("the number of events", count) >= 1 << 32:
            raise InvalidArgument("the number of events is 0 to %d" % BATCH_MAX)
        return self._numbered("CreateEvents", count, {"count": count})["events"]

    def create_event(self) -> int:
        """One new event."""
        return self.create_events(1)[0]

    @contextlib.contextmanager
    def events(self, count: int) -> Iterator[List[int]]:
        """New events that are released at the end of the ``with`` block."""
        made = self.create_events(count)
        try:
            yield made
        finally:
            if not self.is_over:
                self.release_refs(made)

    def acquire_refs(self, events: Sequence[int]) -> None:
        """One more reference of this session to each event, so that it lives on when others release theirs."""
        self._numbered("AcquireRefs", 1, {"events": _events(events)})

    def release_refs(self, events: Sequence[int]) -> int:
        """One reference of this session less to each event. Returns how many events the service collected."""
        return self._numbered("ReleaseRefs", 1, {"events": _events(events)})["collected"]

    def query_order(self, pairs: Sequence[Tuple[int, int]]) -> List[Order]:
        """How the first event of each pair stands to the second. Pairs that are known to be ordered are not asked again."""
        try:
            pairs = [(first, second) for first, second in pairs]
        except (TypeError, ValueError):
            raise InvalidArgument("write pairs as (event, event)") from None
        _events(event for pair in pairs for event in pair)
        orders: List[Optional[Order]] = [self._cache.get(*pair) for pair in pairs]
        unknown = [at for at, order in enumerate(orders) if order is None]
        if unknown:
            asked = [{"first": pairs[at][0], "second": pairs[at][1]} for at in unknown]
            answered = self._replicas.call("QueryOrder", {"pairs": asked}, self._spread)["orders"]
            _complete(unknown, answered)
            for at, answer in zip(unknown, answered):
                order = orders[at] = Order(answer)
                self._cache.put(*pairs[at], order)
        return orders  # type: ignore[return-value]

    def assign_order(self, constraints: Sequence[ConstraintLike]) -> List[Assigned]:
        """Orders pairs: first all that must, then those preferred, each kind in its order; all or none. Returns the order that
        then holds of each. A constraint is ``(a, "before", b, "must")``, or a :class:`Constraint`."""
        batch = [_constraint(at, one) for at, one in enumerate(_list("constraints", constraints))]
        request = {"constraints": [one._asdict() for one in batch]}
        answered = self._numbered("AssignOrder", len(batch), request)["assigned"]
        _complete(batch, answered)
        assigned = [Assigned(Order(one["order"]), one["decided"]) for one in answered]
        for constraint, one in zip(batch, assigned):
            self._cache.put(constraint.first, constraint.second, one.order)
        return assigned

    def stats(self) -> Stats:
        """What the replica that is asked holds and did."""
        return Stats(**self._replicas.call("Stats", {}))

    def change_members(self, address: str, remove: bool = False) -> None:
        """A replica joins the group, or leaves it: ``address`` is where the others reach it."""
        self._replicas.call("ChangeMembers", {"address": address, "remove": remove})

    def _numbered(self, method: str, items: int, request: Dict[str, Any]) -> Dict[str, Any]:
        if self.is_over:
            raise SessionOver("the session is over; make a new client", "session")
        number = self._window.begin(items)
        try:
            request["caller"] = {"session": self._session, "request": number}
            return self._replicas.call(method, request)
        except SessionOver:
            self._over.set()
            raise
        finally:
            self._window.end(number)


def _renew(client: "weakref.ref[Kronos]", over: threading.Event, pause: float) -> None:
    """Renews the lease while the client lives and its session is not over."""
    while not over.wait(pause):
        alive = client()
        if alive is None:
            return
        try:
            alive._replicas.call("KeepAlive", {"session": alive._session})
        except SessionOver:
            over.set()
        except (KronosError, ValueError):
            pass  # The next try, or the next call, will say more.
        del alive


def _seconds(name: str, value: Any) -> float:
    if not isinstance(value, (int, float)) or value != value:
        raise InvalidArgument("%s is a number of seconds" % name)
    return float(min(value, _SECONDS_MAX))


def _count(name: str, value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise InvalidArgument("%s is a whole number from 0 on" % name)
    return value


def _list(name: str, value: Any) -> List[Any]:
    try:
        return list(value)
    except TypeError:
        raise InvalidArgument("%s is a list" % name) from None


def _events(events: Any) -> List[int]:
    events = _list("events", events)
    if not all(isinstance(event, int) and 0 <= event < 1 << 64 for event in events):
        raise InvalidArgument("events are whole numbers of 64 bits")
    return events


def _constraint(at: int, one: ConstraintLike) -> Constraint:
    try:
        first, order, second, strength = one
        order, strength = _ORDERS[order], _STRENGTHS[strength]
    except (KeyError, TypeError, ValueError):
        what = "constraint %d: write (event, 'before' or 'after', event, 'must' or 'prefer')" % at
        raise InvalidArgument(what, at=at) from None
    first, second = _events((first, second))
    return Constraint(first, order, second, strength)


def _complete(asked: Sequence[Any], answered: Sequence[Any]) -> None:
    if len(asked) != len(answered):
        raise OtherError("the server answered %d of %d pairs" % (len(answered), len(asked)))


class _Replicas:
    """The replicas, which one to ask, and asking another when that one cannot answer."""

    def __init__(
        self,
        addresses: List[str],
        token: Optional[str],
        tls_ca: Optional[bytes],
        tls_name: Optional[str],
        patience: float,
    ) -> None:
        if not 1 <= len(addresses) <= REPLICAS_MAX:
            raise InvalidArgument("name 1 to %d replicas, each as host:port" % REPLICAS_MAX)
        for address in addresses:
            host, _, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
            if not host or set(host) & set("/@?# ") or not port.isdigit() or int(port) > 0xFFFF:
                raise InvalidArgument("`%s` is no address; write host:port" % (address,))
        if tls_ca is not None and not isinstance(tls_ca, bytes):
            raise InvalidArgument("the certificates are bytes, as read from their file")
        if token is not None and not (isinstance(token, str) and token.isascii() and token.isprintable() and " " not in token):
            raise InvalidArgument("the token has characters that cannot be sent: use letters and digits")
        self._addresses = list(addresses)
        self._at = self._next = 0
        self._metadata = [("authorization", "Bearer " + token)] if token is not None else []
        self._credentials = None if tls_ca is None else grpc.ssl_channel_credentials(tls_ca)
        self._tls_name = tls_name
        self._patience = patience
        self._channels: Dict[str, grpc.Channel] = {}
        self._methods: Dict[Tuple[str, str], Any] = {}
        self._lock = threading.Lock()
        self.is_closed = False

    def close(self) -> None:
        with self._lock:
            self.is_closed = True
            for channel in self._channels.values():
                channel.close()

    def __del__(self) -> None:
        if not getattr(self, "is_closed", True):
            self.close()

    def _method(self, address: str, method: str) -> Any:
        made = self._methods.get((address, method))
        if made is not None:
            return made
        with self._lock:
            if self.is_closed:
                raise SessionOver("the client is closed; make a new one", "session")
            channel = self._channels.get(address)
            if channel is None:
                channel = self._channels[address] = self._channel(address)
            request, response = method + "Request", method + "Response"
            made = channel.unary_unary(
                _SERVICE + method,
                request_serializer=lambda values: wire.encode(request, values),
                response_deserializer=lambda data: wire.decode(response, data),
            )
            self._methods[(address, method)] = made
            return made

    def _channel(self, address: str) -> grpc.Channel:
        options: List[Tuple[str, Any]] = [
            ("grpc.max_send_message_length", _MESSAGE_BYTES_MAX),
            ("grpc.max_receive_message_length", _MESSAGE_BYTES_MAX),
            ("grpc.initial_reconnect_backoff_ms", 50),
            ("grpc.min_reconnect_backoff_ms", 50),
            ("grpc.max_reconnect_backoff_ms", 500),
            ("grpc.enable_http_proxy", 0),
        ]
        if self._credentials is None:
            return grpc.insecure_channel(address, options)
        if self._tls_name is not None:
            options.append(("grpc.ssl_target_name_override", self._tls_name))
        return grpc.secure_channel(address, self._credentials, options)

    def _to_ask(self, spread: bool) -> str:
        with self._lock:
            if not spread:
                return self._addresses[self._at]
            self._next = (self._next + 1) % len(self._addresses)
            return self._addresses[self._next]

    def _leave(self, address: str, leader: Optional[str]) -> None:
        """Asks another replica from now on, unless somebody else has found one meanwhile."""
        with self._lock:
            if self._addresses[self._at] != address:
                return
            if leader is None or leader == address:
                self._at = (self._at + 1) % len(self._addresses)
                return
            if leader not in self._addresses:
                if len(self._addresses) == REPLICAS_MAX:
                    self._at = (self._at + 1) % len(self._addresses)
                    return
                self._addresses.append(leader)
            self._at = self._addresses.index(leader)

    def call(self, method: str, request: Dict[str, Any], spread: bool = False) -> Dict[str, Any]:
        """Makes a call until a replica has an answer."""
        until = time.monotonic() + self._patience
        pause, attempt, was_told = _PAUSE_SECONDS, _ATTEMPT_SECONDS, False
        while True:
            address = self._to_ask(spread)
            try:
                return self._method(address, method)(request, timeout=attempt, metadata=self._metadata)
            except grpc.RpcError as error:
                if not _is_passing(error):
                    raise from_call(error) from None
                if time.monotonic() >= until:
                    raise Unavailable("%s: %s" % (address, error.details())) from None
                said = {key: value for key, value in (error.trailing_metadata() or ())}
            leader = said.get(_LEADER_KEY)
            self._leave(address, leader)
            # The first hint is followed at once; where hints contradict each other there is an election under way.
            if leader is None or was_told:
                time.sleep(pause)
                pause = min(2 * pause, _PAUSE_SECONDS_MAX)
            was_told = was_told or leader is not None
            attempt = min(2 * attempt, _ATTEMPT_SECONDS_MAX)
            spread = False


def _is_passing(error: grpc.RpcError) -> bool:
    """May another try, or another replica, answer? Refusals of the server are final; what comes from the connection is not."""
    is_reset = error.code() == grpc.StatusCode.INTERNAL and "RST_STREAM" in (error.details() or "")
    return is_reset or error.code() in _PASSING


class _Window:
    """Numbers of requests. The server keeps the answers to a session's latest requests, as many as the limits say, so a new
    number is given out only while all requests from the oldest open one on fit into what it keeps."""

    def __init__(self) -> None:
        self._first = 1
        self._open: "deque[List[Any]]" = deque()
        self._items = 0
        self._changed = threading.Condition()

    def begin(self, items: int) -> int:
        items = min(max(items, 1), _OPEN_ITEMS_MAX)
        with self._changed:
            while len(self._open) >= _OPEN_MAX or self._items + items > _OPEN_ITEMS_MAX:
                self._changed.wait()
            self._open.append([items, False])
            self._items += items
            return self._first + len(self._open) - 1

    def end(self, number: int) -> None:
        with self._changed:
            self._open[number - self._first][1] = True
            while self._open and self._open[0][1]:
                self._items -= self._open.popleft()[0]
                self._first += 1
            self._changed.notify_all()


class _Cache:
    """Pairs whose order is known, in two generations: when the young fill half, the old are forgotten and the young become old."""

    def __init__(self, pairs_max: int) -> None:
        self._young_max = pairs_max // 2
        self._young: Dict[Tuple[int, int], Order] = {}
        self._old: Dict[Tuple[int, int], Order] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, first: int, second: int) -> Optional[Order]:
        pair = (first, second) if first <= second else (second, first)
        with self._lock:
            order = self._young.get(pair)
            if order is None:
                order = self._old.pop(pair, None)
                if order is None:
                    return None
                self._insert(pair, order)
        return order if first <= second else order.reversed()

    def put(self, first: int, second: int, order: Order) -> None:
        if order is Order.CONCURRENT:
            return
        with self._lock:
            if first <= second:
                self._insert((first, second), order)
            else:
                self._insert((second, first), order.reversed())

    def _insert(self, pair: Tuple[int, int], order: Order) -> None:
        if self._young_max == 0:
            return
        if len(self._young) >= self._young_max and pair not in self._young:
            self._old, self._young = self._young, {}
        self._young[pair] = order
